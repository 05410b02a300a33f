"""Time several things in turns, so that whatever slows the machine down meets all of them alike."""

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

__all__ = ["Clock", "Timing", "clock", "process_clock", "program_environment", "take_turns"]

Clock = Callable[[], float]
"""Does the work once and returns the seconds that it took."""

_LONGEST_RUN = 60


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, one sample a turn."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """Half of the samples are at most this."""
        return statistics.median(self.samples)

    @property
    def p10(self) -> float:
        """One sample in ten is at most this; the steadiest value on a machine with other work."""
        return sorted(self.samples)[len(self.samples) // 10]


def take_turns(clocks: Mapping[str, Clock], *, turns: int) -> dict[str, Timing]:
    """Read every clock once a turn, after one turn that is not counted."""
    for read in clocks.values():
        read()

    samples: dict[str, list[float]] = {name: [] for name in clocks}
    for _ in range(turns):
        for name, read in clocks.items():
            samples[name].append(read())

    return {name: Timing(tuple(values)) for name, values in samples.items()}


def clock(action: Callable[[], object], *, seconds: float) -> Clock:
    """Return a clock for something short: it repeats `action` and returns the mean of one run.

    It counts the processor time of the thread, in which other programs have no part.
    """
    count = max(1, round(seconds / _once(action)))

    def read() -> float:
        action()  # not counted: others had the caches of the processor since the last turn
        began = time.thread_time()
        for _ in repeat(None, count):
            action()
        return (time.thread_time() - began) / count

    return read


def process_clock(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Clock:
    """Return a clock for a program that must end well: from its start to its end."""
    used = program_environment() if environment is None else environment

    def read() -> float:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=used,
        )
        # A wait with a limit looks at the end of the process only every 50 ms.
        watch = threading.Timer(_LONGEST_RUN, process.kill)
        watch.start()
        status = process.wait()
        seconds = time.perf_counter() - began
        watch.cancel()
        if status != 0:
            raise RuntimeError(f"{command[0]} ended with status {status}")
        return seconds

    return read


def program_environment() -> dict[str, str]:
    """Return the environment of a measured program, which keeps bytecode like an installed one."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _once(action: Callable[[], object]) -> float:
    """Return the best of a few times, so that what is set up at the first call does not count."""
    times = []
    for _ in range(5):
        began = time.thread_time()
        action()
        times.append(time.thread_time() - began)

    return min(times)
