"""The interface that both databases implement; both pass one contract suite (tests/store)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from goop_mcp.store.records import (
    Confirmation,
    ConfirmationAnswer,
    Event,
    KeptDocument,
    KeptReply,
    KeptRun,
    KeptStep,
    MemoryFilter,
    MemoryType,
    MemoryWords,
    NewAttempt,
    NewConfirmation,
    NewEvent,
    NewJudgement,
    NewKeptDocument,
    NewKeptReply,
    NewKeptRun,
    NewMemory,
    NewReport,
    Operator,
    Projection,
    RetireReason,
    Round,
    RoundOutcome,
    SearchHit,
    StoredAttempt,
    StoredMemory,
    StoredReport,
)
from goop_mcp.store.statistics import Statistics, StatisticsFilter
from goop_mcp.validation.safe_json import JsonValue

if TYPE_CHECKING:
    from goop_mcp.store.graph_rows import GraphReader, GraphWriter
    from goop_mcp.store.older_copies import OlderCopy

__all__ = ["ReadTransaction", "Store", "WriteTransaction"]

T = TypeVar("T")


class ReadTransaction(Protocol):
    """One consistent view of a project's rows.

    Only `memory`, `memories_with_ids` and `memory_by_uid` return forgotten memories.
    """

    @property
    def graphs(self) -> "GraphReader":
        """The rows of delegation runs."""
        ...

    def revision(self) -> int:
        """Return the revision of the last change, 0 for a project without any."""
        ...

    def memory(self, id: int) -> StoredMemory | None:
        """Return the memory with `id`, also a forgotten one; None when there never was one."""
        ...

    def memories_with_ids(self, ids: Sequence[int]) -> list[StoredMemory]:
        """Return the memories with `ids` in this order; ids without a memory are omitted."""
        ...

    def memory_by_uid(self, uid: str) -> StoredMemory | None:
        """Return the memory with `uid`, also a forgotten one; None when there is none."""
        ...

    def memory_by_key(self, idempotency_key: str) -> StoredMemory | None:
        """Return the memory that holds the key, None when the key is free."""
        ...

    def memory_by_fingerprint(self, fingerprint: str) -> StoredMemory | None:
        """Return the memory with the same normalised title and content, None when there is none."""
        ...

    def memories_by_sketch(self, sketches: Sequence[int], *, limit: int) -> list[MemoryWords]:
        """Return at most `limit` memories that share a sketch with `sketches`.

        Those that share most sketches, and the rarest, are first; among equals the newest. Of the
        memories that share one sketch only the newest MOST_OF_A_SKETCH count.
        """
        ...

    def memories(
        self, wanted: MemoryFilter, *, limit: int | None = None, before_id: int | None = None
    ) -> list[StoredMemory]:
        """Return memories, newest first, at most `limit`.

        `before_id`, the id of the last one, continues the list.
        """
        ...

    def memories_after(self, id: int, *, limit: int) -> list[StoredMemory]:
        """Return at most `limit` memories with a larger id, oldest first; 0 begins the list."""
        ...

    def memory_counts(self) -> Mapping[MemoryType, int]:
        """Return how many memories of each type there are; types without any are omitted."""
        ...

    def search(
        self, terms: Sequence[str], *, operator: Operator, wanted: MemoryFilter, limit: int
    ) -> list[SearchHit]:
        """Return memories with all (AND) or some (OR) of `terms`, best first.

        A term is a word or an identifier; any text is allowed. In a large database, words that
        many memories have count for less, or only among the newest memories.
        """
        ...

    def can_find(self, terms: Sequence[str]) -> bool:
        """Return whether `search` can find a memory by one of `terms`.

        PostgreSQL indexes no words such as "the".
        """
        ...

    def now(self) -> str:
        """Return the time by the database's clock, in ISO 8601, UTC, with milliseconds.

        Ages are computed with it, as the clocks of machines that share a database differ.
        """
        ...

    def round(self) -> Round:
        """Return the newest round, round 1 of a project that has not closed any."""
        ...

    def rounds(self, *, limit: int | None = None) -> list[Round]:
        """Return the rounds, newest first; there is always one."""
        ...

    def reports(
        self,
        *,
        after_revision: int = 0,
        round: int | None = None,
        include_retired: bool = False,
        before_id: int | None = None,
        limit: int | None = None,
    ) -> list[StoredReport]:
        """Return recorded envelopes with a revision above `after_revision`, newest first.

        `round` is the number of the round they belong to, None for all rounds. `before_id`, the id
        of the last one, continues the list.
        """
        ...

    def last_reports(self, *, round: int) -> list[StoredReport]:
        """Return the newest envelope of each task, agent and phase in a round, newest first.

        None counts as a task, agent or phase like any other value; retired reports do not count.
        Each of a goop_report without a task is there unless it is COMPLETE: it may be blocked.
        """
        ...

    def report(self, id: int) -> StoredReport | None:
        """Return the report with `id`, also a retired one; None when there is none."""
        ...

    def report_count(self, *, round: int | None = None) -> int:
        """Return how many envelopes are recorded in `round`, None for all; not retired ones."""
        ...

    def reports_changed_at(self) -> int:
        """Return the revision at which reports last changed other than by adding one; 0 for none.

        A round was opened, closed or reopened, or reports were retired. What was computed from
        reports counts only while this is the same.
        """
        ...

    def report_by_key(self, idempotency_key: str) -> StoredReport | None:
        """Return the report recorded under the key, None when there is none."""
        ...

    def confirmation(self, id: int) -> Confirmation | None:
        """Return the request with `id`, None when there is none."""
        ...

    def open_confirmations(self) -> list[Confirmation]:
        """Return the requests that wait for a person, oldest first, at most 50."""
        ...

    def confirmations(self, *, round: int) -> list[Confirmation]:
        """Return what people confirmed in a round, oldest first; of more than 500 the newest."""
        ...

    def stored_state(self) -> str | None:
        """Return the text of the state that is kept in the database, None without one."""
        ...

    def kept_document(
        self, name: str, *, step: KeptStep | None = None, round: int | None = None
    ) -> KeptDocument | None:
        """Return the document `name` as last kept, None when it was not.

        `step` and `round` restrict which step kept it, in which round.
        """
        ...

    def kept_documents(self, *, step: KeptStep, round: int) -> list[KeptDocument]:
        """Return each document that `step` kept in a round, as kept last, ordered by name.

        Of more than 100 names those that sort last, which are the newest checkpoints.
        """
        ...

    def kept_reply(self, agent: str) -> KeptReply | None:
        """Return the newest kept reply of an agent with this name, None without one."""
        ...

    def agents_with_kept_replies(self) -> list[str]:
        """Return the names of agents whose replies are kept, ordered."""
        ...

    def kept_run(self, run: str) -> KeptRun | None:
        """Return the recorded run with this id, None when there was none.

        One that was removed has no content.
        """
        ...

    def kept_runs(self, *, before_id: int | None = None, limit: int) -> list[KeptRun]:
        """Return at most `limit` recorded runs that were not removed, newest first.

        `before_id`, the id of the last one, continues the list.
        """
        ...

    def counters(self, *, round: int, task: str) -> Mapping[str, JsonValue]:
        """Return the counters of a task in a round, {} without any; those of the round for ""."""
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
        """Return events with a revision above `after_revision`, oldest first.

        `document` is the document they are shown in; `kinds` and `month` (such as 2026-11) restrict
        them further.
        """
        ...

    def event_revisions(
        self, document: str, *, without: Sequence[str], up_to: int | None = None, limit: int
    ) -> list[int]:
        """Return the revision of each of the newest events shown in `document`, newest first.

        Events of the kinds `without` do not count, nor those after the revision `up_to`.
        """
        ...

    def document_revision(self, document: str) -> int:
        """Return the revision of the newest event shown in `document`, 0 when there is none."""
        ...

    def projections(self) -> list[Projection]:
        """Return what is known of the files that goop-mcp wrote, ordered by path."""
        ...

    def attempts(
        self, *, since: str | None = None, limit: int | None = None
    ) -> list[StoredAttempt]:
        """Return recorded attempts, oldest first.

        `since` is the earliest time (ISO 8601, UTC), None for all.
        """
        ...

    def statistics(self, wanted: StatisticsFilter) -> Statistics:
        """Return the statistics of attempts, judgements and reports."""
        ...


class WriteTransaction(ReadTransaction, Protocol):
    """One transaction. Its own reading methods see what it adds at once."""

    @property
    def graphs(self) -> "GraphWriter":
        """The rows of delegation runs."""
        ...

    def next_revision(self) -> int:
        """Return this transaction's revision, one more than the last; the same at each call.

        A transaction that never asks for it uses none.
        """
        ...

    def add_memory(self, new: NewMemory) -> StoredMemory:
        """Add a memory.

        Its key and fingerprint must be unused; the caller checks that in this transaction.
        """
        ...

    def forget_memory(
        self, id: int, *, forgotten_at: str, purge: bool = False
    ) -> StoredMemory | None:
        """Remove a memory's texts, key and index entries; `purge` removes the row as well.

        Return the memory as it was; None when there is none, or when it is already forgotten and
        not to be purged.
        """
        ...

    def add_report(self, new: NewReport) -> StoredReport:
        """Record an envelope.

        Its key must be unused; the caller checks that in this transaction.
        """
        ...

    def retire_reports(self, ids: Sequence[int], *, reason: RetireReason) -> int:
        """Mark reports as no longer counting, and return how many counted until now.

        Their keys are free again, so that the same envelope can be recorded once more.
        """
        ...

    def open_round(self, *, name: str | None, opened_at: str) -> Round:
        """Open the round after the newest one. Raises StoreError while that is open."""
        ...

    def close_round(
        self, *, outcome: RoundOutcome, closed_at: str, plan_sha256: str | None
    ) -> Round:
        """Close the newest round. Raises StoreError when it is closed already."""
        ...

    def reopen_round(self) -> Round:
        """Open the newest closed round again, and remove an open one without reports after it.

        Raises StoreError when no round is closed, or the open one has reports.
        """
        ...

    def add_confirmation(self, new: NewConfirmation) -> Confirmation:
        """Add a request for a confirmation, and return it; it is open.

        At most one is open for each round, action and `subject_key`: an open one with the same
        subject and arguments is returned instead, any other becomes outdated.
        """
        ...

    def answer_confirmation(
        self,
        id: int,
        *,
        status: ConfirmationAnswer,
        via: str | None,
        comment: str | None,
        answered_at: str,
    ) -> Confirmation:
        """Store the answer to an open request, and return it.

        Raises StoreError when there is no such request, or it was answered before.
        """
        ...

    def set_stored_state(self, text: str) -> None:
        """Keep the text of the state in the database, in place of an earlier one."""
        ...

    def keep_document(self, new: NewKeptDocument) -> KeptDocument:
        """Keep the text of a document."""
        ...

    def keep_reply(self, new: NewKeptReply) -> KeptReply:
        """Keep a reply in place of the earlier one of the same agent and key.

        No revision is used. The oldest are removed where there are more than MOST_KEPT_REPLIES, or
        more than MOST_BYTES_OF_KEPT_REPLIES together; `close_round` removes all of them.
        """
        ...

    def keep_run(self, new: NewKeptRun) -> KeptRun:
        """Keep a recorded run, whose id must be unused; no revision is used.

        The contents of the oldest are removed where there are more than MOST_KEPT_RUNS, or more
        than MOST_BYTES_OF_KEPT_RUNS together; older ones than MOST_KNOWN_RUNS are forgotten.
        """
        ...

    def remove_kept_runs(self, ids: Sequence[int]) -> int:
        """Remove the contents of recorded runs, and return how many had one."""
        ...

    def set_counters(self, *, round: int, task: str, values: Mapping[str, JsonValue]) -> None:
        """Store the counters of a task in place of earlier ones; no revision is used.

        Raises StoreError for more than 64 KiB of JSON.
        """
        ...

    def add_event(self, new: NewEvent) -> Event:
        """Append an event."""
        ...

    def add_attempts(self, new: Sequence[NewAttempt]) -> list[StoredAttempt]:
        """Record attempts; no revision is used.

        Each pair of call and number must be unused; the caller ensures that.
        """
        ...

    def add_judgement(self, new: NewJudgement) -> None:
        """Record a judgement; no revision is used."""
        ...

    def set_projection(self, projection: Projection) -> None:
        """Record what is being written to a file, in place of an earlier record of it."""
        ...


class Store(Protocol):
    """One project's database.

    Safe to use from many threads; nothing is opened before the first call.

    All methods raise subclasses of `goop_mcp.errors.StoreError` and no error of a database library.
    """

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """The kind of database."""
        ...

    @property
    def location(self) -> str:
        """Where the rows are, for people: a path or a URL without password."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know about the database, such as that it is on a network filesystem.

        Empty before it was opened.
        """
        ...

    def exists(self) -> bool:
        """Return whether there is a database, without creating one."""
        ...

    def read(self, ask: Callable[[ReadTransaction], T]) -> T:
        """Run `ask` on one consistent view and return its result.

        A database that does not exist reads as empty.
        """
        ...

    def write(
        self,
        change: Callable[[WriteTransaction], T],
        *,
        then: Callable[[T], None] | None = None,
        timeout: float = 30.0,
    ) -> T:
        """Run `change` in one transaction and return its result once it is on disk.

        Writers of all processes wait in one queue, at most `timeout` seconds each. An exception of
        `change` rolls everything back and is raised again. `then` runs after the commit while the
        queue still waits: it replaces files that follow from the change and must be short. Its
        failure is logged and does not roll the commit back. Both run in a thread of the store and
        must not write to the store themselves.

        Nothing is searched for secrets while the queue waits: where `change` redacts a text that
        was not searched before, it is rolled back and called again with the result.
        """
        ...

    def mark_used(self, revision: int) -> None:
        """Give no revision up to `revision` any more, as files show it; takes effect at a change.

        A database that has not got so far is an older copy, which the next change notes.
        """
        ...

    def take_older_copy(self) -> "OlderCopy | None":
        """Return what a change of this store has noted, once; None if nothing is missing."""
        ...

    def check(self) -> list[str]:
        """Return a description of each defect of the database; empty when there is none."""
        ...

    def backup(self, target: Path, *, force: bool = False) -> None:
        """Write all rows to one file at `target` that `restore` reads.

        An existing file is only overwritten with `force`. Others may read and write meanwhile.
        Raises UnwritableFileError and StoreError; always on PostgreSQL, which has its own tools.
        """
        ...

    def restore(self, source: Path) -> str | None:
        """Replace all rows by those of the file at `source`, and return where the old ones are.

        None when there were none. The file is checked first: one that is damaged, newer than this
        program or from another program changes nothing. Running servers continue with the restored
        rows. Raises StoreError; always on PostgreSQL, which has its own tools.
        """
        ...

    def close(self) -> None:
        """Release files and connections after writes in progress end; may be called twice."""
        ...
