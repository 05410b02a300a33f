"""Read the rows of a SQLite database, inside a transaction that was started already."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any, Final, TypeVar

import apsw

from goop_mcp.store.records import (
    MOST_OF_A_SKETCH,
    Event,
    MemoryFilter,
    MemoryType,
    MemoryWords,
    Operator,
    Projection,
    SearchHit,
    StoredAttempt,
    StoredMemory,
    StoredReport,
)
from goop_mcp.store.sqlite.errors import ForeignValueError
from goop_mcp.store.sqlite.search import filtering, search
from goop_mcp.store.statistics import Dialect, Statistics, StatisticsFilter, gather_statistics
from goop_mcp.store.vectors import BYTES_A_NUMBER, unpacked

__all__ = ["LISTS", "SqliteReadTransaction"]

Record = TypeVar(
    "Record", StoredMemory, MemoryWords, StoredReport, Event, StoredAttempt, Projection
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
}
_NUMBERS: Final = frozenset({"id", "revision", "importance", "number", "seconds", "tokens"})
# Ten times the longest title that can be saved.
_LONGEST_TITLE: Final = 1000
_ALL: Final = -1
_DIALECT: Final = Dialect(
    schema="",
    wanted="(:since IS NULL OR created_at >= :since) AND (:agent IS NULL OR agent = :agent)",
    week="strftime('%G-W%V', created_at)",
    each_rule="JOIN json_each(replies.rules) AS broken",
    rule="broken.value",
)
# A GROUP BY would read all reports. This recursive query instead seeks from each combination of
# task, agent and phase to the next one in the index and skips the reports in between (a loose
# index scan).
_KEY: Final = "json_array(task_id, agent, phase)"
_LAST_REPORTS: Final = f"""
WITH RECURSIVE keys (key) AS (
  SELECT min({_KEY}) FROM reports UNION ALL SELECT (SELECT min({_KEY}) FROM reports WHERE {_KEY} >
  keys.key) FROM keys WHERE keys.key IS NOT NULL
)
SELECT (SELECT max(id) FROM reports WHERE {_KEY} = keys.key) FROM keys WHERE keys.key IS NOT NULL
"""  # noqa: S608 - constants
# Callers rely on these columns being JSON objects. SQLite checks that several times faster than
# Python.
_IS_REPORT: Final = " AND ".join(
    f"iif(json_valid(m.{name}), json_type(m.{name}) = 'object', 0)"
    for name in ("envelope", "verdict", "decision")
)
_BY_SKETCH: Final = (
    "SELECT memory_id FROM memory_sketches WHERE sketch = ? ORDER BY memory_id DESC LIMIT ?"
)


class SqliteReadTransaction:
    """The queries of `goop_mcp.store.interface.Reading` on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def revision(self) -> int:
        """Return the revision of the last change."""
        return int(self._connection.execute("SELECT value FROM meta WHERE key = 'revision'").get)

    def memory(self, id: int) -> StoredMemory | None:
        """Return the memory with `id`, also a forgotten one."""
        return _first(self._select(StoredMemory, "WHERE id = :id", {"id": id}))

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
        ids = sorted(shares, key=lambda id: (shares[id], id), reverse=True)[:limit]

        return [
            words for id in ids for words in self._select(MemoryWords, "WHERE id = :id", {"id": id})
        ]

    def memories(
        self, wanted: MemoryFilter, *, limit: int | None = None, before_id: int | None = None
    ) -> list[StoredMemory]:
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

    def memories_without_vector(
        self, model: str, *, dimensions: int, limit: int, after_id: int = 0
    ) -> list[StoredMemory]:
        """Return memories that have no such vector, oldest first."""
        has_one = (
            "SELECT 1 FROM vectors AS v WHERE v.memory_id = m.id AND v.model = :model AND"
            " length(v.vector) = :size"
        )
        return self._select(
            StoredMemory,
            f"WHERE m.id > :after AND m.forgotten_at IS NULL AND NOT EXISTS ({has_one}) ORDER BY"
            " m.id LIMIT :limit",
            {
                "model": model,
                "size": dimensions * BYTES_A_NUMBER,
                "limit": limit,
                "after": after_id,
            },
        )

    def vectors(self, model: str, *, dimensions: int) -> list[tuple[int, Sequence[float]]]:
        """Return the ids of memories and their vectors."""
        asked = (
            "SELECT memory_id, vector FROM vectors WHERE model = ? AND length(vector) = ? ORDER BY"
            " memory_id"
        )
        rows = self._connection.execute(asked, (model, dimensions * BYTES_A_NUMBER))
        return [(id, unpacked(vector)) for id, vector in rows]

    def memory_counts(self) -> Mapping[MemoryType, int]:
        """Return how many memories of each type there are."""
        return dict(
            self._connection.execute(
                "SELECT type, count(*) FROM memories WHERE forgotten_at IS NULL GROUP BY type"
            )
        )

    def search(
        self, words: Sequence[str], *, operator: Operator, wanted: MemoryFilter, limit: int
    ) -> list[SearchHit]:
        """Return memories with all or some of the words, best first."""
        scores = dict(
            search(self._connection, words, operator=operator, wanted=wanted, limit=limit)
        )
        if not scores:
            return []

        found = self._select(
            StoredMemory,
            "WHERE id IN (SELECT value FROM json_each(:ids))",
            {"ids": json.dumps(list(scores))},
        )
        memories = {memory.id: memory for memory in found}

        return [SearchHit(memories[id], score) for id, score in scores.items()]

    def reports(self, *, after_revision: int = 0, limit: int | None = None) -> list[StoredReport]:
        """Return recorded envelopes, newest first."""
        return self._select(
            StoredReport,
            "WHERE revision > :after ORDER BY revision DESC, id DESC LIMIT :limit",
            {"after": after_revision, "limit": _limit(limit)},
        )

    def last_reports(self) -> list[StoredReport]:
        """Return the newest envelope of each task, agent and phase, newest first."""
        return self._select(StoredReport, f"WHERE id IN ({_LAST_REPORTS}) ORDER BY id DESC", {})

    def report_count(self) -> int:
        """Return how many envelopes are recorded."""
        return int(self._connection.execute("SELECT count(*) FROM reports").get)

    def report_by_key(self, idempotency_key: str) -> StoredReport | None:
        """Return the report recorded under the key."""
        return _first(
            self._select(StoredReport, "WHERE idempotency_key = :key", {"key": idempotency_key})
        )

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
        bindings = {"since": wanted.since, "agent": wanted.agent}
        return gather_statistics(
            lambda statement: self._connection.execute(statement, bindings).fetchall(), _DIALECT
        )

    def _select(self, kind: type[Record], rest: str, bindings: Bindings) -> list[Record]:
        """Return records of `kind`, whose fields are named like the columns of its table `m`."""
        names = [each.name for each in fields(kind)]
        columns = ", ".join([f"m.{name}" for name in names])
        if kind is StoredReport:
            columns = f"{columns}, {_IS_REPORT}"

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
    if len(row) > len(names) and not row[-1]:
        raise ForeignValueError("a report that is not JSON")

    named = dict(zip(names, row, strict=False))

    for name, value in named.items():
        kind = (int, float) if name in _NUMBERS else str
        if not isinstance(value, kind) and value is not None:
            raise ForeignValueError(name)

    if len(named.get("title") or "") > _LONGEST_TITLE:
        raise ForeignValueError("title")

    for name in LISTS:
        if name in named:
            named[name] = _list(named[name]) if named[name] != "[]" else ()

    return named


def _list(text: str) -> tuple[Any, ...]:
    try:
        values = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ForeignValueError(text[:40]) from error

    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        raise ForeignValueError(text[:40])
    return tuple(values)


def _first(records: Sequence[Record]) -> Record | None:
    return records[0] if records else None


def _limit(limit: int | None) -> int:
    return _ALL if limit is None else limit
