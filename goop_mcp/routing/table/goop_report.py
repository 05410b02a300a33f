"""The rows for `<goop_report>`."""

import re
from typing import Any

from goop_mcp.messages import (
    Choice,
    Position,
    TaskLine,
    decision_required,
    gate_blocked,
    phase_complete,
    progress,
    session_handoff,
)
from goop_mcp.routing import views
from goop_mcp.routing.counting import counted, progressed
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.deviations import parse_deviations
from goop_mcp.routing.held_back import NOT_READY, is_held_back, waits_for_decision
from goop_mcp.routing.messages import ask_for_results, checks_without_result, failed_checks, named
from goop_mcp.routing.row import RoutingInput, RowList
from goop_mcp.routing.views import OutcomeKind, ReportView
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.agents import NEXT_AGENT_ALIASES, SPECIAL_NEXT_AGENTS, is_agent_name
from goop_mcp.workflow.commands import usual_next_of_phase
from goop_mcp.workflow.task_ids import parse_task_id, same_task

__all__ = ["ROWS"]

PROTOCOL = "goop_report"
_VERIFIER = "goop-verifier"
_ACCEPT = "/goop-accept"
_TASK_AT_START = re.compile(
    r"\s*(W\d{1,6}\.T\d{1,6}|Task\s\d{1,6}\.\d{1,6})\s*(?:[:–-]\s*)?", re.IGNORECASE
)


# What the report contains


def _next_agent(case: RoutingInput) -> str | None:
    agent = case.report.next[0].agent if case.report.next else None
    return NEXT_AGENT_ALIASES.get(agent, agent) if agent else None


def _next_text(case: RoutingInput) -> str | None:
    return (case.report.next[0].text or None) if case.report.next else None


def _goes_to_agent(case: RoutingInput) -> bool:
    """Return whether the next agent can be started; any other name is left to the user."""
    agent = _next_agent(case)
    return agent is not None and (is_agent_name(agent) or agent in case.context.known_agents)


def _phase(case: RoutingInput) -> str | None:
    return case.report.phase or case.context.phase


def _is_last_task(case: RoutingInput) -> bool:
    # A verifier counts on in the same numbers: only execution ends with its last task.
    return case.report.is_last_task and _phase(case) in (None, "execute")


def _command(case: RoutingInput) -> str | None:
    """Return the command of the project, else of the report, else of its phase (D-37)."""
    if case.context.next_command:
        return case.context.next_command
    if case.report.next_command:
        return case.report.next_command

    phase = _phase(case)
    if phase is None:
        return None

    finished = case.outcome is OutcomeKind.DONE and _is_last_task(case)

    return usual_next_of_phase(
        phase,
        tasks_remain=not finished,
        profile=case.context.profile,
        version=case.context.package_version,
    )


def _partials_before(case: RoutingInput) -> int:
    """Return how many PARTIAL reports of this very task came just before."""
    before, now = case.context.task_id, case.report.task_id
    if before and now and not same_task(before, now):
        return 0
    return case.context.counters.partials


# What the decision sets


def _another_partial(case: RoutingInput) -> dict[str, Any]:
    changes = progressed(case.context.counters)
    changes["counters"] |= counted(partials=_partials_before(case) + 1)["counters"]
    if case.report.task_id:
        changes["task_id"] = case.report.task_id
    return changes


def _resume(case: RoutingInput) -> DecisionFields:
    return {
        "next_agent": case.same_agent,
        "instruction": _next_text(case),
        "files_to_read": case.report.files_to_read,
        "state_changes": _another_partial(case),
    }


def _hand_over(case: RoutingInput) -> DecisionFields:
    return {
        "next_command": _command(case),
        "new_session": True,
        "files_to_read": case.report.files_to_read,
        "instruction": _next_text(case),
        "state_changes": progressed(case.context.counters),
    }


def _go_on(case: RoutingInput) -> DecisionFields:
    return {
        "next_agent": _next_agent(case),
        "instruction": _next_text(case),
        "files_to_read": case.report.files_to_read,
        "state_changes": progressed(case.context.counters),
    }


# What people read


def _task(case: RoutingInput) -> str:
    return case.report.task_id or "the task"


def _position(position: views.PositionView | None) -> Position:
    return Position() if position is None else Position(position.current, position.total)


def _task_line(report: ReportView) -> TaskLine:
    words = report.task_name or report.summary or report.task_id or "the task"
    return TaskLine(_number(report.task_id), words)


