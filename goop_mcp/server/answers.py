"""Turn results into tool answers: a short text to act on, and the whole structure for programs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp.types import CallToolResult, TextContent

from goop_mcp.messages.quoting import fenced, field, paragraph, quoted
from goop_mcp.server.truncation import LEFT_OUT, fitted
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.findings import Finding, Repair, Severity, excerpt
from goop_mcp.validation.verdict import Verdict

if TYPE_CHECKING:
    from goop_mcp.routing import Decision
    from goop_mcp.services.build_report import BuiltReport
    from goop_mcp.services.build_request import BuiltRequest
    from goop_mcp.services.project_steps import StepResult
    from goop_mcp.services.record_report import RecordedReport
    from goop_mcp.services.session_handoff import BuiltHandoff

__all__ = [
    "MOST_CHARACTERS",
    "answer",
    "cap",
    "decision_answer",
    "handoff_answer",
    "recorded_answer",
    "report_answer",
    "session_answer",
    "step_answer",
    "verdict_answer",
    "without_secrets",
]

MOST_CHARACTERS = 40_000
"""Longest text of one answer, about 10,000 tokens."""

_LISTED = 20
_RECORDED = {
    "recorded": "recorded as report {report} at revision {revision}",
    "duplicate": (
        "duplicate: the same report was recorded as report {report} at revision {revision};"
        " nothing was written"
    ),
    "rejected": "rejected: nothing was written",
    "no_report": "not recorded: the envelope asks for work and reports none; nothing was written",
}


def answer(text: str, structure: Mapping[str, object]) -> CallToolResult:
    """Return the answer of a successful call, its structure cut where clients could not read it."""
    values = fitted(structure)
    if left := values.get(LEFT_OUT):
        names = ", ".join(map(str, left[:_LISTED])) if isinstance(left, list) else ""

        # The note goes on the second line, because a long text is cut at its end.
        first, _, rest = text.partition("\n")
        text = f"{first}\nleft out of the structured answer, as it is too much: {names}\n{rest}"

    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=values)


def cap(result: CallToolResult) -> CallToolResult:
    """Return `result` with each text cut to MOST_CHARACTERS and a line on how to get less."""
    if not any(
        isinstance(block, TextContent) and len(block.text) > MOST_CHARACTERS
        for block in result.content
    ):
        return result

    content = list(result.content)
    for index, block in enumerate(content):
        if isinstance(block, TextContent) and len(block.text) > MOST_CHARACTERS:
            end = (
                f"\n… cut off here: {len(block.text):,} characters are more than"
                f" {MOST_CHARACTERS:,}. Ask for less at a time, or read the structured answer."
            )
            text = block.text[: MOST_CHARACTERS - len(end)] + end
            content[index] = TextContent(type="text", text=text)

    return result.model_copy(update={"content": content})


def without_secrets(text: str) -> str:
    """Return `text` with its secrets redacted, for errors and logs that hosts may keep."""
    # Loading it takes 30 ms, and most calls succeed without it.
    from goop_mcp.redaction import redact  # noqa: PLC0415

    return redact(text).text


def verdict_answer(verdict: Verdict) -> CallToolResult:
    """Return a verdict; a rejected reply is not a failure of the tool."""
    structure = verdict.to_dict()
    heading = f"{verdict.verdict}: {verdict.protocol or 'no envelope'}"
    if verdict.protocol is not None:
        # The agent wrote these values: excerpts keep them on this line, and short.
        if verdict.version is not None:
            heading += f" {excerpt(verdict.version, 40)}"

        for key in ("status", "agent"):
            if isinstance(value := (structure["envelope"] or {}).get(key), str):
                heading += f", {key} {excerpt(value, 60)}"

    lines = [heading]
    if verdict.feedback is not None:
        lines.append(verdict.feedback)
    else:
        lines += _listed("repair", verdict.repairs)
        # A repair also leaves a warning with the same message; each is listed once.
        repaired = {(repair.rule, repair.line, repair.message) for repair in verdict.repairs}
        warnings = verdict.of_severity(Severity.WARNING)
        lines += _listed(
            "warning", [w for w in warnings if (w.rule, w.line, w.message) not in repaired]
        )
        lines += _not_checked(verdict)

    if tiers := verdict.tiers:
        shares = ", ".join(f"{count} {tier}" for tier, count in tiers.items())
        lines.append(field("claims", shares))

    return answer("\n".join(lines), structure)


def decision_answer(decision: "Decision") -> CallToolResult:
    """Return a decision: the actions first, then all that is needed to carry them out."""
    return answer("\n".join(_decision_lines(decision)), decision.to_dict())


def recorded_answer(recorded: "RecordedReport") -> CallToolResult:
    """Return what became of a report: what was written, then the decision."""
    written = recorded.written
    lines = [_RECORDED[recorded.status].format(report=written.report, revision=written.revision)]
    lines += [f"written: {path}" for path in written.files]
    lines += [f"shown at: {address}" for address in written.resources]
    if (state := written.state) is not None and state.phase != written.phase_before:
        lines.append(field("phase", f"{written.phase_before} -> {state.phase}"))

    lines += [*_secrets(recorded.redactions), *map(paragraph, recorded.remarks)]
    shown = [finding for finding in recorded.findings if finding.severity is not Severity.INFO]

    return answer(
        "\n".join([*lines, *_listed("disagreement", shown), *_decision_lines(recorded.decision)]),
        recorded.to_dict(),
    )


def step_answer(result: "StepResult") -> CallToolResult:
    """Return what became of a step; one that waits or is refused is not a failure of the tool."""
    lines = [field("status", f"{result.status} ({result.action})")]
    if result.phase is not None:
        moved = result.phase_before not in (None, result.phase)
        phase = f"{result.phase_before} -> {result.phase}" if moved else result.phase
        lines.append(field("phase", f"{phase} (round {result.round})"))

    lines.append(result.message.rstrip())
    lines += [field("written", path) for path in result.files]
    lines += [field("shown at", address) for address in result.resources]
    if result.undo is not None:
        lines.append(field("undo", result.undo))

    lines += [*map(paragraph, result.remarks), *_listed("warning", result.findings)]

    return answer("\n".join(lines), result.to_dict())


def session_answer(built: "BuiltHandoff") -> CallToolResult:
    """Return a session handoff: where it was written, or its whole text when it was only built."""
    secrets = _secrets(built.redactions)
    if built.revision is None:
        place = (
            f"not written; it belongs to {built.path}:"
            if built.path
            else (
                f"not recorded; with write=true it is recorded and shown at {built.resource}, and"
                " no file is written:"
            )
        )
        return answer(
            "\n".join([place, *secrets, *fenced(built.text, "markdown")]), built.to_dict()
        )

    place = (
        f"written: {built.path} "
        if built.path
        else f"recorded and shown at {built.resource}, in no file "
    )

    return answer(
        "\n".join(
            [f"{place}(revision {built.revision})", *secrets, *map(paragraph, built.remarks)]
        ),
        built.to_dict(),
    )


def _secrets(redactions: int) -> list[str]:
    return [f"secrets taken out: {redactions}"] if redactions else []


def _decision_lines(decision: "Decision") -> list[str]:
    """Return the decision: the router's fields, one a line, then quotations from agents."""
    # A reason may begin with text of the agent, the type of an error, and must not start a line.
    lines = [field("actions", *decision.actions), paragraph(decision.reason)]
    lines += [
        field(name, value)
        for name in ("next_agent", "next_command")
        if (value := getattr(decision, name))
    ]
    if decision.files_to_read:
        lines.append(field("files_to_read", *decision.files_to_read))
    if decision.instruction:
        lines += quoted("instruction", decision.instruction)
    if decision.blockers:
        lines += quoted("blockers", *decision.blockers)
    return [*lines, *_not_checked(decision.verdict)]


