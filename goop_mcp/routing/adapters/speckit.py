"""Speckit answers in the common model."""

from collections.abc import Mapping
from typing import Any

from goop_mcp.protocols.speckit.model import AgentInput, ErrorDetail, Response, Status, plain_agent
from goop_mcp.protocols.speckit.rules.contradictions import checks_without_result
from goop_mcp.routing.adapters.adapter import Adapter, OutcomeRow, first_outcome
from goop_mcp.routing.speckit_results import issues_of_error, issues_of_result, number_of
from goop_mcp.routing.views import (
    NOTHING,
    CheckView,
    ErrorView,
    Issue,
    NextStep,
    OutcomeKind,
    ReportView,
)
from goop_mcp.validation.verdict import Verdict

__all__ = ["ADAPTER"]

_ALL_TASKS = 100


def _agent(response: Response) -> str:
    return plain_agent(response.agent or "")


def _result(response: Response) -> Mapping[str, Any]:
    return response.result or NOTHING


def _inner(values: Mapping[str, Any], name: str, key: str) -> object:
    inner = values.get(name)
    return inner.get(key) if isinstance(inner, Mapping) else None


def _above_zero(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _has_critical_findings(response: Response) -> bool:
    """Return whether an analysis counts or lists a critical finding; either is enough."""
    if _agent(response) != "analyze":
        return False

    result = _result(response)
    listed = result.get("findings")

    return _above_zero(_inner(result, "findings_by_severity", "CRITICAL")) or any(
        isinstance(each, Mapping) and each.get("severity") == "CRITICAL"
        for each in (listed if isinstance(listed, list | tuple) else ())
    )


def _leaves_tasks(response: Response) -> bool:
    """Return whether an implementation leaves a task by percentage or counts; the worse counts."""
    if _agent(response) != "implement":
        return False

    result = _result(response)
    percentage = result.get("completion_percentage")
    done, total = (number_of(result.get(name)) for name in ("tasks_completed", "tasks_total"))
    return (isinstance(percentage, int | float) and percentage < _ALL_TASKS) or done < total


# Errors first, then what a success hides, and only then success itself (D-45).
OUTCOMES = (
    OutcomeRow("error", lambda response: response.status is Status.ERROR, OutcomeKind.FAILED),
    OutcomeRow(
        "no status", lambda response: response.status is not Status.SUCCESS, OutcomeKind.UNKNOWN
    ),
    OutcomeRow(
        "success, test FAILED",
        lambda response: (
            _agent(response) == "test" and _result(response).get("overall_status") == "FAILED"
        ),
        OutcomeKind.GATE_FAILED,
    ),
    OutcomeRow(
        "success, analyze with CRITICAL above 0", _has_critical_findings, OutcomeKind.GATE_FAILED
    ),
    OutcomeRow(
        "success, plan with constitution_violations",
        lambda response: (
            _agent(response) == "plan" and bool(_result(response).get("constitution_violations"))
        ),
        OutcomeKind.GATE_FAILED,
    ),
    OutcomeRow(
        "success, review with compliance FAIL",
        lambda response: (
            _agent(response) == "review"
            and _inner(_result(response), "constitution_compliance", "status") == "FAIL"
        ),
        OutcomeKind.GATE_FAILED,
    ),
    OutcomeRow(
        "success, test with a passed gate or criterion that shows no result",
        lambda response: bool(checks_without_result(response)),
        OutcomeKind.WITHOUT_RESULT,
    ),
    OutcomeRow(
        "success, review NEEDS_MANUAL_REVIEW",
        lambda response: (
            _agent(response) == "review"
            and _result(response).get("overall_status") == "NEEDS_MANUAL_REVIEW"
        ),
        OutcomeKind.DONE_WITH_REVIEW,
    ),
    OutcomeRow(
        "success, research LOW",
        lambda response: (
            _agent(response) == "research" and _result(response).get("confidence_level") == "LOW"
        ),
        OutcomeKind.DONE_WITH_REVIEW,
    ),
    OutcomeRow(
        "success, clarify with remaining_ambiguities",
        lambda response: (
            _agent(response) == "clarify"
            and _above_zero(_result(response).get("remaining_ambiguities"))
        ),
        OutcomeKind.QUESTIONS,
    ),
    OutcomeRow("success, implement below 100 %", _leaves_tasks, OutcomeKind.PARTIAL),
    OutcomeRow("any other success", lambda _response: True, OutcomeKind.DONE),
)


def _read(verdict: Verdict) -> ReportView:
    response = verdict.envelope
    if isinstance(response, AgentInput):
        return ReportView(outcome=OutcomeKind.INPUT)
    if not isinstance(response, Response):
        return ReportView(outcome=OutcomeKind.INVALID)

    rejected = not verdict.accepted or response.partial
    outcome = OutcomeKind.INVALID if rejected else first_outcome(OUTCOMES, response)
    error = None if response.error is None else _error(response.error)
    result = _result(response)
    confidence = result.get("confidence_level")

    # What another agent or a person has to look at; nothing where all is well.
    issues: tuple[Issue, ...] = ()
    if error is not None:
        issues = issues_of_error(error)
    elif outcome in (OutcomeKind.GATE_FAILED, OutcomeKind.DONE_WITH_REVIEW):
        issues = issues_of_result(result, _agent(response))

    return ReportView(
        outcome=outcome,
        native_status=response.status.value if response.status else None,
        agent=plain_agent(response.agent) if response.agent else None,
        checks_without_result=tuple(
            [CheckView(name, True, text) for name, text in checks_without_result(response)]
            if outcome is OutcomeKind.WITHOUT_RESULT
            else ()
        ),
        next=tuple([NextStep(plain_agent(step)) for step in response.next_steps]),
        error=error,
        issues=issues,
        confidence=confidence if isinstance(confidence, str) else None,
        result=result,
        extensions=response.extensions,
    )


def _error(error: ErrorDetail) -> ErrorView:
    action = error.suggested_action
    return ErrorView(
        type=error.type,
        code=error.code,
        message=error.message or "",
        recoverable=error.recoverable,
        strategy=error.recovery_strategy,
        suggested_agent=plain_agent(action.agent) if action and action.agent else None,
        suggested_reason=action.reason if action else None,
        details=error.details or NOTHING,
    )


ADAPTER = Adapter(
    protocol="speckit",
    outcomes=OUTCOMES,
    read=_read,
    # A context is what an agent was given: no agent can be asked to repair it.
    asks_for_repair=lambda verdict: not isinstance(verdict.envelope, AgentInput),
    routed_by_content=frozenset(
        {
            "speckit/success-with-failed-gate",
            "speckit/success-but-unfinished",
            "speckit/low-confidence",
        }
    ),
)
