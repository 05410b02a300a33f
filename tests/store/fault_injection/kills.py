"""Kill writers at every step of a write and at random moments; nothing acknowledged may be lost."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import StoredMemory
from tests.store.fault_injection.acknowledged import AckFile, find_defects, read_acks
from tests.store.fault_injection.crowd import Crowd, Due
from tests.store.rows import EVENT, new_memory

__all__ = ["KillReport", "kill_writers", "save"]

_WRITERS = 8
_SPARED = 2
_WRITES = 10
_ROUNDS_A_PROJECT = 10
_MOMENT: Final = "random moment"
_POINTS: Final = (Failpoint.LOCK, Failpoint.BEGIN, Failpoint.INSERT, Failpoint.COMMIT)
_PLACES: Final = (*map(str, _POINTS), _MOMENT)
_LONGEST_DELAY: Final = 0.02
_EXPECTED_FILES: Final = frozenset({".gitignore", ".lock", "goop.db", "goop.db-wal", "goop.db-shm"})


@dataclass(slots=True)
class KillReport:
    """What came of it.

    `kills` counts by place; `restart` is the longest time in seconds until a new process saved.
    """

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    restart: float = 0.0
    defects: list[str] = field(default_factory=list)


def kill_writers(wanted: int, *, seed: int, folder: Path) -> KillReport:
    """Kill at least `wanted` writers, eight at a time, in projects below `folder`, then check."""
    report, chance = KillReport(seed), random.Random(seed)
    while report.kills.total() < wanted and not report.defects:
        with TemporaryDirectory(dir=folder) as project:
            _one_project(Path(project), report, wanted, chance)

    return report


def save(writing: WriteTransaction, name: str) -> StoredMemory:
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
        if report.defects or report.kills.total() >= wanted:
            break

    report.acknowledged += len(read_acks(acks))


def _one_round(project: Path, number: int, chance: random.Random) -> Counter[str]:
    crowd = Crowd()
    places: dict[str, list[int]] = {}
    deaths: dict[int, Due] = {}

    try:
        for writer, place in enumerate(_places(chance)):
            name, hit = f"{number}-{writer}", chance.randint(1, _WRITES)
            pid = crowd.start(partial(_work, project, name, place, hit))
            places.setdefault(place, []).append(pid)
            if place == _MOMENT:
                deaths[pid] = _Moment(
                    project / "acks" / name, hit - 1, chance.uniform(0, _LONGEST_DELAY)
                )

        killed = crowd.wait(deaths)
    finally:
        crowd.end()

    return Counter({place: len(killed.intersection(pids)) for place, pids in places.items()})


def _places(chance: random.Random) -> list[str]:
    """Return where each writer is killed, empty for nowhere."""
    # Each place at least once in every round: random choices alone would leave rare ones out.
    more = _WRITERS - _SPARED - len(_PLACES)
    return [""] * _SPARED + chance.sample(
        [*_PLACES, *chance.choices(_PLACES, k=more)], _WRITERS - _SPARED
    )


@dataclass(slots=True)
class _Moment:
    """Due `delay` seconds after a writer had `answers` answers, which adapts to slow machines."""

    acks: Path
    answers: int
    delay: float
    since: float | None = None

    def __call__(self) -> bool:
        now = time.monotonic()
        if self.since is None and (self.answers == 0 or self._answered() >= self.answers):
            self.since = now
        return self.since is not None and now - self.since >= self.delay

    def _answered(self) -> int:
        return self.acks.read_bytes().count(b"\n") if self.acks.exists() else 0


def _work(project: Path, name: str, place: str, hit: int) -> None:
    """Write until killed, at a step of a write or at a random moment, or to the end."""
    if place in _POINTS:
        install(_killing(Failpoint(place), hit))
    # A writer that is killed at a random moment writes until then, however fast the machine is.
    _write(project, name, count() if place == _MOMENT else range(_WRITES))


def _killing(point: Failpoint, hit: int) -> Callable[[Failpoint], None]:
    """Return an action that kills this process when `point` is reached for the `hit`-th time."""
    # SIGKILL from inside the process: it dies at this very step, without any cleanup.
    hits = 0

    def reached(here: Failpoint) -> None:
        nonlocal hits
        hits += here is point
        if hits == hit:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def _write(project: Path, name: str, numbers: Iterable[int]) -> None:
    store = open_store(None, project=project)
    acks = AckFile(project / "acks" / name)
    for number in numbers:
        acks.add(store.write(partial(save, name=f"{name}-{number}")))
    store.close()


def _look(project: Path, number: int, report: KillReport) -> None:
    """Open the project after a round, save once, and add the defects to `report`."""
    # The first save of the new process repairs what the killed ones left; its duration counts.
    began = time.monotonic()
    store = open_store(None, project=project)
    store.write(partial(save, name=f"restart-{number}"))
    report.restart = max(report.restart, time.monotonic() - began)
    report.defects += find_defects(store, read_acks(project / "acks"))
    store.close()
    strays = {path.name for path in (project / ".goopspec").iterdir()} - _EXPECTED_FILES
    report.defects += [f"stray file: {name}" for name in sorted(strays)]
