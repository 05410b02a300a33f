"""Change the rows of a SQLite database, inside a transaction that was started already."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import apsw

from goop_mcp import store
from goop_mcp.current_request import current_request
from goop_mcp.store.failpoints import Failpoint, failpoint
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
from goop_mcp.store.search_text import filter_tokens, fold_concept, inner_words
from goop_mcp.store.sqlite.reading import LISTS, SqliteReadTransaction
from goop_mcp.store.storable import refuse_unstorable, refuse_unstorable_text
from goop_mcp.validation.safe_json import JsonValue

if TYPE_CHECKING:
    from goop_mcp.store.graph_rows import GraphWriter

__all__ = ["SqliteWriteTransaction"]

# Not escaped to ASCII: the index of words reads these columns as they are stored.
_as_json: Final = json.JSONEncoder(ensure_ascii=False).encode
_CALLER: Final = "INSERT INTO callers (revision, caller, tool, request_id) VALUES (?, ?, ?, ?)"
# Emptied in place: the row stays, so that a number never stands for two memories and an export of
# changes can show that this one is gone. The triggers of the table remove its words.
_FORGET: Final = """
UPDATE memories SET title = '', content = '', concepts = '[]', concept_words = '',
  inner_words = '', filter_tokens = '', facts = '[]', source_files = '[]', sketches = '[]',
  agent = NULL, session_id = NULL, idempotency_key = NULL, fingerprint = NULL,
  revision = :revision, forgotten_at = :forgotten_at
