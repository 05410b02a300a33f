"""Compare tasks of a delegation graph with calls of the same agent, and with rows in a database.

Processor time of all threads of this process: the database writes in one of its own. The agent
answers at once, so that everything is ours.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import apsw

from benchmarks.replies import REPLY
from benchmarks.tables import Bound, Table
from benchmarks.timing import Clock, take_turns
from goop_mcp.delegation import Graph, GraphAgent, GraphLimits, Task, run_graph
from goop_mcp.retry import ask_until_accepted
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store

__all__ = ["run"]

_TASKS: Final = 1_000
_TURNS: Final = 3
_SINGLE_TURNS: Final = 30
# One task at a time, as many as a graph has by default, and more.
_PARALLEL: Final = (1, GraphLimits().parallel, 10)
_CALL: Final = "ask_until_accepted"
_ROW: Final = "one bare row in its own transaction"
# Ten times what graphs were designed for is a defect.
_TASK_MS: Final = Bound(goal=1, defect=10)
_ONE_TASK_MS: Final = Bound(goal=10, defect=100)
_KIB: Final = Bound(goal=100, defect=1_000)


async def _answer(_message: str) -> str:
    return REPLY


def run() -> Table:
    """Carry out graphs of a thousand tasks in turn with as many calls, then graphs of one task."""
    table = Table(
        "delegation",
        ("", "cpu ms", "over the call ms"),
        [f"graphs of {_TASKS:,} tasks in SQLite, for each task, over ask_until_accepted"],
    )
    with TemporaryDirectory(prefix="goop-bench-") as folder:
        store = open_store(None, project=Path(folder))
        bare = apsw.Connection(f"{folder}/bare.db")
        bare.execute(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (x)"
        ).fetchall()

        def add_rows() -> None:
            for _ in range(_TASKS):
                bare.execute("INSERT INTO t VALUES (1)")

        graphs: dict[str, Callable[[], object]] = {
            f"a task, {parallel} at once": partial(
                _carry_out, store, Path(folder), _TASKS, parallel
            )
            for parallel in _PARALLEL
        }
        acts: dict[str, Callable[[], object]] = {
            _ROW: add_rows,
            _CALL: partial(anyio.run, _ask, _TASKS),
            **graphs,
        }
        timed = take_turns({name: _processor(act) for name, act in acts.items()}, turns=_TURNS)
        call = timed[_CALL].median / _TASKS * 1000
        for name, timing in timed.items():
            spent = timing.median / _TASKS * 1000
            over = spent - call
            table.add(
                name,
                f"{spent:.2f}",
                f"{over:.2f}" if name in graphs else "",
                judgement=_TASK_MS.judge(over) if name in graphs else "",
            )

        _measure_one(table, store, Path(folder))
        size = sum(each.stat().st_size for each in Path(folder).rglob("goop.db*")) / 1024
        done = store.read(lambda reading: len(reading.graphs.runs(include_ended=True)))
        kib = size / ((done - _SINGLE_TURNS - 1) * _TASKS)
        table.add("stored for a task, KiB", f"{kib:.1f}", "", judgement=_KIB.judge(kib))
        store.close()
        bare.close()

    return table


def _measure_one(table: Table, store: Store, folder: Path) -> None:
    """Add what a graph of one task takes by the clock beyond the call of its agent."""
    clocks: Mapping[str, Clock] = {
        "call": _by_the_clock(partial(anyio.run, _ask, 1)),
        "graph": _by_the_clock(partial(_carry_out, store, folder, 1, 1)),
    }
    timed = take_turns(clocks, turns=_SINGLE_TURNS)
    over = (timed["graph"].median - timed["call"].median) * 1000
    table.add(
        "a graph of one task, by the clock", "", f"{over:.2f}", judgement=_ONE_TASK_MS.judge(over)
    )


async def _ask(count: int) -> None:
    for number in range(count):
        outcome = await ask_until_accepted(_answer, f"Do task {number}", protocol="goop_report")
        if not outcome.accepted:
            raise ValueError("the reply of the benchmark is not accepted")


def _carry_out(store: Store, folder: Path, count: int, parallel: int) -> None:
    graph = Graph(
        name="bench",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=tuple(
            Task(f"t{number}", agent="worker", prompt=f"Do task {number}")
            for number in range(count)
        ),
        limits=GraphLimits(parallel=parallel, max_tasks=max(count, 1)),
    )
    go = partial(run_graph, graph, store=store, agents={"worker": _answer}, project=folder)
    if not anyio.run(go):
        raise ValueError("the graph of the benchmark did not finish")


def _processor(act: Callable[[], object]) -> Clock:
    def read() -> float:
        began = time.process_time()
        act()
        return time.process_time() - began

    return read


def _by_the_clock(act: Callable[[], object]) -> Clock:
    def read() -> float:
        began = time.perf_counter()
        act()
        return time.perf_counter() - began

    return read