def _number(task_id: str | None) -> str | None:
    task = parse_task_id(task_id) if task_id else None
    return None if task is None or task.task is None else f"{task.wave}.{task.task}"


def _remarks(case: RoutingInput) -> tuple[str, ...]:
    return (f"Blocker in the report: {case.report.blockers}",) if case.report.blockers else ()


def _render_blocked(_case: RoutingInput, fields: DecisionFields) -> str:
    questions = fields.get("questions") or ()
    if not questions:
        return decision_required(
            (fields.get("blockers") or ("",))[0], question="How should it continue?"
        )

    first = questions[0]
    words = f"RULE {first.rule} DEVIATION: {first.text}" if first.rule else first.text
    choices = [Choice(option.letter, option.text) for option in first.options]

    return decision_required(
        words, choices, question=None if choices else "How should it continue?"
    )


def _render_progress(case: RoutingInput, fields: DecisionFields) -> str:
    text = fields.get("instruction") or ""
    task = _TASK_AT_START.match(text)
    following = TaskLine(_number(task[1]) if task else None, text[task.end() if task else 0 :])

    return progress(
        phase=_phase(case) or "–",
        wave=_position(case.report.wave),
        task=_position(case.report.task),
        completed=[_task_line(case.report)],
        in_progress=[following] if text else [],
        remarks=_remarks(case),
    )


def _render_handoff(case: RoutingInput, fields: DecisionFields) -> str:
    report = case.report
    files = [f"{each.action or 'touched'} {each.path}" for each in report.files]
    commits = [f"commit {each.sha or '?'} {each.message}" for each in report.commits]

    return session_handoff(
        accomplished=[
            report.summary or report.task_name or "nothing reported",
            *files,
            *commits,
        ],
        phase=_phase(case) or "–",
        spec_locked=case.report.spec_locked,
        wave=_position(case.report.wave),
        next_command=fields.get("next_command"),
        remarks=_remarks(case),
    )


def _is_done(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.DONE


def _is_partial(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.PARTIAL


ROWS = RowList()


# First, because no later row may go on without a decision that the report leaves to the user.
@ROWS.row(
    rule="G1",
    protocol=PROTOCOL,
    when=(
        "BLOCKED; PARTIAL or CHECKPOINT with a blocker that names a decision (RULE 4 or options)"
    ),
    requirements=("G-45", "G-51", "G-52", "G-56"),
    fits=lambda case: (
        case.outcome is OutcomeKind.BLOCKED or waits_for_decision(case.outcome, case.report)
    ),
    actions=(Action.ASK_USER,),
    sets=("blockers", "questions", "next_agent"),
    reason=lambda case: (
        f"{case.report.native_status}:"
        f" {excerpt(case.report.blockers or 'no reason given', 120)}: you decide"
    ),
    message=_render_blocked,
)
def _blocked(case: RoutingInput) -> DecisionFields:
    blockers = case.report.blockers or case.report.summary or "no reason given"
    return {
        "blockers": (blockers,),
        "questions": parse_deviations(blockers),
        "next_agent": _next_agent(case),
    }


@ROWS.row(
    rule="G2",
    protocol=PROTOCOL,
    when="COMPLETE with a failed check",
    requirements=("G-47",),
    fits=lambda case: case.outcome is OutcomeKind.GATE_FAILED,
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "instruction"),
    reason=lambda case: f"COMPLETE, but {failed_checks(case)}: the same task continues",
    message=lambda case, _fields: gate_blocked(
        f"{_task(case)} is COMPLETE, but {failed_checks(case)}",
        details=[
            f"{check.name}: {check.evidence or 'failed'}" for check in case.report.failed_checks
        ],
    ),
)
def _fix_checks(case: RoutingInput) -> DecisionFields:
    checks = [
        f"- {excerpt(check.name, 80)}: {excerpt(check.evidence, 300) or 'no evidence given'}"
        for check in case.report.failed_checks
    ]
    task = f" of {case.report.task_id}" if case.report.task_id else ""
    words = f"These checks{task} failed. Fix the cause, run them again, and report:"
    return {"next_agent": case.same_agent, "instruction": "\n".join([words, *checks])}


# Before the rows that go on: a task that is blocked must not start the next step (D-90).
ROWS.add(
    rule="G2b",
    protocol=PROTOCOL,
    when="COMPLETE with a real blocker, or ready=false",
    requirements=("G-32", "G-41"),
    fits=lambda case: is_held_back(case.outcome, case.report),
    actions=(Action.ASK_USER,),
    sets=("blockers", "instruction", "next_agent"),
    build=lambda case: {
        "blockers": (case.report.blockers or NOT_READY,),
        "instruction": _next_text(case),
        "next_agent": _next_agent(case),
    },
    reason=lambda case: (
        f"COMPLETE, but {excerpt(case.report.blockers or NOT_READY, 120)}: you decide"
    ),
    message=lambda case, fields: _render_blocked(
        case,
        {
            **fields,
            "questions": parse_deviations((fields.get("blockers") or (NOT_READY,))[0]),
        },
    ),
)


# After the blockers: what a person has to decide first, the agent cannot run.
@ROWS.row(
    rule="G2c",
    protocol=PROTOCOL,
    when="COMPLETE with a passed check that shows no result",
    requirements=("G-44", "G-47"),
    fits=lambda case: case.outcome is OutcomeKind.WITHOUT_RESULT,
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "instruction"),
    reason=lambda case: f"COMPLETE, but {checks_without_result(case)}: the same task continues",
    message=lambda case, _fields: gate_blocked(
        f"{_task(case)} is COMPLETE, but {checks_without_result(case)}: run it, or report it as not"
        " run",
        details=[
            f"{check.name}: {check.evidence or 'no text'}"
            for check in case.report.checks_without_result
        ],
    ),
)
def _run_checks(case: RoutingInput) -> DecisionFields:
    return {
        "next_agent": case.same_agent,
        "instruction": ask_for_results(
            case, 'passed="false" with the reason, and PARTIAL or BLOCKED'
        ),
    }


