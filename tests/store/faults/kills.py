"""Kill writers at every step of a write and at random moments; nothing they were told to be stored may be lost."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.interface import Writing
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import StoredMemory
from tests.store.faults.acknowledged import AckFile, faults_of, read_acks
from tests.store.faults.crowd import Crowd
from tests.store.rows import EVENT, new_memory

__all__ = ["KillReport", "kill_writers", "save"]

_WRITERS = 8
_SPARED = 2
_WRITES = 10
_ROUNDS_A_PROJECT = 10
_MOMENT: Final = "random moment"
_POINTS: Final = (Failpoint.LOCK, Failpoint.BEGIN, Failpoint.INSERT, Failpoint.COMMIT)
_EXPECTED_FILES: Final = frozenset({".lock", "goop.db", "goop.db-wal", "goop.db-shm"})


@dataclass(slots=True)
class KillReport:
    """What came of it. `kills` counts by place; `restart` is the longest time in seconds until a new process saved."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    restart: float = 0.0
    faults: list[str] = field(default_factory=list)


def kill_writers(wanted: int, *, seed: int, folder: Path) -> KillReport:
    """Kill at least `wanted` of eight writers at a time, in projects below `folder`, and look at what is left."""
    report, chance = KillReport(seed), random.Random(seed)
    while report.kills.total() < wanted and not report.faults:
        with TemporaryDirectory(dir=folder) as project:
            _one_project(Path(project), report, wanted, chance)
    return report


def save(writing: Writing, name: str) -> StoredMemory:
    """Save a memory and its event, as one change."""
    memory = writing.add_memory(new_memory(name))
    writing.add_event(replace(EVENT, text=memory.uid))
    return memory


def _one_project(project: Path, report: KillReport, wanted: int, chance: random.Random) -> None:
    acks = project / "acks"
    acks.mkdir()
    for number in range(_ROUNDS_A_PROJECT):
        report.kills += _one_round(project, number, chance)
        _look(project, number, report)
        if report.faults or report.kills.total() >= wanted:
            break
    report.acknowledged += len(read_acks(acks))


def _one_round(project: Path, number: int, chance: random.Random) -> Counter[str]:
    crowd = Crowd()
    places: dict[str, list[int]] = {}
    deaths: dict[int, float] = {}
    try:
        for writer in range(_WRITERS):
            place, work = _plan(project, f"{number}-{writer}", chance, spared=writer < _SPARED)
            pid = crowd.start(work)
            places.setdefault(place, []).append(pid)
            if place == _MOMENT:
                # From 2 to 200 ms, early ones as likely as late ones: a fast disk is done soon, a slow one is not.
                deaths[pid] = time.monotonic() + 0.002 * 100 ** chance.random()
        killed = crowd.wait(deaths)
    finally:
        crowd.end()
    return Counter({place: len(killed.intersection(pids)) for place, pids in places.items()})


def _plan(project: Path, name: str, chance: random.Random, *, spared: bool) -> tuple[str, Callable[[], None]]:
    """Return where a writer dies, empty for nowhere, and what it does."""
    place = "" if spared else chance.choice([*_POINTS, _MOMENT])
    hit = chance.randint(1, _WRITES)

    def work() -> None:
        if place in set(_POINTS):
            install(_killing(Failpoint(place), hit))
        _write(project, name)

    return str(place), work


def _killing(point: Failpoint, hit: int) -> Callable[[Failpoint], None]:
    """Return what kills this process when `point` is reached for the `hit`-th time."""
    hits = 0

    def reached(here: Failpoint) -> None:
        nonlocal hits
        hits += here is point
        if hits == hit:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def _write(project: Path, name: str) -> None:
    store = open_store(None, project=project)
    acks = AckFile(project / "acks" / name)
    for number in range(_WRITES):
        acks.add(store.write(partial(save, name=f"{name}-{number}")))
    store.close()


def _look(project: Path, number: int, report: KillReport) -> None:
    """Start again after a round, and look at what is left."""
    began = time.monotonic()
    store = open_store(None, project=project)
    store.write(partial(save, name=f"restart-{number}"))
    report.restart = max(report.restart, time.monotonic() - began)
    report.faults += faults_of(store, read_acks(project / "acks"))
    store.close()
    strays = {path.name for path in (project / ".goopspec").iterdir()} - _EXPECTED_FILES
    report.faults += [f"stray file: {name}" for name in sorted(strays)]
