"""Build the verdict from problems: severity by mode, place in the text, feedback, candidates."""

from collections.abc import Sequence

from msgspec.structs import replace

from goop_mcp.validation import envelope_rules
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import (
    CHOSEN,
    CUT_OFF,
    EARLIER,
    OPEN_THINKING,
    THINKING,
    Block,
    Extraction,
)
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.feedback import compose_feedback
from goop_mcp.validation.findings import Finding, Mode, Repair, Severity
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.positions import SourceText
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.selection import Selection
from goop_mcp.validation.severities import NO_CHANGES, Severities
from goop_mcp.validation.template_text import one_per_value
from goop_mcp.validation.verdict import Candidate, Verdict

__all__ = ["build_verdict"]

OTHER_PROTOCOL = "of another protocol; one envelope counts, the one that ends the text"

_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def build_verdict(
    selection: Selection, parsed: ParseResult, *, mode: Mode, expected: Expectations, limits: Limits
) -> Verdict:
    """Give each problem its severity by mode and its place in the text; return the verdict."""
    family, extraction, source = selection.family, selection.extraction, selection.extraction.source
    chosen = extraction.chosen
    problems: Sequence[Problem] = _remarks(extraction, parsed) + parsed.problems
    if len(problems) > 1:
        problems = one_per_value(problems)
    if expected.severities is not NO_CHANGES:
        problems = _changed(problems, expected.severities, mode)

    # A loop and not any(): this is passed by every reply, and mostly without a problem.
    rejected = False
    for problem in problems:
        if problem.rule.severity(mode) is Severity.ERROR:
            rejected = True
            break

    listed = problems
    if len(problems) > limits.findings:
        # The worst ones, in the order found among those of one severity.
        listed = sorted(problems, key=lambda each: _RANKS[each.rule.severity(mode)])
        # Cut before the places are looked up: a hostile reply may have a problem for each of its
        # bytes.
        listed = listed[: limits.findings]

    # Places are looked up here, for the listed problems only.
    findings, repairs = _findings_and_repairs(listed, source, parsed, mode)
    repaired, envelope = parsed.repaired if repairs else None, parsed.envelope
    if repairs and repaired is None and chosen is not None and envelope is not None:
        # Only the text around the envelope was repaired.
        # A part of an envelope must not be handed on as one.
        repaired = None if envelope.partial else source.read[chosen.start : chosen.end]

    if len(findings) > 1:
        findings.sort(key=lambda each: (each.line or 0, each.column or 0, _RANKS[each.severity]))

    feedback = None
    if rejected:
        too_large = any(problem.rule is envelope_rules.TOO_LARGE for problem in problems)
        no_envelope = chosen is None and selection.ambiguous is None and not too_large
        template = family.envelope_template(expected) if no_envelope else ""
        feedback = compose_feedback(
            findings, no_envelope=no_envelope, template=template, limits=limits
        )

    return Verdict(
        verdict="rejected" if rejected else "accepted",
        protocol=family.name if chosen is not None else None,
        version=parsed.version,
        mode=mode,
        findings=tuple(findings),
        repairs=tuple(repairs),
        candidates=_candidates(selection),
        envelope=envelope,
        repaired_text=repaired,
        feedback=feedback,
        omitted=len(problems) - len(listed),
        changed_severities=expected.severities.notes,
        span=(chosen.start, chosen.end) if chosen is not None else None,
        read_text=source.read,
    )


def _changed(problems: Sequence[Problem], severities: Severities, mode: Mode) -> list[Problem]:
    """Return the problems that count, each with a rule of the severity that was chosen for it."""
    changed: list[Problem] = []
    for problem in problems:
        usual = problem.rule.severity(mode)
        chosen = severities.of(problem.rule.id, usual)
        if chosen is None and problem.hit.before is not None:
            # A repair is never silent: who reads the envelope has to see what was changed in it.
            chosen = Severity.INFO
        if chosen is usual:
            changed.append(problem)
        elif chosen is not None:
            rule = replace(problem.rule, lenient=chosen, strict=chosen)
            changed.append(Problem(rule, problem.hit))

    return changed


