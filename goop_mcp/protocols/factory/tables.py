"""The fields of a Factory reply by its status, as tables (factory-response-schemas)."""

from collections.abc import Mapping

from msgspec.structs import replace

from goop_mcp.protocols.factory.model import (
    CONFIDENCES,
    DELIVERABLE_TYPES,
    ERROR_TYPES,
    HINTS,
    CriticVerdict,
    Status,
)
from goop_mcp.protocols.factory.rules import questions, structure, success, values, verdict
from goop_mcp.validation.json_values import (
    COUNT,
    FLAG,
    NAME,
    PATH,
    TEXT,
    Field,
    Fields,
    JsonValueRules,
    ListOf,
    MapOf,
    Word,
)
from goop_mcp.validation.template_phrases import FACTORY_PROSE

__all__ = ["FIELDS", "KEYS", "OPTIONAL", "STATUS", "VALUE_RULES"]

VALUE_RULES = JsonValueRules(
    wrong_type=values.WRONG_TYPE,
    placeholder=values.PLACEHOLDER_LEFT,
    slot_in_text=values.SLOT_IN_TEXT,
    value_case=values.VALUE_CASE,
    prose=FACTORY_PROSE,
)

STATUS = (
    Field(
        "status",
        Word(tuple(Status), structure.UNKNOWN_STATUS),
        structure.MISSING_FIELD,
        "success, questions or failure, the one that is true",
    ),
)

_DELIVERABLES = ListOf(
    Fields(
        (
            Field("path", PATH, structure.MISSING_FIELD),
            Field("type", Word(DELIVERABLE_TYPES, success.UNKNOWN_DELIVERABLE_TYPE, open=True)),
            Field("description", TEXT),
        )
    )
)
_ISSUES = ListOf(
    Fields(
        (
            Field("id", NAME),
            Field("category", NAME),
            Field("title", TEXT),
            Field("description", TEXT),
            Field("resolution", TEXT),
        )
    )
)
_QUESTIONS = ListOf(
    Fields(
        (
            Field("id", NAME, structure.MISSING_FIELD, "a name for the question, such as q1"),
            Field("question", TEXT, structure.MISSING_FIELD),
            Field("context", TEXT),
            Field("default", TEXT),
            Field("options", ListOf(TEXT)),
        )
    )
)
_ERROR = Fields(
    (
        Field(
            "type",
            Word(ERROR_TYPES, questions.UNKNOWN_ERROR_TYPE, open=True),
            structure.MISSING_FIELD,
        ),
        Field("message", TEXT, structure.MISSING_FIELD),
        Field("recoverable", FLAG),
    )
)

_SUCCESS = (
    Field("confidence", Word(CONFIDENCES, success.UNKNOWN_CONFIDENCE, open=True)),
    Field("confidence_notes", TEXT),
    Field("deliverables", _DELIVERABLES),
    Field("summary", TEXT, success.SUMMARY_MISSING),
    Field("metrics", MapOf()),
    Field(
        "next_action",
        Word(HINTS, success.UNKNOWN_NEXT_ACTION, open=True),
        success.NEXT_ACTION_MISSING,
    ),
    Field("verdict", Word(tuple(CriticVerdict), verdict.UNKNOWN_VERDICT)),
    Field("requirements_checked", COUNT),
    Field("concerns", ListOf(TEXT)),
    Field("blocking_issues", _ISSUES),
)
_ASKING = (
    Field("questions", _QUESTIONS),
    Field(
        "partial_work",
        Fields((Field("completed", ListOf(TEXT)), Field("blocked_on", ListOf(TEXT)))),
    ),
    Field("recommendation", TEXT),
)
_FAILURE = (
    Field("error", _ERROR, structure.MISSING_FIELD, "an object with type and message"),
    Field("attempted", TEXT),
    Field("recommendation", TEXT),
)

_EACH = {field.name: field for field in (*_SUCCESS, *_ASKING, *_FAILURE)}

OPTIONAL = tuple(replace(field, missing=None) for field in _EACH.values())
"""All fields, none of them required: what is asked of those that the status does not ask for."""

FIELDS: Mapping[Status, tuple[Field, ...]] = {
    Status.SUCCESS: _SUCCESS,
    Status.QUESTIONS: _ASKING,
    Status.FAILURE: _FAILURE,
}
"""The fields of each status."""

KEYS = frozenset(_EACH) | {"status"}
