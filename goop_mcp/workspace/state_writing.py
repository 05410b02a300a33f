"""Change the state of a project, so that the change and its record stay consistent.

The state lives in state.json, or in a row of a database that many machines share. A row changes
with the transaction. For a file, the transaction records the change with the digests of the file
before and after it, and the file is written afterwards. A writer that is killed before that leaves
both digests, and recovery makes the same change later, but only if nobody has touched the file
since.
"""

from dataclasses import dataclass
from typing import Protocol

from goop_mcp.errors import StateMovedError, WorkspaceError
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.records import NewEvent, Projection
from goop_mcp.workflow.phases import MoveKind
from goop_mcp.workspace.documents.entries import AdlEntry, adl_text
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import ADL, STATE, document_path
from goop_mcp.workspace.replacing import replace_file, sha256
from goop_mcp.workspace.state import ProjectState, StateDefect, read_state
from goop_mcp.workspace.state_changes import (
    PlannedState,
    StateChange,
    change_from_json,
    plan_change,
    writable_state,
)

__all__ = [
    "StateFile",
    "StatePlace",
    "StatePlan",
    "StateRow",
    "interrupted_change",
    "plan_state",
]

_ATTEMPTS = 5


class StatePlace(Protocol):
    """Where the state of a project lives."""

    def read(self, reading: ReadTransaction, /) -> ProjectState | StateDefect | None:
        """Return the state, its defect, or None without one. Raises PathRefusedError."""
        ...

    def record(self, writing: WriteTransaction, plan: "StatePlan", /) -> None:
        """Record the change in its transaction."""
        ...

    def finish(self, plan: "StatePlan", /) -> ProjectState:
        """Complete the change after the commit, and return the new state."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePlan:
    """A change of the state that is recorded; a file is not written yet.

    `seen` is the token of the state that the caller decided on, None if any state will do.
    """

    place: StatePlace
    planned: PlannedState
    change: StateChange
    now: str
    revision: int
    seen: str | None = None

    def apply(self) -> ProjectState:
        """Complete the change after the commit; the caller holds the lock of the writers.

        Raises as the place where the state lives.
        """
        return self.place.finish(self)


@dataclass(frozen=True, slots=True)
class StateFile:
    """The file state.json, which other programs change as well."""

    files: ProjectFiles

    def read(self, _reading: ReadTransaction, /) -> ProjectState | StateDefect | None:
        """Return the state in the file."""
        return read_state(self.files)

    def record(self, writing: WriteTransaction, plan: StatePlan, /) -> None:
        """Record the digests of the file before and after the change, for recovery."""
        states = (plan.planned.before, plan.planned.after)
        before, after = (sha256(state.text.encode()) for state in states)
        writing.set_projection(
            Projection(
                path=document_path(STATE),
                revision=plan.revision,
                sha256=before,
                pending_sha256=after,
            )
        )

    def finish(self, plan: StatePlan, /) -> ProjectState:
        """Replace state.json.

        Other programs do not wait for the lock of writers: if one has written meanwhile, the change
        is planned again for the present file. Raises StateMovedError instead if the caller gave a
        token, and whatever `writable_state` and `plan_change` raise.
        """
        planned = plan.planned
        for _ in range(_ATTEMPTS):
            # The check and the replacement are not atomic for programs outside the queue; the time
            # between them is as short as possible.
            found = writable_state(read_state(self.files), seen=plan.seen)
            if found.token != planned.before.token:
                planned = plan_change(found, plan.change, now=plan.now, revision=plan.revision)
                continue

            replace_file(self.files, document_path(STATE), planned.after.text.encode())

            return planned.after

        raise StateMovedError(
            f"{document_path(STATE)} is changed by another program again and again; try again later"
        )


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row in a database that many machines share, in the form of state.json.

    Until there is one, the state.json of the folder counts, and the first change takes it over.
    """

    files: ProjectFiles

    def read(self, reading: ReadTransaction, /) -> ProjectState | StateDefect | None:
        """Return the state in the row, else that of the folder."""
        return read_state(self.files, stored=reading.stored_state())

    def record(self, writing: WriteTransaction, plan: StatePlan, /) -> None:
        """Change the row."""
        writing.set_stored_state(plan.planned.after.text)

    def finish(self, plan: StatePlan, /) -> ProjectState:
        """Return the new state, which the transaction has stored."""
        return plan.planned.after


def plan_state(
    writing: WriteTransaction,
    place: StatePlace,
    change: StateChange,
    *,
    now: str,
    author: str,
    seen: str | None = None,
) -> StatePlan:
    """Plan `change` for the present state in `place`, and record it; no file is written yet.

    A forced move adds an entry for ADL.md; call `plan_projections` after this. Raises what
    `writable_state` and `plan_change` raise; the transaction must be rolled back then.
    """
    state = writable_state(place.read(writing), seen=seen)
    revision = writing.next_revision()
    planned = plan_change(state, change, now=now, revision=revision)
    writing.add_event(NewEvent(kind="state", author=author, text=change.to_json(), created_at=now))
    if state.phase != planned.after.phase:
        moved = f"{state.phase} → {planned.after.phase}"
        # The document of this event lets readers find the last move without reading all events.
        writing.add_event(
            NewEvent(kind="transition", author=author, text=moved, created_at=now, document=STATE)
        )
    if planned.move is MoveKind.FORCED:
        start, target = state.phase, planned.after.phase
        entry = AdlEntry(
            kind="DECISION",
            time=now,
            description=(
                f"The phase was forced from {start} to {target}. Reason:"
                f" {change.reason or 'none was given'}"
            ),
            action=f"Confirmed: {author}. The gates between were not asked.",
        )
        writing.add_event(
            NewEvent(
                kind="decision", author=author, text=adl_text(entry), created_at=now, document=ADL
            )
        )

    plan = StatePlan(
        place=place, planned=planned, change=change, now=now, revision=revision, seen=seen
    )
    place.record(writing, plan)

    return plan


def interrupted_change(reading: ReadTransaction, files: ProjectFiles) -> StatePlan | None:
    """Return the change of state.json that a killed writer recorded and did not write, or None.

    The change counts only if the file still has exactly the bytes for which it was planned.
    """
    row = next((row for row in reading.projections() if row.path == document_path(STATE)), None)
    if row is None or row.pending_sha256 is None:
        return None

    # Nearly always the file was written, which its digest shows without parsing it. A link and a
    # file that cannot be read are not our files.
    try:
        on_disk = files.read_bytes(row.path)
    except WorkspaceError:
        return None
    if on_disk is None or sha256(on_disk) != row.sha256:
        return None

    state = read_state(files)
    if not isinstance(state, ProjectState) or not state.writable:
        return None

    events = reading.events(after_revision=row.revision - 1)
    event = next(
        (event for event in events if event.kind == "state" and event.revision == row.revision),
        None,
    )
    if event is None:
        return None

    change = change_from_json(event.text)
    planned = plan_change(state, change, now=event.created_at, revision=row.revision)

    return StatePlan(
        place=StateFile(files),
        planned=planned,
        change=change,
        now=event.created_at,
        revision=row.revision,
    )
