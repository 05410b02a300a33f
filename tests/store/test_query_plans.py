"""Queries that every recorded report makes are answered from an index, on both engines."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from psycopg.sql import SQL, Composed

from goop_mcp.store.graph_rows import ACCEPTED_TASK, LEFT_REPORTS, for_postgres
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.postgres import statements
from goop_mcp.store.sqlite.reading import SqliteReadTransaction
from tests.postgres import Database
from tests.store.rows import REPORT, RUN

REPORTS = 2_000
QUERIES: dict[str, Callable[[ReadTransaction], object]] = {
    "the newest reports": lambda reading: reading.reports(limit=5),
    "reports since a revision": lambda reading: reading.reports(after_revision=1),
    "the newest reports of a round": lambda reading: reading.reports(round=2, limit=5),
    "reports of a round since a revision": lambda reading: reading.reports(
        round=2, after_revision=1
    ),
    "the next reports of a round": lambda reading: reading.reports(
        round=1, include_retired=True, before_id=900, limit=5
    ),
    "the next reports": lambda reading: reading.reports(before_id=900, limit=5),
    "the last report of each task": lambda reading: reading.last_reports(round=2),
    "a report": lambda reading: reading.report(7),
    "a report by its key": lambda reading: reading.report_by_key("report-7"),
    "the number of reports": lambda reading: reading.report_count(),
    "the number of reports of a round": lambda reading: reading.report_count(round=2),
    "when reports changed": lambda reading: reading.reports_changed_at(),
    "a request": lambda reading: reading.confirmation(1),
    "what was confirmed": lambda reading: reading.confirmations(round=2),
    "a kept document": lambda reading: reading.kept_document("SPEC.md", step="lock", round=2),
    "the last reply of an agent": lambda reading: reading.kept_reply("goop-executor"),
    "a recorded run": lambda reading: reading.kept_run("r-0123456789ab"),
    "the newest recorded runs": lambda reading: reading.kept_runs(limit=5),
    "counters": lambda reading: reading.counters(round=2, task="W1.T1"),
    "the result of a task": lambda reading: reading.graphs.accepted_task("key"),
    "reports of a task that are to be recorded": lambda reading: reading.graphs.unrecorded(
        "run-1", "build"
    ),
    "reports of a run that are to be recorded": lambda reading: reading.graphs.unrecorded("run-1"),
    "reports that dead runners left": lambda reading: reading.graphs.left_reports(limit=9),
    "the runners of a run": lambda reading: reading.graphs.runners("run-1", limit=9),
    "the newest work on a run": lambda reading: reading.graphs.newest_work("run-1"),
}
# Of the few rows with one key, the newest.
SORTED = "the result of a task"


def fill(store: Store) -> None:
    """Record reports of two rounds, about seven tasks, in a hundred changes."""

    def add(writing: WriteTransaction) -> None:
        begin = writing.report_count()
        for number in range(begin, begin + REPORTS // 100):
            writing.add_report(
                replace(
                    REPORT,
                    idempotency_key=f"report-{number}",
                    task_id=f"W1.T{number % 7}",
                    round=1 + number * 2 // REPORTS,
                )
            )

    for _ in range(100):
        store.write(add)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("project")
    store = open_store(None, project=project)
    fill(store)
    store.close()
    return project


@pytest.mark.parametrize("name", QUERIES)
def test_sqlite_answers_from_an_index(filled: Path, name: str) -> None:
    def explained(reading: ReadTransaction) -> list[str]:
        assert isinstance(reading, SqliteReadTransaction)
        connection = reading._connection
        asked: list[tuple[str, apsw.Bindings | None]] = []

        def note(_: object, statement: str, bindings: "apsw.Bindings | None") -> bool:
            asked.append((statement, bindings))
            return True

        connection.exec_trace = note
        try:
            QUERIES[name](reading)
        finally:
            connection.exec_trace = None

        return [
            str(row[3])
            for statement, bindings in asked
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)
        ]

    store = open_store(None, project=filled)
    plan = store.read(explained)
    store.close()
    assert plan
    # `keys` are the few tasks found so far. The number of all reports needs one pass over an index.
    whole = [line for line in plan if line.startswith("SCAN") and line != "SCAN keys"]
    counts_all = name == "the number of reports"
    assert whole == (["SCAN reports USING COVERING INDEX reports_by_round"] if counts_all else [])
    assert ("TEMP B-TREE" in "\n".join(plan)) == (name == SORTED)


def test_sqlite_prepares_a_statement_once_for_all_values(filled: Path) -> None:
    def prepared(reading: ReadTransaction) -> list[int]:
        assert isinstance(reading, SqliteReadTransaction)
        looked_at: list[object] = []

        # SQLite asks this for each table and column of a statement when it prepares it.
        def note(*asked: object) -> int:
            looked_at.append(asked)
            return apsw.SQLITE_OK

        counts = []
        reading._connection.authorizer = note
        try:
            for number in range(3):
                looked_at.clear()
                reading.graphs.attempts("run-1", f"task-{number}")
                counts.append(len(looked_at))
        finally:
            reading._connection.authorizer = None
        return counts

    store = open_store(None, project=filled)
    first, *others = store.read(prepared)
    store.close()
    assert first
    assert others == [0, 0]


POSTGRES_QUERIES: dict[str, tuple[SQL | Composed, dict[str, object], str]] = {
    "the newest reports": (statements.REPORTS, {"limit": 5}, "reports_by_revision"),
    "the newest reports of a round": (
        statements.REPORTS,
        {"round": 2, "limit": 5},
        "reports_by_round",
    ),
    "the next reports of a round": (
        statements.REPORTS,
        {"round": 1, "retired": True, "before": 900, "limit": 5},
        "reports_by_round",
    ),
    "the last report of each task": (statements.LAST_REPORTS, {"round": 2}, "reports_by_task"),
    "a report": (statements.REPORT_BY_ID, {"id": 7}, "reports_pkey"),
    "the number of reports of a round": (
        statements.REPORT_COUNT,
        {"round": 2},
        "reports_by_round",
    ),
    "when reports changed": (statements.REPORTS_CHANGED_AT, {}, "meta_pkey"),
    "the round": (statements.ROUNDS, {"limit": 1}, "rounds_pkey"),
    "a request": (statements.CONFIRMATION, {"id": 1}, "confirmations_pkey"),
    "the open requests": (statements.OPEN_CONFIRMATIONS, {"limit": 50}, "confirmations_open"),
    "the open request of a step": (
        statements.OPEN_CONFIRMATION,
        {"round": 1, "action": "lock_spec", "subject_key": ""},
        "confirmations_",
    ),
    "what was confirmed": (
        statements.CONFIRMATIONS,
        {"round": 1, "limit": 500},
        "confirmations_given",
    ),
    "the state": (statements.STATE, {}, "project_state_pkey"),
    "a kept document": (statements.KEPT_DOCUMENT, {"name": "SPEC.md"}, "kept_documents_by_name"),
    "the last reply of an agent": (
        statements.KEPT_REPLY,
        {"agent": "goop-executor"},
        "kept_replies_by_agent",
    ),
    "a recorded run": (statements.KEPT_RUN, {"run": RUN.run}, "recorded_runs_by_run"),
    "the newest recorded runs": (statements.KEPT_RUNS, {"limit": 5}, "recorded_runs_pkey"),
    "counters": (statements.COUNTERS, {"round": 2, "task": "W1.T1"}, "counters_pkey"),
    SORTED: (SQL(for_postgres(ACCEPTED_TASK)), {"key": "key"}, "graph_tasks_by_key"),
    "reports that dead runners left": (
        SQL(for_postgres(LEFT_REPORTS)),
        {"limit": 9},
        "graph_tasks_of_owner",
    ),
}


def test_postgres_answers_from_an_index(database: Database, tmp_path: Path) -> None:
    store = open_store(database.url(), project=tmp_path, project_id="shop")
    fill(store)
    store.close()

    with database.connect() as connection:
        connection.execute("VACUUM ANALYZE goop.reports")
        # Tables of a few rows would be read whole. With this they only are when no index fits.
        connection.execute("SET enable_seqscan = off")
        for name, (statement, values, index) in POSTGRES_QUERIES.items():
            bound = {
                "tenant": "default",
                "project": "shop",
                "after": 0,
                "round": None,
                "retired": False,
                "before": None,
                "step": None,
                **values,
            }
            explained = connection.execute(SQL("EXPLAIN ") + statement, bound)
            plan = "\n".join(str(row[0]) for row in explained)
            assert index in plan, (name, plan)
            assert "Seq Scan" not in plan, (name, plan)
            # The lists come out of the index in the order of revisions; within one, ids are sorted.
            sorts = plan.replace("Incremental Sort", "").count("Sort  ")
            expected = statement is statements.LAST_REPORTS or name == SORTED
            assert sorts == expected, (name, plan)
