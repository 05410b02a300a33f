"""From the values of a JSON object to the models of speckit; what is odd is noted on the way."""

from typing import TypeVar

from goop_mcp.protocols.speckit import tables
from goop_mcp.protocols.speckit.model import (
    ErrorDetail,
    FeedbackContext,
    Issue,
    Response,
    Status,
    SuggestedAction,
    Values,
    WorkflowContext,
)
from goop_mcp.protocols.speckit.rules import structure
from goop_mcp.validation.json_members import count_in, flag_in, number_in, others_in, text_in
from goop_mcp.validation.json_reading import ParsedValues
from goop_mcp.validation.json_values import Field, Fields, ValueReader
from goop_mcp.validation.paths import PathBounds
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.safe_json import JsonObjectValue
from goop_mcp.validation.template_text import is_template

__all__ = ["read_feedback", "read_response", "read_workflow"]

T = TypeVar("T")

# An envelope lacks a part when one of these is reported: its last brace is not closed then (D-16).
_INCOMPLETE: tuple[Rule, ...] = (
    structure.MISSING_FIELD,
    structure.MISSING_RESULT_FIELD,
    structure.EXECUTION_TIME_MISSING,
    structure.ANALYSIS_REPORT_MISSING,
    structure.NEXT_STEPS_MISSING,
)
_ENVELOPE_KEYS = frozenset({"agent", "status", "timestamp", "execution_time_ms", "result", "error"})
_ERROR_KEYS = frozenset(field.name for field in tables.ERROR)
_ACTION_KEYS = frozenset({"agent", "reason"})
_WORKFLOW_KEYS = frozenset(field.name for field in tables.WORKFLOW)
_FEEDBACK_KEYS = frozenset(field.name for field in tables.FEEDBACK)
_ISSUE_KEYS = frozenset({"severity", "type", "message", "location", "recommendation"})


def read_response(values: JsonObjectValue, bounds: PathBounds) -> ParsedValues[Response]:
    """Read an agent's answer; what lenient mode repairs is set in `values` too."""
    reader = ValueReader(tables.VALUE_RULES, bounds)
    reader.look_for_template_text(values)
    reader.fields(_ENVELOPE, values, "")
    status = _STATUSES.get(str(values.get("status")))
    if status is Status.SUCCESS:
        reader.fields(_WITH_RESULT, values, "")

    # Each agent has a table of its own; a result without one may still have next steps.
    result = values.get("result")
    if isinstance(result, dict) and status is not Status.ERROR:
        agent = values.get("agent")
        table = _RESULTS.get(agent) if isinstance(agent, str) else None
        reader.fields(_NEXT_STEPS if table is None else table, result, "/result")

    if status is Status.ERROR:
        reader.fields(_WITH_ERROR, values, "")
    elif status is None and isinstance(error := values.get("error"), dict):
        reader.fields(tables.ERROR_OBJECT, error, "/error")

    # "status is success or error; success has result and no error, error has error and no result"
    # (S-13)
    wrong = (
        {Status.SUCCESS: "error", Status.ERROR: "result"}.get(status)
        if status is not None
        else None
    )
    both = values.get("result") is not None and values.get("error") is not None
    if wrong is None and both:
        message = "both result and error are there; expected the one that fits the status"
        reader.problems.append(structure.RESULT_AND_ERROR.problem(message, path="/error"))
    elif wrong is not None and values.get(wrong) is not None:
        message = f"status is {status}, and {wrong} is there; expected none"
        reader.problems.append(structure.RESULT_AND_ERROR.problem(message, path=f"/{wrong}"))
    reader.template_texts(values)
    result, error = values.get("result"), values.get("error")
    response = Response(
        agent=text_in(values, "agent"),
        status=status,
        timestamp=text_in(values, "timestamp"),
        execution_time_ms=number_in(values, "execution_time_ms"),
        result=result if isinstance(result, dict) else None,
        error=_error(error) if isinstance(error, dict) else None,
        extensions=others_in(values, _ENVELOPE_KEYS),
    )

    return _parsed(response, reader)


