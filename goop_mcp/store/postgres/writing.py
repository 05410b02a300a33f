"""Changes to one project's rows in PostgreSQL, within one transaction."""

from collections.abc import Sequence
from dataclasses import asdict

from psycopg.sql import SQL, Composed, Identifier, Literal

from goop_mcp.current_request import current_request
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.postgres import statements
from goop_mcp.store.postgres.connections import Connection
from goop_mcp.store.postgres.reading import (
    LISTS,
    PostgresReadTransaction,
    ProjectKey,
    attempt_of,
    event_of,
    memory_of,
    report_of,
)
from goop_mcp.store.records import (
    Event,
    NewAttempt,
    NewEvent,
    NewJudgement,
    NewMemory,
    NewReport,
    Projection,
    StoredAttempt,
    StoredMemory,
    StoredReport,
)
from goop_mcp.store.search_text import fold_concept, search_text
from goop_mcp.store.storable import refuse_unstorable
from goop_mcp.store.vectors import packed

__all__ = ["IdCounters", "PostgresWriteTransaction"]

_COUNTED = ("revision", "memory_id", "report_id", "event_id", "attempt_id", "judgement_id")


class IdCounters:
    """The counters in the project's row of goop.meta: its revision and the last id of each kind.

    The row is locked for the whole transaction, so ids and revisions have no gaps or duplicates. A
    sequence would leave gaps after a rollback, and its numbers could become visible out of order.
    """

    def __init__(self, *counts: int) -> None:
        """Start with the values of the row, in the order of its columns."""
        self._last = dict(zip(_COUNTED, counts, strict=True))
        self._first = dict(self._last)

    def last(self, name: str) -> int:
        """Return the last number in use."""
        return self._last[name]

    def next(self, name: str) -> int:
        """Return the next number, which is then in use."""
        self._last[name] += 1
        return self._last[name]

    def statement(self, project: ProjectKey) -> SQL | Composed:
        """Return the statement that writes the counters back, one without effect if unchanged."""
        if self._last == self._first:
            return SQL("SELECT")
        return SQL(
            "UPDATE goop.meta SET ({names}) = ({counts}) WHERE tenant = {tenant} AND project ="
            " {project}"
        ).format(
            names=SQL(", ").join(map(Identifier, self._last)),
            counts=SQL(", ").join(map(Literal, self._last.values())),
            tenant=Literal(project.tenant),
            project=Literal(project.name),
        )


class PostgresWriteTransaction(PostgresReadTransaction):
    """One transaction. Its own reading methods see what it adds at once.

    `has_forgotten` is whether texts were removed that are still in dead rows of the table.
    """

    def __init__(
        self, connection: Connection, project: ProjectKey, *, place: str, counters: IdCounters
    ) -> None:
        """Change on `connection`, which holds the lock of the project's row."""
        super().__init__(connection, project, place=place, revision=counters.last("revision"))
        self._counters = counters
        self._raised = self.has_forgotten = False

    def next_revision(self) -> int:
        """Return this transaction's revision, one more than the last; the same at each call."""
        if not self._raised:
            self._revision, self._raised = self._counters.next("revision"), True
            if (request := current_request()) is not None and request.caller is not None:
                self._rows(
                    statements.ADD_CALLER,
                    revision=self._revision,
                    caller=request.caller,
                    tool=request.tool,
                    request_id=request.id,
                )

        return self._revision

    def add_memory(self, new: NewMemory) -> StoredMemory:
        """Add a memory; raise StoreError when its key, fingerprint or uid is in use."""
        made = {
            "concept_keys": [fold_concept(concept) for concept in new.concepts],
            "search_title": search_text(new.title),
            "search_body": search_text(" ".join((new.content, *new.concepts))),
        }
        return memory_of(
            self._add(statements.ADD_MEMORY, new, id_name="memory_id", **_lists(new), **made)
        )

    def set_vector(self, id: int, model: str, vector: Sequence[float]) -> None:
        """Store the vector of a memory that is not forgotten, in place of one of the same model."""
        self._rows(statements.SET_VECTOR, id=id, model=model, vector=packed(vector))
        failpoint(Failpoint.INSERT)

    def forget_memory(
        self, id: int, *, forgotten_at: str, purge: bool = False
    ) -> StoredMemory | None:
        """Remove a memory's texts, vectors, key and index entries; `purge` removes the row as well.

        Return the memory as it was; None when there is none, or when it is already forgotten and
        not to be purged.
        """
        was = self.memory(id)
        if was is None or (was.forgotten_at and not purge):
            return None

        self._rows(statements.FORGET_VECTORS, id=id)
        self._rows(
            statements.PURGE_MEMORY if purge else statements.FORGET_MEMORY,
            id=id,
            sketches=list(was.sketches),
            forgotten_at=forgotten_at,
            revision=self.next_revision(),
        )
        self.has_forgotten = True
        failpoint(Failpoint.INSERT)

        return was

    def add_report(self, new: NewReport) -> StoredReport:
        """Record an envelope; raise StoreError when its key is in use."""
        return report_of(self._add(statements.ADD_REPORT, new, id_name="report_id"))

    def add_event(self, new: NewEvent) -> Event:
        """Append an event."""
        return event_of(self._add(statements.ADD_EVENT, new, id_name="event_id"))

    def add_attempts(self, new: Sequence[NewAttempt]) -> list[StoredAttempt]:
        """Record attempts; no revision is used.

        Raises StoreError when one of them is recorded already.
        """
        return [
            attempt_of(
                self._insert(statements.ADD_ATTEMPT, each, id_name="attempt_id", **_lists(each))
            )
            for each in new
        ]

    def add_judgement(self, new: NewJudgement) -> None:
        """Record a judgement; no revision is used."""
        self._insert(statements.ADD_JUDGEMENT, new, id_name="judgement_id", **_lists(new))

    def set_projection(self, projection: Projection) -> None:
        """Record what is being written to a file, in place of an earlier record of it."""
        refuse_unstorable(projection)
        self._rows(statements.SET_PROJECTION, **asdict(projection))
        failpoint(Failpoint.INSERT)

    def _add(
        self,
        statement: Composed,
        new: NewMemory | NewReport | NewEvent,
        *,
        id_name: str,
        **made: object,
    ) -> dict[str, object]:
        return self._insert(statement, new, id_name=id_name, revision=self.next_revision(), **made)

    def _insert(
        self,
        statement: SQL | Composed,
        new: NewMemory | NewReport | NewEvent | NewAttempt | NewJudgement,
        *,
        id_name: str,
        **made: object,
    ) -> dict[str, object]:
        refuse_unstorable(new)
        [row] = self._rows(statement, **(asdict(new) | made), id=self._counters.next(id_name))
        failpoint(Failpoint.INSERT)

        return row


def _lists(new: NewMemory | NewAttempt | NewJudgement) -> dict[str, list[str | int]]:
    """Return the fields that are lists in the database."""
    return {name: list(getattr(new, name)) for name in LISTS if hasattr(new, name)}