# Before the rows that resume: once more would repeat what has not helped so far.
@ROWS.row(
    rule="G7c",
    protocol=PROTOCOL,
    when="PARTIAL, same task more often in a row than the limit (3)",
    requirements=("G-55", "P-11"),
    fits=lambda case: (
        _is_partial(case) and _partials_before(case) >= case.context.policy.limits.partials_in_a_row
    ),
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    reason=lambda case: (
        f"PARTIAL {_partials_before(case) + 1} times in a row on {_task(case)}: you decide"
    ),
    message=lambda _case, fields: decision_required(
        (fields.get("blockers") or ("",))[0], question="How should it continue?"
    ),
)
def _no_progress(case: RoutingInput) -> DecisionFields:
    times = _partials_before(case) + 1
    words = (
        f"no progress on task {case.report.task_id or case.report.task_name or '?'}: PARTIAL"
        f" {times} times in a row"
    )
    return {"blockers": (words,), "state_changes": _another_partial(case)}


ROWS.add(
    rule="G7b",
    protocol=PROTOCOL,
    when="PARTIAL, suggest_new_session true",
    requirements=("G-50", "G-55"),
    fits=lambda case: _is_partial(case) and case.report.new_session is True,
    actions=(Action.SAVE_STATE, Action.NEW_SESSION, Action.RESUME_SAME),
    sets=("next_agent", "instruction", "next_command", "new_session", "files_to_read"),
    build=lambda case: {**_resume(case), "next_command": _command(case), "new_session": True},
    reason=lambda case: (
        f"PARTIAL with a new session suggested: {named(case.same_agent)} resumes {_task(case)}"
        " there"
    ),
    message=_render_handoff,
)


ROWS.add(
    rule="G7",
    protocol=PROTOCOL,
    when="PARTIAL",
    requirements=("G-55", "P-11"),
    fits=_is_partial,
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "instruction", "files_to_read"),
    build=_resume,
    reason=lambda case: f"PARTIAL: {named(case.same_agent)} resumes {_task(case)}",
    message=lambda case, _fields: progress(
        phase=_phase(case) or "–",
        wave=_position(case.report.wave),
        task=_position(case.report.task),
        in_progress=[_task_line(case.report)],
        remarks=_remarks(case),
    ),
)


# A checkpoint asks for a new session unless the report says otherwise.
ROWS.add(
    rule="G8",
    protocol=PROTOCOL,
    when="CHECKPOINT, suggest_new_session true or absent",
    requirements=("G-57", "P-11"),
    fits=lambda case: (
        case.outcome is OutcomeKind.CHECKPOINT and case.report.new_session is not False
    ),
    actions=(Action.SAVE_STATE, Action.NEW_SESSION),
    sets=("next_command", "new_session", "files_to_read", "instruction"),
    build=_hand_over,
    reason=lambda _case: "CHECKPOINT: the state is saved, and the work continues in a new session",
    message=_render_handoff,
)