def _findings_and_repairs(
    problems: Sequence[Problem], source: SourceText, parsed: ParseResult, mode: Mode
) -> tuple[list[Finding], list[Repair]]:
    """Return the findings in the order of `problems`, and what was repaired, by line."""
    findings: list[Finding] = []
    repairs: list[Repair] = []
    for problem in problems:
        rule, hit = problem.rule, problem.hit
        offset = hit.offset
        if offset is None and hit.path is not None and parsed.locator is not None:
            offset = parsed.locator.locate(hit.path, hit.found)

        line, column = None, None
        if offset is not None:
            # A place before the envelope counts back from its start, at most to that of the text.
            line, column = source.line_and_column(max(parsed.start + offset, 0))

        findings.append(problem.finding(rule.severity(mode), line=line, column=column))
        if mode == "lenient" and hit.before is not None:
            after = hit.after or ""
            repairs.append(
                Repair(rule=rule.id, message=hit.message, line=line, before=hit.before, after=after)
            )

    if len(repairs) > 1:
        repairs.sort(key=lambda repair: repair.line or 0)

    return findings, repairs


def _remarks(extraction: Extraction, parsed: ParseResult) -> list[Problem]:
    """Return the problems of the selection, with offsets from the start of the chosen block."""
    problems: list[Problem] = []
    chosen = extraction.chosen
    if (
        extraction.blocks == (chosen,)
        and not extraction.remarks
        and not extraction.host_transformed
    ):
        return problems

    free = [block for block in extraction.blocks if block.why is None and block.complete]
    if len(free) > 1 and chosen is not None:
        message = f"{len(free)} complete envelopes; expected one, the last one is taken"
        problems.append(
            envelope_rules.MULTIPLE.problem(message, offset=free[0].start - parsed.start)
        )

    for block in extraction.blocks:
        if block.why in (THINKING, OPEN_THINKING):
            message = f"an envelope {block.why} was passed over"
            problems.append(
                envelope_rules.IN_THINKING.problem(message, offset=block.start - parsed.start)
            )

    if extraction.host_transformed and chosen is not None:
        message = "a host had indented, escaped or wrapped the text; that was undone before reading"
        problems.append(envelope_rules.HOST_TRANSFORMED.problem(message, offset=0))

    for remark in extraction.remarks:
        offset = None if remark.hit.offset is None else remark.hit.offset - parsed.start
        problems.append(Problem(remark.rule, replace(remark.hit, offset=offset)))

    return problems


def _candidates(selection: Selection) -> tuple[Candidate, ...]:
    # Nearly every reply has envelopes of one protocol, which are in order already.
    if not selection.others:
        return tuple([_candidate(block, selection) for block in selection.extraction.blocks])

    seen = [
        (other.extraction.source.origin(block.start), _candidate(block, other, why=OTHER_PROTOCOL))
        for other in selection.others
        for block in other.extraction.blocks
    ]
    why = OTHER_PROTOCOL if selection.ambiguous is not None else None
    source = selection.extraction.source
    seen += [
        (source.origin(block.start), _candidate(block, selection, why=why))
        for block in selection.extraction.blocks
    ]

    return tuple([candidate for _, candidate in sorted(seen, key=lambda each: each[0])])


def _candidate(block: Block, selection: Selection, why: str | None = None) -> Candidate:
    extraction = selection.extraction
    usual = CHOSEN if block.complete else CUT_OFF
    return Candidate(
        protocol=selection.family.name,
        line=extraction.source.line_and_column(block.start)[0],
        chosen=block is extraction.chosen and why is None,
        why=block.why or why or (usual if block is extraction.chosen else EARLIER),
    )
