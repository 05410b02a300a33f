"""Build an envelope from plain fields: what an agent sends at the end of its work, without XML.

Each protocol has one writer, and what is written is judged by our own validator before anybody
gets it: the fields make an accepted envelope, or an error names the field.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from goop_mcp.errors import GoopError, NotWritableError, UnknownNameError
from goop_mcp.protocols import families_of, validate
from goop_mcp.protocols.goop_report.model import FileAction, MemoryType, Phase, Report, Status
from goop_mcp.protocols.speckit.model import AgentInput
from goop_mcp.redaction import redact_structure
from goop_mcp.services.hand_over import REQUEST_FIELDS, hand_over_request
from goop_mcp.services.json_objects import kind_of
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.validation.escaping import FORBIDDEN
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.families import Family
from goop_mcp.validation.findings import Finding, Mode, Severity, excerpt
from goop_mcp.validation.limits import DEFAULT_LIMITS
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.task_ids import same_task

__all__ = ["FIELDS", "PROTOCOLS", "BuiltReport", "ReportFieldsError", "build_report"]

_TEXTS: Final = (
    "status",
    "agent",
    "task_id",
    "task_name",
    "phase",
    "wave",
    "task",
    "summary",
    "next_action",
    "next_agent",
    "next_command",
    "blockers",
)
_FLAGS: Final = ("spec_locked", "interview_complete", "ready", "suggest_new_session")
_WORDS: Final[Mapping[str, type[StrEnum]]] = {"status": Status, "phase": Phase}
# What an item of each list has, with the types of its values; the first one is required.
_LISTS: Final[Mapping[str, Mapping[str, type]]] = {
    "files": {"path": str, "action": FileAction, "description": str},
    "commits": {"sha": str, "message": str},
    "memories": {"type": MemoryType, "importance": float, "title": str},
    "checks": {"name": str, "passed": bool, "evidence": str, "run": str},
    "files_to_read": {},
}

# What a speckit agent is given; an orchestrator builds it, as agents build their answers.
_INPUT_FIELDS: Final = ("workflow_context", "feedback_context", "user_request")
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "goop_report": ("status", "agent", "phase", "summary", "next_action"),
    "speckit": ("agent", "status"),
    "factory": ("status",),
}

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "goop_report": (*_TEXTS, *_FLAGS, *_LISTS),
    "agent_request": REQUEST_FIELDS,
    "speckit": (
        "agent",
        "status",
        "timestamp",
        "execution_time_ms",
        "result",
        "error",
        *_INPUT_FIELDS,
    ),
    "factory": (
        "status",
        "confidence",
        "confidence_notes",
        "deliverables",
        "summary",
        "metrics",
        "next_action",
        "verdict",
        "requirements_checked",
        "concerns",
        "blocking_issues",
        "questions",
        "partial_work",
        "recommendation",
        "error",
        "attempted",
    ),
}
"""The fields by protocol; those of speckit and factory are the ones of the specification."""

PROTOCOLS: Final = tuple(FIELDS)

_VERSION: Final = "0.1.6"
_EXECUTOR: Final = "goop-executor"
_ORCHESTRATOR: Final = "orchestrator"
_NEXT_TASK: Final = re.compile(r"\s*W\d{1,6}\.T\d{1,6}\b", re.IGNORECASE)
_ASKS_A_PERSON: Final = (
    "next_agent is left out and next_action begins with no task, such as W2.T4: a person is asked"
    " how to go on"
)
# More items are a mistake of the caller, and each would be judged.
_MOST_ITEMS: Final = 1_000
# The first errors are enough to begin with, and a caller may send thousands.
_MOST_ERRORS: Final = 5
# Digits of the number of a wave or task.
_MOST_DIGITS: Final = 6
# From the paths of findings to the fields they were written from; the first that fits counts.
_WRITTEN_AS: Final = (
    ("state/phase", "phase"),
    ("state/wave", "wave"),
    ("state/task", "task"),
    ("state/", ""),
    ("artifacts/files", "files"),
    ("artifacts/commits", "commits"),
    ("memory", "memories"),
    ("verification", "checks"),
    ("handoff/next_action/@agent", "next_agent"),
    ("handoff/next_action", "next_action"),
    ("handoff/", ""),
)


class ReportFieldsError(GoopError, ValueError):
    """Raised when the fields make no accepted envelope; the text names each field and its fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltReport:
    """An envelope to end a reply with.

    `verdict` is that of our validator in strict mode, accepted and without warnings. `redactions`
    is the number of secrets that were removed from the fields.
    """

    protocol: str
    text: str = field(repr=False)
    verdict: Verdict
    redactions: int = 0
    notes: tuple[str, ...] = ()
    """What follows from a field that was left out."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        return {
            "text": self.text,
            "remarks": [*self.notes, *(each.message for each in self.verdict.findings)],
            "redactions": self.redactions,
        }


def build_report(
    fields: Mapping[str, object],
    *,
    protocol: str = "goop_report",
    project: Path,
    judged_by: JudgedBy | None = None,
    now: str,
) -> BuiltReport:
    """Return the envelope of `protocol` that is written from `fields` (see FIELDS).

    None stands for an absent field; secrets are removed first. The folder `project` gives the
    profile and the names of its agents, `judged_by` those that hold where agents work. `now`, ISO
    8601 in UTC, is the timestamp of a speckit answer without one. Raises UnknownNameError for an
    unknown protocol or field, and ReportFieldsError for a value that is missing or that our
    validator does not accept.
    """
    if protocol not in FIELDS:
        raise UnknownNameError("protocol", protocol, FIELDS)

    # A model that has nothing to say sends null, which is the same as leaving the field out.
    present = {name: value for name, value in fields.items() if value is not None}
    for name in present:
        if name not in FIELDS[protocol]:
            raise UnknownNameError(f"field of {protocol}", name, FIELDS[protocol])

    _require_size(present)
    given: dict[str, Any]
    # Before anything is written: what is judged and returned must not hold a secret either.
    given, redactions = redact_structure(present)
    expected = expect_of_project(project, NOTHING_EXPECTED, judged_by)
    if protocol == "goop_report":
        text = _goop_report(given, expected)
    elif protocol == "agent_request":
        # The time only names the session of a prompt that is written to a file.
        now_there = datetime.now(UTC)
        try:
            text = hand_over_request(given, project=project, write=False, now=now_there).text
        except GoopError as error:
            # The writer of requests has its own errors, which name the field.
            raise ReportFieldsError(str(error)) from error
    else:
        text = _json_answer(protocol, given, expected, now=now)

    return BuiltReport(
        protocol=protocol,
        text=text,
        verdict=_accepted(protocol, text, expected),
        redactions=redactions,
        notes=(_ASKS_A_PERSON,) if protocol == "goop_report" and _asks_a_person(given) else (),
    )


def _asks_a_person(fields: Mapping[str, Any]) -> bool:
    """Return whether a person decides after this report only because no agent was named."""
    is_done = fields["status"] == Status.COMPLETE and all(
        each.get("passed") for each in fields.get("checks", ())
    )
    goes_on = "next_agent" in fields or fields.get("suggest_new_session", False)

    return is_done and not goes_on and _next_agent(fields) == _ORCHESTRATOR


def _next_agent(fields: Mapping[str, Any]) -> str:
    """Return who goes on: the agent that is named, or the one that does the tasks of plans.

    The latter where the next action begins with another task; otherwise the orchestrator.
    """
    if "next_agent" in fields:
        return str(fields["next_agent"])

    # The own task again is no next one: what is left of it is for the orchestrator to judge.
    begins = _NEXT_TASK.match(fields["next_action"])
    is_another = begins is not None and not same_task(begins[0], fields.get("task_id") or "")
    return _EXECUTOR if is_another else _ORCHESTRATOR


def _require_size(fields: Mapping[str, object]) -> None:
    """Refuse fields that no envelope can hold before anything is searched in them."""
    size = 0
    for name, value in fields.items():
        try:
            # The encoder refuses what JSON cannot express, and recursion that never ends.
            size += len(json.dumps(value, ensure_ascii=False, allow_nan=False))
        except (RecursionError, TypeError, ValueError) as error:
            raise ReportFieldsError(
                f"{name} is not a JSON value; expected texts, finite numbers, lists and objects"
            ) from error

    if size > DEFAULT_LIMITS.envelope_bytes:
        raise ReportFieldsError(
            f"the fields have {size:,} characters; expected at most"
            f" {DEFAULT_LIMITS.envelope_bytes:,}: shorten the texts"
        )


def _goop_report(fields: Mapping[str, Any], expected: Expectations) -> str:
    errors = [error for name, value in fields.items() for error in _type_errors(name, value)]
    errors += _missing("goop_report", fields)
    if errors:
        raise ReportFieldsError("; ".join(errors[:_MOST_ERRORS]))

    # An agent may leave `ready` out; with a blocker the answer is known.
    blockers = fields.get("blockers")
    ready = blockers is None and fields["status"] != Status.BLOCKED
    values = {
        "version": _VERSION,
        **{name: fields.get(name) for name in ("status", "agent", "task_id", "task_name")},
        "state": {
            "phase": fields["phase"],
            **{name: _counter(name, fields.get(name)) for name in ("wave", "task")},
            **{name: fields.get(name) for name in ("spec_locked", "interview_complete")},
        },
        "summary": fields["summary"],
        # Written when empty, too: the closing checklist of a report asks for both.
        "artifacts": {
            "files": [{"description": "", **each} for each in fields.get("files", ())],
            "commits": [{"message": "", **each} for each in fields.get("commits", ())],
        },
        "memory": [{"title": "", **each} for each in fields.get("memories", ())],
        # A section without a check would read as a check that was forgotten.
        "verification": [{"evidence": "", **each} for each in fields.get("checks", ())] or None,
        "handoff": {
            "ready": fields.get("ready", ready),
            "next_action": {
                "agent": _next_agent(fields),
                "text": fields["next_action"],
            },
            "files_to_read": fields.get("files_to_read", ()),
            "blockers": blockers,
            "suggest_new_session": fields.get("suggest_new_session", False),
            "next_command": fields.get("next_command"),
        },
    }

    try:
        return _family("goop_report", expected).write(Report.from_dict(values))
    except (NotWritableError, ValueError) as error:
        raise ReportFieldsError(str(error)) from error


def _type_errors(name: str, value: object) -> Sequence[str]:
    """Return a message for each value of the field `name` with a type that cannot be written."""
    if name in _WORDS:
        return _word_errors(name, value, _WORDS[name])
    if name in _TEXTS:
        return _text_errors(name, value)
    if name in _FLAGS:
        right = isinstance(value, bool)
        return () if right else (f"{name} is {kind_of(value)}; expected true or false",)
    if not isinstance(value, list):
        return (f"{name} is {kind_of(value)}; expected a list",)
    # Counted before the items are looked at one by one.
    if len(value) > _MOST_ITEMS:
        return (f"{name} has {len(value):,} items; expected at most {_MOST_ITEMS:,}",)
    if name == "files_to_read":
        return [
            error
            for number, each in enumerate(value)
            for error in _text_errors(f"{name}[{number}]", each)
        ]

    return [
        error
        for number, each in enumerate(value)
        for error in _item_errors(f"{name}[{number}]", each, _LISTS[name])
    ]


def _item_errors(where: str, item: object, kinds: Mapping[str, type]) -> Sequence[str]:
    if not isinstance(item, Mapping):
        return (f"{where} is {kind_of(item)}; expected an object with {', '.join(kinds)}",)

    errors = [
        f"{where} has no key {excerpt(str(key), 40)!r}; expected {', '.join(kinds)}"
        for key in item
        if key not in kinds
    ]
    required = next(iter(kinds))
    if required not in item:
        errors.append(f"{where} has no {required}")

    # In the order of the table, so that the messages are the same for each call.
    for key, kind in kinds.items():
        value = item.get(key)
        if key not in item:
            continue
        if issubclass(kind, StrEnum):
            errors += _word_errors(f"{where}.{key}", value, kind)
        elif kind is str:
            errors += _text_errors(f"{where}.{key}", value)
        elif kind is bool and not isinstance(value, bool):
            errors.append(f"{where}.{key} is {kind_of(value)}; expected true or false")
        elif kind is float and (isinstance(value, bool) or not isinstance(value, int | float)):
            errors.append(f"{where}.{key} is {kind_of(value)}; expected a number from 0 to 1")

    return errors


def _word_errors(name: str, value: object, words: type[StrEnum]) -> Sequence[str]:
    if isinstance(value, str) and value in list(words):
        return ()
    found = repr(excerpt(value, 40)) if isinstance(value, str) else kind_of(value)
    return (f"{name} is {found}; expected one of {', '.join(words)}",)


def _text_errors(name: str, value: object) -> Sequence[str]:
    if not isinstance(value, str):
        return (f"{name} is {kind_of(value)}; expected a text",)
    if not value.strip():
        return (f"{name} is empty; write it or leave it out",)
    if FORBIDDEN.search(value):
        return (f"{name} holds a control character; remove it",)
    return ()


def _counter(name: str, value: str | None) -> dict[str, int] | None:
    if value is None:
        return None

    current, _, total = value.partition("/")
    numbers = [each.strip() for each in (current, total)]
    # A slash is what agents write for "2 of 3".
    # `isdecimal` also takes digits of other scripts, which `int` reads.
    if not all(each.isdecimal() and len(each) <= _MOST_DIGITS for each in numbers):
        raise ReportFieldsError(
            f"{name} is {excerpt(value, 40)!r}; expected the number and the total, such as 2/3"
        )

    return {"current": int(numbers[0]), "total": int(numbers[1])}


def _missing(protocol: str, fields: Mapping[str, Any]) -> Sequence[str]:
    return [f"{name} is missing" for name in _REQUIRED[protocol] if name not in fields]


def _speckit_input(fields: Mapping[str, Any], expected: Expectations) -> str:
    """Return the text with contexts that a speckit agent is given."""
    if others := [name for name in fields if name not in _INPUT_FIELDS]:
        raise ReportFieldsError(
            f"{others[0]} belongs to an answer, and {', '.join(_INPUT_FIELDS)} to what an agent is"
            " given; give those of one of them"
        )

    contexts = [name for name in _INPUT_FIELDS[:-1] if name in fields]
    if not contexts:
        raise ReportFieldsError("workflow_context is missing")

    for name in contexts:
        if not isinstance(fields[name], Mapping):
            raise ReportFieldsError(f"{name} is {kind_of(fields[name])}; expected an object")

    # The contexts are written first and read back, so that their errors are those of the reader.
    # Read first: the reader of the family judges each field of the objects.
    text = "\n\n".join(f"{name.upper()}:\n{json.dumps(fields[name])}" for name in contexts)
    read = _accepted("speckit", text, expected).envelope
    request = fields.get("user_request")
    if not isinstance(read, AgentInput) or not isinstance(request, str | None):
        raise ReportFieldsError("user_request is not text; expected what the user asks for")

    try:
        return _family("speckit", expected).write(replace(read, user_request=request))
    except NotWritableError as error:
        raise ReportFieldsError(str(error)) from error


def _json_answer(
    protocol: str, fields: Mapping[str, Any], expected: Expectations, *, now: str
) -> str:
    """Return the answer as its family writes it, from the values as they would be read."""
    if protocol == "speckit" and not fields.keys().isdisjoint(_INPUT_FIELDS):
        return _speckit_input(fields, expected)
    # Without these the text is not recognised as an answer, and no finding would name a field.
    if errors := _missing(protocol, fields):
        raise ReportFieldsError("; ".join(errors))

    values = {"timestamp": now, **fields} if protocol == "speckit" else fields
    # Judged as the reader would, then written in its own form: keys in order, nulls left out.
    verdict = _accepted(protocol, json.dumps(values), expected)
    if verdict.envelope is None:
        raise ReportFieldsError(f"the fields make no answer of {protocol}; expected its fields")
    return _family(protocol, expected).write(verdict.envelope)


def _family(protocol: str, expected: Expectations) -> Family:
    return next(each for each in families_of(expected.profile) if each.name == protocol)


def _accepted(protocol: str, text: str, expected: Expectations) -> Verdict:
    """Return the verdict in strict mode.

    Raises ReportFieldsError unless both modes accept the text without a warning, also when the
    protocol is detected: a reader may ask for less than a writer knows.
    """
    modes: tuple[tuple[Mode, str], ...] = (
        ("strict", protocol),
        ("lenient", protocol),
        ("lenient", "auto"),
    )
    strict, *others = [
        validate(text, protocol=wanted, mode=mode, expected=expected) for mode, wanted in modes
    ]
    for verdict in (strict, *others):
        problems = [each for each in verdict.findings if each.severity is not Severity.INFO]
        if problems or not verdict.accepted or verdict.protocol != protocol:
            # Equal lines once: the three readings find the same.
            lines = dict.fromkeys(map(_line, problems[:_MOST_ERRORS]))
            raise ReportFieldsError("; ".join(lines) or f"the fields make no {protocol}")

    return strict


def _line(problem: Finding) -> str:
    """Return what is wrong with a field, and the fix where that says more."""
    # The paths of findings are those of the envelope; the caller knows fields.
    place = (problem.path or "").removeprefix("/")
    place = place.removeprefix("goop_report/").removeprefix("agent_request/")
    where = place.replace("/", ".")
    for written, name in _WRITTEN_AS:
        if place.startswith(written):
            rest = place[len(written) :]
            where = name + (rest if rest.startswith("[") else "") if name else rest
            break

    text = f"{where}: {problem.message}" if where else problem.message
    return f"{text} ({problem.rule})"
