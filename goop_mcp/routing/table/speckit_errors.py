"""The rows for speckit errors and failed gates."""

import re

from goop_mcp.messages import notice
from goop_mcp.routing.counting import another_try, counted
from goop_mcp.routing.decision import Action, DecisionFields
from goop_mcp.routing.feedback_context import compose_feedback_context
from goop_mcp.routing.messages import (
    named,
    render_blockers,
    render_fix,
    render_notice,
    render_question,
)
from goop_mcp.routing.recovery import effective_strategy
from goop_mcp.routing.row import RoutingInput, RowList
from goop_mcp.routing.table.speckit_agents import can_start
from goop_mcp.routing.views import Issue, OutcomeKind, Question
from goop_mcp.validation.findings import counted_noun, excerpt

__all__ = ["ROWS"]

PROTOCOL = "speckit"
_EXHAUSTED = "speckit/feedback-exhausted"
_FIRST_PREVIEWED = 3
_STEP_OF_TYPE = (
    (re.compile(r"requirement|ambigu", re.IGNORECASE), "specify"),
    (re.compile(r"architect|constitution", re.IGNORECASE), "plan"),
    (re.compile(r"coverage|order", re.IGNORECASE), "tasks"),
)


# What the reply says


def _strategy(case: RoutingInput) -> str | None:
    return (
        effective_strategy(case.report.error)
        if case.outcome is OutcomeKind.FAILED and case.report.error
        else None
    )


def _violations(case: RoutingInput) -> tuple[str, ...]:
    found = case.report.result.get("constitution_violations")
    return tuple(map(_in_words, found)) if isinstance(found, list | tuple) else ()


