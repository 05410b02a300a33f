"""From the values of a JSON object to a Factory reply; what is odd is noted on the way."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from goop_mcp.protocols.factory import tables
from goop_mcp.protocols.factory.model import (
    BlockingIssue,
    CriticVerdict,
    Deliverable,
    ErrorDetail,
    FactoryQuestion,
    PartialWork,
    Reply,
    Status,
    Values,
)
from goop_mcp.protocols.factory.rules.structure import MISSING_FIELD
from goop_mcp.protocols.factory.rules.success import NEXT_ACTION_MISSING, SUMMARY_MISSING
from goop_mcp.validation.json_members import count_in, flag_in, others_in, text_in, texts_in
from goop_mcp.validation.json_reading import ParsedValues
from goop_mcp.validation.json_values import Fields, ValueReader, is_elided
from goop_mcp.validation.paths import PathBounds
from goop_mcp.validation.safe_json import JsonObjectValue

__all__ = ["read_reply"]

T = TypeVar("T")
_Access: TypeAlias = Callable[[Any, str], Any]

# A reply lacks a part when one of these is reported: its last brace is not closed then (D-16).
_INCOMPLETE = (MISSING_FIELD, SUMMARY_MISSING, NEXT_ACTION_MISSING)
_STATUSES = {status.value: status for status in Status}
_VERDICTS = {verdict.value: verdict for verdict in CriticVerdict}
_PARTS = {Status.SUCCESS: "deliverables", Status.QUESTIONS: "questions", Status.FAILURE: "error"}
_OWN_KEYS = {
    status: frozenset({"status", *(each.name for each in tables.FIELDS.get(status, ()))})
    for status in (*Status, None)
}
_STATUS = Fields(tables.STATUS, others=tables.KEYS)
_FIELDS = {status: Fields(table, others=tables.KEYS) for status, table in tables.FIELDS.items()}
_OTHER_FIELDS = {
    status: Fields([field for field in tables.OPTIONAL if field.name not in own])
    for status, own in _OWN_KEYS.items()
}
"""What a reply may hold in addition to the fields of its status."""
_DELIVERABLE_KEYS = frozenset({"path", "type", "description"})
_QUESTION_KEYS = frozenset({"id", "question", "context", "default", "options"})
_ISSUE_KEYS = frozenset({"id", "category", "title", "description", "resolution"})
_ERROR_KEYS = frozenset({"type", "message", "recoverable"})
_WORK_KEYS = frozenset({"completed", "blocked_on"})


def read_reply(values: JsonObjectValue, bounds: PathBounds) -> ParsedValues[Reply]:
    """Read a reply; what lenient mode repairs is set in `values` too."""
    reader = ValueReader(tables.VALUE_RULES, bounds)
    # Before the fields are read: each of them asks whether its text is suspected.
    reader.look_for_template_text(values)
    reader.fields(_STATUS, values, "")
    # After the repair of the status above, which decides what the rest has to be.
    status = _STATUSES.get(str(values.get("status")))
    if status is not None:
        reader.fields(_FIELDS[status], values, "")
    # Most replies hold nothing but the fields of their status, and need no look at the others.
    if not values.keys() <= _OWN_KEYS[status]:
        reader.fields(_OTHER_FIELDS[status], values, "")

    reader.template_texts(values)
    broken = [problem.rule for problem in reader.problems]
    # A reply that was cut off may lack what its status promises.
    whole = (
        not (broken and any(rule in _INCOMPLETE for rule in broken))
        and status is not None
        and bool(values.get(_PARTS[status]) or (status is Status.SUCCESS and values.get("verdict")))
    )

    # What cannot be read has been reported, so that a clean reply need not be searched for it.
    unreadable: list[str] = []
    if reader.problems:
        unreadable = [
            name
            for name in ("deliverables", "questions", "blocking_issues")
            if (value := values.get(name)) is not None
            and (not isinstance(value, list) or is_elided(value))
        ]
        verdict = values.get("verdict")
        if verdict is not None and not (isinstance(verdict, str) and verdict in _VERDICTS):
            unreadable.append("verdict")

    # A value of the wrong type was reported, so that without problems each text is one or absent,
    # and the members need no second look: a quarter of the time of a reply with many files.
    access: _Access = text_in if reader.problems else dict.get
    reply = _reply(values, status, tuple(unreadable), access)

    return ParsedValues(reply, reader.problems, whole)


def _reply(
    values: Values, status: Status | None, unreadable: tuple[str, ...], text: _Access
) -> Reply:
    metrics, error, work = values.get("metrics"), values.get("error"), values.get("partial_work")
    verdict = values.get("verdict")
    return Reply(
        status=status,
        confidence=text(values, "confidence"),
        confidence_notes=text(values, "confidence_notes"),
        deliverables=_each(values, "deliverables", _deliverable, text),
        summary=text(values, "summary"),
        metrics=metrics if isinstance(metrics, dict) else None,
        next_action=text(values, "next_action"),
        verdict=_VERDICTS.get(verdict) if isinstance(verdict, str) else None,
        requirements_checked=count_in(values, "requirements_checked"),
        concerns=texts_in(values, "concerns"),
        blocking_issues=_each(values, "blocking_issues", _issue, text),
        questions=_each(values, "questions", _question, text),
        partial_work=PartialWork(
            completed=texts_in(work, "completed"),
            blocked_on=texts_in(work, "blocked_on"),
            extensions=others_in(work, _WORK_KEYS),
        )
        if isinstance(work, dict)
        else None,
        recommendation=text(values, "recommendation"),
        error=ErrorDetail(
            type=text(error, "type"),
            message=text(error, "message"),
            recoverable=flag_in(error, "recoverable"),
            extensions=others_in(error, _ERROR_KEYS),
        )
        if isinstance(error, dict)
        else None,
        attempted=text(values, "attempted"),
        extensions=others_in(values, tables.KEYS),
        unreadable=unreadable,
    )


def _deliverable(values: Values, text: _Access) -> Deliverable:
    return Deliverable(
        path=text(values, "path"),
        type=text(values, "type"),
        description=text(values, "description"),
        extensions=others_in(values, _DELIVERABLE_KEYS),
    )


def _question(values: Values, text: _Access) -> FactoryQuestion:
    return FactoryQuestion(
        id=text(values, "id"),
        question=text(values, "question"),
        context=text(values, "context"),
        default=text(values, "default"),
        options=texts_in(values, "options"),
        extensions=others_in(values, _QUESTION_KEYS),
    )


def _issue(values: Values, text: _Access) -> BlockingIssue:
    return BlockingIssue(
        id=text(values, "id"),
        category=text(values, "category"),
        title=text(values, "title"),
        description=text(values, "description"),
        resolution=text(values, "resolution"),
        extensions=others_in(values, _ISSUE_KEYS),
    )


def _each(
    values: Values, name: str, read: Callable[[Values, _Access], T], text: _Access
) -> tuple[T, ...] | None:
    listed = values.get(name)
    return (
        tuple([read(each, text) for each in listed if isinstance(each, dict)])
        if isinstance(listed, list)
        else None
    )