# A check that failed or shows no result leaves the checkpoint to the user, in the last row.
ROWS.add(
    rule="G8b",
    protocol=PROTOCOL,
    when=(
        "CHECKPOINT, suggest_new_session false, an agent is named, no check failed or without"
        " result"
    ),
    requirements=("G-57",),
    fits=lambda case: (
        case.outcome is OutcomeKind.CHECKPOINT
        and (_goes_to_agent(case) or _next_agent(case) == "orchestrator")
        and not case.report.failed_checks
        and not case.report.checks_without_result
    ),
    actions=(Action.SAVE_STATE, Action.CONTINUE_NEXT),
    sets=("next_agent", "instruction", "files_to_read"),
    build=_go_on,
    reason=lambda case: (
        f"CHECKPOINT without a new session: the state is saved, {_next_agent(case)} continues"
    ),
    message=_render_progress,
)


ROWS.add(
    rule="G3",
    protocol=PROTOCOL,
    when="COMPLETE, suggest_new_session true",
    requirements=("G-50", "G-54"),
    fits=lambda case: _is_done(case) and case.report.new_session is True,
    actions=(Action.SAVE_STATE, Action.NEW_SESSION),
    sets=("next_agent", "instruction", "next_command", "new_session", "files_to_read"),
    build=lambda case: {**_hand_over(case), "next_agent": _next_agent(case)},
    reason=lambda _case: (
        "COMPLETE with a new session suggested: the state is saved and handed over"
    ),
    message=_render_handoff,
)


ROWS.add(
    rule="G4",
    protocol=PROTOCOL,
    when="COMPLETE, next agent orchestrator or user",
    requirements=("G-30", "G-54"),
    fits=lambda case: _is_done(case) and _next_agent(case) in SPECIAL_NEXT_AGENTS,
    actions=(Action.ASK_USER,),
    sets=("instruction", "next_command"),
    build=lambda case: {
        "instruction": _next_text(case),
        "next_command": _command(case),
        "state_changes": progressed(case.context.counters),
    },
    reason=lambda case: f"COMPLETE, and the next step is for the {_next_agent(case)}",
    message=lambda case, fields: decision_required(
        case.report.summary or f"{_task(case)} is COMPLETE",
        question=fields.get("instruction") or "How should it continue?",
    ),
)


@ROWS.row(
    rule="G5",
    protocol=PROTOCOL,
    when=(
        "COMPLETE, last task of the last wave (wave n/n and task m/m), execution gate not known"
        " to be closed"
    ),
    requirements=("G-58",),
    fits=lambda case: (
        _is_done(case) and _is_last_task(case) and case.context.execution_gate is not False
    ),
    actions=(Action.SAVE_STATE, Action.CONTINUE_NEXT),
    sets=("next_agent", "next_command", "instruction"),
    reason=lambda case: (
        f"COMPLETE, and {_task(case)} was the last task of the last wave: {_VERIFIER} takes over"
    ),
    message=lambda case, fields: phase_complete(
        "Execute",
        summary=case.report.summary or "every wave is done",
        next_command=fields.get("next_command"),
        remarks=_remarks(case),
    ),
)
def _verify(case: RoutingInput) -> DecisionFields:
    text = _next_text(case) if _next_agent(case) == _VERIFIER else None
    return {
        "next_agent": _VERIFIER,
        "next_command": _ACCEPT,
        "instruction": (
            text
            or "Verify every must-have of SPEC.md against the work, then ask the user to accept it."
        ),
        "state_changes": progressed(case.context.counters),
    }


ROWS.add(
    rule="G6",
    protocol=PROTOCOL,
    when="COMPLETE, an agent is named",
    requirements=("G-54", "G-48"),
    fits=lambda case: _is_done(case) and _goes_to_agent(case) and not _is_last_task(case),
    actions=(Action.SAVE_STATE, Action.CONTINUE_NEXT),
    sets=("next_agent", "instruction", "files_to_read", "next_command"),
    build=lambda case: {**_go_on(case), "next_command": _command(case)},
    reason=lambda case: f"COMPLETE: {_next_agent(case)} continues with the next task",
    message=_render_progress,
)
