"""Turn results into tool answers: a short text to act on, and the whole structure for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp.types import CallToolResult, TextContent

from goop_mcp import redaction
from goop_mcp.messages.quoting import fenced, field, line, paragraph, quoted
from goop_mcp.server.short_answers import (
    LISTED,
    TRUST,
    Detail,
    ShortAnswer,
    short_decision,
    short_handoff,
    short_recorded,
    short_status,
    short_step,
    short_verdict,
)
from goop_mcp.server.truncation import LEFT_OUT, fitted
from goop_mcp.services.project_step import calls_for_commands
from goop_mcp.services.unverified import NOT_ASKED
from goop_mcp.validation.evidence_rules import NOT_CHECKED
from goop_mcp.validation.findings import Finding, Repair, Severity, counted_noun, excerpt
from goop_mcp.validation.tiers import tiers_in_words
from goop_mcp.validation.verdict import Verdict

if TYPE_CHECKING:
    from goop_mcp.routing import Decision
    from goop_mcp.routing.views import Question
    from goop_mcp.services.build_report import BuiltReport
    from goop_mcp.services.build_request import BuiltRequest
    from goop_mcp.services.draft_request import Draft
    from goop_mcp.services.project_status import ProjectStatus
    from goop_mcp.services.project_steps import StepResult
    from goop_mcp.services.record_report import RecordedReport
    from goop_mcp.services.session_handoff import BuiltHandoff

__all__ = [
    "MOST_CHARACTERS",
    "answer",
    "cap",
    "decision_answer",
    "draft_answer",
    "handoff_answer",
    "recorded_answer",
    "report_answer",
    "session_answer",
    "status_answer",
    "step_answer",
    "verdict_answer",
    "with_line",
    "without_secrets",
]

MOST_CHARACTERS = 40_000
"""Longest text of one answer, about 10,000 tokens."""

_RECORDED = {
    "recorded": "recorded as report {report} at revision {revision}",
    "duplicate": (
        "duplicate: the same report was recorded as report {report} at revision {revision};"
        " nothing was written"
    ),
    "rejected": "nothing was recorded",
    "no_report": "not recorded: the envelope asks for work and reports none; nothing was written",
}


def answer(text: str, structure: Mapping[str, object]) -> CallToolResult:
    """Return the answer of a successful call, its structure cut where clients could not read it."""
    values = fitted(structure)
    left = values.get(LEFT_OUT)
    # Also where the answer had left something out itself: then the list has grown.
    if left != structure.get(LEFT_OUT):
        names = ", ".join(map(str, left[:LISTED])) if isinstance(left, list) else ""

        # The note goes on the second line, because a long text is cut at its end.
        first, _, rest = text.partition("\n")
        text = f"{first}\nleft out of the structured answer, as it is too much: {names}\n{rest}"

    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=values)


def cap(result: CallToolResult) -> CallToolResult:
    """Return `result` with each text cut to MOST_CHARACTERS and a line on how to get less."""
    # Nearly every answer is short. Copying its content would cost more than looking at it.
    if not any(
        isinstance(block, TextContent) and len(block.text) > MOST_CHARACTERS
        for block in result.content
    ):
        return result

    content = list(result.content)
    for index, block in enumerate(content):
        if isinstance(block, TextContent) and len(block.text) > MOST_CHARACTERS:
            # The end counts as well: hosts refuse a result by its whole length.
            end = (
                f"\n… cut off here: {len(block.text):,} characters are more than"
                f" {MOST_CHARACTERS:,}. Ask for less at a time: a smaller limit, one entry, or"
                " detail=short. Resources are whole: goop://reports/NUMBER, goop://memories/NUMBER."
            )
            text = block.text[: MOST_CHARACTERS - len(end)] + end
            content[index] = TextContent(type="text", text=text)

    return result.model_copy(update={"content": content})


def with_line(result: CallToolResult, line: str) -> CallToolResult:
    """Return `result` with a line for a person as the second of its text, and as `note`."""
    content = [*result.content]
    if content and isinstance(block := content[0], TextContent):
        # A long text is cut at its end, and an agent copies the end of another into its report.
        first, _, rest = block.text.partition("\n")
        lines = [first, f"note: {line}", *([rest] if rest else [])]
        content[0] = TextContent(type="text", text="\n".join(lines))
    structure = {**(result.structured_content or {}), "note": line}

    return result.model_copy(update={"content": content, "structured_content": structure})


def without_secrets(text: str) -> str:
    """Return `text` with its secrets redacted, for errors and logs that hosts may keep."""
    return redaction.redact(text).text


def _detailed(
    lines: Sequence[str], full: Mapping[str, object], short: ShortAnswer, detail: Detail
) -> CallToolResult:
    """Return the short answer, or the full one; both halves hold the same."""
    if detail == "short":
        rest = [field("left out (detail=full has it)", *short.rest)] if short.rest else []
        return answer("\n".join([*lines, *rest]), short.finished())

    if whole := {**short.rest, **short.details}:
        # Texts of agents are in it, which cannot end the fence.
        lines = [*lines, "the rest:", *fenced(json.dumps(whole, ensure_ascii=False), "json")]

    return answer("\n".join(lines), full)


def verdict_answer(verdict: Verdict, detail: Detail = "short") -> CallToolResult:
    """Return a verdict; a rejected reply is not a failure of the tool."""
    full = verdict.to_dict()
    short = short_verdict(full)
    lines = [_heading(verdict, full["envelope"])]
    if verdict.feedback is not None:
        # The feedback names no rule where there is no envelope.
        errors = verdict.of_severity(Severity.ERROR)
        # An agent that looks a rule up needs its name, and feedback leaves out those of some
        # errors.
        unnamed = [each.rule for each in errors if each.rule not in verdict.feedback]
        lines += [field("findings", *unnamed)] if unnamed else []
        lines.append(verdict.feedback)
    else:
        lines += _remarks(verdict)

    if (tiers := verdict.tiers) and verdict.unverified is None:
        lines.append(field("claims", tiers_in_words(tiers)))
    if verdict.changed_severities:
        lines.append(field("severities changed by the project", *verdict.changed_severities))
    # A full answer has them all.
    if (omitted := short.values["omitted"]) and detail == "short":
        lines.append(field("omitted", counted_noun(omitted, "finding")))

    return _detailed(lines, full, short, detail)


def _heading(verdict: Verdict, envelope: Mapping[str, object] | None) -> str:
    """Return the verdict and the main values of its envelope, on one line."""
    heading = f"{verdict.verdict}: {verdict.protocol or 'no envelope'}"
    if verdict.protocol is not None:
        # The agent wrote these values: excerpts keep them on this line, and short.
        if verdict.version is not None:
            heading += f" {excerpt(verdict.version, 40)}"

        for key in ("status", "agent", "task_id"):
            if isinstance(value := (envelope or {}).get(key), str):
                heading += f", {key} {excerpt(value, 60)}"

    return heading


def decision_answer(decision: "Decision", detail: Detail = "short") -> CallToolResult:
    """Return a decision: the verdict, the actions, then all that is needed to carry them out."""
    full = decision.to_dict()
    short = short_decision(full)
    verdict = decision.verdict
    lines = [_heading(verdict, full["verdict"]["envelope"]), *_decision_lines(decision)]

    return _detailed(lines, {**full, "trust": TRUST}, short, detail)


def recorded_answer(recorded: "RecordedReport", detail: Detail = "short") -> CallToolResult:
    """Return what became of a report: the verdict, what was written, then the decision."""
    recorded = replace(recorded, findings=tuple(map(_called, recorded.findings)))
    full, written = recorded.to_dict(), recorded.written
    # What is recorded changed the project; of a rejected report the verdict is what counts.
    heading = _heading(recorded.verdict, full["verdict"]["envelope"])
    status = _RECORDED[recorded.status].format(report=written.report, revision=written.revision)
    lines = [f"{heading}; {status}"] if recorded.status == "rejected" else [status, heading]
    lines += [f"written: {path}" for path in written.files]
    # Stated explicitly, as a server without the folder writes no files.
    lines += [f"shown at: {address}" for address in written.resources]
    if (state := written.state) is not None:
        moved = written.phase_before not in (None, state.phase)
        phase = f"{written.phase_before} -> {state.phase}" if moved else state.phase
        lines.append(field("phase", f"{phase}, wave {state.current_wave} of {state.total_waves}"))
    # Otherwise the remarks on the verdict say how many were compared with nothing, and why.
    if written.report is not None and recorded.verdict.unverified is None:
        lines.append(field("claims", tiers_in_words(recorded.claims)))
    if written.handoff:
        lines.append(field("handoff", "a session handoff was made"))

    lines += [*_secrets(recorded.redactions), *map(paragraph, recorded.remarks)]
    # Infos are left to the structure: a reader of the text cannot act on them.
    shown = [finding for finding in recorded.findings if finding.severity is not Severity.INFO]
    lines += [*_listed("disagreement", shown), *_decision_lines(recorded.decision)]
    if recorded.waits is not None:
        lines.append(field("ask_with", str(recorded.waits.call)))

    return _detailed(lines, {**full, "trust": TRUST}, short_recorded(full), detail)


def status_answer(
    status: "ProjectStatus", detail: Detail = "short", *, run: str | None = None
) -> CallToolResult:
    """Return the status of a project, in the form in which people see it too.

    `run` is the page of a delegation run, which is shown as well.
    """
    status = replace(status, drift=tuple(map(_called, status.drift)))
    full = status.to_dict() | ({} if run is None else {"run": run})
    full["offers"] = list(status.parts.beginnings(for_agent=True))
    short = short_status(full)
    # Waves whose tasks the short structure leaves out are left out of the text as well, so that
    # both halves say the same.
    shown = [wave["number"] for wave in short.values["waves"] if wave["tasks"]]
    lines = [status.to_markdown(waves=shown, for_agent=True).rstrip("\n")]

    # People see the gate ahead; who decides what to do next also needs the others, and the plan.
    if status.parts.project is False:
        return _detailed(lines + ([] if run is None else [run.rstrip("\n")]), full, short, detail)
    is_open = "open" if status.round.is_open else f"closed: {status.round.outcome}"
    name = f" {line(status.round.name)}" if status.round.name else ""
    lines.append(field("round", f"{status.round.number}{name} ({is_open})"))
    lines.append(field("profile", status.profile))
    if gates := [f"{'✓' if gate.passed else '✗'} {gate.gate.value}" for gate in status.gates]:
        lines.append(field("gates", *gates))
    for wave in short.values["waves"]:
        # The names of those that are done are listed above.
        done = [each["id"] for each in wave["tasks"] if each["status"] == "done"]
        left = [f"{each['id']} {each['name']}" for each in wave["tasks"] if each["id"] not in done]
        tasks = f" ({', '.join(done)})" if done else ""
        tasks += f"; left: {'; '.join(map(line, left))}" if left else ""
        lines.append(f"wave {wave['number']} {line(wave['name'])}: {wave['done']} done{tasks}")
    if run is not None:
        lines.append(run.rstrip("\n"))

    return _detailed(lines, full, short, detail)


def step_answer(result: "StepResult") -> CallToolResult:
    """Return what became of a step; one that waits or is refused is not a failure of the tool."""
    result = _for_agent(result)
    lines = [field("status", f"{result.status} ({result.action})")]
    if result.phase is not None:
        moved = result.phase_before not in (None, result.phase)
        phase = f"{result.phase_before} -> {result.phase}" if moved else result.phase
        lines.append(field("phase", f"{phase} (round {result.round})"))
    else:
        lines.append(field("round", str(result.round)))

    # The message comes before the lists, as it says what to do; the lists only name what it means.
    lines.append(result.message.rstrip())
    if (asked := result.confirmation) is not None:
        lines.append(
            f"waiting: number {asked.id}, {asked.action} {line(asked.subject)}, asked by"
            f" {line(asked.asked_by)} at {asked.asked_at}"
        )
    if result.question:
        lines += quoted("question", *result.question)
    if result.choices is not None:
        lines.append(field("choices", *result.choices))
    # What the message names already is not repeated: each line costs the reader tokens.
    if missing := [each for each in result.missing if each not in result.message]:
        lines.append(field("missing", *missing))
    if result.command is not None and result.command not in result.message:
        lines.append(field("command", result.command))

    lines += [field("written", path) for path in result.files if path not in result.message]
    lines += [field("shown at", address) for address in result.resources]
    if result.undo is not None:
        lines.append(field("undo", result.undo))
    if result.revision is not None:
        lines.append(field("revision", str(result.revision)))

    lines += [*map(paragraph, result.remarks), *_listed("warning", result.findings, most=None)]

    return answer("\n".join(lines), short_step(result.to_dict()).finished())


def _for_agent(result: "StepResult") -> "StepResult":
    """Return `result` with calls of tools in place of commands; a person answers what waits."""
    if result.status == "waiting":
        return result
    return replace(
        result,
        message=calls_for_commands(result.message),
        command=result.command and calls_for_commands(result.command),
        undo=result.undo and calls_for_commands(result.undo),
        remarks=tuple(map(calls_for_commands, result.remarks)),
        findings=tuple(map(_called, result.findings)),
    )


def _called(finding: Finding) -> Finding:
    return replace(finding, fix=calls_for_commands(finding.fix))


def session_answer(built: "BuiltHandoff", detail: Detail = "short") -> CallToolResult:
    """Return a session handoff: where it was written, or its whole text when it was only built."""
    secrets, remarks = _secrets(built.redactions), [*map(paragraph, built.remarks)]
    full, is_written = built.to_dict(), built.revision is not None
    if is_written:
        place = (
            # The address helps whoever cannot read files of this machine.
            f"written: {built.path} "
            if built.path
            else f"recorded and shown at {built.resource}, in no file "
        )
        lines = [f"{place}(revision {built.revision})", *secrets, *remarks]
    else:
        place = (
            f"not written; it belongs to {built.path}:"
            if built.path
            else (
                f"not recorded; with write=true it is recorded and shown at {built.resource}, and"
                " no file is written:"
            )
        )
        lines = [place, *secrets, *remarks, *fenced(built.text, "markdown")]

    return _detailed(lines, full, short_handoff(full, is_written=is_written), detail)


def handoff_answer(
    built: "BuiltRequest", *, written: bool, detail: Detail = "short"
) -> CallToolResult:
    """Return a prompt: where it was written, or its whole text when it was only built."""
    full, size = built.to_dict(), built.size
    lines = [*_secrets(built.redactions), *_listed("remark", built.verdict.findings)]
    lines.append(
        f"size: {size.bytes} bytes, {size.text_bytes} of them text (overhead {size.overhead}),"
        f" about {size.tokens} tokens"
    )
    if written:
        lines = [f"written: {built.path}", *lines]
    else:
        place = f"it belongs to {built.path}; " if built.path else ""
        lines = [f"not written; {place}the prompt:", *lines, *fenced(built.text, "markdown")]

    return _detailed(lines, full, short_handoff(full, is_written=written), detail)


def draft_answer(drafted: "Draft", detail: Detail = "short") -> CallToolResult:
    """Return a draft with gaps: its questions, then the prompt with a slot at each gap."""
    full = drafted.to_dict()
    lines = [
        "not valid yet and not written: ask the person, then call build_handoff again with the same"
        " from_text and the answers as its other arguments; invent nothing",
        *_secrets(drafted.redactions),
    ]
    lines += [
        f"{'question' if gap.required else 'optional'}: {gap.field}: {line(gap.question)}"
        for gap in drafted.gaps
    ]
    lines += ["the draft:", *fenced(drafted.text, "markdown")]
    values = {name: full[name] for name in ("kind", "text", "verdict", "gaps", "redactions")}

    return _detailed(lines, values, short_handoff(values, is_written=False), detail)


def _secrets(redactions: int) -> list[str]:
    return [f"secrets taken out: {redactions}"] if redactions else []


def _decision_lines(decision: "Decision") -> list[str]:
    """Return the decision: the router's fields, one a line, then quotations from agents."""
    # A reason may begin with text of the agent, the type of an error, and must not start a line.
    reason = decision.reason
    if decision.rule not in reason:
        reason += f" ({decision.rule})"
    lines = [field("actions", *decision.actions), paragraph(reason)]
    lines += [
        field(name, value)
        for name in ("next_agent", "next_command")
        if (value := getattr(decision, name))
    ]
    if decision.files_to_read:
        lines.append(field("files_to_read", *decision.files_to_read))
    if decision.new_session is not None:
        lines.append(field("new_session", str(decision.new_session).lower()))
    if (retry := decision.retry) is not None:
        delay = f" after {retry.delay_seconds} s" if retry.delay_seconds else ""
        lines.append(
            field("retry", f"{retry.attempt} of {retry.max_attempts}{delay}: {retry.message}")
        )
    if decision.flags:
        lines.append(field("flags", *decision.flags))
    if decision.state_changes:
        lines.append(
            field("state_changes", json.dumps(decision.to_dict()["state_changes"], default=str))
        )
    lines += [
        field("result", f"{each.session_id}: {each.state}") for each in decision.results[:LISTED]
    ]

    if decision.instruction:
        lines += quoted("instruction", decision.instruction)
    if decision.blockers:
        lines += quoted("blockers", *decision.blockers)
    if decision.questions:
        lines += quoted("questions", *map(_question_text, decision.questions))
    lines += quoted("message", decision.message)

    # The instruction of a rejected reply is its feedback, unless it is not asked for once more.
    feedback = decision.verdict.feedback
    if feedback is not None and feedback != decision.instruction:
        lines += quoted("feedback", feedback)

    return [*lines, *(_remarks(decision.verdict) if decision.verdict.accepted else [])]


