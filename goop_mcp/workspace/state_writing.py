"""Write state.json after a transaction, so that the change and its record stay consistent.

The transaction records the change with the digests of the file before and after it. A writer that
is killed before the file is replaced leaves both, and recovery makes the same change later, but
only if nobody has touched the file since.
"""

from dataclasses import dataclass

from goop_mcp.errors import StateMovedError
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.records import NewEvent, Projection
from goop_mcp.workflow.phases import MoveKind
from goop_mcp.workspace.documents.entries import AdlEntry, adl_text
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import ADL, STATE, document_path
from goop_mcp.workspace.replacing import replace_file, sha256
from goop_mcp.workspace.state import ProjectState, read_state
from goop_mcp.workspace.state_changes import (
    PlannedState,
    StateChange,
    change_from_json,
    current_state,
    plan_change,
)

__all__ = ["StatePlan", "interrupted_change", "plan_state"]

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePlan:
    """A change of state.json that is recorded and will be written.

    `seen` is the token of the state that the caller decided on, None if any state will do.
    """

    planned: PlannedState
    change: StateChange
    now: str
    revision: int
    seen: str | None = None

    def apply(self, files: ProjectFiles) -> ProjectState:
        """Replace state.json and return the new state; the caller holds the lock of the writers.

        Other programs do not wait for that lock: if one has written meanwhile, the change is
        planned again for the present file. Raises StateMovedError instead if the caller gave a
        token, and whatever `current_state` and `plan_change` raise.
        """
        planned = self.planned
        for _ in range(_ATTEMPTS):
            # The check and the replacement are not atomic for programs outside the queue; the time
            # between them is as short as possible.
            found = current_state(files, seen=self.seen)
            if found.token != planned.before.token:
                planned = plan_change(found, self.change, now=self.now, revision=self.revision)
                continue

            replace_file(files, document_path(STATE), planned.after.text.encode())

            return planned.after

        raise StateMovedError(
            f"{document_path(STATE)} is changed by another program again and again; try again later"
        )


def plan_state(
    writing: WriteTransaction,
    files: ProjectFiles,
    change: StateChange,
    *,
    now: str,
    author: str,
    seen: str | None = None,
) -> StatePlan:
    """Plan `change` for the present file, and record it in this transaction; write nothing yet.

    A forced move adds an entry for ADL.md; call `plan_projections` after this. Raises what
    `current_state` and `plan_change` raise; the transaction must be rolled back then.
    """
    state = current_state(files, seen=seen)
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
            action=f"state.json is in phase {target}; the gates between were not asked.",
        )
        writing.add_event(
            NewEvent(
                kind="decision", author=author, text=adl_text(entry), created_at=now, document=ADL
            )
        )

    # The digests let recovery decide whether this change reached the file.
    before, after = sha256(state.text.encode()), sha256(planned.after.text.encode())
    path = document_path(STATE)
    writing.set_projection(
        Projection(path=path, revision=revision, sha256=before, pending_sha256=after)
    )

    return StatePlan(planned=planned, change=change, now=now, revision=revision, seen=seen)


def interrupted_change(reading: ReadTransaction, files: ProjectFiles) -> StatePlan | None:
    """Return the change that a killed writer recorded and did not write, None without one.

    The change counts only if the file still has exactly the bytes for which it was planned.
    """
    row = next((row for row in reading.projections() if row.path == document_path(STATE)), None)
    if row is None or row.pending_sha256 is None:
        return None

    state = read_state(files)
    if (
        not isinstance(state, ProjectState)
        or sha256(state.text.encode()) != row.sha256
        or not state.writable
    ):
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

    return StatePlan(planned=planned, change=change, now=event.created_at, revision=row.revision)
