"""Processes that save while something is killed, and what must be true afterwards."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goop_mcp.store.postgres import PostgresStore
from goop_mcp.store.records import MemoryFilter
from tests.postgres import Database
from tests.repository import ROOT

PATIENCE = 60  # seconds until a test gives up


class Savers:
    """Processes that save until they are told to stop; `acknowledged` lists what they were told, in one folder."""

    def __init__(self, database: Database, folder: Path, *, processes: int, threads: int) -> None:
        """Start them."""
        self._files = [folder / f"acknowledged-{number}" for number in range(processes)]
        self._running = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.store.postgres.worker",
                    database.url(),
                    str(number),
                    str(threads),
                    str(file),
                ],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number, file in enumerate(self._files)
        ]

    def acknowledged(self) -> list[tuple[str, int, int]]:
        """Return title, id and revision of what was acknowledged so far."""
        lines = [line.split() for file in self._files if file.exists() for line in file.read_text().splitlines()]
        return [(title, int(id), int(revision)) for title, id, revision in lines]

    def wait_for(self, number: int) -> None:
        """Return when `number` more memories were acknowledged."""
        wanted, deadline = len(self.acknowledged()) + number, time.monotonic() + PATIENCE
        while len(self.acknowledged()) < wanted:
            assert time.monotonic() < deadline, f"only {len(self.acknowledged())} of {wanted} were acknowledged in time"
            assert all(process.poll() is None for process in self._running), "a process has ended early"
            time.sleep(0.005)

    def stop(self) -> int:
        """Let them end by themselves, and return how many errors they met and tried again."""
        return sum(int(process.communicate(timeout=PATIENCE)[0]) for process in self._running)

    def kill(self) -> None:
        """End those that are still there."""
        for process in self._running:
            process.kill()
            process.communicate()


@contextmanager
def saving(database: Database, folder: Path, *, processes: int, threads: int) -> Iterator[Savers]:
    """Run processes that save; none is left behind."""
    savers = Savers(database, folder, processes=processes, threads=threads)
    try:
        yield savers
    finally:
        savers.kill()


def assert_nothing_lost(store: PostgresStore, acknowledged: list[tuple[str, int, int]]) -> None:
    """Check that all that was acknowledged is stored once, under the id and revision that were told."""
    stored = store.read(lambda rows: rows.memories(MemoryFilter()))
    found = {memory.uid.removeprefix("m-"): (memory.id, memory.revision) for memory in stored}
    assert [title for title, *_ in acknowledged if title not in found] == []
    assert [title for title, *numbers in acknowledged if found[title] != tuple(numbers)] == []
    assert len(found) == len(stored) == len({memory.id for memory in stored})
    assert len({memory.revision for memory in stored}) == len(stored)
    assert store.check() == []
