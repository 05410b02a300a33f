"""The database and files of a project, and how changes of the database are shown in the files."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from goop_mcp.redaction import redact
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.services.stop_hooks.policy import StopPolicy, read_policy
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.workspace.file_changes import GuardedWrite
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import HANDOFF, document_uri
from goop_mcp.workspace.projections import (
    PROJECTED,
    ProjectionPlan,
    plan_projections,
    record_state_block,
)
from goop_mcp.workspace.recovery import complete, recover
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_writing import StateFile, StatePlace, StatePlan, StateRow
from goop_mcp.workspace.used_revisions import newest_anywhere, newest_shown

__all__ = ["Change", "ProjectContext", "Shown"]

T = TypeVar("T")

_NOT_SHOWN = (
    "it is stored, but the files could not be brought up to it; that is tried again with the next"
    " change, and the log says what was in the way"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Generic[T]):
    """The result of a transaction: its answer, and the change of the state if there is one.

    `extra` are files of people that the change writes as well. `state_block` is the text of the
    block of state of CHRONICLE.md after the change, None to keep the present one. `documents` are
    those of a named session that show entries of the change. `shows` False leaves the files alone,
    because nothing was recorded.
    """

    answer: T
    state: StatePlan | None = None
    extra: tuple[GuardedWrite, ...] = ()
    state_block: str | None = None
    documents: tuple[str, ...] = ()
    shows: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The effect of a change: the paths of the files written, and the state if it was changed.

    `remarks` are messages about changes of people and about files that could not be written.
    """

    files: tuple[str, ...] = ()
    state: ProjectState | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectContext:
    """A project's database and its files.

    `writes_files` is False if many machines share the database: files on one of them are invisible
    to the others, so that documents are rendered from the database for each reader, and the state
    is a row of it. `judged_by` returns what replies are judged by, None for the settings of the
    project as they stand.
    """

    store: Store
    files: ProjectFiles
    writes_files: bool = True
    judged_by: Callable[[], JudgedBy | None] = lambda: None

    @property
    def state(self) -> StatePlace:
        """Where the state of the project lives."""
        return StateFile(self.files) if self.writes_files else StateRow(self.files)

    @property
    def policy(self) -> StopPolicy:
        """The policy that holds now."""
        judged_by = self.judged_by()
        return read_policy(str(self.files.root))[0] if judged_by is None else judged_by.policy

    def addresses(self, *documents: str) -> tuple[str, ...]:
        """Return the resource URIs of the records in `documents`, () if they are in files."""
        return () if self.writes_files else tuple(map(document_uri, documents))

    def recover(self, *, now: str) -> None:
        """Write the files that a killed writer left outdated, and look for an older database.

        Raises as `workspace.recovery.recover`.
        """
        self.store.mark_used(newest_anywhere(self.files))
        recover(self.store, self.files, now=now, redact=_hidden, is_shared=not self.writes_files)

    def write(
        self,
        change: Callable[[WriteTransaction], Change[T]],
        *,
        now: str,
        timeout: float = 30.0,
    ) -> tuple[T, Shown]:
        """Run `change` in one transaction, then show it in the files; return when it is on disk.

        `timeout` is that of `Store.write`. Raises StoreError. An error after the commit does not
        undo it and is reported in a remark.
        """
        shown = Shown()
        if self.writes_files:
            self.store.mark_used(newest_shown(self.files))

        def whole(writing: WriteTransaction) -> tuple[Change[T], ProjectionPlan]:
            complete(writing, self.files, is_shared=not self.writes_files)
            made = change(writing)
            if not made.shows:
                return made, ProjectionPlan()
            if made.state_block is not None:
                record_state_block(writing, made.state_block, now=now)
            if not self.writes_files:
                return made, ProjectionPlan()

            # Last, so that it sees everything that the transaction has added.
            documents = (*PROJECTED, *made.documents)
            return made, plan_projections(
                writing, self.files, now=now, redact=_hidden, documents=documents
            )

        def then(planned: tuple[Change[T], ProjectionPlan]) -> None:
            nonlocal shown
            made, projections = planned
            shown = _applied(projections, self.files)
            if made.state is not None:
                shown = replace(shown, state=made.state.apply())
            for each in made.extra:
                if each.apply(self.files):
                    shown = replace(shown, files=(*shown.files, each.path))
                else:
                    remark = (
                        f"{each.path} was saved by somebody at this moment and is left as it is"
                    )
                    shown = replace(shown, remarks=(*shown.remarks, remark))

        made, projections = self.store.write(whole, then=then, timeout=timeout)

        # The store only logs an error after the commit. It is visible here because files that
        # should have changed did not.
        files_missing = bool(projections.files) and not shown.files and not shown.remarks
        state_missing = made.state is not None and shown.state is None
        if files_missing or state_missing:
            shown = replace(shown, remarks=(*shown.remarks, _NOT_SHOWN))

        # Also what a change before has noted whose answer has no place for it, such as a recovery.
        if (older := self.store.take_older_copy()) is not None:
            shown = replace(shown, remarks=(str(older), *shown.remarks))

        return made.answer, shown


def _applied(plan: ProjectionPlan, files: ProjectFiles) -> Shown:
    moved = plan.apply(files)
    remarks = [
        f"{path} was saved by somebody at this moment; it is shown there with the next change"
        for path in moved
    ]
    remarks += [
        f"what is recorded now stands in {each.ours}, as {each.path} shows what the database lacks"
        for each in plan.conflicts
        if each.is_unknown
    ]
    remarks += [
        f"{each.path} was changed by somebody and is kept; the new one is in {each.ours}"
        if each.path.endswith(HANDOFF)
        else f"somebody has changed {each.path} where it is ours; it is left alone, and ours is in"
        f" {each.ours}"
        for each in plan.conflicts
        if not each.is_unknown
    ]
    written = tuple(each.path for each in plan.files if each.path not in moved)

    return Shown(files=written, remarks=tuple(remarks))


def _hidden(text: str) -> str:
    return redact(text).text
