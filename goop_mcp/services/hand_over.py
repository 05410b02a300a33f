"""Build a prompt from a caller's fields, given over MCP or as JSON, and write it if requested."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.protocols.agent_request.sessions import SESSIONS_FOLDER, is_session_id
from goop_mcp.redaction import redact_structure
from goop_mcp.services.build_request import (
    BuiltRequest,
    RequestFieldsError,
    build_request,
    fields_of_prompt,
)
from goop_mcp.services.fill_template import fill_template
from goop_mcp.services.json_objects import kind_of, parse_object
from goop_mcp.services.templates import REQUEST_ARGUMENTS
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.replacing import place_file, replace_file, sha256
from goop_mcp.workspace.sessions import create_session

__all__ = [
    "REQUEST_FIELDS",
    "HandoffChangedError",
    "hand_over_request",
    "parse_fields",
    "read_handoff",
    "type_errors",
]

_REQUIRED = ("original_intent", "current_task_summary", "task_details", "deliverables")
_LISTS = {"constraints", "deliverables", "notify_on_completion", "depends_on"}
_NUMBERS = {"max_retries"}
_FLAGS = {"xsd_compat"}

_MOST_BYTES = 1024 * 1024
_EDITING = Lock()

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
    "estimated_duration",
    "timeout",
    "max_retries",
    "notify_on_completion",
    "depends_on",
    "title",
    "context",
    "xsd_compat",
)
"""The fields of a request, which are the arguments of `build_request`."""


class HandoffChangedError(GoopError, ValueError):
    """Raised when a prompt is not any more what its editor has read; nothing was written."""


def hand_over_request(
    fields: Mapping[str, object],
    *,
    project: Path,
    write: bool,
    now: datetime,
    template: str | None = None,
    reads_own_templates: bool = True,
    replaces: str | None = None,
) -> BuiltRequest:
    """Return the prompt built from `fields`; with `write`, create its session below `project`.

    With `template`, the fields are the values of its slots, and session_id, parent_agent and
    target_agent; the templates in `project` count only with `reads_own_templates`. None stands for
    an absent field; secrets are removed first. Without a session id there is no path; with `write`
    the id is built from `now` and the title. `replaces` is the sha256 of the prompt that the caller
    has read and edited: it is replaced only while it is still the same. Raises
    HandoffChangedError if it is not, UnknownNameError for an unknown field or
    template, RequestFieldsError for a missing one or a wrong type, PathRefusedError,
    UnwritableFileError, and what `build_request` and `fill_template` raise.
    """
    present: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if template is None:
        for name in fields:
            if name not in REQUEST_FIELDS:
                raise UnknownNameError("field", name, REQUEST_FIELDS)

    errors = type_errors(present)
    if template is None:
        errors += [f"{name} is missing" for name in _REQUIRED if name not in present]

    if errors:
        raise RequestFieldsError("; ".join(errors))

    # Secrets are removed before the prompt exists, so that none reaches a file or a message.
    given: dict[str, Any]
    given, redactions = redact_structure(present)
    began = now if write else None
    if template is None:
        built = build_request(**given, now=began)
    else:
        agents = {name: given.pop(name) for name in REQUEST_ARGUMENTS if name in given}
        own = project if reads_own_templates else None
        built = fill_template(template, given, project=own, **agents, now=began)

    built = replace(built, redactions=redactions)
    if write and built.path is not None:
        advice = "give another session_id, or move it away"
        files = ProjectFiles(project)
        if replaces is None:
            place_file(files, built.path, built.text.encode(), advice=advice)
        else:
            _replace(files, built.path, built.text.encode(), replaces)
        # The prompt first, as it is refused where another one exists; the rest is only completed.
        create_session(
            files,
            PurePosixPath(built.path).parent.name,
            prompt=built.text,
            created_at=now.isoformat(timespec="seconds"),
            agent=present.get("target_agent"),
        )

    return built


def read_handoff(project: Path, session_id: str) -> tuple[dict[str, Any], str]:
    """Return the fields of the prompt of a session, and the sha256 of its file.

    Raises RequestFieldsError if there is no such prompt or it cannot be read, and WorkspaceError.
    """
    if not is_session_id(session_id):
        raise RequestFieldsError(
            f"session {excerpt(session_id, 60)!r} has another form; expected YYYYMMDD-HHMMSS-name"
        )

    path = f"{SESSIONS_FOLDER}/{session_id}/prompt.md"
    found = ProjectFiles(project).read_bytes(path, most=_MOST_BYTES)
    if found is None:
        raise RequestFieldsError(f"there is no {path}")

    return fields_of_prompt(found.decode("utf-8", "replace")), sha256(found)


def _replace(files: ProjectFiles, path: str, data: bytes, expected: str) -> None:
    # Between the comparison and the writing no other editor of this process may write.
    with _EDITING:
        found = files.read_bytes(path, most=_MOST_BYTES)
        if found is None or (sha256(found) != expected and found != data):
            raise HandoffChangedError(
                f"{path} was {'removed' if found is None else 'changed by somebody else'} since you"
                " opened it; nothing was written. Copy what you changed, open it again and change"
                " it there, or write yours under another session"
            )

        replace_file(files, path, data, allowed=lambda each: each == path)


def parse_fields(text: str, name: str) -> Mapping[str, object]:
    """Return the fields written as one JSON object in `text`, which came from `name`.

    Raises UnreadableFileError if it is not, and RequestFieldsError for a duplicate field.
    """

    def given_twice(key: str) -> RequestFieldsError:
        return RequestFieldsError(f"{excerpt(key, 60)!r} is given twice; give each field once")

    return parse_object(text, name, holds="the fields", doubled=given_twice)


def type_errors(fields: Mapping[str, object]) -> list[str]:
    """Return a message for each field of a wrong type, such as a text instead of a number."""
    kinds: tuple[tuple[set[str], type, str], ...] = (
        (_LISTS, list, "a list"),
        (_FLAGS, bool, "true or false"),
        (_NUMBERS, int, "a whole number"),
    )
    errors = []
    for name, value in fields.items():
        wanted, expected = next(
            ((kind, words) for names, kind, words in kinds if name in names), (str, "a text")
        )
        # In Python, true is a number.
        if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
            errors.append(f"{name} is {kind_of(value)}; expected {expected}")

    return errors