_STATUSES = {status.value: status for status in Status}
_ENVELOPE = Fields(tables.ENVELOPE, others=_ENVELOPE_KEYS)
_WITH_RESULT = Fields(
    [
        Field(
            "result",
            tables.RESULT,
            structure.MISSING_FIELD,
            "an object with the fields of your table",
        )
    ],
    others=_ENVELOPE_KEYS,
)
_WITH_ERROR = Fields(
    [
        Field(
            "error",
            tables.ERROR_OBJECT,
            structure.MISSING_FIELD,
            "an object with type, code and message",
        )
    ],
    others=_ENVELOPE_KEYS,
)
_NEXT_STEPS = Fields(tables.NEXT_STEPS)
_RESULTS = {agent: Fields((*table, *tables.NEXT_STEPS)) for agent, table in tables.RESULTS.items()}
_PREVIOUS = {agent: Fields(table) for agent, table in tables.RESULTS.items()}
_WORKFLOW, _FEEDBACK = Fields(tables.WORKFLOW), Fields(tables.FEEDBACK)


def _error(values: Values) -> ErrorDetail:
    details, action = values.get("details"), values.get("suggested_action")
    return ErrorDetail(
        type=text_in(values, "type"),
        code=text_in(values, "code"),
        message=text_in(values, "message"),
        recoverable=flag_in(values, "recoverable"),
        recovery_strategy=text_in(values, "recovery_strategy"),
        details=details if isinstance(details, dict) else None,
        suggested_action=SuggestedAction(
            agent=text_in(action, "agent") or None,
            reason=text_in(action, "reason"),
            extensions=others_in(action, _ACTION_KEYS),
        )
        if isinstance(action, dict)
        else None,
        extensions=others_in(values, _ERROR_KEYS),
    )


# What agents are given


def read_workflow(values: JsonObjectValue, bounds: PathBounds) -> ParsedValues[WorkflowContext]:
    """Read a WORKFLOW_CONTEXT."""
    reader = ValueReader(tables.VALUE_RULES, bounds)
    reader.fields(_WORKFLOW, values, "")
    # Earlier answers may quote template text; they were judged when they came.
    reader.template_texts(values, but="previous_results")
    previous = values.get("previous_results")
    answers = previous if isinstance(previous, dict) else {}

    for agent, answer in answers.items():
        if isinstance(agent, str) and is_template(agent):
            reader.placeholder(agent, "/previous_results", agent, "the name of an agent")
        if isinstance(answer, dict):
            # An earlier answer was judged when it came; only its paths are checked again, since
            # the workspace may be another one by now.
            table, result = _PREVIOUS.get(agent), answer.get("result")
            if table is not None and isinstance(result, dict):
                seen = ValueReader(reader.rules, reader.bounds)
                seen.fields(table, result, f"/previous_results/{agent}/result")
                reader.problems += [each for each in seen.problems if each.rule.family == "path"]

    context = WorkflowContext(
        workflow_id=text_in(values, "workflow_id"),
        feature_id=text_in(values, "feature_id"),
        feature_dir=text_in(values, "feature_dir"),
        previous_results={
            agent: answer for agent, answer in answers.items() if isinstance(answer, dict)
        },
        extensions=others_in(values, _WORKFLOW_KEYS),
    )

    return _parsed(context, reader)


def read_feedback(values: JsonObjectValue, bounds: PathBounds) -> ParsedValues[FeedbackContext]:
    """Read a FEEDBACK_CONTEXT."""
    reader = ValueReader(tables.VALUE_RULES, bounds)
    reader.fields(_FEEDBACK, values, "")
    reader.template_texts(values)
    listed = values.get("issues_to_fix")
    if listed == []:
        message = "issues_to_fix is empty; expected at least one issue"
        reader.problems.append(structure.MISSING_FIELD.problem(message, path="/issues_to_fix"))

    context = FeedbackContext(
        feedback_from=text_in(values, "feedback_from"),
        iteration=count_in(values, "iteration"),
        max_iterations=count_in(values, "max_iterations"),
        issues_to_fix=(
            tuple(
                Issue(
                    severity=text_in(each, "severity"),
                    type=text_in(each, "type"),
                    message=text_in(each, "message"),
                    location=text_in(each, "location"),
                    recommendation=text_in(each, "recommendation"),
                    extensions=others_in(each, _ISSUE_KEYS),
                )
                for each in listed
                if isinstance(each, dict)
            )
            if isinstance(listed, list)
            else ()
        ),
        extensions=others_in(values, _FEEDBACK_KEYS),
    )

    return _parsed(context, reader)


# Values


def _parsed(model: T, reader: ValueReader) -> ParsedValues[T]:
    whole = (
        not any(problem.rule in _INCOMPLETE for problem in reader.problems)
        if reader.problems
        else True
    )
    return ParsedValues(model, reader.problems, whole)
