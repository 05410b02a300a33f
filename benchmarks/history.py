"""What a report costs to be recorded in a project without any and in one with ten thousand."""

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Final

import apsw

from benchmarks.tables import Bound, Table
from benchmarks.timing import take_turns
from goop_mcp.context import AppContext
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.record_report import record_report
from goop_mcp.settings import Settings
from goop_mcp.store.opening import open_store
from goop_mcp.workspace.documents.entries import ChronicleEntry, chronicle_text
from goop_mcp.workspace.layout import CHRONICLE

__all__ = ["load_reports", "make_database", "run"]

_REPORTS: Final = 10_000
_MANY: Final = 1_000
_TASKS: Final = 40
_CALLS: Final = 40
# Of the calls with at most a thousand reports before, and with more, to those with none. What the
# first hundred add is that CHRONICLE.md is full: it keeps a hundred entries.
_RATIO: Final = Bound(goal=1.3, defect=1.5)
_RATIO_BEYOND: Final = Bound(goal=1.5, defect=2)
# How the processor time grows with the reports before, from a hundred on: 1 is linear, 0 is flat.
_EXPONENT: Final = Bound(goal=0.15, defect=0.3)
_NOW: Final = "2026-11-20T08:00:00.000Z"
_REPLY: Final = """\
<goop_report version="0.1.6">
  <status>COMPLETE</status>
  <agent>goop-executor</agent>
  <task_id>W1.T{task}</task_id>
  <state>
    <phase>execute</phase><wave current="1" total="3"/><task current="{task}" total="40"/>
  </state>
  <summary>Part {number} of the task is done and all tests pass.</summary>
  <artifacts><files/><commits/></artifacts>
  <memory/>
  <verification><check name="tests" passed="true">12 passed</check></verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="goop-executor">Go on with the plan</next_action>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""


def run() -> Table:
    """Record reports in turns in projects of several sizes."""
    title = f"one call of record_report, processor time, {_CALLS} calls each in turns"
    columns = ("reports before", "p10 ms", "p50 ms", "to an empty one")
    table = Table("history", columns, [title])
    # How many there are, and about how many tasks.
    loads = {"0": (0, 0), f"{_REPORTS:,} about {_TASKS} tasks": (_REPORTS, _TASKS)}
    growing = {f"{number:,}, a task each": number for number in (100, _MANY, _REPORTS)}
    loads |= {name: (number, number) for name, number in growing.items()}

    with ExitStack() as stack:
        clocks = {}
        for name, (reports, tasks) in loads.items():
            project = stack.enter_context(tempfile.TemporaryDirectory())
            database = make_database(Path(project))
            if tasks:
                load_reports(database, reports, tasks=tasks)

            clocks[name] = _clock(
                stack.enter_context(AppContext(_settings(project))).writing_context()
            )

        timings = take_turns(clocks, turns=_CALLS)

    first = timings["0"].p10
    for name, timing in timings.items():
        ratio = timing.p10 / first
        bound = _RATIO if loads[name][0] <= _MANY else _RATIO_BEYOND
        table.add(
            name,
            f"{timing.p10 * 1e3:.1f}",
            f"{timing.median * 1e3:.1f}",
            f"{ratio:.2f}",
            judgement=bound.judge(ratio) if name != "0" else "",
        )

    exponent = _exponent({number: timings[name].p10 for name, number in growing.items()})
    judgement = _EXPONENT.judge(exponent)
    table.add("exponent of the growth", "", "", f"{exponent:.2f}", judgement=judgement)

    return table


def _exponent(seconds: Mapping[int, float]) -> float:
    """Return the slope of the logarithms, that of the line with the least squares."""
    numbers = [math.log(number) for number in seconds]
    slope, _ = statistics.linear_regression(numbers, [math.log(each) for each in seconds.values()])
    return slope


def make_database(project: Path) -> Path:
    """Make the database of a project without any rows and return its path."""
    with closing(open_store(None, project=project)) as store:
        store.write(lambda _: None)
    return project / ".goopspec" / "goop.db"


def load_reports(database: Path, wanted: int, *, tasks: int = _TASKS) -> None:
    """Insert rows of `wanted` reports about `tasks` tasks into a database that is not open."""
    connection = apsw.Connection(str(database))
    connection.execute("BEGIN IMMEDIATE")
    last = int(connection.execute("SELECT value FROM meta WHERE key = 'revision'").get)
    rows = [_rows(number, last + number, tasks) for number in range(1, wanted + 1)]

    for table, index in (("reports", 0), ("events", 1)):
        names = ", ".join(rows[0][index])
        slots = ", ".join(f":{name}" for name in rows[0][index])
        # The names are constants
        connection.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({slots})",  # noqa: S608
            (row[index] for row in rows),
        )

    connection.execute("UPDATE meta SET value = ? WHERE key = 'revision'", (last + wanted,))
    connection.execute("COMMIT")
    connection.close()


def _rows(number: int, revision: int, tasks: int) -> tuple[dict[str, object], dict[str, object]]:
    """Return the report and the event of the diary that one call leaves."""
    task = f"W1.T{number % tasks + 1}"
    written = f"2026-{(number - 1) * 10 // _REPORTS % 10 + 1:02}-10T08:00:00.000Z"
    entry = ChronicleEntry(
        time=written,
        agent="goop-executor",
        action=f"{task}: COMPLETE",
        outcome=f"Loaded {number}: all tests pass.",
        phase="execute",
    )
    both = {"revision": revision, "created_at": written}
    report = {
        "protocol": "goop_report",
        "idempotency_key": f"loaded-{number}",
        "envelope": '{"verification": [{"name": "tests", "passed": true}]}',
        "verdict": "{}",
        "decision": "{}",
        "agent": "goop-executor",
        "phase": "execute",
        "task_id": task,
        "status": "COMPLETE",
        "round": 1,
    }
    event = {
        "kind": "report",
        "author": "goop-executor",
        "text": chronicle_text(entry),
        "document": CHRONICLE,
    }

    return {**report, **both}, {**event, **both}


def _settings(folder: str) -> Settings:
    return Settings(project=Path(folder))


def _clock(project_context: ProjectContext) -> Callable[[], float]:
    numbers = count(1)

    def read() -> float:
        number = next(numbers)
        reply = _REPLY.format(task=number % _TASKS + 1, number=number)
        began = time.process_time()
        record_report(reply, RoutingContext(), project_context, now=_NOW)
        return time.process_time() - began

    return read
