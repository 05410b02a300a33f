"""From what a caller gives, over MCP or as JSON, to a prompt, and where it is wanted to its file."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from goop_mcp.errors import UnknownNameError
from goop_mcp.operations.build_request import BuiltRequest, RequestFieldsError, build_request
from goop_mcp.operations.json_objects import kind_of, parse_object
from goop_mcp.redaction import redact_structure
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.replacing import place_file

__all__ = ["REQUEST_FIELDS", "hand_over_request", "parse_fields"]

_REQUIRED = ("original_intent", "current_task_summary", "task_details", "deliverables")
_LISTS = {"constraints", "deliverables"}
_FLAGS = {"xsd_compat"}

REQUEST_FIELDS = (
    "mode",
    "original_intent",
    "current_task_summary",
    "workflow",
    "task_details",
    "constraints",
    "deliverables",
    "backlog_notes",
    "session_id",
    "parent_agent",
    "target_agent",
    "priority",
    "title",
    "context",
    "xsd_compat",
)
"""The fields of a request, in the order of INTERFACES, section 5; they are the arguments of `build_request`."""


def hand_over_request(
    fields: Mapping[str, object], *, project: Path, write: bool, now: datetime
) -> BuiltRequest:
    """Return the prompt made of `fields`; with `write` it stands at its path below `project` afterwards.

    None stands for a field that is left out; secrets are taken out first. Without a session id there is no path, so one
    is made of `now` and the title when the prompt is to be written. Raises UnknownNameError for a field that does not
    exist, RequestFieldsError for one that is missing or of the wrong kind, PathRefusedError, UnwritableFileError, and
    what `build_request` raises.
    """
    given, redactions = redact_structure(_checked(fields))
    built = replace(build_request(**given, now=now if write else None), redactions=redactions)
    if write and built.path is not None:
        advice = "give another session_id, or move it away"
        place_file(ProjectFiles(project), built.path, built.text.encode(), advice=advice)

    return built


def parse_fields(text: str, name: str) -> Mapping[str, object]:
    """Return the fields written as one JSON object in `text`, which came from `name`.

    Raises UnreadableFileError when it is none and RequestFieldsError for a field that is given
    twice.
    """
    return parse_object(text, name, holds="the fields", doubled=_given_twice)


def _given_twice(key: str) -> RequestFieldsError:
    return RequestFieldsError(f"{excerpt(key, 60)!r} is given twice; give each field once")


def _checked(fields: Mapping[str, object]) -> dict[str, Any]:
    for name in fields:
        if name not in REQUEST_FIELDS:
            raise UnknownNameError("field", name, REQUEST_FIELDS)

    given = {name: value for name, value in fields.items() if value is not None}
    faults = [_fault(name, value) for name, value in given.items() if not _fits(name, value)]
    faults += [f"{name} is missing" for name in _REQUIRED if name not in given]
    if faults:
        raise RequestFieldsError("; ".join(faults))
    return given


def _fits(name: str, value: object) -> bool:
    return isinstance(value, list if name in _LISTS else bool if name in _FLAGS else str)


def _fault(name: str, value: object) -> str:
    expected = "a list" if name in _LISTS else "true or false" if name in _FLAGS else "a text"
    return f"{name} is {kind_of(value)}; expected {expected}"
