"""Steps between sessions: save a position, and resume from it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from goop_mcp.errors import IllegalMoveError, WorkspaceError
from goop_mcp.messages.rendering import notice, warning
from goop_mcp.redaction import redact
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_steps.model import (
    MOST_OF_A_REASON,
    NotDone,
    Plan,
    Restored,
    Stage,
)
from goop_mcp.services.round_closing import keep_document
from goop_mcp.services.session_contents import NOTHING_GIVEN, SessionFields, compose_handoff
from goop_mcp.services.session_handoff import given_event, handoff_event
from goop_mcp.services.session_sources import session_sources
from goop_mcp.services.state_block import gate_ahead, next_command
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import KeptDocument, NewEvent
from goop_mcp.validation.findings import counted_noun, excerpt
from goop_mcp.workspace.checkpoints import Checkpoint, read_checkpoint, read_checkpoints
from goop_mcp.workspace.file_changes import CHECKPOINT, GuardedWrite, plan_checkpoint
from goop_mcp.workspace.json_text import JsonDefect, parse_object
from goop_mcp.workspace.layout import HANDOFF, STATE, document_path
from goop_mcp.workspace.projection_text import RESUMED_KIND
from goop_mcp.workspace.replacing import replace_file
from goop_mcp.workspace.state import ProjectState, parse_state
from goop_mcp.workspace.state_changes import StateChange, change_from_json, plan_change

__all__ = ["checkpoint", "restore_state", "resume"]

_MOST_LISTED = 10


def checkpoint(stage: Stage) -> Plan | NotDone:
    """Save the position with a handoff for the next session."""
    note = redact(excerpt(stage.step.note, MOST_OF_A_REASON)).text if stage.step.note else None
    task = next(
        (task for task, status in stage.snapshot.records.standings.items() if status != "done"),
        None,
    )

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        # Given as other callers give a summary, the note stands before what is known from records,
        # and every handoff until a session resumes says it again.
        if note is not None:
            writing.add_event(given_event(SessionFields(summary=note), now=stage.now))
        sources = session_sources(stage.snapshot, writing)
        handoff = compose_handoff(NOTHING_GIVEN, sources, now=stage.now)
        writing.add_event(handoff_event(handoff, author=stage.by, now=stage.now))
        _, file = plan_checkpoint(writing, stage.state, task=task, note=note, now=stage.now)
        return (file,) if stage.context.writes_files else ()

    id = stage.next_checkpoint

    return Plan(
        message=notice(
            "Checkpoint Saved",
            f"{id}: round {stage.round}, phase {stage.state.phase}, wave"
            f" {stage.state.current_wave}/{stage.state.total_waves}.",
            f"In a new session: goop-mcp project resume, then read {document_path(HANDOFF)}.",
        ),
        entry=f"checkpoint {id}" + (f": {note}" if note else ""),
        change=StateChange(values={"activeCheckpointId": id}),
        then=then,
    )


def resume(stage: Stage) -> Plan | NotDone:
    """Go on from a checkpoint; the work has not moved back, so what differs is named."""
    restored = stage.restored
    wanted = stage.step.id or (restored.id if restored else stage.state.active_checkpoint)
    found = _find(stage, wanted)
    if found is None:
        # The newest first, kept in the database or saved in the folder by another program.
        kept = stage.reading.kept_documents(step=CHECKPOINT, round=stage.round)
        saved = read_checkpoints(stage.context.files).found if stage.has_folder else ()
        times = {each.id: each.saved_at for each in saved}
        times |= {each.name: datetime.fromisoformat(each.created_at) for each in kept}
        known = sorted(times, key=lambda id: times[id], reverse=True)[:_MOST_LISTED]

        listed = ", ".join(known) or "none was saved"
        asked = f"There is no checkpoint {wanted}." if wanted else "No checkpoint is active."
        return NotDone(
            message=warning(f"{asked} Known: {listed}.", command="goop-mcp status"),
            missing=tuple(known),
            command="goop-mcp status",
        )

    state, snapshot = stage.state, stage.snapshot
    then_at = _position(found.round, found.phase, found.wave)
    now_at = _position(stage.round, state.phase, state.current_wave)
    lines = [f"Resumed from {found.id}, saved at {found.saved_at.isoformat(timespec='seconds')}."]
    if restored is not None:
        lines.append(restored.line)
    if found.note:
        lines.append(f"Note: {found.note}")
    if found.phase is not None and then_at != now_at:
        lines.append(f"It was saved at {then_at}; the project is at {now_at} now, which counts.")
    else:
        lines.append(f"The project is at {now_at}.")

    command = next_command(snapshot.project, gate_ahead(snapshot.project, snapshot.facts))
    lines.append(f"Read {document_path(HANDOFF)}." + (f" Next: {command}" if command else ""))

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        event = NewEvent(
            kind=RESUMED_KIND,
            author=stage.by,
            text=found.id,
            created_at=stage.now,
            document=HANDOFF,
        )
        writing.add_event(event)
        return ()

    return Plan(
        message=notice("Session Resumed", *lines),
        entry=f"resumed from {found.id}",
        change=StateChange(values={"activeCheckpointId": None}),
        then=then,
    )


def restore_state(
    context: ProjectContext, writing: WriteTransaction, id: str | None, *, now: str
) -> Restored | None:
    """Put the state of a checkpoint, brought up to date, in place of one that cannot be read.

    `id` None is the newest checkpoint. The changes that are recorded since are made again, so that
    the project is where its last step left it. What was unreadable is kept next to it, and the
    caller holds the lock of writers. Returns None without a checkpoint that can be used. Raises as
    `replace_file`.
    """
    kept: KeptDocument | None = None
    if id is not None:
        kept = writing.kept_document(id, step=CHECKPOINT)
    else:
        # The present round may have no checkpoint yet.
        for each in writing.rounds():
            if found := writing.kept_documents(step=CHECKPOINT, round=each.number):
                kept = max(found, key=lambda document: document.revision)
                break

    position = parse_object(kept.text) if kept is not None else None
    if kept is None or not isinstance(position, Mapping):
        return None

    state = parse_state(json.dumps(position.get("state"), indent=2, ensure_ascii=False) + "\n")
    if not isinstance(state, ProjectState) or not state.writable:
        return None

    changes = writing.events(after_revision=kept.revision, kinds=("state",))
    # Another program may have moved the phase between two changes, which no row states.
    with suppress(WorkspaceError, IllegalMoveError):
        for event in changes:
            change = change_from_json(event.text)
            planned = plan_change(state, change, now=event.created_at, revision=event.revision)
            state = planned.after

    files, path = context.files, document_path(STATE)
    aside = document_path(f"state.broken-{writing.next_revision()}.json")
    if not context.writes_files:
        aside = "the database"
        broken, round = writing.stored_state() or "", writing.round().number
        keep_document(writing, STATE, broken, step="init", round=round, now=now)
        writing.set_stored_state(state.text)
    else:
        replace_file(files, aside, files.read_bytes(path) or b"")
        replace_file(files, path, state.text.encode())

    return Restored(
        id=kept.name,
        line=(
            f"{STATE} could not be read. It was restored from {kept.name} and"
            f" {counted_noun(len(changes), 'later change')}; the unreadable one is in {aside}."
        ),
    )


def _find(stage: Stage, id: str | None) -> Checkpoint | None:
    """Return the checkpoint `id`: as kept in the database, else as found in the folder."""
    if id is None:
        return None

    kept = stage.reading.kept_document(id, step=CHECKPOINT)
    if kept is not None:
        read = read_checkpoint(id, kept.text, path=id)
        return None if isinstance(read, JsonDefect) else read

    # Another program may have saved it.
    saved = read_checkpoints(stage.context.files).found if stage.has_folder else ()
    return next((each for each in saved if each.id == id), None)


def _position(round: int | None, phase: str | None, wave: int | None) -> str:
    parts = (
        f"round {round}" if round is not None else "",
        f"phase {phase}" if phase is not None else "",
        f"wave {wave}" if wave is not None else "",
    )
    return ", ".join(filter(None, parts))