WHERE id = :id
"""
# The key of a retired report becomes free for the report that replaces it. The id makes the old one
# unique, however often a report with this key is retired.
_RETIRE: Final = """
UPDATE reports SET retired = :reason, idempotency_key = idempotency_key || ':' || id
WHERE id IN (SELECT value FROM json_each(:ids)) AND retired IS NULL
"""
_ANSWER: Final = """
UPDATE confirmations
SET status = :status, via = :via, comment = :comment, answered_at = :answered_at
WHERE id = :id
"""
_STATE: Final = """
INSERT INTO project_state (id, revision, text) VALUES (1, :revision, :text)
ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, text = excluded.text
"""
# An upsert: callers compute all counters of a task, and need not know whether it had any.
_COUNTERS: Final = """
INSERT INTO counters (round, task, json) VALUES (?, ?, ?)
ON CONFLICT (round, task) DO UPDATE SET json = excluded.json
"""
# The newest is always kept: nothing larger than all of them together is stored.
_TOO_MANY_REPLIES: Final = """
DELETE FROM kept_replies WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER newest AS place,
      sum(length(CAST(text AS BLOB))) OVER newest AS bytes
    FROM kept_replies WINDOW newest AS (ORDER BY id DESC)
  ) WHERE place > ? OR bytes > ?
)
"""
_REMOVE_RUNS: Final = """
UPDATE recorded_runs SET content = '', mac = ''
WHERE id IN (SELECT value FROM json_each(?)) AND content <> ''
"""
_TOO_MANY_RUNS: Final = """
UPDATE recorded_runs SET content = '', mac = '' WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER newest AS place,
      sum(length(CAST(content AS BLOB))) OVER newest AS bytes
    FROM recorded_runs WHERE content <> '' WINDOW newest AS (ORDER BY id DESC)
  ) WHERE place > ? OR bytes > ?
)
"""
# Rows without content remain for a while, to distinguish "removed" from "never recorded". This
# bounds their number as well.
_FORGET_RUNS: Final = """
DELETE FROM recorded_runs
WHERE id <= (SELECT id FROM recorded_runs ORDER BY id DESC LIMIT 1 OFFSET ?)
"""
_PROJECTION: Final = """
INSERT INTO projections (path, revision, sha256, pending_sha256)
VALUES (:path, :revision, :sha256, :pending_sha256)
ON CONFLICT (path) DO UPDATE
SET revision = excluded.revision, sha256 = excluded.sha256, pending_sha256 = excluded.pending_sha256
"""


class SqliteWriteTransaction(SqliteReadTransaction, RoundWriter):
    """The changes of `goop_mcp.store.interface.Writing` on one connection.

    `given` is the newest revision that it has given, 0 without any. `has_forgotten` is whether
    texts were removed that are still in the log, `has_purged` whether a row was removed.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        # None until the first change, so that a transaction that only looks does not use up a
        # revision.
        self._revision: int | None = None
        self.given = 0
        self.has_forgotten = self.has_purged = False

    @property
    def graphs(self) -> "GraphWriter":
        """The rows of delegation runs."""
        return store.graph_rows.GraphWriter(self._graph_rows)

    def next_revision(self) -> int:
        """Return this transaction's revision."""
        if self._revision is None:
            raised = "UPDATE meta SET value = value + 1 WHERE key = 'revision' RETURNING value"
            self._revision = self.given = int(self._connection.execute(raised).get)
            # In the same transaction as the change: who did it is known for every revision or for
            # none.
            if (request := current_request()) is not None and request.caller is not None:
                self._connection.execute(
                    _CALLER, (self._revision, request.caller, request.tool, request.id)
                )

        return self._revision

    def _continue_from(self, revision: int) -> None:
        self._connection.execute("UPDATE meta SET value = ? WHERE key = 'revision'", (revision,))
        self._revision = None

    def add_memory(self, new: NewMemory) -> StoredMemory:
        """Add a memory whose key and fingerprint are unused."""
        # Before the revision is taken: a refused memory leaves no gap.
        refuse_unstorable(new)
        revision = self.next_revision()
        values = _values_of(new)
        made = {
            "concept_words": "\n".join(new.concepts),
            # Kept in a column of its own, as the index of words reads columns and not other tables.
            "inner_words": inner_words((new.title, new.content, *new.concepts)),
            "filter_tokens": filter_tokens(new.type, new.importance, new.concepts),
        }
        id = self._insert("memories", {**values, **made, "revision": revision})
        # A concept may be given in two spellings that fold to the same key.
        self._connection.executemany(
            "INSERT INTO memory_concepts (concept, memory_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            _concept_rows(id, new.concepts),
        )
        self._connection.executemany(
            "INSERT INTO memory_sketches (sketch, memory_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            _sketch_rows(id, new.sketches),
        )

        return StoredMemory(id=id, revision=revision, **values)

    def forget_memory(
        self, id: int, *, forgotten_at: str, purge: bool = False
    ) -> StoredMemory | None:
        """Empty a memory, or remove its row."""
        # Purging is also possible later: forgetting hides a memory at once, and a person may decide
        # afterwards that not even its number should stay.
        found = self.memory(id)
        if found is None or (found.forgotten_at is not None and not purge):
            return None

        revision = self.next_revision()
        self._connection.executemany(
            "DELETE FROM memory_concepts WHERE concept = ? AND memory_id = ?",
            _concept_rows(id, found.concepts),
        )
        self._connection.executemany(
            "DELETE FROM memory_sketches WHERE sketch = ? AND memory_id = ?",
            _sketch_rows(id, found.sketches),
        )
        if purge:
            self._connection.execute("DELETE FROM memories WHERE id = ?", (id,))
            self.has_purged = True
        else:
            self._connection.execute(
                _FORGET, {"id": id, "revision": revision, "forgotten_at": forgotten_at}
            )

        # The log still has the text; the store truncates it after the commit.
        self.has_forgotten = True
        failpoint(Failpoint.INSERT)

        return found

    def add_report(self, new: NewReport) -> StoredReport:
        """Record an envelope whose key is unused."""
        refuse_unstorable(new)
        values, revision = _values_of(new), self.next_revision()

        return StoredReport(
            id=self._insert("reports", {**values, "revision": revision}),
            revision=revision,
            **values,
        )

    def retire_reports(self, ids: Sequence[int], *, reason: RetireReason) -> int:
        """Mark reports as no longer counting, and free their keys."""
        # One bound JSON text for any number of ids, as SQLite limits the number of parameters.
        self._connection.execute(_RETIRE, {"ids": _as_json(list(ids)), "reason": reason})
        retired = self._connection.changes()
        if retired:
            # Views that only look at new reports would miss this change without the mark.
            self._reports_changed()

        failpoint(Failpoint.INSERT)

        return retired

    def set_stored_state(self, text: str) -> None:
        """Keep the text of the state in the database."""
        refuse_unstorable_text(text, name="the state")
        self._connection.execute(_STATE, {"revision": self.next_revision(), "text": text})
        failpoint(Failpoint.INSERT)

    def keep_document(self, new: NewKeptDocument) -> KeptDocument:
        """Keep the text of a document."""
        refuse_unstorable(new)
        values, revision = _values_of(new), self.next_revision()
        return KeptDocument(
            id=self._insert("kept_documents", {**values, "revision": revision}),
            revision=revision,
            **values,
        )

    def keep_reply(self, new: NewKeptReply) -> KeptReply:
        """Keep a reply in place of the earlier one of the same agent and key."""
        refuse_unstorable(new)
        refuse_long_reply(new)
        # Replaced rather than updated, so that the id shows which reply came last.
        self._connection.execute(
            "DELETE FROM kept_replies WHERE agent = ? AND agent_key = ?", (new.agent, new.agent_key)
        )
        values = _values_of(new)
        kept = KeptReply(id=self._insert("kept_replies", values), **values)
        self._connection.execute(_TOO_MANY_REPLIES, (MOST_KEPT_REPLIES, MOST_BYTES_OF_KEPT_REPLIES))

        return kept

    def keep_run(self, new: NewKeptRun) -> KeptRun:
        """Keep a recorded run."""
        refuse_unstorable(new)
        refuse_long_run(new)
        values = _values_of(new)
        kept = KeptRun(id=self._insert("recorded_runs", values), **values)
        # The limits hold after each call: no later clean-up has to come by.
        self._connection.execute(_TOO_MANY_RUNS, (MOST_KEPT_RUNS, MOST_BYTES_OF_KEPT_RUNS))
        # After removal of contents: the bound on rows is above that on contents, so that what is
        # dropped here has been empty for long.
        self._connection.execute(_FORGET_RUNS, (MOST_KNOWN_RUNS,))

        return kept

    def remove_kept_runs(self, ids: Sequence[int]) -> int:
        """Remove the contents of recorded runs."""
        self._connection.execute(_REMOVE_RUNS, (_as_json(list(ids)),))
        removed = self._connection.changes()
        failpoint(Failpoint.INSERT)

        return removed

    def set_counters(self, *, round: int, task: str, values: Mapping[str, JsonValue]) -> None:
        """Store the counters of a task."""
        refuse_unstorable_text(task, name="task")
        self._connection.execute(_COUNTERS, (round, task, counters_text(values)))
        failpoint(Failpoint.INSERT)

    def add_event(self, new: NewEvent) -> Event:
        """Append an event."""
        refuse_unstorable(new)
        values, revision = _values_of(new), self.next_revision()
        return Event(
            id=self._insert("events", {**values, "revision": revision}), revision=revision, **values
        )

    def add_attempts(self, new: Sequence[NewAttempt]) -> list[StoredAttempt]:
        """Record attempts."""
        stored = []
        for attempt in new:
            refuse_unstorable(attempt)
            values = _values_of(attempt)
            stored.append(StoredAttempt(id=self._insert("attempts", values), **values))

        return stored

    def add_judgement(self, new: NewJudgement) -> None:
        """Record a judgement."""
        refuse_unstorable(new)
        self._insert("judgements", _values_of(new))

    def set_projection(self, projection: Projection) -> None:
        """Record what is being written to a file."""
        refuse_unstorable(projection)
        self._connection.execute(_PROJECTION, _values_of(projection))
        failpoint(Failpoint.INSERT)

    def _set_round(self, round: Round) -> Round:
        refuse_unstorable(round)
        # Deleted and inserted, as nearly every column may change and only `number` identifies a
        # round.
        self._remove_round(round.number)
        self._insert("rounds", _values_of(round))
        # A round that is closed or reopened changes which reports count, without changing a report.
        self._reports_changed()

        return round

    def _remove_round(self, number: int) -> None:
        self._connection.execute("DELETE FROM rounds WHERE number = ?", (number,))

    def _remove_kept_replies(self) -> None:
        self._connection.execute("DELETE FROM kept_replies")

    def _reports_changed(self) -> None:
        self._connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'reports_changed_at'", (self.next_revision(),)
        )

    def _open_confirmation(self, new: NewConfirmation) -> Confirmation | None:
        asked = (
            "WHERE status = 'open' AND round = :round AND action = :action AND subject_key = :key"
        )
        found = self._select(
            Confirmation, asked, {"round": new.round, "action": new.action, "key": new.subject_key}
        )
        return found[0] if found else None

    def _add_confirmation(self, new: NewConfirmation) -> Confirmation:
        values, revision = _values_of(new), self.next_revision()
        row = {**values, "revision": revision, "status": "open"}

        return Confirmation(
            id=self._insert("confirmations", row), revision=revision, status="open", **values
        )

    def _answer(self, answered: Confirmation) -> Confirmation:
        refuse_unstorable(answered)
        # Each answer has a revision, so that subscribers hear of it.
        self.next_revision()
        self._connection.execute(_ANSWER, _values_of(answered))
        failpoint(Failpoint.INSERT)

        return answered

    def _insert(self, table: str, values: dict[str, Any]) -> int:
        # Lists are stored as JSON; the record keeps the tuple.
        lists = {name: _as_json(values[name]) for name in LISTS if name in values}
        names = ", ".join(values)
        slots = ", ".join(f":{name}" for name in values)
        # Table and columns are names of our records (hence `noqa: S608`); values are bound.
        insert = f"INSERT INTO {table} ({names}) VALUES ({slots})"  # noqa: S608
        self._connection.execute(insert, values | lists)
        failpoint(Failpoint.INSERT)
        return self._connection.last_insert_rowid()


def _concept_rows(id: int, concepts: tuple[str, ...]) -> list[tuple[str, int]]:
    return [(fold_concept(concept), id) for concept in concepts]


def _sketch_rows(id: int, sketches: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(sketch, id) for sketch in sketches]


def _values_of(record: Record) -> dict[str, Any]:
    """Return the fields without copying them, unlike `dataclasses.asdict`, which is slow."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