def _question_text(question: "Question") -> str:
    """Return a question with its options, for a quotation."""
    parts = [f"{question.id}: {question.text}"]
    parts += [question.context] if question.context else []
    parts += [f"default: {question.default}"] if question.default else []
    parts += [json.dumps(option.to_dict(), ensure_ascii=False) for option in question.options]

    return "\n".join(parts)


def _remarks(verdict: Verdict) -> list[str]:
    """Return what readers of an accepted reply should know of it."""
    # A repair also leaves a warning with the same message; each is listed once.
    repaired = {(repair.rule, repair.line, repair.message) for repair in verdict.repairs}
    warnings = verdict.of_severity(Severity.WARNING)
    others = [each for each in warnings if (each.rule, each.line, each.message) not in repaired]

    # The claims that nobody verified are one line, with the first of them as the example.
    unchecked = [each.message for each in verdict.findings if each.rule == NOT_CHECKED.id]
    more = f" (and {len(unchecked) - 1} more)" if len(unchecked) > 1 else ""

    return [
        *_listed("repair", verdict.repairs),
        *_listed("warning", others),
        *(f"not checked: {paragraph(message)}{more}" for message in unchecked[:1]),
        *_unverified(verdict),
    ]


def _unverified(verdict: Verdict) -> list[str]:
    """Return a line about the claims that were compared with nothing, none without any."""
    if verdict.unverified is None:
        return []
    asked = verdict.unverified.why == NOT_ASKED
    return [verdict.unverified.sentence + ("; check_workspace=true verifies them" if asked else "")]


def report_answer(built: "BuiltReport") -> CallToolResult:
    """Return a built report, whole: its author ends a message with it."""
    lines = [
        f"valid {built.protocol}; end your last message with it, unchanged, and nothing after it:",
        *_secrets(built.redactions),
        *(field("remark", note) for note in built.notes),
        *_listed("remark", built.verdict.findings, most=None),
        "",
        built.text,
    ]
    return answer("\n".join(lines), built.to_dict())


def _listed(
    noun: str, items: Sequence[Finding | Repair], *, most: int | None = LISTED
) -> list[str]:
    """Return a heading and one line an item, or nothing when there are none.

    Without a `most` all are listed, as a tool needs that has no argument `detail`.
    """
    if not items:
        return []

    lines = [f"{counted_noun(len(items), noun)}:"]
    for item in items[:most]:
        place = f"line {item.line}: " if item.line is not None else ""
        lines.append(f"- {place}{excerpt(item.message)} ({item.rule})")

    if most is not None and len(items) > most:
        lines.append(f"… and {len(items) - most} more with detail=full")
    return lines
