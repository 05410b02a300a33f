"""The rows for speckit successes."""

from typing import Any

from goop_mcp.messages import phase_complete, progress
from goop_mcp.routing.counting import progressed
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.messages import (
    ask_for_results,
    checks_without_result,
    named,
    render_notice,
    render_question,
    render_review,
    render_without_result,
)
from goop_mcp.routing.row import RoutingInput, RowList
from goop_mcp.routing.speckit_results import next_names, number_of, paths_of
from goop_mcp.routing.table.speckit_agents import can_start
from goop_mcp.routing.views import OutcomeKind, Question

__all__ = ["ROWS"]

PROTOCOL = "speckit"


# What the reply says


def _first_step(case: RoutingInput) -> str | None:
    return next(iter(next_names(case.report)), None)


def _succeeded(case: RoutingInput) -> bool:
    return case.outcome is OutcomeKind.DONE


def _count(case: RoutingInput, name: str) -> float:
    return number_of(case.report.result.get(name))


# What the decision sets


def _hold_back(case: RoutingInput) -> DecisionFields:
    return {"next_agent": _first_step(case)}


def _progress(case: RoutingInput) -> dict[str, Any]:
    return {**progressed(case.context.counters), "iteration": 0}


# What people read


def _agent(case: RoutingInput) -> str:
    return named(case.report.agent or case.context.expected_agent)


def _render_next(case: RoutingInput, fields: DecisionFields) -> str:
    return render_notice(
        "Next Agent",
        f"✓ {_agent(case)} has finished",
        f"{named(fields.get('next_agent'))} continues",
    )


def _render_unfinished(case: RoutingInput, _fields: DecisionFields) -> str:
    done, total = _count(case, "tasks_completed"), _count(case, "tasks_total")
    words = f"tasks done: {done:g} of {total:g}" if total else "not every task is done"
    return progress(phase="implement", in_progress=[], remarks=[f"{words}; implement continues"])


# What a success still leaves open comes before its next step: ambiguities, tasks, doubts. Otherwise
# the workflow would go on without anybody noticing them.
ROWS = RowList()


ROWS.add(
    rule="S8",
    protocol=PROTOCOL,
    when="specify with clarifications_needed above 0",
    requirements=("S-30",),
    fits=lambda case: (
        _succeeded(case)
        and case.report.agent == "specify"
        and _count(case, "clarifications_needed") > 0
    ),
    actions=(Action.CONTINUE_NEXT,),
    sets=("next_agent", "files_to_read"),
    build=lambda case: {
        "next_agent": "clarify",
        "files_to_read": paths_of(case.report, "spec_file"),
        "state_changes": _progress(case),
    },
    reason=lambda case: (
        f"success, with clarifications_needed {_count(case, 'clarifications_needed'):g}:"
        " clarify continues"
    ),
    message=_render_next,
)


@ROWS.row(
    rule="S9",
    protocol=PROTOCOL,
    when="clarify with remaining_ambiguities above 0",
    requirements=("S-31",),
    fits=lambda case: case.outcome is OutcomeKind.QUESTIONS,
    actions=(Action.ASK_USER,),
    sets=("questions", "next_agent"),
    reason=lambda case: (
        f"success, but remaining_ambiguities is {_count(case, 'remaining_ambiguities'):g}: you"
        " decide"
    ),
    message=render_question,
)
def _ask_ambiguities(case: RoutingInput) -> DecisionFields:
    left = _count(case, "remaining_ambiguities")
    file = next(iter(paths_of(case.report, "spec_file")), None)
    text = (
        f"{left:g} open {'point' if left == 1 else 'points'} in the specification: how should they"
        " be settled?"
    )
    return {"questions": (Question(id="q1", text=text, context=file),), "next_agent": "clarify"}


