"""Kill workers of both engines in the middle of the same job, in turn, and compare what is left.

`python -m benchmarks.engines [RUNS]`, 10 unless it is given, at least 1; in the environment of
`make bench-engines`. Exit code 1 when goop-mcp lost a task or accepted one twice.
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.engines.worker import PARALLEL
from benchmarks.machine import describe_machine
from benchmarks.tables import Table
from goop_mcp.delegation import Graph, GraphAgent, GraphLimits, Task
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.store.opening import open_store
from tests.postgres import Server

TASKS, SECONDS, KILLS = 50, 0.1, 2
UNDISTURBED = 200
LONGEST = 120.0
ENGINES = ("goop-mcp", "DBOS")


@dataclass(slots=True)
class Tally:
    """What became of all runs of one engine."""

    lost: int = 0
    again_after_its_end: int = 0
    begun_again: int = 0
    accepted_twice: int = 0
    waits: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)


def main() -> int:
    """Play all runs and print the table."""
    runs = max(1, int(sys.argv[1])) if len(sys.argv) > 1 else 10
    tallies = {name: Tally() for name in ENGINES}
    with Server() as server:
        for number in range(runs):
            for name in ENGINES:
                with server.database() as database, TemporaryDirectory() as folder:
                    kills = random.Random(number)
                    cuts = sorted(kills.sample(range(1, TASKS - PARALLEL), KILLS))
                    _play(name, Path(folder), database.url(), tallies[name], tasks=TASKS, cuts=cuts)
        for _ in range(3):
            for name in ENGINES:
                with server.database() as database, TemporaryDirectory() as folder:
                    _play(name, Path(folder), database.url(), tallies[name], tasks=UNDISTURBED)

    print(describe_machine())
    print(_table(tallies, runs).render())
    ours = tallies["goop-mcp"]
    return int(bool(ours.lost or ours.accepted_twice))


def _play(
    name: str, folder: Path, url: str, tally: Tally, *, tasks: int, cuts: Sequence[int] = ()
) -> None:
    seconds = SECONDS if cuts else 0.0
    run = _create(folder, url, tasks) if name == "goop-mcp" else "bench"
    worker = "goop_worker" if name == "goop-mcp" else "dbos_worker"
    words = [sys.executable, "-m", f"benchmarks.engines.{worker}"]
    words += [str(folder), url, run, str(tasks), str(seconds)]
    for cut in cuts:
        with subprocess.Popen(words) as killed:
            _wait_for(folder, cut)
            killed.kill()
    subprocess.run(words, check=True, timeout=LONGEST)

    lines = _log(folder)
    done = lines[-1]
    ended: set[int] = set()
    begun: Counter[int] = Counter()
    for line in lines:
        if line["what"] == "begin":
            tally.again_after_its_end += line["task"] in ended
            begun[line["task"]] += 1
        elif line["what"] == "end":
            ended.add(line["task"])
    tally.lost += tasks - len(ended) + (not done["whole"])
    tally.begun_again += sum(begun.values()) - tasks
    if name == "goop-mcp":
        tally.accepted_twice += _accepted_twice(folder, url, run)
    if not cuts:
        tally.cpu_ms.append(done["cpu"] / tasks * 1000)
    for start in [line for line in lines if line["what"] == "start"][1:]:
        mine = [x for x in lines if x["pid"] == start["pid"] and x["what"] == "begin"]
        if mine:
            tally.waits.append(mine[0]["at"] - start["at"])


def _create(folder: Path, url: str, tasks: int) -> str:
    graph = Graph(
        name="bench",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=tuple(
            Task(f"t{each}", agent="worker", prompt=f"Do task {each} ") for each in range(tasks)
        ),
        limits=GraphLimits(parallel=PARALLEL, max_tasks=tasks),
    )
    store = open_store(url, project=folder, project_id="bench")
    run = Ledger(store).create(graph, input={})
    store.close()
    return run


def _accepted_twice(folder: Path, url: str, run: str) -> int:
    store = open_store(url, project=folder, project_id="bench")
    events = store.read(lambda reading: reading.graphs.events(run))
    store.close()
    moves = [each for each in events if each.what == "state" and each.task is not None]
    accepted = Counter(each.task for each in moves if json.loads(each.data)["to"] == "accepted")
    return sum(count - 1 for count in accepted.values())


def _wait_for(folder: Path, count: int) -> None:
    """Wait until so many tasks have ended, so that both engines are killed at the same work."""
    until = time.monotonic() + LONGEST
    while sum(line["what"] == "end" for line in _log(folder)) < count:
        if time.monotonic() > until:
            raise TimeoutError("the job does not go on")
        time.sleep(0.005)


def _log(folder: Path) -> list[dict[str, Any]]:
    path = folder / "log.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _table(tallies: dict[str, Tally], runs: int) -> Table:
    table = Table(
        "engines",
        ("", *ENGINES),
        [
            f"{runs} runs of {TASKS} tasks of {SECONDS:g} s, {PARALLEL} at once, each run killed"
            f" {KILLS} times; PostgreSQL; processor time of {UNDISTURBED} tasks that take no time"
        ],
    )
    each = [tallies[name] for name in ENGINES]
    table.add("tasks lost", *(str(x.lost) for x in each))
    table.add("done again although it had ended", *(str(x.again_after_its_end) for x in each))
    table.add("begun again", *(str(x.begun_again) for x in each))
    table.add("restart to first task, s", *(f"{statistics.median(x.waits):.2f}" for x in each))
    table.add("the longest of them, s", *(f"{max(x.waits):.2f}" for x in each))
    table.add("processor time a task, ms", *(f"{statistics.median(x.cpu_ms):.2f}" for x in each))
    return table


if __name__ == "__main__":
    sys.exit(main())
