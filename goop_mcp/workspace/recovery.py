"""Recovery before a store is used: show in the files what a killed writer recorded.

A writer commits to the database first and writes files afterwards, so that a kill between the two
loses nothing: the rows of the database state which files are outdated, and this module writes them.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from goop_mcp.errors import WorkspaceError
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.workspace.archive import ARCHIVE_FOLDER
from goop_mcp.workspace.file_changes import GuardedWrite, interrupted_files, pending_spec
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import CHECKPOINTS_FOLDER, FOLDER, archived_document
from goop_mcp.workspace.projections import (
    PROJECTED,
    ProjectionPlan,
    Redact,
    is_stale,
    plan_projections,
)
from goop_mcp.workspace.replacing import is_stray, sweep_strays
from goop_mcp.workspace.state import ProjectState, read_state
from goop_mcp.workspace.state_writing import StatePlan, interrupted_change

__all__ = ["Recovery", "complete", "recover"]

_Plans: TypeAlias = tuple[StatePlan | None, tuple[GuardedWrite, ...], ProjectionPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The work that was done: documents written, temporary files removed, state.json completed."""

    projections: ProjectionPlan = field(default_factory=ProjectionPlan)
    strays: tuple[str, ...] = ()
    state: bool = False


def recover(
    store: Store, files: ProjectFiles, *, now: str, redact: Redact, is_shared: bool = False
) -> Recovery:
    """Update the files from the database, and import what people added to them.

    `is_shared` states that many machines share the database: state and documents are rows then, and
    only SPEC.md and the archives of rounds are files. Creates nothing without a store. Waits in the
    queue of writers only if there is work. Raises StoreError, and UnwritableFileError if a file
    cannot be replaced.
    """
    if not store.exists() or (is_shared and not files.exists(FOLDER)):
        return Recovery()

    def has_work(reading: ReadTransaction) -> bool:
        state, extra = _interrupted(reading, files, is_shared=is_shared)
        is_outdated = not is_shared and is_stale(reading, files, documents=_documents(reading))
        return is_outdated or state is not None or bool(extra)

    # Nearly always there is nothing to do, which a read finds out without the lock of writers.
    folders = _folders(store, files)
    strays = any(is_stray(name) for folder in folders for name in files.names(folder))
    if not strays and not store.read(has_work):
        return Recovery()

    done = Recovery()

    def change(writing: WriteTransaction) -> _Plans:
        state, extra = _interrupted(writing, files, is_shared=is_shared)
        documents = () if is_shared else _documents(writing)
        projections = plan_projections(writing, files, now=now, redact=redact, documents=documents)

        return state, extra, projections

    def then(plans: _Plans) -> None:
        nonlocal done
        state, extra, projections = plans
        # While the queue of writers waits, no temporary file can belong to a living writer.
        swept = tuple(name for folder in folders for name in sweep_strays(files, folder))
        if state is not None:
            state.apply()

        projections.apply(files)
        for each in extra:
            each.apply(files)

        done = replace(done, projections=projections, strays=swept, state=state is not None)

    store.write(change, then=then)

    return done


def complete(writing: WriteTransaction, files: ProjectFiles, *, is_shared: bool) -> None:
    """Write state.json and SPEC.md as a writer recorded them that was killed, or is elsewhere.

    Another process may have been killed since this one has recovered, and a change must not start
    from what that left. It was committed before, and the lock of writers is held, so that writing
    the files at once is safe. Costs one query if there is nothing to do. Raises as `replace_file`.
    """
    state = None if is_shared else interrupted_change(writing, files)
    if state is not None:
        state.apply()

    spec = pending_spec(writing, files)
    if spec is not None:
        spec.apply(files)


def _interrupted(
    reading: ReadTransaction, files: ProjectFiles, *, is_shared: bool
) -> tuple[StatePlan | None, tuple[GuardedWrite, ...]]:
    """Return the change of state.json and the files of people that are recorded and not written."""
    if is_shared:
        return None, interrupted_files(reading, files, active_checkpoint=None)

    # The state that is about to be written names the checkpoint, not the one in the file.
    plan = interrupted_change(reading, files)
    state = plan.planned.after if plan is not None else read_state(files)
    active = state.active_checkpoint if isinstance(state, ProjectState) else None

    return plan, interrupted_files(reading, files, active_checkpoint=active)


def _documents(reading: ReadTransaction) -> tuple[str, ...]:
    """Return the projected documents below `.goopspec`, including those of named sessions."""
    known = (row.path.removeprefix(f"{FOLDER}/") for row in reading.projections())
    return (
        *PROJECTED,
        *(name for name in known if "/" in name and name.rpartition("/")[2] in PROJECTED),
    )


def _folders(store: Store, files: ProjectFiles) -> tuple[str, ...]:
    """Return the folders in which a killed writer may have left a temporary file."""

    def ask(reading: ReadTransaction) -> set[str]:
        documents = {f"{FOLDER}/{name}" for name in _documents(reading)}
        round = reading.round()
        copies = archived_document("", round=round.number - round.is_open)
        return {path.rpartition("/")[0] for path in (*documents, copies)}

    def is_readable(folder: str) -> bool:
        # A folder that people linked elsewhere or locked holds nothing of ours, and stops nothing.
        try:
            files.names(folder)
        except (WorkspaceError, OSError):
            return False
        return True

    named = {*store.read(ask), CHECKPOINTS_FOLDER, ARCHIVE_FOLDER}

    return tuple(filter(is_readable, sorted(named)))
