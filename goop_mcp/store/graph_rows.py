"""The rows of delegation runs, the same for every engine: runs, tasks, attempts, events, runners.

The SQL is written once, with `:name` for values, `{goop}` before names of tables and `{mine}` for
the condition that restricts rows to the project; each engine turns that into its own form. What a
row may become is decided in `goop_mcp.delegation.ledger`, within one write transaction: those of a
project follow each other, so that what was read in one cannot have changed before it is written.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_type_hints

from goop_mcp.errors import StoreError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.storable import refuse_unstorable_text

__all__ = [
    "ACCEPTED_TASK",
    "LEFT_REPORTS",
    "MOST_EVENTS",
    "MOST_RUNS",
    "CircuitRow",
    "GraphAttemptRow",
    "GraphEventRow",
    "GraphNeedRow",
    "GraphReader",
    "GraphReportRow",
    "GraphRunRow",
    "GraphSource",
    "GraphTaskRow",
    "GraphWriter",
    "RunnerRow",
    "RunningTask",
    "for_postgres",
    "for_sqlite",
]

MOST_RUNS: Final = 1_000
"""Runs that are listed at most."""

MOST_EVENTS: Final = 10_000
"""Events that are returned at once."""


class GraphRunRow(NamedTuple):
    """A run of a graph; the graph itself and its input are a `GraphSource`.

    `options` and `edges` are JSON. `deadline_at` is in seconds since 1970, by the database's clock.
    `reserved_tokens` are those of calls under way; `last_seq` is the number of the newest event.
    """

    id: str
    name: str
    graph_hash: str
    options: str
    edges: str
    state: str
    created_at: str
    ended_at: str | None
    deadline_at: float | None
    spent_tokens: int
    reserved_tokens: int
    spent_calls: int
    spent_cost: float
    trace_id: str | None
    last_seq: int


class GraphSource(NamedTuple):
    """What a run was started with, as JSON: columns of the same row as `GraphRunRow`.

    Read only where they are needed: both may be long, and every step of a run reads its row.
    """

    graph: str
    input: str


class GraphTaskRow(NamedTuple):
    """A task or gate of a run.

    `spec` is the task or gate as JSON; its needs are rows of their own. `prompt` is that with its
    values, None before the first claim; `notes` is what came back over a feedback edge. `fence`
    counts the claims: whoever writes with an older one lost the task. `owner` is the runner that
    works on it, and after that, until its report is recorded, the one that has to do so. `ready_at`
    is when it became ready, by the database's clock. `result` is JSON: the accepted envelope, or
    why there is none.
    """

    run: str
    id: str
    kind: str
    round: int
    parent: str | None
    depth: int
    spec: str
    prompt: str | None
    notes: str | None
    optional: int
    priority: int
    distance: int
    state: str
    reason: str | None
    message: str | None
    ready_at: float | None
    deadline_at: float | None
    fence: int
    owner: str | None
    lease_until: float | None
    cancel_requested: int
    session: str | None
    program_pid: int | None
    program_started: str | None
    task_key: str | None
    decision: str | None
    result: str | None
    report: int | None


class GraphReportRow(NamedTuple):
    """The report that a task ended with in one round, not recorded in the project yet.

    Of the present round it is read from the row of the task. The next round ends that, so what is
    not recorded by then has a row of its own. `owner` is the runner that has to record it, "" where
    that is a person's command or it was refused, None where nobody does; `spec` and `result` are
    those of `GraphTaskRow`.
    """

    run: str
    task: str
    fence: int
    round: int
    spec: str
    owner: str | None
    result: str

    @property
    def kind(self) -> str:
        """That of the row of its step: gates have no reports."""
        return "task"


class RunningTask(NamedTuple):
    """A task that a runner works on: columns of the same row as `GraphTaskRow`.

    Each claim reads those of all tasks that run, and nearly never needs more of them.
    """

    id: str
    kind: str
    spec: str
    owner: str | None


class GraphNeedRow(NamedTuple):
    """`task` needs `need`: one edge of the graph of a run."""

    run: str
    task: str
    need: str


class GraphAttemptRow(NamedTuple):
    """One message to an agent, written before it is sent: one without an end has an unknown effect.

    `outcome` is the attempt as JSON once it has ended. `reserved` are the tokens that were
    reserved for it.
    """

    run: str
    task: str
    round: int
    number: int
    fence: int
    way: str
    message: str
    outcome: str | None
    reserved: int
    began_at: str
    ended_at: str | None


class GraphEventRow(NamedTuple):
    """Something that happened in a run; only added, never changed. `data` is JSON."""

    run: str
    seq: int
    at: str
    task: str | None
    what: str
    data: str


class RunnerRow(NamedTuple):
    """A process that works on a run, by a random id; `seen_at` is in seconds since 1970.

    `run` is None where an older version wrote the row. `stands_by`: it takes tasks of the run when
    they are delivered to it, and may have none.
    """

    owner: str
    host: str
    boot_id: str
    pid: int
    pid_started: str
    seen_at: float
    run: str | None = None
    stands_by: int = 0


class CircuitRow(NamedTuple):
    """How the calls of an agent went, for all runners: failures in a row, and until when to wait.

    `next_call_at` is when its rate allows the next call; times are in seconds since 1970. `usages`
    are the tokens of its last answers, a JSON list.
    """

    agent: str
    failures: int
    open_until: float
    next_call_at: float
    usages: str


AnyRow = (
    GraphRunRow
    | GraphTaskRow
    | GraphReportRow
    | GraphNeedRow
    | GraphAttemptRow
    | GraphEventRow
    | RunnerRow
    | CircuitRow
)
Row = TypeVar(
    "Row",
    GraphRunRow,
    GraphSource,
    GraphTaskRow,
    GraphReportRow,
    RunningTask,
    GraphAttemptRow,
    GraphEventRow,
    RunnerRow,
    CircuitRow,
)

_TABLES: Final[Mapping[type, str]] = {
    GraphRunRow: "graph_runs",
    GraphTaskRow: "graph_tasks",
    GraphReportRow: "graph_reports",
    GraphNeedRow: "graph_needs",
    GraphAttemptRow: "graph_attempts",
    GraphEventRow: "graph_events",
    RunnerRow: "graph_runners",
    CircuitRow: "graph_circuits",
}
_KEYS: Final[Mapping[type, tuple[str, ...]]] = {
    GraphRunRow: ("id",),
    GraphTaskRow: ("run", "id"),
    GraphReportRow: ("run", "task", "fence"),
    GraphNeedRow: ("run", "task", "need"),
    GraphAttemptRow: ("run", "task", "round", "number"),
    GraphEventRow: ("run", "seq"),
    RunnerRow: ("owner",),
    CircuitRow: ("agent",),
}
# Those that are read in part have the names of the whole rows' columns.
_PARTS: Final[Mapping[type, str]] = {GraphSource: "graph_runs", RunningTask: "graph_tasks"}
_NAMES: Final = {kind: tuple(get_type_hints(kind)) for kind in (*_TABLES, *_PARTS)}
# Exact types: a number is never a bool, and a row is checked several times in each step of a run.
_TYPES: Final = {
    kind: tuple(get_args(hint) or (hint,) for hint in get_type_hints(kind).values())
    for kind in (*_TABLES, *_PARTS)
}

# Types of the values of rows that were looked at, of each kind. A file of somebody else may hold
# any of them, so their number is bounded.
_KNOWN_TYPES: Final[Mapping[type, set[tuple[type, ...]]]] = {kind: set() for kind in _TYPES}
_MOST_KNOWN_TYPES: Final = 1_000


def _select(kind: type, rest: str) -> str:
    # Columns by name: a later migration may add some, or order them differently.
    return " ".join(("SELECT", ", ".join(_NAMES[kind]), "FROM", _table(kind), "WHERE {mine}", rest))


@cache
def _insert(table: str, names: tuple[str, ...], count: int) -> str:
    """Return the statement that adds `count` rows, whose values are numbered from the second on."""
    rows = ", ".join(
        # SQL has no parameter for a list of rows, so each row has names of its own.
        "".join(("({slots}", ", ".join(f":{name}{place}" for name in names), ")"))
        for place in ("", *(f"_{number}" for number in range(1, count)))
    )
    listed = ", ".join(names)
    return " ".join(("INSERT INTO", "{goop}" + table, "({owner}", listed, ") VALUES", rows))


@cache
def _update(table: str, keys: tuple[str, ...], names: tuple[str, ...], condition: str) -> str:
    key = " AND ".join(f"{name} = :{name}" for name in keys)
    changed = ", ".join(f"{name} = :{name}" for name in names)
    parts = ("UPDATE", "{goop}" + table, "SET", changed, "WHERE {mine} AND", key, condition)
    return " ".join((*parts, "RETURNING", keys[0]))


def _change(row: AnyRow, was: AnyRow | None, condition: str = "") -> tuple[str, dict[str, Any]]:
    """Return the statement that stores what differs between `was` and `row`, and its values."""
    kind = type(row)
    # Keys never change, and stand in the condition.
    keys = _KEYS[kind]
    names = tuple(
        name
        for place, name in enumerate(_NAMES[kind])
        if name not in keys and (was is None or row[place] != was[place])
    )
    # Where nothing differs, the row is still looked for: its state and fence may have changed.
    names = names or tuple(name for name in _NAMES[kind] if name not in keys)[:1]

    return _update(_TABLES[kind], keys, names, condition), _values(row, (*keys, *names))


def _table(kind: type) -> str:
    return "{goop}" + _name_of_table(kind)


def _name_of_table(kind: type) -> str:
    return _TABLES.get(kind) or _PARTS[kind]


_RUN: Final = _select(GraphRunRow, "AND id = :id")
_SOURCE: Final = _select(GraphSource, "AND id = :id")
_SET_GRAPH: Final = "UPDATE {goop}graph_runs SET graph = :graph WHERE {mine} AND id = :id"
# Ended runs are skipped by a value and not by another statement: one plan serves both.
_RUNS: Final = _select(
    GraphRunRow,
    "AND (:all = 1 OR ended_at IS NULL)"
    " AND (:before = '' OR created_at < :before OR (created_at = :before AND id > :id))"
    " ORDER BY created_at DESC, id LIMIT :limit",
)
_ALL_EVENTS: Final = (
    "SELECT count(*) AS count, coalesce(sum(last_seq), 0) AS events"
    " FROM {goop}graph_runs WHERE {mine}"
)
_TOO_OLD: Final = (
    # At most 100 at a time, which bounds the transaction; the rest goes with the next run.
    "SELECT id FROM {goop}graph_runs WHERE {mine} AND ended_at IS NOT NULL"
    " ORDER BY ended_at DESC, id LIMIT 100 OFFSET :keep"
)
_UNFINISHED: Final = _select(
    GraphRunRow, "AND ended_at IS NULL AND name = :name ORDER BY created_at DESC, id LIMIT 1"
)
_TASK: Final = _select(GraphTaskRow, "AND run = :run AND id = :id")
_TASKS: Final = _select(GraphTaskRow, "AND run = :run ORDER BY id")
# Ordered here and not by the database, which would read all tasks to have those few in order.
_IN_STATE: Final = _select(GraphTaskRow, "AND run = :run AND state = :state")


def _to_record(of_tasks: str, of_reports: str) -> str:
    """Return the statement for reports that are not recorded, in rows of tasks and in their own."""
    own = _select(GraphReportRow, of_reports)
    present = " ".join(
        (
            "SELECT run, id, fence, round, spec, owner, result FROM {goop}graph_tasks WHERE {mine}",
            of_tasks,
            "AND kind = 'task' AND state IN ('accepted', 'input_required')",
            "AND result IS NOT NULL AND report IS NULL",
        )
    )
    return " ".join((own, "UNION ALL", present))


_UNRECORDED: Final = _to_record("AND run = :run", "AND run = :run")
_UNRECORDED_OF_TASK: Final = _to_record(
    "AND run = :run AND id = :task", "AND run = :run AND task = :task"
)
# The indexes of owners hold few rows besides those of tasks that run.
LEFT_REPORTS: Final = " ".join((_to_record("AND owner > ''", "AND owner > ''"), "LIMIT :limit"))
_REPORT: Final = _select(GraphReportRow, "AND run = :run AND task = :task AND fence = :fence")
_REMOVE_REPORTS: Final = (
    "DELETE FROM {goop}graph_reports WHERE {mine}"
    " AND run = :run AND task = :task AND fence <= :until RETURNING task"
)
# The key is in an index of accepted tasks. The newest run is found before the row is read, which
# may be long: of 500 runs of one graph, each has a row with this key.
ACCEPTED_TASK: Final = _select(
    GraphTaskRow,
    "AND (run, id) = (SELECT run, id FROM {goop}graph_tasks WHERE {mine} AND task_key = :key"
    " AND state = 'accepted' AND kind = 'task' AND decision IS NULL"
    " ORDER BY (SELECT created_at FROM {goop}graph_runs WHERE {mine}"
    " AND {goop}graph_runs.id = {goop}graph_tasks.run) DESC, run, id LIMIT 1)",
)
_RUNNING: Final = _select(RunningTask, "AND run = :run AND state = 'running'")
_READY: Final = _select(
    GraphTaskRow,
    "AND run = :run AND state IN ('ready', 'retrying')"
    " ORDER BY priority DESC, distance DESC, id LIMIT :limit",
)
# Each part is in the order of the index: the first of a thousand ready tasks is found without
# sorting them.
_FIRST: Final = _select(
    GraphTaskRow,
    "AND run = :run AND state = 'ready' AND (priority, distance) ="
    " (SELECT priority, distance FROM {goop}graph_tasks WHERE {mine} AND run = :run"
    " AND state = 'ready' ORDER BY priority DESC, distance DESC LIMIT 1)"
    " ORDER BY id LIMIT :limit",
)
# Stops at the first row, where a count would read all of them.
_MOVES: Final = (
    "SELECT 1 FROM {goop}graph_tasks WHERE {mine} AND run = :run"
    " AND state IN ('ready', 'running', 'retrying') LIMIT 1"
)
_COUNTS: Final = (
    "SELECT state, count(*) AS count FROM {goop}graph_tasks WHERE {mine} AND run = :run"
    " GROUP BY state"
)
_FINAL_COUNTS: Final = (
    "SELECT state, count(*) AS count, sum(CASE WHEN optional = 0"
    # What the deadline ended before it began was not done either.
    " AND (state = 'failed' OR (state = 'cancelled' AND reason = 'deadline'))"
    " THEN 1 ELSE 0 END) AS failures"
    " FROM {goop}graph_tasks WHERE {mine} AND run = :run GROUP BY state"
)
_NEEDED_STATES: Final = (
    "SELECT t.state AS state, t.optional AS optional, count(*) AS count"
    " FROM {goop}graph_needs AS n JOIN {goop}graph_tasks AS t"
    " ON t.run = n.run AND t.id = n.need {joined}"
    " WHERE n.run = :run AND n.task = :task {needs_mine} GROUP BY t.state, t.optional"
)
_NEEDS: Final = "SELECT need FROM {goop}graph_needs WHERE {mine} AND run = :run AND task = :task"
_FOLLOWERS: Final = (
    "SELECT task FROM {goop}graph_needs WHERE {mine} AND run = :run AND need = :need"
)
_ATTEMPTS: Final = _select(
    GraphAttemptRow, "AND run = :run AND task = :task ORDER BY round, number"
)
_ALL_ATTEMPTS: Final = _select(GraphAttemptRow, "AND run = :run ORDER BY task, round, number")
_LAST_ATTEMPTS: Final = _select(
    GraphAttemptRow, "AND run = :run AND task = :task ORDER BY round DESC, number DESC LIMIT :limit"
)
_OPEN_ATTEMPTS: Final = _select(
    GraphAttemptRow, "AND run = :run AND task = :task AND ended_at IS NULL ORDER BY round, number"
)
_ATTEMPT_COUNT: Final = (
    "SELECT count(*) FROM {goop}graph_attempts"
    " WHERE {mine} AND run = :run AND task = :task AND round = :round"
)
_EVENTS: Final = _select(GraphEventRow, "AND run = :run AND seq > :after ORDER BY seq LIMIT :limit")
_NEWEST_OF_TASK: Final = _select(
    GraphEventRow,
    # Read backwards from the end of the run, near which it is.
    "AND run = :run AND task = :task AND what = :what ORDER BY seq DESC LIMIT 1",
)
_NEWEST_WORK: Final = (
    "SELECT at FROM {goop}graph_events WHERE {mine} AND run = :run"
    " AND what IN ('claimed', 'asked', 'answered') ORDER BY seq DESC LIMIT 1"
)
_RUNNER: Final = _select(RunnerRow, "AND owner = :owner")
_RUNNERS: Final = _select(RunnerRow, "AND run = :run ORDER BY seen_at DESC LIMIT :limit")
_SEE_RUNNER: Final = (
    "UPDATE {goop}graph_runners SET seen_at = :at WHERE {mine} AND owner = :owner RETURNING owner"
)
_CIRCUIT: Final = _select(CircuitRow, "AND agent = :agent")
# One statement for all numbers of tasks: unused places have the last of them.
_MOST_RENEWED: Final = 16
_RENEW: Final = " ".join(
    (
        "UPDATE {goop}graph_tasks SET lease_until = :until",
        "WHERE {mine} AND owner = :owner AND state = 'running' AND id IN (",
        ", ".join(f":id_{place}" for place in range(_MOST_RENEWED)),
        ") RETURNING id",
    )
)
_REMOVE_RUNNERS: Final = (
    "DELETE FROM {goop}graph_runners WHERE {mine} AND seen_at < :before RETURNING owner"
)
_REMOVE_RUN: Final = tuple(
    " ".join(("DELETE FROM", _table(kind), "WHERE {mine} AND", column, "= :run RETURNING", column))
    for kind, column in (
        (GraphEventRow, "run"),
        (GraphAttemptRow, "run"),
        (GraphNeedRow, "run"),
        (GraphReportRow, "run"),
        (GraphTaskRow, "run"),
        (GraphRunRow, "id"),
    )
)
_REMOVE_STEP: Final = (
    "DELETE FROM {goop}graph_needs WHERE {mine} AND run = :run AND task = :id RETURNING task",
    "DELETE FROM {goop}graph_tasks WHERE {mine} AND run = :run AND id = :id RETURNING id",
)
_VALUE: Final = re.compile(r":([a-z_0-9]+)")


@cache
def for_sqlite(statement: str) -> str:
    """Return `statement` for a database that holds one project."""
    # One project a file: the placeholders that select a project are empty.
    return statement.format(goop="", mine="TRUE", owner="", slots="", joined="", needs_mine="")


@cache
def for_postgres(statement: str) -> str:
    """Return `statement` for a database whose tables name tenant and project in each row."""
    mine = "tenant = :tenant AND project = :project"
    made = statement.format(
        goop="goop.",
        mine=mine,
        owner="tenant, project, ",
        slots=":tenant, :project, ",
        joined="AND t.tenant = n.tenant AND t.project = n.project",
        needs_mine="AND n.tenant = :tenant AND n.project = :project",
    )
    # Named parameters of psycopg have another form than those of SQLite.
    return _VALUE.sub(r"%(\1)s", made)


Ask = Callable[[str, Mapping[str, Any]], Sequence[Sequence[Any]]]
"""Runs one of the statements above for the project and returns its rows in their order."""


class GraphReader:
    """Reads the rows of runs within a transaction, whose engine runs the statements with `ask`."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def run(self, id: str) -> GraphRunRow | None:
        """Return the run with `id`, None if there is none."""
        return next(iter(self._records(GraphRunRow, _RUN, id=id)), None)

    def source(self, run: str) -> GraphSource:
        """Return what a run was started with. Raises StoreError if there is no such run."""
        for row in self._records(GraphSource, _SOURCE, id=run):
            return row
        raise StoreError(f"there is no run {run!r}")

    def runs(
        self,
        *,
        include_ended: bool = False,
        before: tuple[str, str] | None = None,
        limit: int = MOST_RUNS,
    ) -> list[GraphRunRow]:
        """Return the runs, the newest first, at most `limit`.

        `before` is `created_at` and `id` of the last run of the list that this one goes on.
        """
        at, id = before or ("", "")
        values = {"all": int(include_ended), "before": at, "id": id, "limit": limit}
        return self._records(GraphRunRow, _RUNS, **values)

    def event_count(self) -> tuple[int, int]:
        """Return how many runs there are, and how many events in all of them.

        After each step of a run the second is larger; only removing old runs makes it smaller.
        """
        # The sum grows with each step of any run, which a time would not do: two steps may have the
        # same.
        ((count, events),) = self._ask(_ALL_EVENTS, {})
        return int(count), int(events)

    def unfinished_run(self, name: str) -> GraphRunRow | None:
        """Return the newest run of a graph with this name that has not ended, None without one."""
        return next(iter(self._records(GraphRunRow, _UNFINISHED, name=name)), None)

    def task(self, run: str, id: str) -> GraphTaskRow | None:
        """Return a task of a run, None if there is none."""
        return next(iter(self._records(GraphTaskRow, _TASK, run=run, id=id)), None)

    def accepted_task(self, key: str) -> GraphTaskRow | None:
        """Return the accepted task with this key of the newest run that has one.

        One that a person accepted is not returned: that was decided for its run.
        """
        return next(iter(self._records(GraphTaskRow, ACCEPTED_TASK, key=key)), None)

    def tasks(self, run: str, *, state: str | None = None) -> list[GraphTaskRow]:
        """Return the tasks and gates of a run by id, those in `state` where it is given."""
        if state is None:
            return self._records(GraphTaskRow, _TASKS, run=run)
        found = self._records(GraphTaskRow, _IN_STATE, run=run, state=state)
        # By the database it would need all tasks in order, as at `_IN_STATE`.
        return sorted(found, key=lambda row: row.id)

    def unrecorded(self, run: str, task: str | None = None) -> list[GraphReportRow]:
        """Return the reports of a run, or of one task, that are not recorded; oldest rounds first.

        They are those of tasks that are accepted, or wait for a person with one.
        """
        if task is None:
            return sorted(self._records(GraphReportRow, _UNRECORDED, run=run))
        return sorted(self._records(GraphReportRow, _UNRECORDED_OF_TASK, run=run, task=task))

    def left_reports(self, *, limit: int) -> list[GraphReportRow]:
        """Return reports of all runs whose runners have not recorded them; oldest rounds first."""
        return sorted(self._records(GraphReportRow, LEFT_REPORTS, limit=limit))

    def report(self, run: str, task: str, *, fence: int) -> GraphReportRow | None:
        """Return the report of a round that is over, None if it needs not be recorded any more."""
        values = {"run": run, "task": task, "fence": fence}
        return next(iter(self._records(GraphReportRow, _REPORT, **values)), None)

    def running_tasks(self, run: str) -> list[RunningTask]:
        """Return the tasks that runners work on, by id."""
        return sorted(self._records(RunningTask, _RUNNING, run=run))

    def ready_tasks(self, run: str, *, limit: int) -> list[GraphTaskRow]:
        """Return tasks that may begin: by priority, then the longest way to the end, then id."""
        return self._records(GraphTaskRow, _READY, run=run, limit=limit)

    def first_ready(self, run: str, *, limit: int) -> list[GraphTaskRow]:
        """Return the first ready tasks, of those that are equally urgent; much faster than all."""
        return self._records(GraphTaskRow, _FIRST, run=run, limit=limit)

    def task_counts(self, run: str) -> dict[str, int]:
        """Return how many tasks and gates of a run are in each state."""
        return {str(state): int(count) for state, count in self._ask(_COUNTS, {"run": run})}

    def is_moving(self, run: str) -> bool:
        """Whether a task of a run is ready, running, or waits only for the time of its retry.

        It looks at one row, where `task_counts` looks at those of the whole run.
        """
        return bool(self._ask(_MOVES, {"run": run}))

    def final_counts(self, run: str) -> tuple[dict[str, int], int]:
        """Return `task_counts`, and how many tasks failed or met the run's deadline.

        Of those that failed, optional ones do not count. It reads the row of each task.
        """
        found = self._ask(_FINAL_COUNTS, {"run": run})
        counts = {str(state): int(count) for state, count, _ in found}
        return counts, sum(int(failures) for _, _, failures in found)

    def needs(self, run: str, task: str) -> list[str]:
        """Return the ids of what a task needs, in order."""
        # Sorted here, as the engines compare texts by different rules.
        return sorted(str(need) for (need,) in self._ask(_NEEDS, {"run": run, "task": task}))

    def followers(self, run: str, need: str) -> list[str]:
        """Return the ids of the tasks that need `need`, in order."""
        found = self._ask(_FOLLOWERS, {"run": run, "need": need})
        return sorted(str(task) for (task,) in found)

    def needed_states(self, run: str, task: str) -> list[tuple[str, bool]]:
        """Return each state of what a task needs, and whether it is that of an optional one.

        Grouped by the database: a task that needs a thousand others gives a few rows.
        """
        found = self._ask(_NEEDED_STATES, {"run": run, "task": task})
        return [(str(state), bool(optional)) for state, optional, _count in found]

    def attempts(
        self, run: str, task: str | None = None, *, unended: bool = False
    ) -> list[GraphAttemptRow]:
        """Return the attempts of a task, or of all, in order; `unended`: those without an end."""
        if task is None:
            return self._records(GraphAttemptRow, _ALL_ATTEMPTS, run=run)
        return self._records(
            GraphAttemptRow, _OPEN_ATTEMPTS if unended else _ATTEMPTS, run=run, task=task
        )

    def last_attempts(self, run: str, task: str, *, limit: int) -> list[GraphAttemptRow]:
        """Return the newest attempts of a task, at most `limit`, in order."""
        found = self._records(GraphAttemptRow, _LAST_ATTEMPTS, run=run, task=task, limit=limit)
        # Newest first is what the index gives, oldest first what people read.
        return found[::-1]

    def attempt_count(self, run: str, task: str, *, round: int) -> int:
        """Return how many messages of a task were written down in a round."""
        values = {"run": run, "task": task, "round": round}
        return int(self._ask(_ATTEMPT_COUNT, values)[0][0])

    def events(self, run: str, *, after: int = 0, limit: int = MOST_EVENTS) -> list[GraphEventRow]:
        """Return the events of a run after the number `after`, the oldest first."""
        return self._records(GraphEventRow, _EVENTS, run=run, after=after, limit=limit)

    def newest_event(self, run: str, task: str, what: str) -> GraphEventRow | None:
        """Return the newest event of one kind of a task, None if there is none."""
        found = self._records(GraphEventRow, _NEWEST_OF_TASK, run=run, task=task, what=what)
        return next(iter(found), None)

    def runner(self, owner: str) -> RunnerRow | None:
        """Return a runner, None if it is not known."""
        return next(iter(self._records(RunnerRow, _RUNNER, owner=owner)), None)

    def runners(self, run: str, *, limit: int) -> list[RunnerRow]:
        """Return the runners of a run, those first that were seen last."""
        return self._records(RunnerRow, _RUNNERS, run=run, limit=limit)

    def newest_work(self, run: str) -> str | None:
        """Return when a task of a run was last claimed, asked or answered; None for never."""
        return next((str(at) for (at,) in self._ask(_NEWEST_WORK, {"run": run})), None)

    def circuit(self, agent: str) -> CircuitRow | None:
        """Return how the calls of `agent` went, None if nothing is known."""
        return next(iter(self._records(CircuitRow, _CIRCUIT, agent=agent)), None)

    def _records(self, kind: type[Row], statement: str, **values: object) -> list[Row]:
        return [_record(kind, row) for row in self._ask(statement, values)]


