"""Measure one server with honest clients, first alone and then together with hostile ones."""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Final

from benchmarks.machine import resident_mb
from tests.repository import ROOT
from tests.server.http.serving import Served, environment, served
from tests.soak.connection import Connection

HONEST: Final = 4
HOSTILE: Final = 3
MOST_RATIO: Final = 3.0
MOST_GROWTH_MB: Final = 30.0

_PAUSE: Final = 0.2
_REPORT: Final = (
    "<goop_report><status>COMPLETE</status></goop_report> " + "Some words around it. " * 50
)


@dataclass
class Phase:
    """What honest clients noticed while it lasted."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int | str] = field(default_factory=Counter)

    @property
    def p99(self) -> float:
        return quantiles(self.seconds, n=100)[98]


@dataclass
class Outcome:
    """The results of a run; memory in MB, sampled at equal intervals during the attacks."""

    quiet: Phase
    mixed: Phase
    memory: list[float]
    attacks: dict[str, int]
    log: str

    @property
    def ratio(self) -> float:
        return self.mixed.p99 / self.quiet.p99

    @property
    def growth(self) -> float:
        """Growth in MB from the minimum of the middle third to that of the last: what is leaked."""
        third = max(len(self.memory) // 3, 1)
        return min(self.memory[-third:]) - min(self.memory[third : 2 * third] or self.memory)

    @property
    def has_failed(self) -> bool:
        """Whether an honest client was not answered."""
        return any(
            status != http.client.OK
            for phase in (self.quiet, self.mixed)
            for status in phase.statuses
        )


def soak(folder: Path, *, quiet: float, mixed: float) -> Outcome:
    """Measure honest clients alone for `quiet` seconds, then among hostile ones for `mixed`."""
    names = [f"honest{n}" for n in range(HONEST)] + [f"hostile{n}" for n in range(HOSTILE)]
    tokens = {name: f"the-token-of-{name}-in-tests" for name in names}
    file = folder / "tokens"
    file.write_text(
        "".join(f'[tokens.{name}]\ntoken = "{token}"\n' for name, token in tokens.items())
    )
    file.chmod(0o600)
    honest = [tokens[name] for name in names[:HONEST]]

    with served("--transport", "http", "--token-file", str(file), project=folder) as server:
        # What is loaded at the first call is no part of what is measured.
        measure(server, honest, 2.0)
        alone = measure(server, honest, quiet)
        shown = [tokens[name] for name in names[HONEST:]]
        command = [sys.executable, "-m", "tests.soak.hostile", str(server.port), str(mixed), *shown]
        memory: list[float] = []

        with subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        ) as hostile:
            together = measure(server, honest, mixed, memory)
            attacks, _ = hostile.communicate(timeout=120)

        server.stop()

        return Outcome(alone, together, memory, json.loads(attacks), server.stderr())


def measure(
    server: Served, tokens: list[str], seconds: float, memory: list[float] | None = None
) -> Phase:
    """Let honest clients work, and note what they notice."""
    phase, end = Phase(), time.monotonic() + seconds

    def work(token: str) -> None:
        connection, number = Connection(server.port, token), 0
        while time.monotonic() < end:
            started = time.perf_counter()
            try:
                status: int | str = _step(connection, number)
            except (OSError, http.client.HTTPException) as error:
                status = type(error).__name__

            phase.seconds.append(time.perf_counter() - started)
            phase.statuses[status] += 1
            number += 1
            time.sleep(_PAUSE)

        connection.close()

    workers = [threading.Thread(target=work, args=(token,)) for token in tokens]
    for worker in workers:
        worker.start()

    while time.monotonic() < end:
        time.sleep(min(1.0, seconds / 30))
        if memory is not None:
            memory.append(resident_mb(server.process.pid) or 0.0)

    for worker in workers:
        worker.join()

    return phase


def _step(connection: Connection, number: int) -> int:
    """Call tools like an agent: mostly judge replies and search, now and then save something."""
    match number % 10:
        case 0:
            status, answer = connection.call(
                "save_memory", title=f"Title {number % 50}", content="What was learnt."
            )
        case 1 | 2:
            status, answer = connection.call("search_memory", queries=["learnt"])
        case 3:
            status, answer = connection.call("explain_rule", rule="xml/unescaped")
        case _:
            status, answer = connection.call("validate_report", text=_REPORT)

    if status == http.client.OK and b'"isError":true' in answer:
        return 0
    return status
