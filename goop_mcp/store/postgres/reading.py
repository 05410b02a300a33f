"""Read one project's rows in PostgreSQL; see `statements` for the queries."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from psycopg import Cursor
from psycopg.rows import dict_row, tuple_row
from psycopg.sql import SQL, Composed

from goop_mcp import store
from goop_mcp.store.postgres import statements
from goop_mcp.store.postgres.connections import Connection
from goop_mcp.store.postgres.errors import translating
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
from goop_mcp.store.search_text import (
    MOST_WORDS,
    filter_groups,
    fold_concept,
    project_token,
    search_text,
    term_forms,
)
from goop_mcp.store.statistics import Statistics, StatisticsFilter, gather_statistics
from goop_mcp.validation.safe_json import JsonValue

if TYPE_CHECKING:
    from goop_mcp.store.graph_rows import GraphReader

__all__ = [
    "LISTS",
    "PostgresReadTransaction",
    "ProjectKey",
    "attempt_of",
    "event_of",
    "memory_of",
    "report_of",
]

LISTS = ("concepts", "facts", "source_files", "sketches", "rules", "repairs")
"""Fields that are lists in the database."""

_BEST = 200  # candidates by words, which are then ordered by how rare their words are
# Beyond so many memories a word is frequent, and how frequent makes no difference.
_MOST_COUNTED = 2_000
# From so many memories on, a word that this many of the sample have is counted no further. Of the
# words that are just frequent, 1 in 3,000 has so many of the sample by chance.
_LARGE, _SAMPLE, _CLEAR = 10_000, 200, 14
# Ranking a row takes about a microsecond, reading it half of one.
_NEWEST = 3_000
_LEAST_WEIGHT = 0.01


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """A project of a tenant, which owns rows."""

    tenant: str
    name: str


class PostgresReadTransaction:
    """Reads the rows of a project in one transaction."""

    def __init__(
        self, connection: Connection | None, project: ProjectKey, *, place: str, revision: int
    ) -> None:
        """Read on `connection`; None stands for a database without tables, which reads as empty.

        `revision` is the project's in this transaction; `place` names the database in errors.
        """
        self._connection, self._project, self._place, self._revision = (
            connection,
            project,
            place,
            revision,
        )
        self._mine = {"tenant": project.tenant, "project": project.name}
        # One search runs up to three queries with the same words. None is a word that the
        # dictionary leaves out. The counts are those of this transaction and must not outlive it.
        self._counted: dict[str, int | None] = {}
        self._total = 0

    @property
    def graphs(self) -> "GraphReader":
        """The rows of delegation runs."""
        return store.graph_rows.GraphReader(self._graph_rows)

    def revision(self) -> int:
        """Return the revision of the last change, 0 for a project without any."""
        return self._revision

    def memory(self, id: int) -> StoredMemory | None:
        """Return the memory with `id`, also a forgotten one; None when there never was one."""
        return self._one_memory(statements.MEMORY_BY_ID, id)

    def memories_with_ids(self, ids: Sequence[int]) -> list[StoredMemory]:
        """Return the memories with `ids` in this order."""
        rows = {row["id"]: row for row in self._rows(statements.MEMORIES_BY_ID, ids=list(ids))}
        return [memory_of(rows[id]) for id in ids if id in rows]

    def memory_by_uid(self, uid: str) -> StoredMemory | None:
        """Return the memory with `uid`, also a forgotten one; None when there is none."""
        return self._one_memory(statements.MEMORY_BY_UID, uid)

    def memory_by_key(self, idempotency_key: str) -> StoredMemory | None:
        """Return the memory that holds the key, None when the key is free."""
        return self._one_memory(statements.MEMORY_BY_KEY, idempotency_key)

    def memory_by_fingerprint(self, fingerprint: str) -> StoredMemory | None:
        """Return the memory with the same normalised title and content, None when there is none."""
        return self._one_memory(statements.MEMORY_BY_FINGERPRINT, fingerprint)

    def memories_by_sketch(self, sketches: Sequence[int], *, limit: int) -> list[MemoryWords]:
        """Return the memories that share most sketches, and the rarest, first."""
        rows = self._rows(
            statements.MEMORIES_BY_SKETCH,
            sketches=list(sketches),
            newest=MOST_OF_A_SKETCH,
            limit=limit,
        )
        return [MemoryWords(row["id"], row["type"], row["title"], row["content"]) for row in rows]

    def memories(
        self, wanted: MemoryFilter, *, limit: int | None = None, before_id: int | None = None
    ) -> list[StoredMemory]:
        """Return memories, newest first; `before_id` continues a list, `limit` None means all."""
        values = {"before": before_id, "limit": limit}
        return [
            memory_of(row) for row in self._rows(statements.MEMORIES, **_filter(wanted), **values)
        ]

    def memories_after(self, id: int, *, limit: int) -> list[StoredMemory]:
        """Return at most `limit` memories with a larger id, oldest first; 0 begins the list."""
        rows = self._rows(statements.MEMORIES_AFTER, after=id, limit=limit)
        return [memory_of(row) for row in rows]

    def memory_counts(self) -> Mapping[MemoryType, int]:
        """Return how many memories of each type there are; types without any are omitted."""
        return {row["type"]: row["count"] for row in self._rows(statements.MEMORY_COUNTS)}

    def search(
        self, terms: Sequence[str], *, operator: Operator, wanted: MemoryFilter, limit: int
    ) -> list[SearchHit]:
        """Return memories with all (AND) or some (OR) of `terms`, best first."""
        # search_text() leaves nothing that acts as an operator of to_tsquery().
        # Terms are taken apart as on SQLite, so that both engines find the same memories.
        ways = [
            [
                tuple(words)
                for form in term_forms(term)
                if (words := search_text(" ".join(form)).split())
            ]
            for term in list(terms)[:MOST_WORDS]
        ]
        ways = [forms for forms in ways if forms]
        if not ways or limit < 1:
            return []

        # Counted once and shared by all forms: a word often stands in several of them.
        every_word = list(dict.fromkeys(word for way in ways for form in way for word in form))
        required = [[project_token(self._project.tenant, self._project.name)]]
        counts, total = self._word_counts(every_word, _with_tokens(required))
        # Without a lexeme nothing is asked for, which every memory would answer.
        if not counts:
            return []

        # As in bm25: the rarer a word, the more it counts.
        # The 0.5 keep the weight of a word finite that is in no memory or in all of them.
        weights = {
            word: max(math.log((max(total - count, 0) + 0.5) / (count + 0.5)), _LEAST_WEIGHT)
            for word, count in counts.items()
        }
        # A filter leaves few memories, of which frequent words may find some more.
        finding = _finding(counts) if wanted == MemoryFilter() else list(counts)
        query = _with_all(ways) if operator == "AND" else " | ".join(finding)

        asked = {
            **_filter(wanted),
            "query": query,
            "required": _with_tokens(required + filter_groups(wanted)),
            "best": max(limit, _BEST),
            "limit": limit,
            "words": list(weights),
            "weights": list(weights.values()),
        }
        # Ranking reads each row that matches. Without this, a word that every memory has would rank
        # all of them for an answer of five.
        if min(counts.values()) >= _MOST_COUNTED:
            # Words as frequent as these distinguish no memory, so the newest are as good as any.
            hits = self._hits(asked, after=max(0, total - _NEWEST))
            if len(hits) >= limit:
                return hits

        return self._hits(asked, after=0)

    def can_find(self, terms: Sequence[str]) -> bool:
        """Return whether one of the terms has a word that is indexed."""
        words = search_text(" ".join(terms)).split()
        required = [[project_token(self._project.tenant, self._project.name)]]
        return bool(self._word_counts(words, _with_tokens(required))[0])

    def _word_counts(self, words: Sequence[str], required: str) -> tuple[dict[str, int], int]:
        """Return how many memories have each of `words` that is indexed, and how many there are."""
        if missing := [word for word in words if word not in self._counted]:
            rows = self._rows(
                statements.WORD_COUNTS,
                words=missing,
                required=required,
                most=_MOST_COUNTED,
                sample=_SAMPLE,
                large=_LARGE,
                clear=_CLEAR,
            )
            self._counted |= {
                row["word"]: row["memories"] if row["is_indexed"] else None for row in rows
            }
            # The total may be older than the counts: a change sees the words that it adds itself.
            self._total = max((row["all_memories"] for row in rows), default=0)

        counts = ((word, self._counted.get(word)) for word in words)
        return {word: count for word, count in counts if count is not None}, self._total

    def _hits(self, asked: Mapping[str, object], *, after: int) -> list[SearchHit]:
        rows = self._rows(statements.SEARCH, **asked, after=after)
        return [SearchHit(row["id"], row["revision"], row["score"] or 0.0) for row in rows]

    def now(self) -> str:
        """Return the time by the clock of the database."""
        for row in self._rows(statements.NOW):
            return str(row["time"])
        # A database without tables has no times to compare with, so the clock does not matter.
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def round(self) -> Round:
        """Return the newest round."""
        return self.rounds(limit=1)[0]

    def rounds(self, *, limit: int | None = None) -> list[Round]:
        """Return the rounds, newest first."""
        # As on SQLite: without a row, the project is in its first round.
        found = [Round(**row) for row in self._rows(statements.ROUNDS, limit=limit)]
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
        rows = self._rows(
            statements.REPORTS,
            after=after_revision,
            round=round,
            retired=include_retired,
            before=before_id,
            limit=limit,
        )
        return [report_of(row) for row in rows]

    def last_reports(self, *, round: int) -> list[StoredReport]:
        """Return the newest envelope of each task, agent and phase in a round, newest first."""
        return [report_of(row) for row in self._rows(statements.LAST_REPORTS, round=round)]

    def report(self, id: int) -> StoredReport | None:
        """Return the report with `id`, also a retired one."""
        return next((report_of(row) for row in self._rows(statements.REPORT_BY_ID, id=id)), None)

    def report_count(self, *, round: int | None = None) -> int:
        """Return how many envelopes are recorded."""
        return next((row["count"] for row in self._rows(statements.REPORT_COUNT, round=round)), 0)

    def reports_changed_at(self) -> int:
        """Return the revision at which reports last changed other than by adding one."""
        rows = self._rows(statements.REPORTS_CHANGED_AT)
        return next((row["reports_changed_at"] for row in rows), 0)

    def report_by_key(self, idempotency_key: str) -> StoredReport | None:
        """Return the report recorded under the key, None when there is none."""
        return next(
            (report_of(row) for row in self._rows(statements.REPORT_BY_KEY, key=idempotency_key)),
            None,
        )

    def confirmation(self, id: int) -> Confirmation | None:
        """Return the request with `id`."""
        rows = self._rows(statements.CONFIRMATION, id=id)
        return next((Confirmation(**row) for row in rows), None)

    def open_confirmations(self) -> list[Confirmation]:
        """Return the requests that wait for a person, oldest first."""
        rows = self._rows(statements.OPEN_CONFIRMATIONS, limit=MOST_OPEN_CONFIRMATIONS)
        return [Confirmation(**row) for row in rows]

    def confirmations(self, *, round: int) -> list[Confirmation]:
        """Return what people confirmed in a round, oldest first."""
        rows = self._rows(statements.CONFIRMATIONS, round=round, limit=MOST_CONFIRMATIONS)
        # The newest were read, the oldest of them is returned first.
        return [Confirmation(**row) for row in rows][::-1]

    def stored_state(self) -> str | None:
        """Return the text of the state that is kept in the database."""
        return next((row["text"] for row in self._rows(statements.STATE)), None)

    def kept_document(
        self, name: str, *, step: KeptStep | None = None, round: int | None = None
    ) -> KeptDocument | None:
        """Return the document `name` as last kept."""
        rows = self._rows(statements.KEPT_DOCUMENT, name=name, step=step, round=round)
        return next((KeptDocument(**row) for row in rows), None)

    def kept_documents(self, *, step: KeptStep, round: int) -> list[KeptDocument]:
        """Return each document that `step` kept in a round, as kept last."""
        rows = self._rows(
            statements.KEPT_DOCUMENTS, step=step, round=round, limit=MOST_KEPT_DOCUMENTS
        )
        return [KeptDocument(**row) for row in rows][::-1]

    def kept_reply(self, agent: str) -> KeptReply | None:
        """Return the newest kept reply of an agent with this name."""
        rows = self._rows(statements.KEPT_REPLY, agent=agent)
        return next((KeptReply(**row) for row in rows), None)

    def agents_with_kept_replies(self) -> list[str]:
        """Return the names of agents whose replies are kept."""
        return sorted(row["agent"] for row in self._rows(statements.AGENTS_WITH_KEPT_REPLIES))

    def kept_run(self, run: str) -> KeptRun | None:
        """Return the recorded run with this id."""
        rows = self._rows(statements.KEPT_RUN, run=run)
        return next((KeptRun(**row) for row in rows), None)

    def kept_runs(self, *, before_id: int | None = None, limit: int) -> list[KeptRun]:
        """Return recorded runs that were not removed, newest first."""
        rows = self._rows(statements.KEPT_RUNS, before=before_id, limit=limit)
        return [KeptRun(**row) for row in rows]

    def counters(self, *, round: int, task: str) -> Mapping[str, JsonValue]:
        """Return the counters of a task in a round."""
        rows = self._rows(statements.COUNTERS, round=round, task=task)
        return next((read_counters(row["json"]) or {} for row in rows), {})

    def events(
        self,
        *,
        after_revision: int = 0,
        document: str | None = None,
        kinds: Sequence[str] | None = None,
        month: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Return events with a revision above `after_revision`, oldest first."""
        named = None if kinds is None else list(kinds)
        rows = self._rows(
            statements.EVENTS,
            after=after_revision,
            document=document,
            kinds=named,
            month=month,
            limit=limit,
        )

        return [event_of(row) for row in rows]

    def event_revisions(
        self, document: str, *, without: Sequence[str], up_to: int | None = None, limit: int
    ) -> list[int]:
        """Return the revision of each of the newest events shown in `document`, newest first."""
        rows = self._rows(
            statements.EVENT_REVISIONS,
            document=document,
            without=list(without),
            up_to=up_to,
            limit=limit,
        )
        return [row["revision"] for row in rows]

    def document_revision(self, document: str) -> int:
        """Return the revision of the newest event shown in `document`, 0 when there is none."""
        return next(
            (
                row["revision"]
                for row in self._rows(statements.DOCUMENT_REVISION, document=document)
            ),
            0,
        )

    def projections(self) -> list[Projection]:
        """Return what is known of the files that goop-mcp wrote, ordered by path."""
        return [Projection(**row) for row in self._rows(statements.PROJECTIONS)]

    def attempts(
        self, *, since: str | None = None, limit: int | None = None
    ) -> list[StoredAttempt]:
        """Return recorded attempts, oldest first, since the time `since`; None for all."""
        return [
            attempt_of(row) for row in self._rows(statements.ATTEMPTS, since=since, limit=limit)
        ]

    def statistics(self, wanted: StatisticsFilter) -> Statistics:
        """Return the statistics of attempts, judgements and reports."""
        bound = self._mine | {
            # The statement is a constant of `statements`; only the values come from outside.
            "since": wanted.since,
            "until": wanted.until,
            "agent": wanted.agent,
        }

        def ask(statement: str) -> list[tuple[Any, ...]]:
            if self._connection is None:
                return []
            with translating(self._place):
                return self._connection.execute(statement.encode(), bound).fetchall()

        return gather_statistics(ask, statements.STATISTICS)

    def _one_memory(self, statement: Composed, value: int | str) -> StoredMemory | None:
        return next((memory_of(row) for row in self._rows(statement, value=value)), None)

    def _graph_rows(self, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []

        # All statements are constants of `graph_rows`; values are bound.
        asked = SQL(store.graph_rows.for_postgres(statement))
        with translating(self._place), self._connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(asked, {**values, **self._mine})
            return cursor.fetchall() if _has_rows(cursor) else []

    def _rows(self, statement: SQL | Composed, **values: object) -> list[dict[str, Any]]:
        """Run a statement for this project; raise subclasses of StoreError."""
        if self._connection is None:
            # Without tables there are no rows; each method then returns what it returns for an
            # empty project.
            return []

        with translating(self._place), self._connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute(statement, {**values, **self._mine})
            return cursor.fetchall() if _has_rows(cursor) else []


def memory_of(row: Mapping[str, Any]) -> StoredMemory:
    """Return the memory of a row of the table of memories; other columns are ignored."""
    return StoredMemory(
        **{name: row[name] for name in StoredMemory.__struct_fields__} | _lists(row)
    )


def report_of(row: Mapping[str, Any]) -> StoredReport:
    """Return the report of a row of the table of reports."""
    return StoredReport(**row)


def event_of(row: Mapping[str, Any]) -> Event:
    """Return the event of a row of the table of events."""
    return Event(**row)


def attempt_of(row: Mapping[str, Any]) -> StoredAttempt:
    """Return the attempt of a row of the table of attempts."""
    return StoredAttempt(**{**row, **_lists(row)})


def _has_rows(cursor: Cursor[Any]) -> bool:
    # Not by `description`, which makes an object for each column.
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


# psycopg returns arrays as lists, and records are hashable.
def _lists(row: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(row[name]) for name in LISTS if name in row}


def _filter(wanted: MemoryFilter) -> dict[str, object]:
    return {
        "types": list(wanted.types),
        "concepts": [fold_concept(concept) for concept in wanted.concepts],
        "min_importance": wanted.min_importance,
    }


def _with_all(ways: Sequence[Sequence[tuple[str, ...]]]) -> str:
    """Return the query for memories with every term, each in one of its forms."""
    return " & ".join(
        "(" + " | ".join(f"({' & '.join(form)})" for form in forms) + ")" for forms in ways
    )


def _with_tokens(groups: Sequence[Sequence[str]]) -> str:
    """Return the query for memories with a token of each group."""
    # Quoted, as the parser of queries is not the one of texts and knows no such characters.
    return " & ".join("(" + " | ".join(f"'{token}'" for token in group) + ")" for group in groups)


def _finding(counts: Mapping[str, int]) -> list[str]:
    # A word that is in most memories finds nearly all of them, and ranking those costs the time.
    # The rare words find; a memory that has the frequent words too is then ranked higher.
    """Return the words that find memories: the rarest, as the others only rank them."""
    rarest = sorted(counts, key=lambda word: counts[word])
    found, matches = rarest[:1], counts[rarest[0]] if rarest else 0
    for word in rarest[1:]:
        matches += counts[word]
        if matches <= _MOST_COUNTED:
            found.append(word)

    return found or list(counts)
