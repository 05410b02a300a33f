"""From the models of speckit to the texts; reading what is written gives the same model again."""

import json
from collections.abc import Mapping

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.speckit.contexts import holds_marker
from goop_mcp.protocols.speckit.model import (
    AgentInput,
    Response,
    Values,
)
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["write_input", "write_response"]


def write_response(response: Response) -> str:
    """Return `response` as JSON, indented by two blanks, ending with a line feed.

    Parts that are None are left out. Raises NotWritableError when the answer is marked as partial,
    or when something is called like a field of the envelope or cannot be expressed in JSON.
    """
    _refuse_partial(partial=response.partial)
    error, written = response.error, None
    if error is not None:
        action = error.suggested_action
        written = _together(
            {
                "type": error.type,
                "code": error.code,
                "message": error.message,
                "details": error.details,
                "recoverable": error.recoverable,
                "recovery_strategy": error.recovery_strategy,
                "suggested_action": None
                if action is None
                else _together({"agent": action.agent, "reason": action.reason}, action.extensions),
            },
            error.extensions,
        )

    return _json(
        {
            "agent": response.agent,
            "status": None if response.status is None else response.status.value,
            "timestamp": response.timestamp,
            "execution_time_ms": response.execution_time_ms,
            "result": response.result,
            "error": written,
        },
        response.extensions,
    )


def write_input(given: AgentInput) -> str:
    """Return the whole input of an agent: contexts, then the user's request and a line feed.

    Raises NotWritableError as `write_response` does, also when the request would be read as a
    context.
    """
    _refuse_partial(partial=given.partial)
    parts = []
    if given.workflow_context is not None:
        workflow = given.workflow_context
        fields: dict[str, JsonValue] = {
            "workflow_id": workflow.workflow_id,
            "feature_id": workflow.feature_id,
            "feature_dir": workflow.feature_dir,
            "previous_results": workflow.previous_results,
        }
        parts.append(f"WORKFLOW_CONTEXT:\n{_json(fields, workflow.extensions)}")

    if given.feedback_context is not None:
        feedback = given.feedback_context
        issues = [
            _together(
                {
                    "severity": issue.severity,
                    "type": issue.type,
                    "message": issue.message,
                    "location": issue.location,
                    "recommendation": issue.recommendation,
                },
                issue.extensions,
            )
            for issue in feedback.issues_to_fix
        ]
        fields = {
            "feedback_from": feedback.feedback_from,
            "iteration": feedback.iteration,
            "max_iterations": feedback.max_iterations,
            "issues_to_fix": issues,
        }
        parts.append(f"FEEDBACK_CONTEXT:\n{_json(fields, feedback.extensions)}")

    if given.user_request is not None:
        words = given.user_request
        if not words or words != words.strip():
            raise NotWritableError(
                "the user's request is blank or has blanks around it; give the request alone"
            )

        if holds_marker(f"{words}\n"):
            raise NotWritableError(
                "a line of the user's request reads like a context; indent or reword it"
            )
        parts.append(f"USER_REQUEST: {given.user_request}\n")

    return "\n".join(parts)


def _together(values: Mapping[str, JsonValue], extensions: Values) -> Values:
    for name in extensions:
        if name in values:
            raise NotWritableError(
                f"extension {name!r} is called like a field of the envelope; set the field itself"
            )

    return {**{name: value for name, value in values.items() if value is not None}, **extensions}


def _json(values: Mapping[str, JsonValue], extensions: Values) -> str:
    together = _together(values, extensions)
    try:
        # Without allow_nan=False, NaN and Infinity would be written, which no JSON reader has to
        # accept.
        text = json.dumps(together, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotWritableError(
            "a value cannot be expressed in JSON; use texts, numbers, lists and objects"
        ) from error

    return f"{text}\n"


def _refuse_partial(*, partial: bool) -> None:
    if partial:
        raise NotWritableError("what was cut off cannot be written as a whole; ask the agent again")
