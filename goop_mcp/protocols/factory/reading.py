"""From the values of a JSON object to a Factory reply; what is odd is noted on the way."""

from collections.abc import Callable
from typing import TypeVar

from goop_mcp.protocols.factory import tables
from goop_mcp.protocols.factory.model import (
    BlockingIssue,
    Deliverable,
    ErrorDetail,
    PartialWork,
    Question,
    Reply,
    Status,
    Values,
    Verdict,
)
from goop_mcp.protocols.factory.rules.structure import MISSING_FIELD
from goop_mcp.protocols.factory.rules.success import NEXT_ACTION_MISSING, SUMMARY_MISSING
from goop_mcp.validation.json_reading import ValuesReading
from goop_mcp.validation.json_values import ValueReader
from goop_mcp.validation.paths import PathBounds
from goop_mcp.validation.safe_json import JsonObjectValue, JsonValue

__all__ = ["read_reply"]

T = TypeVar("T")

# A reply lacks a part when one of these is reported: its last brace is not closed then (D-16).
_INCOMPLETE = (MISSING_FIELD, SUMMARY_MISSING, NEXT_ACTION_MISSING)
_STATUSES = {status.value: status for status in Status}
_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_PARTS = {Status.SUCCESS: "deliverables", Status.QUESTIONS: "questions", Status.FAILURE: "error"}
_OTHER_FIELDS = {
    status: [
        field for field in tables.OPTIONAL if field.name not in {each.name for each in tables.FIELDS.get(status, ())}
    ]
    for status in (*Status, None)
}
"""What a reply may hold beside the fields of its status."""
_DELIVERABLE_KEYS = frozenset({"path", "type", "description"})
_QUESTION_KEYS = frozenset({"id", "question", "context", "default", "options"})
_ISSUE_KEYS = frozenset({"id", "category", "title", "description", "resolution"})
_ERROR_KEYS = frozenset({"type", "message", "recoverable"})
_WORK_KEYS = frozenset({"completed", "blocked_on"})


def read_reply(values: JsonObjectValue, bounds: PathBounds) -> ValuesReading[Reply]:
    """Read a reply; what lenient mode mends is set in `values` too."""
    reader = ValueReader(tables.VALUE_RULES, bounds)
    reader.fields(tables.STATUS, values, "")
    status = _STATUSES.get(str(values.get("status")))
    own = tables.FIELDS[status] if status is not None else ()
    reader.fields(own, values, "")
    reader.fields(_OTHER_FIELDS[status], values, "")
    broken = [problem.rule for problem in reader.problems]
    whole = not (broken and any(rule in _INCOMPLETE for rule in broken)) and _holds_its_part(values, status)
    return ValuesReading(_reply(values, status), reader.problems, whole)


def _holds_its_part(values: Values, status: Status | None) -> bool:
    """Return whether what the status promises is there; a cut-off reply may lack it."""
    if status is None:
        return False
    return bool(values.get(_PARTS[status]) or (status is Status.SUCCESS and values.get("verdict")))


def _reply(values: Values, status: Status | None) -> Reply:
    metrics, error, work = values.get("metrics"), values.get("error"), values.get("partial_work")
    verdict = values.get("verdict")
    return Reply(
        status=status,
        confidence=_text(values, "confidence"),
        confidence_notes=_text(values, "confidence_notes"),
        deliverables=_each(values, "deliverables", _deliverable),
        summary=_text(values, "summary"),
        metrics=metrics if isinstance(metrics, dict) else None,
        next_action=_text(values, "next_action"),
        verdict=_VERDICTS.get(verdict) if isinstance(verdict, str) else None,
        requirements_checked=_count(values, "requirements_checked"),
        concerns=_texts(values, "concerns"),
        blocking_issues=_each(values, "blocking_issues", _issue),
        questions=_each(values, "questions", _question),
        partial_work=_partial_work(work) if isinstance(work, dict) else None,
        recommendation=_text(values, "recommendation"),
        error=_error(error) if isinstance(error, dict) else None,
        attempted=_text(values, "attempted"),
        extensions=_others(values, tables.KEYS),
        unreadable=_unreadable(values),
    )


def _unreadable(values: Values) -> tuple[str, ...]:
    lists = ("deliverables", "questions", "blocking_issues")
    unreadable = [name for name in lists if values.get(name) is not None and not isinstance(values[name], list)]
    verdict = values.get("verdict")
    if verdict is not None and not (isinstance(verdict, str) and verdict in _VERDICTS):
        unreadable.append("verdict")
    return tuple(unreadable)


def _deliverable(values: Values) -> Deliverable:
    path, kind, description = values.get("path"), values.get("type"), values.get("description")
    return Deliverable(
        path=path if isinstance(path, str) else None,
        type=kind if isinstance(kind, str) else None,
        description=description if isinstance(description, str) else None,
        extensions=_others(values, _DELIVERABLE_KEYS),
    )


def _question(values: Values) -> Question:
    return Question(
        id=_text(values, "id"),
        question=_text(values, "question"),
        context=_text(values, "context"),
        default=_text(values, "default"),
        options=_texts(values, "options"),
        extensions=_others(values, _QUESTION_KEYS),
    )


def _issue(values: Values) -> BlockingIssue:
    return BlockingIssue(
        id=_text(values, "id"),
        category=_text(values, "category"),
        title=_text(values, "title"),
        description=_text(values, "description"),
        resolution=_text(values, "resolution"),
        extensions=_others(values, _ISSUE_KEYS),
    )


def _partial_work(values: Values) -> PartialWork:
    return PartialWork(
        completed=_texts(values, "completed"),
        blocked_on=_texts(values, "blocked_on"),
        extensions=_others(values, _WORK_KEYS),
    )


def _error(values: Values) -> ErrorDetail:
    recoverable = values.get("recoverable")
    return ErrorDetail(
        type=_text(values, "type"),
        message=_text(values, "message"),
        recoverable=recoverable if isinstance(recoverable, bool) else None,
        extensions=_others(values, _ERROR_KEYS),
    )


def _each(values: Values, name: str, read: Callable[[Values], T]) -> tuple[T, ...] | None:
    listed = values.get(name)
    return tuple([read(each) for each in listed if isinstance(each, dict)]) if isinstance(listed, list) else None


def _text(values: Values, name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _texts(values: Values, name: str) -> tuple[str, ...]:
    listed = values.get(name)
    return tuple([each for each in listed if isinstance(each, str)]) if isinstance(listed, list) else ()


def _count(values: Values, name: str) -> int | None:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value)


def _others(values: Values, known: frozenset[str]) -> dict[str, JsonValue]:
    return {} if values.keys() <= known else {name: value for name, value in values.items() if name not in known}
