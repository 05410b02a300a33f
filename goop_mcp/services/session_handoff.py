"""Build HANDOFF.md for the next session, and record and write it if requested."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.messages.quoting import line
from goop_mcp.protocols import validate
from goop_mcp.redaction import redact_structure
from goop_mcp.services.project_context import Change, ProjectContext
from goop_mcp.services.project_snapshot import take_snapshot
from goop_mcp.services.session_contents import (
    NOTHING_GIVEN,
    SessionFields,
    compose_handoff,
    fields_to_json,
)
from goop_mcp.services.session_sources import HANDOFF_KIND, SessionSources, session_sources
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import NewEvent
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.documents.handoff import (
    SessionHandoff,
    command_in,
    handoff_text,
    read_handoff,
)
from goop_mcp.workspace.layout import HANDOFF, document_path
from goop_mcp.workspace.projection_text import GIVEN_KIND

__all__ = [
    "SESSION_FIELDS",
    "BuiltHandoff",
    "SessionFieldsError",
    "build_session_handoff",
    "given_event",
    "handoff_event",
    "judge_handoff",
    "session_fields",
]

SESSION_FIELDS = (
    "summary",
    "next_action",
    "next_agent",
    "next_command",
    "files_to_read",
    "blockers",
    "warnings",
)
"""The fields of a session handoff."""

_AUTHOR = "goop-mcp"


class SessionFieldsError(GoopError, ValueError):
    """Raised when a session handoff cannot be built from the fields; the text states the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltHandoff:
    """A session handoff.

    `path` is its target or, after writing, its real path; None if no files are written. `verdict`
    is always accepted: the text was parsed again with the same result, and nothing in it looks like
    an envelope. `revision` is that of the recording, None if it was only built. `resource` is the
    URI of a recorded handoff if no files are written, else None.
    """

    text: str = field(repr=False)
    path: str | None
    verdict: Verdict
    revision: int | None = None
    resource: str | None = None
    remarks: tuple[str, ...] = ()
    redactions: int = 0
    kind: Literal["session"] = "session"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        return {
            "kind": self.kind,
            "text": self.text,
            "path": self.path,
            "verdict": self.verdict.to_dict(),
            "revision": self.revision,
            "resource": self.resource,
            "remarks": list(self.remarks),
            "redactions": self.redactions,
        }


def session_fields(fields: Mapping[str, object]) -> SessionFields:
    """Return the caller's fields; None stands for an absent one.

    Raises UnknownNameError for an unknown field, SessionFieldsError for a value of the wrong type.
    """
    for name in fields:
        if name not in SESSION_FIELDS:
            raise UnknownNameError("field", name, SESSION_FIELDS)

    return SessionFields(
        summary=_as_text("summary", fields),
        next_action=_as_text("next_action", fields),
        next_agent=_as_text("next_agent", fields),
        next_command=_as_text("next_command", fields),
        files_to_read=_as_list("files_to_read", fields),
        blockers=_as_list("blockers", fields),
        warnings=_as_list("warnings", fields),
    )


def build_session_handoff(
    fields: SessionFields, project_context: ProjectContext, *, write: bool, now: str
) -> BuiltHandoff:
    """Return the handoff; with `write` it is recorded and written to HANDOFF.md.

    A HANDOFF.md by another program or a person is left alone: ours is written to a file next to
    it, which `path` names. `now` is ISO 8601 in UTC. Raises StoreError.
    """
    fields, redactions = redact_structure(fields)
    snapshot = take_snapshot(project_context)
    path = document_path(HANDOFF) if project_context.writes_files else None
    resource = next(iter(project_context.addresses(HANDOFF)), None)
    if not write:
        sources = SessionSources(snapshot=snapshot)
        if project_context.store.exists():
            sources = project_context.store.read(partial(session_sources, snapshot))

        handoff = compose_handoff(fields, sources, now=now)
        verdict, text = judge_handoff(handoff), handoff_text(handoff)

        return BuiltHandoff(
            text=text, path=path, verdict=verdict, resource=resource, redactions=redactions
        )

    def change(writing: WriteTransaction) -> Change[BuiltHandoff]:
        handoff = compose_handoff(fields, session_sources(snapshot, writing), now=now)
        verdict = judge_handoff(handoff)
        # The next handoff says this again, unless a session has resumed from this one.
        if fields != NOTHING_GIVEN:
            writing.add_event(given_event(fields, now=now))
        event = writing.add_event(handoff_event(handoff, author=_AUTHOR, now=now))
        built = BuiltHandoff(text=event.text, path=path, verdict=verdict, revision=event.revision)
        return Change(answer=replace(built, resource=resource, redactions=redactions))

    built, shown = project_context.write(change, now=now)
    conflict = next(
        (each for each in shown.files if each.rpartition("/")[2].startswith("HANDOFF.conflict-")),
        None,
    )

    return replace(built, path=conflict or built.path, remarks=shown.remarks)


def given_event(fields: SessionFields, *, now: str) -> NewEvent:
    """Return the event that keeps what a caller gave for a handoff, for the ones after it."""
    return NewEvent(
        kind=GIVEN_KIND,
        author=_AUTHOR,
        text=fields_to_json(fields),
        created_at=now,
        document=HANDOFF,
    )


def handoff_event(handoff: SessionHandoff, *, author: str, now: str) -> NewEvent:
    """Return the event that HANDOFF.md with `handoff` is built from."""
    return NewEvent(
        kind=HANDOFF_KIND,
        author=author,
        text=handoff_text(handoff),
        created_at=now,
        document=HANDOFF,
    )


def judge_handoff(handoff: SessionHandoff) -> Verdict:
    """Return the verdict on the text of `handoff`, which must not contain an envelope.

    Raises SessionFieldsError if it does, or if parsing the text gives other values.
    """
    text = handoff_text(handoff)
    found = read_handoff(text)
    if validate(text).candidates:
        raise SessionFieldsError(
            "the handoff holds what passes for an envelope; describe it in words instead"
        )

    # The parser reads what a person or agent will read: a value that breaks the form is noticed
    # before the file is written.
    phase = line(handoff.phase).lower() if handoff.phase else ""
    meant = (handoff.generated, phase, command_in(handoff.command or ""))
    if (found.generated, found.phase, found.command) != meant or (
        handoff.command and not found.command
    ):
        raise SessionFieldsError(
            "the handoff is not read as it was meant; give next_command as one command such as"
            " /goop-execute"
        )

    return Verdict(verdict="accepted", protocol=None, version=None, mode="strict")


def _as_text(name: str, fields: Mapping[str, object]) -> str | None:
    value = fields.get(name)
    if value is None or isinstance(value, str):
        return value
    raise SessionFieldsError(f"{name} is not a text; expected one")


def _as_list(name: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)

    raise SessionFieldsError(f"{name} is not a list of texts; expected one")
