"""The small interface behind which the databases stand.

Both adapters pass one contract suite (tests/store).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from goop_mcp.store.records import (
    Event,
    MemoryFilter,
    MemoryType,
    MemoryWords,
    NewAttempt,
    NewEvent,
    NewJudgement,
    NewMemory,
    NewReport,
    Operator,
    Projection,
    SearchHit,
    StoredAttempt,
    StoredMemory,
    StoredReport,
)
from goop_mcp.store.statistics import Statistics, StatisticsFilter

__all__ = ["Reading", "Store", "Writing"]

T = TypeVar("T")


class Reading(Protocol):
    """One consistent view of a project's rows.

    Forgotten memories are seen by `memory` and `memory_by_uid` only.
    """

    def revision(self) -> int:
        """Return the revision of the last change, 0 for a project without any."""
        ...

    def memory(self, id: int) -> StoredMemory | None:
        """Return the memory with `id`, a forgotten one too; None when there never was one."""
        ...

    def memory_by_uid(self, uid: str) -> StoredMemory | None:
        """Return the memory with `uid`, a forgotten one too; None when there is none."""
        ...

    def memory_by_key(self, idempotency_key: str) -> StoredMemory | None:
        """Return the memory that holds the key, None when the key is free."""
        ...

    def memory_by_fingerprint(self, fingerprint: str) -> StoredMemory | None:
        """Return the memory with the same normalised title and content, None when there is none."""
        ...

    def memories_by_sketch(self, sketches: Sequence[int], *, limit: int) -> list[MemoryWords]:
        """Return at most `limit` memories that share a sketch, those that share most and the rarest first.

        Among equals the newest is first. Of those that share one sketch only the newest MOST_OF_A_SKETCH count.
        """
        ...

    def memories(
        self, wanted: MemoryFilter, *, limit: int | None = None, before_id: int | None = None
    ) -> list[StoredMemory]:
        """Return memories, newest first, at most `limit`; `before_id`, the id of the last one, continues the list."""
        ...

    def memories_after(self, id: int, *, limit: int) -> list[StoredMemory]:
        """Return at most `limit` memories with a larger id, oldest first; 0 begins the list."""
        ...

    def memories_without_vector(
        self, model: str, *, dimensions: int, limit: int, after_id: int = 0
    ) -> list[StoredMemory]:
        """Return memories that have no vector of `model` with so many numbers, oldest first.

        `after_id`, the id of the last one, continues the list.
        """
        ...

    def vectors(self, model: str, *, dimensions: int) -> list[tuple[int, Sequence[float]]]:
        """Return the ids of memories and their vectors of `model` with so many numbers, by id."""
        ...

    def memory_counts(self) -> Mapping[MemoryType, int]:
        """Return how many memories of each type there are; a type without any is left out."""
        ...

    def search(
        self, words: Sequence[str], *, operator: Operator, wanted: MemoryFilter, limit: int
    ) -> list[SearchHit]:
        """Return the memories that hold all (AND) or some (OR) of the words, best first; no words, no hits."""
        ...

    def reports(self, *, after_revision: int = 0, limit: int | None = None) -> list[StoredReport]:
        """Return recorded envelopes, newest first, those behind `after_revision` only."""
        ...

    def last_reports(self) -> list[StoredReport]:
        """Return of each task, agent and phase the newest envelope, newest first; None is a task, agent, phase too."""
        ...

    def report_count(self) -> int:
        """Return how many envelopes are recorded."""
        ...

    def report_by_key(self, idempotency_key: str) -> StoredReport | None:
        """Return the report recorded under the key, None when there is none."""
        ...

    def events(
        self,
        *,
        after_revision: int = 0,
        document: str | None = None,
        kinds: Sequence[str] | None = None,
        month: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Return events in the order in which they happened, those after `after_revision` only.

        `document` is the one they are shown in, `kinds` and `month` (such as 2026-11) restrict them
        further.
        """
        ...

    def event_revisions(
        self, document: str, *, without: Sequence[str], up_to: int | None = None, limit: int
    ) -> list[int]:
        """Return the revisions of the newest events shown in `document`, newest first, one for each event.

        Events of the kinds `without` do not count, nor those after the revision `up_to`.
        """
        ...

    def document_revision(self, document: str) -> int:
        """Return the revision of the newest event that is shown in `document`, 0 when there is none."""
        ...

    def projections(self) -> list[Projection]:
        """Return what we know of the files we wrote, ordered by path."""
        ...

    def attempts(
        self, *, since: str | None = None, limit: int | None = None
    ) -> list[StoredAttempt]:
        """Return recorded attempts, oldest first; `since` is the earliest time (ISO 8601, UTC), None for all."""
        ...

    def statistics(self, wanted: StatisticsFilter) -> Statistics:
        """Return the figures of attempts, judgements and reports."""
        ...