class GraphWriter(GraphReader):
    """Changes the rows of runs."""

    def add(self, *rows: AnyRow) -> None:
        """Add rows of one kind whose keys are unused."""
        # A graph of a thousand tasks in statements of a few rows each.
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            kind = type(part[0])
            self._ask(_insert(_TABLES[kind], _NAMES[kind], len(part)), _all_values(part))
            failpoint(Failpoint.INSERT)

    def add_run(self, row: GraphRunRow, source: GraphSource) -> None:
        """Add a run whose id is unused."""
        names = (*_NAMES[GraphRunRow], *_NAMES[GraphSource])
        values = {**_values(row), **_values(source)}
        self._ask(_insert(_TABLES[GraphRunRow], names, 1), values)
        failpoint(Failpoint.INSERT)

    def set_graph(self, run: str, graph: str) -> None:
        """Put another graph, as JSON, in the place of that of a run."""
        refuse_unstorable_text(graph, name="graph")
        self._ask(_SET_GRAPH, {"id": run, "graph": graph})
        # Named places at which the tests of crashes kill the process.
        failpoint(Failpoint.INSERT)

    def set(
        self,
        row: GraphRunRow | GraphReportRow | GraphAttemptRow | RunnerRow | CircuitRow,
        *,
        was: AnyRow | None = None,
    ) -> None:
        """Store `row` in place of the one with its key. Raises StoreError if there is none.

        With `was`, what is stored now, only the columns that differ are written.
        """
        statement, values = _change(row, was)
        # No row means that it was removed meanwhile; a write without effect must not pass for one.
        if not self._ask(statement, values):
            raise StoreError(f"there is no row of {_TABLES[type(row)]} to change")

        failpoint(Failpoint.INSERT)

    def move_task(self, row: GraphTaskRow, *, was: GraphTaskRow) -> None:
        """Store `row` in place of `was`; raise StoreError if that changed its state or fence."""
        # The state and fence that the caller saw: another runner that was faster makes this fail.
        statement, values = _change(row, was, "AND state = :was_state AND fence = :was_fence")
        moved = self._ask(statement, {**values, "was_state": was.state, "was_fence": was.fence})
        if not moved:
            raise StoreError(f"task {row.id} is not {was.state} any more; nothing was changed")

        failpoint(Failpoint.INSERT)

    def renew_leases(self, owner: str, tasks: Iterable[str], *, until: float) -> list[str]:
        """Extend the leases of those of `tasks` that a runner has; return their ids."""
        ids, renewed = sorted(tasks), []
        for start in range(0, len(ids), _MOST_RENEWED):
            values: dict[str, Any] = {"owner": owner, "until": until}
            for place in range(_MOST_RENEWED):
                values[f"id_{place}"] = ids[min(start + place, len(ids) - 1)]
            renewed += [str(id) for (id,) in self._ask(_RENEW, values)]

        return renewed

    def see_runner(self, owner: str, at: float) -> bool:
        """Keep when a runner was seen; return whether it is known."""
        seen = bool(self._ask(_SEE_RUNNER, {"owner": owner, "at": at}))
        failpoint(Failpoint.INSERT)
        return seen

    def remove_runners(self, *, before: float) -> None:
        """Forget the runners that were not seen since."""
        self._ask(_REMOVE_RUNNERS, {"before": before})

    def remove_reports(self, run: str, task: str, *, until: int) -> None:
        """Forget the reports of rounds of a task that are over, up to the fence `until`."""
        self._ask(_REMOVE_REPORTS, {"run": run, "task": task, "until": until})

    def remove_steps(self, run: str, *, but: Collection[str]) -> None:
        """Remove the tasks and gates of a run with what they need, except those in `but`."""
        for row in self.tasks(run):
            if row.id not in but:
                for statement in _REMOVE_STEP:
                    self._ask(statement, {"run": run, "id": row.id})

    def remove_old_runs(self, *, keep: int) -> None:
        """Remove the runs that ended first, with all that belongs to them, but for `keep`."""
        for (run,) in self._ask(_TOO_OLD, {"keep": keep}):
            for statement in _REMOVE_RUN:
                self._ask(statement, {"run": run})


