"""Read the rows of a SQLite database, inside a transaction that was started already."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import apsw

from goop_mcp import store
from goop_mcp.store.records import (
    MOST_CONFIRMATIONS,
    MOST_KEPT_DOCUMENTS,
    MOST_OF_A_SKETCH,
    MOST_OPEN_CONFIRMATIONS,
    Confirmation,
    Event,
    KeptDocument,
    KeptReply,
    KeptRun,
    KeptStep,
    MemoryFilter,
    MemoryType,
    MemoryWords,
    Operator,
    Projection,
    Round,
    SearchHit,
    StoredAttempt,
    StoredMemory,
    StoredReport,
)
from goop_mcp.store.rounds import read_counters
from goop_mcp.store.search_text import search_text
from goop_mcp.store.sqlite.errors import ForeignValueError
from goop_mcp.store.sqlite.search import WordFrequencies, filtering, search
from goop_mcp.store.statistics import Dialect, Statistics, StatisticsFilter, gather_statistics
from goop_mcp.validation.safe_json import JsonValue

if TYPE_CHECKING:
    from goop_mcp.store.graph_rows import GraphReader

__all__ = ["LISTS", "SqliteReadTransaction"]

Record = TypeVar(
    "Record",
    StoredMemory,
    MemoryWords,
    StoredReport,
    Event,
    StoredAttempt,
    Projection,
    Round,
    Confirmation,
    KeptDocument,
    KeptReply,
    KeptRun,
)
Bindings = Mapping[str, str | float | None]

LISTS: Final = ("concepts", "facts", "source_files", "sketches", "rules", "repairs")
"""Fields that are stored as JSON."""

_TABLES: Final = {
    StoredMemory: "memories",
    MemoryWords: "memories",
    StoredReport: "reports",
    Event: "events",
    StoredAttempt: "attempts",
    Projection: "projections",
    Round: "rounds",
    Confirmation: "confirmations",
    KeptDocument: "kept_documents",
    KeptReply: "kept_replies",
    KeptRun: "recorded_runs",
}
# Columns that hold a number. Every other column holds text, which _values() checks for each row: a
# file that came from elsewhere may hold any type in any column.
_NUMBERS: Final = frozenset(
    {
        "id",
        "revision",
        "importance",
        "number",
        "seconds",
        "tokens",
        "round",
        "first_revision",
        "closed_revision",
    }
)
# Ten times the longest title that can be saved.
_LONGEST_TITLE: Final = 1000
# SQLite reads a negative LIMIT as no limit, so that one statement serves both cases.
_ALL: Final = -1
_DIALECT: Final = Dialect(
    schema="",
    wanted=(
        "(:since IS NULL OR created_at >= :since) AND (:until IS NULL OR created_at < :until)"
        " AND (:agent IS NULL OR agent = :agent)"
    ),
    week="strftime('%G-W%V', created_at)",
    each_rule="JOIN json_each(replies.rules) AS broken",
    rule="broken.value",
)
# A GROUP BY would read all reports. This recursive query instead seeks from each combination of
# task, agent and phase to the next one in the index and skips the reports in between (a loose
# index scan).
_KEY: Final = "json_array(task_id, agent, phase)"
_OF_ROUND: Final = "FROM reports WHERE retired IS NULL AND round = :round"
_LAST_REPORTS: Final = f"""
WITH RECURSIVE keys (key) AS (
  SELECT min({_KEY}) {_OF_ROUND} UNION ALL SELECT (SELECT min({_KEY}) {_OF_ROUND} AND {_KEY} >
  keys.key) FROM keys WHERE keys.key IS NOT NULL
)
SELECT (SELECT max(id) {_OF_ROUND} AND {_KEY} = keys.key) FROM keys WHERE keys.key IS NOT NULL
UNION ALL SELECT id {_OF_ROUND} AND {_KEY} >= '[null,' AND {_KEY} < '[null-'
  AND protocol = 'goop_report' AND status <> 'COMPLETE'