ROWS.add(
    rule="S10",
    protocol=PROTOCOL,
    when="implement below 100 %",
    requirements=("S-37",),
    fits=lambda case: case.outcome is OutcomeKind.PARTIAL,
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "files_to_read"),
    build=lambda case: {
        "next_agent": "implement",
        "files_to_read": paths_of(case.report, "tasks_file"),
    },
    reason=lambda case: (
        f"success, but completion_percentage is {_count(case, 'completion_percentage'):g}:"
        " implement resumes"
    ),
    message=_render_unfinished,
)


ROWS.add(
    rule="S10b",
    protocol=PROTOCOL,
    when="test with a gate or criterion PASSED that shows no result",
    requirements=("S-38",),
    fits=lambda case: case.outcome is OutcomeKind.WITHOUT_RESULT,
    actions=(Action.RESUME_SAME,),
    sets=("next_agent", "instruction"),
    build=lambda case: {
        "next_agent": case.report.agent,
        "instruction": ask_for_results(case, "FAILED, or NOT_TESTED for a criterion"),
    },
    reason=lambda case: f"success, but {checks_without_result(case)}: {_agent(case)} resumes",
    message=render_without_result,
)


ROWS.add(
    rule="S11",
    protocol=PROTOCOL,
    when="review NEEDS_MANUAL_REVIEW",
    requirements=("S-40",),
    fits=lambda case: (
        case.outcome is OutcomeKind.DONE_WITH_REVIEW and case.report.agent == "review"
    ),
    actions=(Action.HUMAN_REVIEW,),
    sets=("issues",),
    build=lambda case: {"issues": case.report.issues},
    reason=lambda _case: "success, but overall_status is NEEDS_MANUAL_REVIEW: a person looks at it",
    message=lambda _case, fields: render_review("the review asks for a person", fields),
)


ROWS.add(
    rule="S12",
    protocol=PROTOCOL,
    when="research with confidence_level LOW",
    requirements=("S-32",),
    fits=lambda case: case.outcome is OutcomeKind.DONE_WITH_REVIEW,
    actions=(Action.HUMAN_REVIEW,),
    sets=("next_agent",),
    build=_hold_back,
    reason=lambda _case: (
        "success, but confidence_level is LOW: a person looks at it before the next step"
    ),
    message=lambda case, fields: render_review(
        f"{_agent(case)} has finished with confidence_level LOW", fields
    ),
)


ROWS.add(
    rule="S13",
    protocol=PROTOCOL,
    when="next step implement, policy checkpoint_before_implement",
    requirements=("S-11",),
    fits=lambda case: (
        _succeeded(case)
        and _first_step(case) == "implement"
        and case.context.policy.checkpoint_before_implement
    ),
    actions=(Action.HUMAN_REVIEW,),
    sets=("next_agent",),
    build=_hold_back,
    reason=lambda _case: "success, and the next step is implement: a person approves it first",
    message=lambda case, fields: render_review(
        f"{_agent(case)} has finished; the next step is implement", fields
    ),
)


@ROWS.row(
    rule="S14",
    protocol=PROTOCOL,
    when="success with next_steps, the first a known agent",
    requirements=("S-10", "S-11", "S-03"),
    fits=lambda case: _succeeded(case) and can_start(case, _first_step(case)),
    actions=(Action.CONTINUE_NEXT,),
    sets=("next_agent", "instruction", "files_to_read"),
    reason=lambda case: f"success: {_first_step(case)} is the next step",
    message=_render_next,
)
def _go_on(case: RoutingInput) -> DecisionFields:
    names = next_names(case.report)
    words = f"Next: {', then '.join(names)}." if len(names) > 1 else f"Next: {names[0]}."
    return {
        "next_agent": names[0],
        "instruction": words,
        "files_to_read": paths_of(case.report),
        "state_changes": _progress(case),
    }


ROWS.add(
    rule="S15",
    protocol=PROTOCOL,
    when="success, next_steps empty or absent",
    requirements=("S-11",),
    fits=lambda case: _succeeded(case) and _first_step(case) is None,
    actions=(Action.FINISH,),
    reason=lambda _case: "success, and next_steps names nobody: the work is finished",
    message=lambda case, _fields: phase_complete(_agent(case), summary="There is no next step."),
)
