"""validate(): find the envelope, read it, judge it, say what to mend. The whole program on one screen."""

from collections.abc import Sequence
from dataclasses import dataclass
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
        """Return the blocks of this protocol in `text`, older forms last."""
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
    _check_arguments(text, families, protocol, mode)
    expected = NOTHING_EXPECTED if expected is None else expected
    family = _family(families, protocol)
    if (size := utf8_length(text, limits.text_bytes)) > limits.text_bytes:
        message = f"the text has {size:,} bytes; expected at most {limits.text_bytes:,}"
        reading = Reading(0, [TOO_LARGE.problem(message)])
        return _verdict(SourceText(text), reading, family, None, mode=mode, expected=expected, limits=limits)
    extraction = family.find(text, limits)
    if extraction.chosen is None:
        rule = NO_ENVELOPE if protocol == "auto" else family.no_envelope
        reading = Reading(0, [rule.problem(family.absence(text))])
    else:
        reading = family.read(extraction, extraction.chosen, expected, limits)
    return _verdict(extraction.source, reading, family, extraction, mode=mode, expected=expected, limits=limits)


def _check_arguments(text: str, families: Sequence[Family], protocol: str, mode: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}; expected str, decode it first")
    names = ["auto", *(family.name for family in families)]
    if protocol not in names:
        raise UnknownNameError("protocol", str(protocol), names)
    if mode not in ("lenient", "strict"):
        raise UnknownNameError("mode", str(mode), ["lenient", "strict"])


def _family(families: Sequence[Family], protocol: str) -> Family:
    return next((family for family in families if family.name == protocol), families[0])


def _verdict(
    source: SourceText,
    reading: Reading,
    family: Family,
    extraction: Extraction | None,
    *,
    mode: Mode,
    expected: Expectations,
    limits: Limits,
) -> Verdict:
    """Weigh the problems by mode, place them in the text as given, and put the verdict together."""
    chosen = extraction.chosen if extraction is not None else None
    problems = reading.problems
    if extraction is not None and (len(extraction.blocks) > 1 or extraction.host_transformed):
        problems = [*_remarks(extraction, reading), *problems]
    findings: list[Finding] = []
    repairs: list[Repair] = []
    for problem in problems:
        findings.append(_finding(problem, source, reading, mode))
        if mode == "lenient" and problem.hit.before is not None:
            repairs.append(_repair(problem, findings[-1]))
    rejected = any(finding.severity is Severity.ERROR for finding in findings)
    listed = _in_order(findings, limits) if len(findings) > 1 else findings
    feedback = None
    if rejected:
        no_envelope = chosen is None and not any(problem.rule is TOO_LARGE for problem in problems)
        skeleton = family.skeleton(expected) if no_envelope else ""
        feedback = compose_feedback(listed, no_envelope=no_envelope, skeleton=skeleton, limits=limits)
    return Verdict(
        verdict="rejected" if rejected else "accepted",
        protocol=family.name if chosen is not None else None,
        version=reading.version,
        mode=mode,
        findings=tuple(listed),
        repairs=tuple(repairs[: limits.findings]),
        candidates=_candidates(extraction, family) if extraction is not None else (),
        envelope=reading.envelope,
        repaired_text=reading.repaired if repairs else None,
        feedback=feedback,
        omitted=len(findings) - len(listed),
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


def _repair(problem: Problem, finding: Finding) -> Repair:
    hit = problem.hit
    return Repair(
        rule=finding.rule,
        message=finding.message,
        line=finding.line,
        before=hit.before or "",
        after=hit.after or "",
    )


def _in_order(findings: list[Finding], limits: Limits) -> list[Finding]:
    """Return the findings in order of position; of too many, the errors are kept first."""
    if len(findings) > limits.findings:
        ranks = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
        findings = sorted(findings, key=lambda finding: ranks[finding.severity])[: limits.findings]
    return sorted(findings, key=lambda finding: (finding.line or 0, finding.column or 0))


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