class Writing(Reading, Protocol):
    """One transaction. What it adds is seen by its own reading methods at once."""

    def next_revision(self) -> int:
        """Return this transaction's revision: one more than the last; the same at each call, raised at the first."""
        ...

    def add_memory(self, new: NewMemory) -> StoredMemory:
        """Add a memory.

        The caller has looked for key and fingerprint in this transaction; both must be free.
        """
        ...

    def set_vector(self, id: int, model: str, vector: Sequence[float]) -> None:
        """Keep the vector of a memory, in place of an earlier one of `model`; a forgotten memory gets none.

        It is no change of the project and has no revision.
        """
        ...

    def forget_memory(
        self, id: int, *, forgotten_at: str, purge: bool = False
    ) -> StoredMemory | None:
        """Empty a memory's texts and vectors, free its key, take it out of the index; `purge` removes the row itself.

        Returns the memory as it was, None when there is none or, unless it is to be purged, it is forgotten already.
        """
        ...

    def add_report(self, new: NewReport) -> StoredReport:
        """Record an envelope.

        The caller has looked for the key in this transaction; it must be free.
        """
        ...

    def add_event(self, new: NewEvent) -> Event:
        """Append an event."""
        ...

    def add_attempts(self, new: Sequence[NewAttempt]) -> list[StoredAttempt]:
        """Record attempts; no revision is used.

        The caller sees to it that call and number are free together.
        """
        ...

    def add_judgement(self, new: NewJudgement) -> None:
        """Record a judgement; no revision is used."""
        ...

    def set_projection(self, projection: Projection) -> None:
        """Remember what we write to a file, in place of what was remembered of it."""
        ...


class Store(Protocol):
    """One project's database.

    Safe to use from many threads; nothing is opened before the first call.

    All methods raise the errors of `goop_mcp.errors` under StoreError and nothing of a database
    library.
    """

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """The kind of database."""
        ...

    @property
    def location(self) -> str:
        """Where the rows lie, for people: a path or a URL without password."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know about the place, such as a network filesystem; empty before it was opened."""
        ...

    def exists(self) -> bool:
        """Tell whether there is a database; looking creates nothing."""
        ...

    def read(self, ask: Callable[[Reading], T]) -> T:
        """Run `ask` on one consistent view and return its answer.

        A database that does not exist reads as empty.
        """
        ...

    def write(
        self,
        change: Callable[[Writing], T],
        *,
        then: Callable[[T], None] | None = None,
        timeout: float = 30.0,
    ) -> T:
        """Run `change` in one transaction and return its answer once it is on disk.

        Writers of all processes wait in one queue, at most `timeout` seconds each. An exception of
        `change` takes everything back and is raised again. `then` runs after the commit while the
        queue still waits: it replaces files that follow from the change, must be short, and its
        failure is logged and does not take the commit back. Both run in a thread of the store and
        must not write to it in turn.
        """
        ...

    def check(self) -> list[str]:
        """Return what is wrong with the database, in words; empty when all is well."""
        ...

    def backup(self, target: Path, *, force: bool = False) -> None:
        """Write all rows to one file at `target` that `restore` takes; over one that is there only with `force`.

        Others may read and write meanwhile. Raises UnwritableFileError, and StoreError, on PostgreSQL always: it has
        tools of its own.
        """
        ...

    def restore(self, source: Path) -> str | None:
        """Put what the file at `source` holds in place of all rows, and return where those are kept now.

        None when there were none. The file is looked at first: one that is damaged, newer than this program or not of
        ours changes nothing. Servers that run go on with what was put back. Raises StoreError, as `backup`.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice. Writes under way end first."""
        ...