def _not_checked(verdict: Verdict) -> list[str]:
    """Return one line about the claims that nobody verified, none if there are no such claims."""
    messages = [each.message for each in verdict.findings if each.rule == NOT_CHECKED.id]
    more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""

    return [f"not checked: {paragraph(messages[0])}{more}"] if messages else []


def report_answer(built: "BuiltReport") -> CallToolResult:
    """Return a built report, whole: its author ends a message with it."""
    lines = [
        f"valid {built.protocol}; end your last message with it, unchanged, and nothing after it:",
        *_secrets(built.redactions),
        *_listed("remark", built.verdict.findings),
        "",
        built.text,
    ]
    return answer("\n".join(lines), built.to_dict())


def handoff_answer(built: "BuiltRequest", *, written: bool) -> CallToolResult:
    """Return a prompt: where it was written, or its whole text when it was only built."""
    remarks = [*_secrets(built.redactions), *_listed("remark", built.verdict.findings)]
    if written:
        return answer("\n".join([f"written: {built.path}", *remarks]), built.to_dict())

    place = f"it belongs to {built.path}; " if built.path else ""

    return answer(
        "\n".join([f"not written; {place}the prompt:", *remarks, *fenced(built.text, "markdown")]),
        built.to_dict(),
    )


def _listed(noun: str, items: Sequence[Finding | Repair]) -> list[str]:
    """Return a heading and one line an item, or nothing when there are none."""
    if not items:
        return []

    lines = [f"{len(items)} {noun}{'s' if len(items) > 1 else ''}:"]
    for item in items[:_LISTED]:
        place = f"line {item.line}: " if item.line is not None else ""
        lines.append(f"- {place}{excerpt(item.message)} ({item.rule})")

    if len(items) > _LISTED:
        lines.append(f"… and {len(items) - _LISTED} more in the structured answer")
    return lines
