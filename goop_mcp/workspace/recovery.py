"""Recovery before a store is used: show in the files what a killed writer recorded.

A writer commits to the database first and writes files afterwards, so that a kill between the two
loses nothing: the rows of the database state which files are outdated, and this module writes them.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.workspace.file_changes import FileChange, interrupted_files
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import FOLDER
from goop_mcp.workspace.projections import (
    PROJECTED,
    ProjectionPlan,
    Redact,
    is_stale,
    plan_projections,
)
from goop_mcp.workspace.replacing import is_stray, sweep_strays
from goop_mcp.workspace.state_writing import StatePlan, interrupted_change

__all__ = ["Recovery", "recover"]

_Plans: TypeAlias = tuple[StatePlan | None, tuple[FileChange, ...], ProjectionPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The work that was done: documents written, temporary files removed, state.json completed."""

    projections: ProjectionPlan = field(default_factory=ProjectionPlan)
    strays: tuple[str, ...] = ()
    state: bool = False


def recover(store: Store, files: ProjectFiles, *, now: str, redact: Redact) -> Recovery:
    """Update the files from the database, and import what people added to them.

    Creates nothing without a store. Waits in the queue of writers only if there is work. Raises
    StoreError, and UnwritableFileError if a file cannot be replaced.
    """
    if not store.exists():
        return Recovery()

    def has_work(reading: ReadTransaction) -> bool:
        return (
            is_stale(reading, files, documents=_documents(reading))
            or interrupted_change(reading, files) is not None
            or bool(interrupted_files(reading, files))
        )

    # Nearly always there is nothing to do, which a read finds out without the lock of writers.
    strays = any(is_stray(name) for folder in _folders(store) for name in files.names(folder))
    if not strays and not store.read(has_work):
        return Recovery()

    done = Recovery()

    def change(writing: WriteTransaction) -> _Plans:
        state, extra = interrupted_change(writing, files), interrupted_files(writing, files)
        projections = plan_projections(
            writing, files, now=now, redact=redact, documents=_documents(writing)
        )

        return state, extra, projections

    def then(plans: _Plans) -> None:
        nonlocal done
        state, extra, projections = plans
        # While the queue of writers waits, no temporary file can belong to a living writer.
        swept = tuple(name for folder in _folders(store) for name in sweep_strays(files, folder))
        if state is not None:
            state.apply()

        projections.apply(files)
        for each in extra:
            each.apply(files)

        done = replace(done, projections=projections, strays=swept, state=state is not None)

    store.write(change, then=then)

    return done


def _documents(reading: ReadTransaction) -> tuple[str, ...]:
    """Return the projected documents below `.goopspec`, including those of named sessions."""
    known = (row.path.removeprefix(f"{FOLDER}/") for row in reading.projections())
    return (
        *PROJECTED,
        *(name for name in known if "/" in name and name.rpartition("/")[2] in PROJECTED),
    )


def _folders(store: Store) -> tuple[str, ...]:
    named = store.read(lambda reading: {name.rpartition("/")[0] for name in _documents(reading)})
    return tuple(f"{FOLDER}/{name}".rstrip("/") for name in sorted({*named, ""}))
