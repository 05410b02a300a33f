"""Processes that save while something is killed."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import Database
from tests.repository import ROOT
from tests.store.fault_injection.acknowledged import Acknowledged, read_acks

__all__ = ["Savers", "saving"]

PATIENCE = 60  # seconds until a test gives up


class Savers:
    """Processes that save until they are stopped, and write acknowledgements into `folder`."""

    def __init__(self, database: Database, folder: Path, *, processes: int, threads: int) -> None:
        """Start them."""
        self._folder = folder / "acks"
        self._folder.mkdir()
        command = [sys.executable, "-m", "tests.store.postgres.worker", database.url()]
        self._running = [
            subprocess.Popen(
                [*command, str(number), str(threads), str(self._folder / str(number))],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(processes)
        ]

    def acknowledged(self) -> set[Acknowledged]:
        """Return what was acknowledged so far."""
        return read_acks(self._folder)

    def wait_for(self, number: int) -> None:
        """Return when `number` more memories were acknowledged."""
        wanted, deadline = self._lines() + number, time.monotonic() + PATIENCE
        while self._lines() < wanted:
            assert time.monotonic() < deadline, (
                f"only {self._lines()} of {wanted} were acknowledged in time"
            )
            assert all(process.poll() is None for process in self._running), (
                "a process has ended early"
            )
            time.sleep(0.005)

    def wait_for_all(self) -> list[int]:
        """Return when every process was acknowledged a memory, with how many each was so far."""
        deadline = time.monotonic() + PATIENCE
        while len(counts := self.counts()) < len(self._running) or not all(counts):
            assert time.monotonic() < deadline, (
                f"only {sum(map(bool, counts))} processes have saved in time"
            )
            time.sleep(0.005)

        return counts

    def counts(self) -> list[int]:
        """Return how many saves each process has acknowledged, in the order of their numbers."""
        return [path.read_bytes().count(b"\n") for path in sorted(self._folder.iterdir())]

    def stop(self) -> int:
        """Let them end by themselves, and return how many saves they had to repeat."""
        return sum(int(process.communicate(timeout=PATIENCE)[0]) for process in self._running)

    def kill(self) -> None:
        """End those that are still there."""
        for process in self._running:
            process.kill()
            process.communicate()

    def _lines(self) -> int:
        return sum(self.counts())


@contextmanager
def saving(database: Database, folder: Path, *, processes: int, threads: int) -> Iterator[Savers]:
    """Run processes that save; none outlives the block."""
    savers = Savers(database, folder, processes=processes, threads=threads)
    try:
        yield savers
    finally:
        savers.kill()