# Rows in one statement. SQLite takes 32,766 values in it and a task has 28. Each number of rows is
# a statement of its own that is prepared and kept, so that few numbers are better than large ones.
_AT_ONCE: Final = 16


def _all_values(rows: Sequence[AnyRow]) -> dict[str, Any]:
    values = _values(rows[0])
    for place, row in enumerate(rows[1:], start=1):
        names = _names_at(place, _NAMES[type(row)])
        values.update(zip(names, _values(row).values(), strict=True))

    return values


@cache
def _names_at(place: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the values of the row at `place` in a statement for several."""
    return tuple([f"{name}_{place}" for name in names])


def _values(row: "AnyRow | GraphSource", names: tuple[str, ...] | None = None) -> dict[str, Any]:
    values = (
        dict(zip(_NAMES[type(row)], row, strict=True))
        if names is None
        else {name: getattr(row, name) for name in names}
    )
    for name, value in values.items():
        # NUL and halves of characters, which one of the engines refuses and the other would store.
        if isinstance(value, str):
            refuse_unstorable_text(value, name=name)

    return values


def _record(kind: type[Row], row: Sequence[Any]) -> Row:
    """Return the record of a row; raise StoreError for values that we never write.

    A file may be put together byte by byte.
    """
    # Rows are alike: one with the types of an earlier one is not looked at column by column.
    types, known = tuple(map(type, row)), _KNOWN_TYPES[kind]
    if types in known:
        return kind._make(row)

    values = list(row)
    for place, (found, wanted) in enumerate(zip(types, _TYPES[kind], strict=True)):
        if found in wanted:
            continue
        # SQLite returns a real number that is whole as one, PostgreSQL too; ints are for counts.
        if found is not int or float not in wanted:
            name = f"{_name_of_table(kind)}.{_NAMES[kind][place]}"
            raise StoreError(f"{name} holds a value of another kind")
        values[place] = float(values[place])

    # Not those with a number that has to be changed.
    if tuple(map(type, values)) == types and len(known) < _MOST_KNOWN_TYPES:
        known.add(types)
    return kind._make(values)