def _in_words(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def _suggested_agent(case: RoutingInput) -> str | None:
    """Return the agent that the error suggests, None when there is none that can be started."""
    suggested = case.report.error.suggested_agent if case.report.error else None
    return suggested if can_start(case, suggested) else None


def _prerequisite(case: RoutingInput) -> str | None:
    return _suggested_agent(case) if _strategy(case) == "run_prerequisite_agent" else None


def _prerequisite_runs(case: RoutingInput) -> int:
    return case.context.counters.prerequisites.get(_prerequisite(case) or "", 0)


def _wants_feedback(case: RoutingInput) -> bool:
    return _strategy(case) == "feedback_loop" or case.outcome is OutcomeKind.GATE_FAILED


def _feedback_limit(case: RoutingInput) -> int:
    """Return the number in the message, or else the limit of this edge."""
    if case.context.max_iterations is not None:
        return case.context.max_iterations
    # The limit of the edge comes second, because the message holds what this workflow agreed on.
    limits = case.context.policy.limits
    return limits.feedback_edges.get(case.report.agent or "", limits.feedback_iterations)


def _feedback_exhausted(case: RoutingInput) -> bool:
    return any(finding.rule == _EXHAUSTED for finding in case.verdict.findings)


def _source_agent(case: RoutingInput) -> str | None:
    """Return who has to run again because of the findings of this agent."""
    agent = case.report.agent
    # Tests and reviews find errors in the code. An analysis is about the documents: the type of its
    # worst issue shows which step wrote the document.
    if agent in ("test", "review"):
        return "implement"
    if agent == "analyze" and case.outcome is OutcomeKind.GATE_FAILED:
        issues = case.report.issues
        kind = issues[0].type if issues else ""
        return next((step for pattern, step in _STEP_OF_TYPE if pattern.search(kind)), "clarify")

    return _suggested_agent(case) or case.same_agent


# What the decision sets


def _error_in_words(case: RoutingInput) -> tuple[str, ...]:
    error = case.report.error
    if error is None:
        return ()
    code = f" ({error.code})" if error.code else ""
    return (f"{error.message or error.type or 'an error without a message'}{code}",)


def _blocked_by_error(case: RoutingInput) -> DecisionFields:
    return {
        "blockers": (*_error_in_words(case), *_violations(case)) or ("an error without a message",)
    }


def _issue_in_words(issue: Issue) -> str:
    return f"{issue.severity}: {issue.message}"


# What people read


def _words(case: RoutingInput) -> str:
    return excerpt("; ".join(_error_in_words(case)) or "no message", 160)


def _kind(case: RoutingInput) -> str:
    return (case.report.error.type if case.report.error else None) or "error"


def _nothing_left(case: RoutingInput) -> str:
    suggested = case.report.error.suggested_agent if case.report.error else None
    if _strategy(case) == "run_prerequisite_agent" and suggested:
        return f"unknown agent {excerpt(suggested, 60)}"
    return "no automatic way is left"


def _agent(case: RoutingInput) -> str:
    return named(case.report.agent or case.context.expected_agent)


def _gate_in_words(case: RoutingInput) -> str:
    if case.outcome is OutcomeKind.FAILED:
        return f"{_kind(case)}: {_words(case)}"
    issues = case.report.issues
    return f"success, but {excerpt(issues[0].message, 120) if issues else 'a gate failed'}"


def _people_reason(case: RoutingInput) -> str:
    if case.outcome is OutcomeKind.FAILED:
        recoverable = case.report.error is not None and case.report.error.recoverable is False
        return (
            f"{_kind(case)}{', not recoverable' if recoverable else ''}: {_words(case)}: resolve it"
            " by hand"
        )

    return (
        f"success, but {counted_noun(len(_violations(case)), 'constitution violation')}: resolve it"
        " by hand"
    )


def _render_feedback(case: RoutingInput, fields: DecisionFields) -> str:
    issues = fields.get("issues") or ()
    lines = [f"✗ {_issue_in_words(issue)}" for issue in issues[:_FIRST_PREVIEWED]]
    turn = f"(iteration {case.context.iteration + 1} of {_feedback_limit(case)})"
    step = f"→ {named(fields.get('next_agent'))} runs again {turn}"
    return notice("Feedback Loop", *lines, step)


def _render_retry(case: RoutingInput, fields: DecisionFields) -> str:
    retry = fields.get("retry")
    wait = f" in {retry.delay_seconds} s" if retry and retry.delay_seconds else ""
    count = f" (attempt {retry.attempt} of {retry.max_attempts})" if retry else ""
    return render_notice(
        "Retry", f"⚠️ {_words(case)}", f"{named(case.same_agent)} tries again{wait}{count}"
    )


# The strategies in order of caution: what only a person can resolve first, then what asks the user,
# then what repeats work. A retry that is used up falls through to the last row, never to another
# kind of retry.
ROWS = RowList()


ROWS.add(
    rule="S1",
    protocol=PROTOCOL,
    when=(
        "error with recoverable false, manual_resolution or ConstitutionViolationError; "
        "plan with constitution_violations"
    ),
    requirements=("S-20", "S-27", "S-33"),
    fits=lambda case: (
        _strategy(case) == "manual_resolution"
        or (case.outcome is OutcomeKind.GATE_FAILED and case.report.agent == "plan")
    ),
    actions=(Action.MANUAL_RESOLUTION,),
    sets=("blockers",),
    build=_blocked_by_error,
    reason=_people_reason,
    message=lambda _case, fields: notice(
        "Manual Resolution",
        *(f"❌ {blocker}" for blocker in (fields.get("blockers") or ())[:5]),
        "→ Resolve this by hand, then run the agent again",
    ),
)


@ROWS.row(
    rule="S2",
    protocol=PROTOCOL,
    when="error with ask_user or BranchExistsError",
    requirements=("S-21",),
    fits=lambda case: _strategy(case) == "ask_user",
    actions=(Action.ASK_USER,),
    sets=("questions",),
    reason=lambda case: f"{_kind(case)}: {_words(case)}: you decide",
    message=render_question,
)
def _ask_about_error(case: RoutingInput) -> DecisionFields:
    error = case.report.error
    text = error.message if error and error.message else "The agent asks for a decision."
    suggested = (error.suggested_agent, error.suggested_reason) if error else ()
    context = ": ".join(filter(None, suggested)) or None
    return {"questions": (Question(id="q1", text=text, context=context),)}


@ROWS.row(
    rule="S3",
    protocol=PROTOCOL,
    when="PrerequisiteError or run_prerequisite_agent, this prerequisite not yet run",
    requirements=("S-17", "S-26"),
    fits=lambda case: (
        bool(_prerequisite(case))
        and _prerequisite_runs(case) < case.context.policy.limits.prerequisite_runs
    ),
    actions=(Action.RUN_PREREQUISITE, Action.RETRY),
    sets=("next_agent", "instruction", "retry"),
    reason=lambda case: (
        f"{_kind(case)}: {_prerequisite(case)} runs first, then {_agent(case)} again"
    ),
    message=lambda case, fields: render_notice(
        "Prerequisite",
        f"⚠️ {_words(case)}",
        f"{named(fields.get('next_agent'))} runs first, then {_agent(case)} again",
    ),
)
def _run_prerequisite(case: RoutingInput) -> DecisionFields:
    # Counted by agent: two errors may name different prerequisites, and one that has run without
    # helping would be run again and again.
    agent, error = _prerequisite(case) or "", case.report.error
    reason = (error.suggested_reason or error.message) if error else ""
    runs = {**case.context.counters.prerequisites, agent: _prerequisite_runs(case) + 1}
    limit = case.context.policy.limits.prerequisite_runs
    message = f"then ask {named(case.same_agent)} again"

    return {
        "next_agent": agent,
        "instruction": reason or f"Run {agent}: {named(case.same_agent)} needs its result.",
        "retry": another_try(_prerequisite_runs(case), limit, message=message),
        "state_changes": counted(prerequisites=runs),
    }


ROWS.add(
    rule="S3b",
    protocol=PROTOCOL,
    when="as S3, the same prerequisite a second time",
    requirements=("S-17",),
    fits=lambda case: bool(_prerequisite(case)),
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=_blocked_by_error,
    reason=lambda case: f"{_kind(case)}, although {_prerequisite(case)} has run: you decide",
    message=render_blockers,
)


@ROWS.row(
    rule="S4",
    protocol=PROTOCOL,
    when=(
        "QualityGateFailure, feedback_loop, or a failed gate (test FAILED, analyze CRITICAL,"
        " review compliance FAIL), iteration below max"
    ),
    requirements=("S-07", "S-19", "S-28", "S-36", "S-38", "S-40"),
    fits=lambda case: _wants_feedback(case) and case.context.iteration < _feedback_limit(case),
    actions=(Action.FEEDBACK_LOOP,),
    sets=("next_agent", "issues", "instruction"),
    reason=lambda case: (
        f"{_gate_in_words(case)}: {named(_source_agent(case))} runs again with the issues"
    ),
    message=_render_feedback,
)
def _feed_back(case: RoutingInput) -> DecisionFields:
    issues, iteration = case.report.issues, case.context.iteration + 1
    source = case.report.agent or case.context.expected_agent or "unknown"
    text = compose_feedback_context(
        source, issues, iteration=iteration, max_iterations=_feedback_limit(case)
    )

    return {
        "next_agent": _source_agent(case),
        "issues": issues,
        "instruction": text,
        "state_changes": {"iteration": iteration},
    }


@ROWS.row(
    rule="S4b",
    protocol=PROTOCOL,
    when="as S4, iteration at max; a FEEDBACK_CONTEXT whose iteration is over its maximum",
    requirements=("S-08",),
    fits=lambda case: _wants_feedback(case) or _feedback_exhausted(case),
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    reason=lambda case: (
        "the feedback loop is used up"
        + (
            ""
            if _feedback_exhausted(case)
            else f" after {counted_noun(case.context.iteration, 'iteration')}"
        )
        + ": you decide"
    ),
    message=render_blockers,
)
def _open_issues(case: RoutingInput) -> DecisionFields:
    if _feedback_exhausted(case):
        words = [finding.message for finding in case.verdict.findings if finding.rule == _EXHAUSTED]
        return {"blockers": tuple(words)}
    issues = case.report.issues
    return {"blockers": tuple(_issue_in_words(issue) for issue in issues) or _error_in_words(case)}


@ROWS.row(
    rule="S5",
    protocol=PROTOCOL,
    when="ExternalServiceError or retry_with_backoff, within limit",
    requirements=("S-23",),
    fits=lambda case: (
        _strategy(case) == "retry_with_backoff"
        and case.context.counters.backoff_retries < case.context.policy.limits.backoff_retries
    ),
    actions=(Action.RETRY_WITH_BACKOFF,),
    sets=("next_agent", "retry"),
    reason=lambda case: f"{_kind(case)}: {_words(case)}: {_agent(case)} tries again after a pause",
    message=_render_retry,
)
def _back_off(case: RoutingInput) -> DecisionFields:
    used, limits = case.context.counters.backoff_retries, case.context.policy.limits
    # Doubling by shifting; the shift is bounded, as a stored counter may be any number.
    delay = min(limits.backoff_first_delay << min(used, 30), limits.backoff_longest_delay)
    return {
        "next_agent": case.same_agent,
        "retry": another_try(
            used, limits.backoff_retries, delay=delay, message="send the same request again"
        ),
        "state_changes": counted(backoff_retries=used + 1),
    }


@ROWS.row(
    rule="S6",
    protocol=PROTOCOL,
    when="TimeoutError or retry, within limit",
    requirements=("S-22",),
    fits=lambda case: (
        _strategy(case) == "retry"
        and case.context.counters.timeout_retries < case.context.policy.limits.timeout_retries
    ),
    actions=(Action.RETRY,),
    sets=("next_agent", "retry"),
    reason=lambda case: f"{_kind(case)}: {_words(case)}: {_agent(case)} tries again",
    message=_render_retry,
)
def _try_again(case: RoutingInput) -> DecisionFields:
    used, limit = case.context.counters.timeout_retries, case.context.policy.limits.timeout_retries
    return {
        "next_agent": case.same_agent,
        "retry": another_try(used, limit, message="send the same request again"),
        "state_changes": counted(timeout_retries=used + 1),
    }


@ROWS.row(
    rule="S7",
    protocol=PROTOCOL,
    when="ValidationError or fix_and_retry, within limit",
    requirements=("S-18",),
    fits=lambda case: (
        _strategy(case) == "fix_and_retry"
        and case.context.counters.fix_retries < case.context.policy.limits.fix_retries
    ),
    actions=(Action.FIX_AND_RETRY,),
    sets=("next_agent", "instruction"),
    reason=lambda case: f"{_kind(case)}: {_words(case)}: {_agent(case)} fixes it and runs again",
    message=lambda case, _fields: render_fix(_words(case), case),
)
def _fix(case: RoutingInput) -> DecisionFields:
    details = [
        f"- {excerpt(str(name), 60)}: {excerpt(_in_words(value), 200)}"
        for name, value in (case.report.error.details if case.report.error else {}).items()
    ]
    return {
        "next_agent": case.same_agent,
        "instruction": "\n".join(["Fix this and run again:", *_error_in_words(case), *details]),
        "state_changes": counted(fix_retries=case.context.counters.fix_retries + 1),
    }


ROWS.add(
    rule="S7b",
    protocol=PROTOCOL,
    when="S5, S6 or S7 over the limit; any other error",
    requirements=("S-18", "S-22", "S-23"),
    fits=lambda case: case.outcome is OutcomeKind.FAILED,
    actions=(Action.ASK_USER,),
    sets=("blockers",),
    build=_blocked_by_error,
    reason=lambda case: f"{_kind(case)}: {_words(case)}: {_nothing_left(case)}, you decide",
    message=render_blockers,
)