"""  # noqa: S608 - constants
# Callers rely on these columns being JSON objects. SQLite checks that several times faster than
# Python.
_OBJECTS: Final = {
    StoredReport: ("envelope", "verdict", "decision"),
    Confirmation: ("arguments",),
}
# The newest holders of a sketch only. A boilerplate sentence stands in very many memories and
# distinguishes none of them.
_BY_SKETCH: Final = (
    "SELECT memory_id FROM memory_sketches WHERE sketch = ? ORDER BY memory_id DESC LIMIT ?"
)


class SqliteReadTransaction:
    """The queries of `goop_mcp.store.interface.Reading` on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        # Counting words costs a lookup in the index for each, and one search runs up to three
        # queries with the same words. The counts are those of this transaction, so they must not
        # outlive it.
        self._frequencies: WordFrequencies | None = None

    @property
    def graphs(self) -> "GraphReader":
        """The rows of delegation runs."""
        # Imported on use: the statements of delegation runs are large, and hooks never need them.
        return store.graph_rows.GraphReader(self._graph_rows)

    def revision(self) -> int:
        """Return the revision of the last change."""
        return int(self._connection.execute("SELECT value FROM meta WHERE key = 'revision'").get)

    def memory(self, id: int) -> StoredMemory | None:
        """Return the memory with `id`, also a forgotten one."""
        return _first(self._select(StoredMemory, "WHERE id = :id", {"id": id}))

    def memories_with_ids(self, ids: Sequence[int]) -> list[StoredMemory]:
        """Return the memories with `ids` in this order."""
        return [memory for id in ids if (memory := self.memory(id)) is not None]

    def memory_by_uid(self, uid: str) -> StoredMemory | None:
        """Return the memory with `uid`, also a forgotten one."""
        return _first(self._select(StoredMemory, "WHERE uid = :uid", {"uid": uid}))

    def memory_by_key(self, idempotency_key: str) -> StoredMemory | None:
        """Return the memory that holds the key."""
        return _first(
            self._select(StoredMemory, "WHERE idempotency_key = :key", {"key": idempotency_key})
        )

    def memory_by_fingerprint(self, fingerprint: str) -> StoredMemory | None:
        """Return the memory with the same title and content."""
        return _first(
            self._select(StoredMemory, "WHERE fingerprint = :print", {"print": fingerprint})
        )

    def memories_by_sketch(self, sketches: Sequence[int], *, limit: int) -> list[MemoryWords]:
        """Return the memories that share most sketches, and the rarest."""
        holders = [
            {id: None for (id,) in self._connection.execute(_BY_SKETCH, (sketch, MOST_OF_A_SKETCH))}
            for sketch in sketches
        ]
        # A sketch counts more, the fewer memories have it.
        shares = {
            id: sum(1 / len(ids) for ids in holders if id in ids)
            for id in _promising(holders, limit)
        }
        # With equal shares the newer memory comes first: it is more often the one that was meant.
        ids = sorted(shares, key=lambda id: (shares[id], id), reverse=True)[:limit]

        return [
            words for id in ids for words in self._select(MemoryWords, "WHERE id = :id", {"id": id})
        ]

    def memories(
        self, wanted: MemoryFilter, *, limit: int | None = None, before_id: int | None = None
    ) -> list[StoredMemory]:
        # Filtering comes before LIMIT, so that a page is full as long as there are memories to fill
        # it.
        """Return memories, newest first."""
        conditions, bindings = filtering(wanted)
        if before_id is not None:
            conditions += " AND m.id < :before"
            bindings["before"] = before_id

        return self._select(
            StoredMemory,
            f"WHERE m.forgotten_at IS NULL {conditions} ORDER BY m.id DESC LIMIT :limit",
            {**bindings, "limit": _limit(limit)},
        )

    def memories_after(self, id: int, *, limit: int) -> list[StoredMemory]:
        """Return memories with a larger id, oldest first."""
        rest = "WHERE m.id > :after AND m.forgotten_at IS NULL ORDER BY m.id LIMIT :limit"
        return self._select(StoredMemory, rest, {"after": id, "limit": limit})

    def memory_counts(self) -> Mapping[MemoryType, int]:
        """Return how many memories of each type there are."""
        return dict(
            self._connection.execute(
                "SELECT type, count(*) FROM memories WHERE forgotten_at IS NULL GROUP BY type"
            )
        )

    def search(
        self, terms: Sequence[str], *, operator: Operator, wanted: MemoryFilter, limit: int
    ) -> list[SearchHit]:
        """Return memories with all or some of the terms, best first."""
        self._frequencies = self._frequencies or WordFrequencies(self._connection)
        return search(
            self._connection,
            terms,
            operator=operator,
            wanted=wanted,
            limit=limit,
            frequencies=self._frequencies,
        )

    def can_find(self, terms: Sequence[str]) -> bool:
        """Return whether one of the terms has a word: each of them is indexed."""
        return any(search_text(term).strip() for term in terms)

    def now(self) -> str:
        """Return the time by the clock of this machine."""
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def round(self) -> Round:
        """Return the newest round."""
        return self.rounds(limit=1)[0]

    def rounds(self, *, limit: int | None = None) -> list[Round]:
        """Return the rounds, newest first."""
        newest_first = "ORDER BY number DESC LIMIT :limit"
        # A database in which no round was ever opened is in round 1, which then has no row.
        found = self._select(Round, newest_first, {"limit": _limit(limit)})
        return found or [Round()][:limit]

    def reports(
        self,
        *,
        after_revision: int = 0,
        round: int | None = None,
        include_retired: bool = False,
        before_id: int | None = None,
        limit: int | None = None,
    ) -> list[StoredReport]:
        """Return recorded envelopes, newest first."""
        # Conditions that do not apply are omitted, so that the index by revision or by round fits.
        conditions = ["revision > :after"]
        if round is not None:
            conditions.append("round = :round")
        if not include_retired:
            conditions.append("retired IS NULL")
        if before_id is not None:
            # Revisions rise with ids. The revision lets the index skip the newer reports.
            newest = "SELECT revision FROM reports WHERE id < :before ORDER BY id DESC LIMIT 1"
            conditions.append(f"id < :before AND revision <= ({newest})")

        values = {
            "after": after_revision,
            "round": round,
            "before": before_id,
            "limit": _limit(limit),
        }

        return self._select(
            StoredReport,
            f"WHERE {' AND '.join(conditions)} ORDER BY revision DESC, id DESC LIMIT :limit",
            values,
        )

    def last_reports(self, *, round: int) -> list[StoredReport]:
        """Return the newest envelope of each task, agent and phase in a round, newest first.

        Those without a task that are not COMPLETE are there as well.
        """
        return self._select(
            StoredReport, f"WHERE id IN ({_LAST_REPORTS}) ORDER BY id DESC", {"round": round}
        )

    def report(self, id: int) -> StoredReport | None:
        """Return the report with `id`, also a retired one."""
        return _first(self._select(StoredReport, "WHERE id = :id", {"id": id}))

    def report_count(self, *, round: int | None = None) -> int:
        """Return how many envelopes are recorded."""
        # Retired reports are not counted: the number is shown next to lists that leave them out.
        counted = "SELECT count(*) FROM reports WHERE retired IS NULL"
        if round is not None:
            counted += " AND round = :round"
        return int(self._connection.execute(counted, {"round": round}).get)

    def reports_changed_at(self) -> int:
        """Return the revision at which reports last changed other than by adding one."""
        changed = "SELECT value FROM meta WHERE key = 'reports_changed_at'"
        return int(self._connection.execute(changed).get or 0)

    def report_by_key(self, idempotency_key: str) -> StoredReport | None:
        """Return the report recorded under the key."""
        return _first(
            self._select(StoredReport, "WHERE idempotency_key = :key", {"key": idempotency_key})
        )

    def confirmation(self, id: int) -> Confirmation | None:
        """Return the request with `id`."""
        return _first(self._select(Confirmation, "WHERE id = :id", {"id": id}))

    def open_confirmations(self) -> list[Confirmation]:
        """Return the requests that wait for a person, oldest first."""
        return self._select(
            Confirmation,
            "WHERE status = 'open' ORDER BY id LIMIT :limit",
            {"limit": MOST_OPEN_CONFIRMATIONS},
        )

    def confirmations(self, *, round: int) -> list[Confirmation]:
        """Return what people confirmed in a round, oldest first."""
        newest = self._select(
            # The newest are read, as they matter when there are more than MOST_CONFIRMATIONS, and
            # turned round: documents show what was confirmed in the order in which it happened.
            Confirmation,
            "WHERE round = :round AND status = 'confirmed' ORDER BY id DESC LIMIT :limit",
            {"round": round, "limit": MOST_CONFIRMATIONS},
        )
        return newest[::-1]

    def stored_state(self) -> str | None:
        """Return the text of the state that is kept in the database."""
        found = self._connection.execute("SELECT text FROM project_state").get
        return None if found is None else str(found)

    def kept_document(
        self, name: str, *, step: KeptStep | None = None, round: int | None = None
    ) -> KeptDocument | None:
        """Return the document `name` as last kept."""
        newest = (
            # One statement for the four combinations of its filters. Few documents are kept, so
            # that the index that such a condition prevents would not be felt.
            "WHERE name = :name AND (:step IS NULL OR step = :step) AND (:round IS NULL OR round ="
            " :round) ORDER BY id DESC LIMIT 1"
        )
        bindings = {"name": name, "step": step, "round": round}
        return _first(self._select(KeptDocument, newest, bindings))

    def kept_documents(self, *, step: KeptStep, round: int) -> list[KeptDocument]:
        """Return each document that `step` kept in a round, as kept last."""
        newest = (
            "WHERE id IN (SELECT max(id) FROM kept_documents WHERE round = :round AND step = :step"
            " GROUP BY name) ORDER BY name DESC LIMIT :limit"
        )
        values = {"step": step, "round": round, "limit": MOST_KEPT_DOCUMENTS}
        return self._select(KeptDocument, newest, values)[::-1]

    def kept_reply(self, agent: str) -> KeptReply | None:
        """Return the newest kept reply of an agent with this name."""
        newest = "WHERE agent = :agent ORDER BY id DESC LIMIT 1"
        return _first(self._select(KeptReply, newest, {"agent": agent}))

    def agents_with_kept_replies(self) -> list[str]:
        """Return the names of agents whose replies are kept."""
        asked = "SELECT DISTINCT agent FROM kept_replies ORDER BY agent"
        return [str(agent) for (agent,) in self._connection.execute(asked)]

    def kept_run(self, run: str) -> KeptRun | None:
        """Return the recorded run with this id."""
        return _first(self._select(KeptRun, "WHERE run = :run", {"run": run}))

    def kept_runs(self, *, before_id: int | None = None, limit: int) -> list[KeptRun]:
        """Return recorded runs that were not removed, newest first."""
        # A removed run keeps its row without content, so that its number is never given to another.
        asked = "WHERE content <> '' AND id < coalesce(:before, 9e15) ORDER BY id DESC LIMIT :limit"
        return self._select(KeptRun, asked, {"before": before_id, "limit": limit})

    def counters(self, *, round: int, task: str) -> Mapping[str, JsonValue]:
        """Return the counters of a task in a round."""
        asked = "SELECT json FROM counters WHERE round = ? AND task = ?"
        found = self._connection.execute(asked, (round, task)).get
        if found is None:
            return {}

        values = read_counters(str(found))
        # Counters decide whether an agent is asked again. Reading broken ones as zero would start
        # its attempts again, so that an error is better than a guess.
        if values is None:
            raise ForeignValueError("counters")
        return values

    def events(
        self,
        *,
        after_revision: int = 0,
        document: str | None = None,
        kinds: Sequence[str] | None = None,
        month: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Return events, oldest first."""
        # Conditions that do not apply are omitted, as SQLite uses the index by document only for a
        # query that names a document. With kinds, that index would read all events of a document;
        # the unary plus prevents SQLite from using it, and it takes the index by kind.
        conditions = ["revision > :after" if kinds is None else "+revision > :after"]
        if document is not None:
            conditions.append("document = :document")
        if kinds is not None:
            # One bound text for any number of kinds: SQLite has no lists as parameters, and a
            # statement per number of kinds would fill its cache of statements.
            conditions.append("kind IN (SELECT value FROM json_each(:kinds))")
        if month is not None:
            conditions.append("substr(created_at, 1, 7) = :month")

        values = {
            "after": after_revision,
            "document": document,
            "kinds": json.dumps(kinds),
            "month": month,
            "limit": _limit(limit),
        }
        # Revisions rise with ids, so both orders are the same; without kinds an index has the
        # first.
        order = "revision, id" if kinds is None else "id"

        return self._select(
            Event, f"WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT :limit", values
        )

    def event_revisions(
        self, document: str, *, without: Sequence[str], up_to: int | None = None, limit: int
    ) -> list[int]:
        """Return the revisions of the newest events shown in a document, newest first."""
        asked = (
            "SELECT revision FROM events WHERE document = :document AND (:up_to IS NULL OR revision"
            # Skipped before the limit is applied, as a document shows a fixed number of entries.
            " <= :up_to) AND kind NOT IN (SELECT value FROM json_each(:without)) ORDER BY revision"
            " DESC LIMIT :limit"
        )
        values = {
            "document": document,
            "up_to": up_to,
            "without": json.dumps(without),
            "limit": limit,
        }

        return [revision for (revision,) in self._connection.execute(asked, values)]

    def document_revision(self, document: str) -> int:
        """Return the revision of the newest event shown in `document`, 0 when there is none."""
        newest = "SELECT revision FROM events WHERE document = ? ORDER BY revision DESC LIMIT 1"
        return int(self._connection.execute(newest, (document,)).get or 0)

    def projections(self) -> list[Projection]:
        """Return what is known of the files that goop-mcp wrote, ordered by path."""
        return self._select(Projection, "ORDER BY path", {})

    def attempts(
        self, *, since: str | None = None, limit: int | None = None
    ) -> list[StoredAttempt]:
        """Return recorded attempts, oldest first."""
        return self._select(
            StoredAttempt,
            "WHERE :since IS NULL OR created_at >= :since ORDER BY id LIMIT :limit",
            {"since": since, "limit": _limit(limit)},
        )

    def statistics(self, wanted: StatisticsFilter) -> Statistics:
        """Return the statistics of attempts, judgements and reports."""
        bindings = {"since": wanted.since, "until": wanted.until, "agent": wanted.agent}
        return gather_statistics(
            lambda statement: self._connection.execute(statement, bindings).fetchall(), _DIALECT
        )

    def _graph_rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._connection.execute(store.graph_rows.for_sqlite(statement), values).fetchall()

    def _select(self, kind: type[Record], rest: str, bindings: Bindings) -> list[Record]:
        """Return records of `kind`, whose fields are named like the columns of its table `m`."""
        names = kind.__struct_fields__
        # Named one by one, since a newer goop-mcp may have added columns that these records do not
        # have.
        columns = ", ".join([f"m.{name}" for name in names])
        if kind in _OBJECTS:
            are_objects = " AND ".join(
                f"iif(json_valid(m.{name}), json_type(m.{name}) = 'object', 0)"
                for name in _OBJECTS[kind]
            )
            columns = f"{columns}, {are_objects}"

        # All parts are constants (hence `noqa: S608`); values are bound.
        sql = f"SELECT {columns} FROM {_TABLES[kind]} AS m {rest}"  # noqa: S608

        return [kind(**_values(names, row)) for row in self._connection.execute(sql, bindings)]


def _promising(holders: Sequence[Mapping[int, None]], limit: int) -> set[int]:
    """Return ids that include the best `limit` memories, usually far fewer than all.

    A memory with only one sketch can be among the best only if it is one of the newest `limit` of
    that sketch, as the others of that sketch have the same share and are older. All memories with
    several sketches are included.
    """
    seen: set[int] = set()
    some: set[int] = set()
    for ids in holders:
        some.update(seen.intersection(ids), islice(ids, limit))
        seen.update(ids)

    return some


def _values(names: Sequence[str], row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the values of a row by name; raise ForeignValueError for one that we never write.

    STRICT tables do not guarantee the types, as a file may be put together byte by byte.
    """
    # The last column says whether all fields that have to be JSON objects are; it has no name.
    if len(row) > len(names) and not row[-1]:
        raise ForeignValueError("a text that is not a JSON object")

    named = dict(zip(names, row, strict=False))

    for name, value in named.items():
        kind = (int, float) if name in _NUMBERS else str
        if not isinstance(value, kind) and value is not None:
            raise ForeignValueError(name)

    # Titles go into every list of memories. A forged one could fill the context of an agent.
    if len(named.get("title") or "") > _LONGEST_TITLE:
        raise ForeignValueError("title")

    for name in LISTS:
        if name in named:
            # Most lists are empty, and parsing "[]" for each of them would take longer than the
            # query.
            named[name] = _list(named[name]) if named[name] != "[]" else ()

    return named


def _list(text: str) -> tuple[Any, ...]:
    try:
        values = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ForeignValueError(text[:40]) from error

    # Strings and whole numbers are all that we write. Anything deeper is not ours.
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        raise ForeignValueError(text[:40])
    return tuple(values)


def _first(records: Sequence[Record]) -> Record | None:
    return records[0] if records else None


def _limit(limit: int | None) -> int:
    return _ALL if limit is None else limit
