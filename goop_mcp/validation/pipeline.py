"""validate(): find the envelope, read it, judge it, say what to mend. The whole program on one screen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from goop_mcp.errors import UnknownNameError
from goop_mcp.validation import envelope_rules
from goop_mcp.validation.envelope_rules import NO_ENVELOPE, TOO_LARGE
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.extraction import CHOSEN, CUT_OFF, EARLIER, THINKING, Block, Extraction
from goop_mcp.validation.feedback import compose_feedback
from goop_mcp.validation.findings import Finding, Mode, Problem, Repair, Severity
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits, utf8_length
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Candidate, Envelope, Verdict

__all__ = ["Family", "Places", "Reading", "validate"]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Places(Protocol):
    """Finds the place of a path inside one envelope."""

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of `path` from the start of the envelope; with `found`, that of the value."""
        ...  # pragma: no cover


@dataclass(slots=True)
class Reading:
    """What a family made of one block. Offsets of problems count from `start` in the text read."""

    start: int
    problems: list[Problem]
    places: Places | None = None
    envelope: Envelope | None = None
    version: str | None = None
    repaired: str | None = None


class Family(Protocol):
    """One protocol with all its behaviour. A new one implements this and is listed in `protocols/__init__.py`."""

    @property
    def name(self) -> str:
        """The name callers ask for."""
        ...  # pragma: no cover

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the family."""
        ...  # pragma: no cover

    @property
    def no_envelope(self) -> Rule:
        """The rule for a reply without an envelope when this protocol was asked for by name."""
        ...  # pragma: no cover

    def find(self, text: str, limits: Limits) -> Extraction:
        """Return the blocks of this protocol in `text`."""
        ...  # pragma: no cover

    def find_older(self, text: str, limits: Limits) -> Extraction | None:
        """Return the older or looser forms of this protocol, looked for where `find` chose nothing."""
        ...  # pragma: no cover

    def read(self, extraction: Extraction, block: Block, expected: Expectations, limits: Limits) -> Reading:
        """Read and judge the chosen block."""
        ...  # pragma: no cover

    def absence(self, text: str) -> str:
        """Return in one clause what is there in place of an envelope."""
        ...  # pragma: no cover

    def skeleton(self, expected: Expectations) -> str:
        """Return the smallest envelope, with template text for all that the agent has to fill in."""
        ...  # pragma: no cover


@dataclass(frozen=True, slots=True)
class Choice:
    """A family and what it found in a text."""

    family: Family
    extraction: Extraction


def validate(
    text: str,
    families: Sequence[Family],
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Verdict:
    """Judge the envelope in `text`: all findings at once, each with its place in `text` (INTERFACES, section 3).

    Pure and total: any `str` gives a verdict, in time linear to its length; any exception is a bug of ours. Raises
    UnknownNameError for a protocol or mode that does not exist and TypeError when `text` is no `str`: those are
    mistakes of the caller.
    """
    _check_arguments(text, families, protocol, mode, expected)
    expected = NOTHING_EXPECTED if expected is None else expected
    asked = [family for family in families if protocol in ("auto", family.name)]
    if (size := utf8_length(text, limits.text_bytes)) > limits.text_bytes:
        message = f"the text has {size:,} bytes; expected at most {limits.text_bytes:,}"
        choice = Choice(asked[0], Extraction(source=SourceText(text), blocks=(), chosen=None))
        reading = Reading(0, [TOO_LARGE.problem(message)])
    else:
        choice = _choose(text, asked, limits)
        reading = _read(choice, text, expected, limits, named=protocol != "auto")
    return _verdict(choice, reading, mode=mode, expected=expected, limits=limits)


def _choose(text: str, families: Sequence[Family], limits: Limits) -> Choice:
    """Return the family whose envelope is in `text`; the older forms of all are looked for last (D-01)."""
    choices = [Choice(family, family.find(text, limits)) for family in families]
    for choice in choices:
        if choice.extraction.chosen is not None:
            return choice
    for choice in choices:
        if (older := choice.family.find_older(text, limits)) is not None:
            blocks = (*choice.extraction.blocks, *older.blocks)
            return Choice(choice.family, replace(older, blocks=blocks))
    return choices[0]


def _read(choice: Choice, text: str, expected: Expectations, limits: Limits, *, named: bool) -> Reading:
    family, extraction = choice.family, choice.extraction
    if extraction.chosen is None:
        rule = family.no_envelope if named else NO_ENVELOPE
        aside = next((block.why for block in reversed(extraction.blocks) if block.why), None)
        message = f"the only envelope stands {aside}; expected one outside of it" if aside else family.absence(text)
        return Reading(0, [rule.problem(message)])
    return family.read(extraction, extraction.chosen, expected, limits)


def _check_arguments(
    text: str, families: Sequence[Family], protocol: str, mode: str, expected: Expectations | None
) -> None:
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}; expected str, decode it first")
    names = ["auto", *(family.name for family in families)]
    if protocol not in names:
        raise UnknownNameError("protocol", str(protocol), names)
    if not isinstance(expected, Expectations | None):
        raise TypeError(f"expected is {type(expected).__name__}; expected Expectations or None")
    if mode not in ("lenient", "strict"):
        raise UnknownNameError("mode", str(mode), ["lenient", "strict"])


def _verdict(choice: Choice, reading: Reading, *, mode: Mode, expected: Expectations, limits: Limits) -> Verdict:
    """Weigh the problems by mode, place them in the text as given, and put the verdict together."""
    family, extraction, source = choice.family, choice.extraction, choice.extraction.source
    chosen = extraction.chosen
    problems = [*_remarks(extraction, reading), *reading.problems]
    rejected = any(problem.rule.severity(mode) is Severity.ERROR for problem in problems)
    listed = _worst(problems, mode, limits.findings) if len(problems) > limits.findings else problems
    findings = [_finding(problem, source, reading, mode) for problem in listed]
    repairs = _repairs(listed, findings) if mode == "lenient" else []
    if len(findings) > 1:
        findings.sort(key=_position)
    feedback = None
    if rejected:
        no_envelope = chosen is None and not any(problem.rule is TOO_LARGE for problem in problems)
        skeleton = family.skeleton(expected) if no_envelope else ""
        feedback = compose_feedback(findings, no_envelope=no_envelope, skeleton=skeleton, limits=limits)
    return Verdict(
        verdict="rejected" if rejected else "accepted",
        protocol=family.name if chosen is not None else None,
        version=reading.version,
        mode=mode,
        findings=tuple(findings),
        repairs=tuple(repairs),
        candidates=_candidates(extraction, family),
        envelope=reading.envelope,
        repaired_text=reading.repaired if repairs else None,
        feedback=feedback,
        omitted=len(problems) - len(listed),
        span=(chosen.start, chosen.end) if chosen is not None else None,
        read_text=source.read,
    )


def _remarks(extraction: Extraction, reading: Reading) -> list[Problem]:
    """Return what is to be said of the choice itself; offsets are made to count from the chosen block."""
    problems: list[Problem] = []
    chosen = extraction.chosen
    free = [block for block in extraction.blocks if block.why is None and block.complete]
    if len(free) > 1 and chosen is not None:
        message = f"{len(free)} complete envelopes; expected one, the last one is taken"
        problems.append(envelope_rules.MULTIPLE.problem(message, offset=free[0].start - reading.start))
    for block in extraction.blocks:
        if block.why == THINKING:
            message = "an envelope inside a thinking block was passed over"
            problems.append(envelope_rules.IN_THINKING.problem(message, offset=block.start - reading.start))
    if extraction.host_transformed and chosen is not None:
        message = "a host had indented or escaped the text; that was undone before reading"
        problems.append(envelope_rules.HOST_TRANSFORMED.problem(message, offset=0))
    for remark in extraction.remarks:
        offset = None if remark.hit.offset is None else remark.hit.offset - reading.start
        problems.append(Problem(remark.rule, replace(remark.hit, offset=offset)))
    return problems


def _finding(problem: Problem, source: SourceText, reading: Reading, mode: Mode) -> Finding:
    rule, hit = problem.rule, problem.hit
    offset = hit.offset
    if offset is None and hit.path is not None and reading.places is not None:
        offset = reading.places.locate(hit.path, hit.found)
    line, column = (None, None) if offset is None else source.line_and_column(max(reading.start + offset, 0))
    return Finding(
        rule=rule.id,
        severity=rule.severity(mode),
        message=hit.message,
        path=hit.path,
        line=line,
        column=column,
        found=hit.found,
        expected=hit.expected,
        fix=hit.fix or rule.fix,
    )


def _repairs(problems: Sequence[Problem], findings: Sequence[Finding]) -> list[Repair]:
    """Return what was mended, in order of position; `findings` are those of `problems`, one by one."""
    repairs = [
        Repair(
            rule=finding.rule, message=finding.message, line=finding.line, before=before, after=problem.hit.after or ""
        )
        for problem, finding in zip(problems, findings, strict=True)
        if (before := problem.hit.before) is not None
    ]
    repairs.sort(key=lambda repair: repair.line or 0)
    return repairs


def _worst(problems: Sequence[Problem], mode: Mode, most: int) -> list[Problem]:
    """Return the `most` worst problems: errors before warnings before infos, each in the order found."""
    return sorted(problems, key=lambda problem: _RANKS[problem.rule.severity(mode)])[:most]


def _position(finding: Finding) -> tuple[int, int, int]:
    return finding.line or 0, finding.column or 0, _RANKS[finding.severity]


def _candidates(extraction: Extraction, family: Family) -> tuple[Candidate, ...]:
    return tuple(
        [
            Candidate(
                protocol=family.name,
                line=extraction.source.line_and_column(block.start)[0],
                chosen=block is extraction.chosen,
                why=_why(block, extraction),
            )
            for block in extraction.blocks
        ]
    )


def _why(block: Block, extraction: Extraction) -> str:
    if block is not extraction.chosen:
        return block.why or EARLIER
    return CHOSEN if block.complete else CUT_OFF
