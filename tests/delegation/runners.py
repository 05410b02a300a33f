"""Runner processes that tests start, stop and kill, and what must hold of a run at any time."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from goop_mcp.delegation.states import may_move
from goop_mcp.store.graph_rows import (
    GraphAttemptRow,
    GraphEventRow,
    GraphReader,
    GraphRunRow,
    GraphTaskRow,
)
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.delegation.runner_process import Orders

__all__ = ["Place", "check_run", "one_wave", "stand_still", "within"]

Entry = Mapping[str, Any]
USUAL = Orders(folder="", url=None, run="", log="")


class Place:
    """A folder with a store, a log of what agents did, and runner processes."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.folder, self.url = folder, url
        self.log = folder / "agents.jsonl"
        self.store: Store = open_store(url, project=folder, project_id="shop")
        self.ledger = Ledger(self.store)
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(timeout=60)
        self.store.close()

    def start(
        self, run: str, orders: Orders = USUAL, *, errors: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start a runner of `run`, which writes its warnings to `errors`."""
        given = replace(orders, folder=str(self.folder), url=self.url, run=run, log=str(self.log))
        with nullcontext() if errors is None else errors.open("ab") as stream:
            process = subprocess.Popen(given.words(), stderr=stream)
        self._processes.append(process)

        return process

    def finish(self, run: str, orders: Orders = USUAL) -> None:
        """Start a runner, and wait until it has nothing more to do."""
        assert self.start(run, orders).wait(timeout=120) == 0

    def entries(self, what: str | None = None) -> list[Entry]:
        """Return what agents and runners wrote down, in order."""
        if not self.log.exists():
            return []
        # Without the last line where it is being written just now.
        whole, _, _ = self.log.read_bytes().rpartition(b"\n")
        lines = [json.loads(line) for line in whole.splitlines()]
        return [line for line in lines if what is None or line["what"] == what]

    def count(self, what: str) -> int:
        """Return how often something was written down."""
        return len(self.entries(what))

    def states(self, run: str) -> dict[str, str]:
        """Return the state of each task."""
        rows = self.store.read(lambda reading: reading.graphs.tasks(run))
        return {row.id: row.state for row in rows}

    def accepted_times(self, run: str) -> Counter[str]:
        """Return how often each task was accepted."""
        events = self.store.read(lambda reading: reading.graphs.events(run))
        moves = [each for each in events if each.what == "state"]
        return Counter(
            each.task or "" for each in moves if json.loads(each.data)["to"] == "accepted"
        )


def within(seconds: float, holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail where it does not in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def stand_still(place: "Place", process: "subprocess.Popen[bytes]") -> None:
    """Stop a process where it holds no lock of the database, for which all others would wait."""

    def stop(_writing: object) -> None:
        process.send_signal(signal.SIGSTOP)
        # Returns once it stands still, and not when the signal was sent.
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    # Within a change of ours: nobody else is in one.
    place.store.write(stop)


def one_wave(count: int, *, parallel: int, max_tokens: int | None = None) -> Graph:
    """Return a graph of tasks that need nothing."""
    return Graph(
        name="wave",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=tuple(
            GraphTask(f"t{number:02}", agent="worker", prompt=f"Do task t{number:02}")
            for number in range(count)
        ),
        limits=GraphLimits(parallel=parallel, max_tasks=max(200, count), max_tokens=max_tokens),
    )


def check_run(store: Store, id: str) -> None:
    """Check what must hold of a run at any time, whoever died in the middle of whatever."""
    found = store.read(lambda reading: _rows_of(reading.graphs, id))
    assert found is not None
    run, tasks, events, attempts = found
    assert [each.seq for each in events] == list(range(1, run.last_seq + 1))

    states = dict.fromkeys(tasks, "waiting")
    for event in events:
        data = json.loads(event.data)
        if event.what == "changed":
            states = {each: states[each] if each in data["kept"] else "waiting" for each in states}
        if event.what == "state":
            assert states[event.task or ""] == data["from"], (event, states)
            assert may_move(data["from"], data["to"]), event
            states[event.task or ""] = data["to"]
    assert states == {task: row.state for task, row in tasks.items()}

    for task, row in tasks.items():
        unended = [each for each in attempts[task] if each.ended_at is None]
        if row.state == "running":
            assert row.owner is not None
            assert row.lease_until is not None
            assert len(unended) <= 1, unended
        else:
            assert unended == []
            # Its runner may still have to record the report.
            assert row.owner is None or (row.result is not None and row.report is None)
        assert row.state != "accepted" or row.result is not None, row

    asked = [each for each in events if each.what == "asked"]
    written = [each for rows in attempts.values() for each in rows]
    assert run.spent_calls == len(asked) == len(written)
    assert run.reserved_tokens == sum(each.reserved for each in written if each.ended_at is None)


class _Rows(NamedTuple):
    run: GraphRunRow
    tasks: dict[str, GraphTaskRow]
    events: list[GraphEventRow]
    attempts: dict[str, list[GraphAttemptRow]]


def _rows_of(graphs: GraphReader, id: str) -> _Rows | None:
    run = graphs.run(id)
    if run is None:
        return None
    tasks = {row.id: row for row in graphs.tasks(id)}
    return _Rows(run, tasks, graphs.events(id), {task: graphs.attempts(id, task) for task in tasks})
