"""Changes to one project's rows in PostgreSQL, within one transaction."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict
from psycopg.sql import SQL, Composed, Identifier, Literal

from goop_mcp import store
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
    MOST_BYTES_OF_KEPT_REPLIES,
    MOST_BYTES_OF_KEPT_RUNS,
    MOST_KEPT_REPLIES,
    MOST_KEPT_RUNS,
    MOST_KNOWN_RUNS,
    Confirmation,
    Event,
    KeptDocument,
    KeptReply,
    KeptRun,
    NewAttempt,
    NewConfirmation,
    NewEvent,
    NewJudgement,
    NewKeptDocument,
    NewKeptReply,
    NewKeptRun,
    NewMemory,
    NewReport,
    Projection,
    Record,
    RetireReason,
    Round,
    StoredAttempt,
    StoredMemory,
    StoredReport,
)
from goop_mcp.store.rounds import RoundWriter, counters_text, refuse_long_reply, refuse_long_run
from goop_mcp.store.search_text import (
    filter_tokens,
    fold_concept,
    project_token,
    search_body,
    search_text,
)
from goop_mcp.store.storable import refuse_unstorable, refuse_unstorable_text
from goop_mcp.validation.safe_json import JsonValue

if TYPE_CHECKING:
    from goop_mcp.store.graph_rows import GraphWriter

__all__ = ["IdCounters", "PostgresWriteTransaction"]

# In the order of the columns of goop.meta that the start of a transaction returns.
_COUNTED = (
    "revision",
    "memory_id",
    "report_id",
    "event_id",
    "attempt_id",
    "judgement_id",
    "confirmation_id",
    "document_id",
    "reply_id",
    "run_id",
)


class IdCounters:
    """The counters in the project's row of goop.meta: its revision and the last id of each kind.

    The row is locked for the whole transaction, so ids and revisions have no gaps or duplicates. A
    sequence would leave gaps after a rollback, and its numbers could become visible out of order.
    """

    def __init__(self, *counts: int) -> None:
        """Start with the values of the row, in the order of its columns."""
        self._last = dict(zip(_COUNTED, counts, strict=True))
        self._first = dict(self._last)

    def continue_from(self, name: str, number: int) -> None:
        """Let `number` be the last number in use."""
        self._last[name] = number

    def last(self, name: str) -> int:
        """Return the last number in use."""
        return self._last[name]

    def next(self, name: str) -> int:
        """Return the next number, which is then in use."""
        self._last[name] += 1
        return self._last[name]

    def statement(self, project: ProjectKey) -> SQL | Composed:
        """Return the statement that writes the counters back, one without effect if unchanged."""
        # Still a statement, as the message that commits always has two.
        if self._last == self._first:
            return SQL("SELECT")
        return SQL(
            # The next start recognises by the last three whether the row is still this one.
            "UPDATE goop.meta SET ({names}) = ({counts}), written_in = tableoid::bigint, written_by"
            " = pg_current_xact_id()::text::bigint, written_at = clock_timestamp() WHERE tenant ="
            " {tenant} AND project = {project}"
        ).format(
            names=SQL(", ").join(map(Identifier, self._last)),
            counts=SQL(", ").join(map(Literal, self._last.values())),
            tenant=Literal(project.tenant),
            project=Literal(project.name),
        )


class PostgresWriteTransaction(PostgresReadTransaction, RoundWriter):
    """One transaction. Its own reading methods see what it adds at once.

    `has_forgotten` is whether texts were removed that are still in dead rows of the table.
    """

    def __init__(
        self,
        connection: Connection,
        project: ProjectKey,
        *,
        place: str,
        counters: IdCounters,
        at: str,
    ) -> None:
        """Change on `connection`, which holds the lock of the project's row since the time `at`."""
        super().__init__(connection, project, place=place, revision=counters.last("revision"))
        self._counters, self._at = counters, at
        # Whether this transaction has its revision already; reading methods return it then.
        self._raised = self.has_forgotten = False

    @property
    def graphs(self) -> "GraphWriter":
        """The rows of delegation runs."""
        return store.graph_rows.GraphWriter(self._graph_rows)

    def now(self) -> str:
        """Return when this transaction began, by the clock of the database."""
        # It came with the row that starts the transaction: asking for it is a round trip.
        return self._at

    def next_revision(self) -> int:
        """Return this transaction's revision, one more than the last; the same at each call."""
        if not self._raised:
            self._revision, self._raised = self._counters.next("revision"), True
            # As on SQLite: the caller belongs to the change and is committed with it.
            if (request := current_request()) is not None and request.caller is not None:
                self._rows(
                    statements.ADD_CALLER,
                    revision=self._revision,
                    caller=request.caller,
                    tool=request.tool,
                    request_id=request.id,
                )

        return self._revision

    def _continue_from(self, revision: int) -> None:
        self._counters.continue_from("revision", revision)
        self._revision, self._raised = revision, False

    def add_memory(self, new: NewMemory) -> StoredMemory:
        """Add a memory; raise StoreError when its key, fingerprint or uid is in use."""
        # Computed here and not in a trigger: identifiers are split by code that both engines share.
        tokens = filter_tokens(new.type, new.importance, new.concepts).split()
        made = {
            "concept_keys": [fold_concept(concept) for concept in new.concepts],
            "search_title": search_text(new.title),
            "search_body": search_body(new.content, new.concepts, new.title),
            "search_tokens": [*tokens, project_token(self._project.tenant, self._project.name)],
        }
        self._counted.clear()
        return memory_of(
            self._add(statements.ADD_MEMORY, new, id_name="memory_id", **_lists(new), **made)
        )

    def forget_memory(
        self, id: int, *, forgotten_at: str, purge: bool = False
    ) -> StoredMemory | None:
        """Remove a memory's texts, key and index entries; `purge` removes the row as well.

        Return the memory as it was; None when there is none, or when it is already forgotten and
        not to be purged.
        """
        was = self.memory(id)
        if was is None or (was.forgotten_at and not purge):
            return None

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

    def retire_reports(self, ids: Sequence[int], *, reason: RetireReason) -> int:
        """Mark reports as no longer counting, and free their keys."""
        retired = self._rows(statements.RETIRE_REPORTS, ids=list(ids), reason=reason)
        # Returned rows, not the number of ids given: a report may be retired already.
        if retired:
            self._reports_changed()

        failpoint(Failpoint.INSERT)

        return len(retired)

    def set_stored_state(self, text: str) -> None:
        """Keep the text of the state in the database."""
        refuse_unstorable_text(text, name="the state")
        self._rows(statements.SET_STATE, revision=self.next_revision(), text=text)
        failpoint(Failpoint.INSERT)

    def keep_document(self, new: NewKeptDocument) -> KeptDocument:
        """Keep the text of a document."""
        return KeptDocument(**self._add(statements.KEEP_DOCUMENT, new, id_name="document_id"))

    def keep_reply(self, new: NewKeptReply) -> KeptReply:
        """Keep a reply in place of the earlier one of the same agent and key."""
        refuse_unstorable(new)
        refuse_long_reply(new)
        self._rows(statements.REMOVE_KEPT_REPLY, agent=new.agent, agent_key=new.agent_key)
        kept = KeptReply(**self._insert(statements.KEEP_REPLY, new, id_name="reply_id"))
        self._rows(
            statements.TOO_MANY_REPLIES,
            most=MOST_KEPT_REPLIES,
            most_bytes=MOST_BYTES_OF_KEPT_REPLIES,
        )

        return kept

    def keep_run(self, new: NewKeptRun) -> KeptRun:
        """Keep a recorded run."""
        refuse_unstorable(new)
        refuse_long_run(new)
        kept = KeptRun(**self._insert(statements.KEEP_RUN, new, id_name="run_id"))
        self._rows(
            statements.TOO_MANY_RUNS, most=MOST_KEPT_RUNS, most_bytes=MOST_BYTES_OF_KEPT_RUNS
        )
        self._rows(statements.FORGET_KEPT_RUNS, most=MOST_KNOWN_RUNS)

        return kept

    def remove_kept_runs(self, ids: Sequence[int]) -> int:
        """Remove the contents of recorded runs."""
        removed = self._rows(statements.REMOVE_KEPT_RUNS, ids=list(ids))
        failpoint(Failpoint.INSERT)

        return len(removed)

    def set_counters(self, *, round: int, task: str, values: Mapping[str, JsonValue]) -> None:
        """Store the counters of a task."""
        refuse_unstorable_text(task, name="task")
        self._rows(statements.SET_COUNTERS, round=round, task=task, json=counters_text(values))
        failpoint(Failpoint.INSERT)

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

    def _set_round(self, round: Round) -> Round:
        refuse_unstorable(round)
        self._rows(statements.SET_ROUND, **asdict(round))
        self._reports_changed()
        failpoint(Failpoint.INSERT)

        return round

    def _reports_changed(self) -> None:
        self._rows(statements.REPORTS_CHANGED, revision=self.next_revision())

    def _remove_round(self, number: int) -> None:
        self._rows(statements.REMOVE_ROUND, number=number)

    def _remove_kept_replies(self) -> None:
        self._rows(statements.REMOVE_KEPT_REPLIES)

    def _open_confirmation(self, new: NewConfirmation) -> Confirmation | None:
        found = self._rows(
            statements.OPEN_CONFIRMATION,
            round=new.round,
            action=new.action,
            subject_key=new.subject_key,
        )
        return next((Confirmation(**row) for row in found), None)

    def _add_confirmation(self, new: NewConfirmation) -> Confirmation:
        return Confirmation(
            **self._add(statements.ADD_CONFIRMATION, new, id_name="confirmation_id")
        )

    def _answer(self, answered: Confirmation) -> Confirmation:
        refuse_unstorable(answered)
        self.next_revision()
        self._rows(statements.ANSWER_CONFIRMATION, **asdict(answered))
        failpoint(Failpoint.INSERT)

        return answered

    def _add(
        self,
        statement: Composed,
        new: NewMemory | NewReport | NewEvent | NewConfirmation | NewKeptDocument,
        *,
        id_name: str,
        **made: object,
    ) -> dict[str, Any]:
        return self._insert(statement, new, id_name=id_name, revision=self.next_revision(), **made)

    def _insert(
        self,
        statement: SQL | Composed,
        new: Record,
        *,
        id_name: str,
        **made: object,
    ) -> dict[str, Any]:
        # The id is taken last, as a refused record must not use it up.
        refuse_unstorable(new)
        # Exactly one row: an INSERT that returns none or two would be a defect of the statement.
        [row] = self._rows(statement, **(asdict(new) | made), id=self._counters.next(id_name))
        failpoint(Failpoint.INSERT)

        return row


def _lists(new: NewMemory | NewAttempt | NewJudgement) -> dict[str, list[str | int]]:
    """Return the fields that are lists in the database."""
    return {name: list(getattr(new, name)) for name in LISTS if hasattr(new, name)}
