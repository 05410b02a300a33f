"""Build a prompt from a caller's fields, given over MCP or as JSON, and write it if requested."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from goop_mcp.errors import UnknownNameError
from goop_mcp.redaction import redact_structure
from goop_mcp.services.build_request import BuiltRequest, RequestFieldsError, build_request
from goop_mcp.services.json_objects import kind_of, parse_object
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
"""The fields of a request, which are the arguments of `build_request`."""


def hand_over_request(
    fields: Mapping[str, object], *, project: Path, write: bool, now: datetime
) -> BuiltRequest:
    """Return the prompt built from `fields`; with `write`, write it to its path below `project`.

    None stands for an absent field; secrets are removed first. Without a session id there is no
    path; with `write` the id is built from `now` and the title. Raises UnknownNameError for an
    unknown field, RequestFieldsError for a missing one or a wrong type, PathRefusedError,
    UnwritableFileError, and what `build_request` raises.
    """
    for name in fields:
        if name not in REQUEST_FIELDS:
            raise UnknownNameError("field", name, REQUEST_FIELDS)

    present = {name: value for name, value in fields.items() if value is not None}
    errors = [error for name, value in present.items() if (error := _type_error(name, value))]
    errors += [f"{name} is missing" for name in _REQUIRED if name not in present]
    if errors:
        raise RequestFieldsError("; ".join(errors))

    # Secrets are removed before the prompt exists, so that none reaches a file or a message.
    given: dict[str, Any]
    given, redactions = redact_structure(present)
    built = replace(build_request(**given, now=now if write else None), redactions=redactions)
    if write and built.path is not None:
        advice = "give another session_id, or move it away"
        place_file(ProjectFiles(project), built.path, built.text.encode(), advice=advice)

    return built


def parse_fields(text: str, name: str) -> Mapping[str, object]:
    """Return the fields written as one JSON object in `text`, which came from `name`.

    Raises UnreadableFileError if it is not, and RequestFieldsError for a duplicate field.
    """

    def given_twice(key: str) -> RequestFieldsError:
        return RequestFieldsError(f"{excerpt(key, 60)!r} is given twice; give each field once")

    return parse_object(text, name, holds="the fields", doubled=given_twice)


def _type_error(name: str, value: object) -> str | None:
    """Return a message if `value` has the wrong type for the field `name`."""
    wanted: type = list if name in _LISTS else bool if name in _FLAGS else str
    if isinstance(value, wanted):
        return None

    expected = "a list" if name in _LISTS else "true or false" if name in _FLAGS else "a text"
    return f"{name} is {kind_of(value)}; expected {expected}"
