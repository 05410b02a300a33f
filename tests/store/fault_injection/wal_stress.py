"""Writers and checkpoints on one WAL file at once, as other programs on the file might cause."""

import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import apsw

from goop_mcp.store.opening import open_store
from tests.store.fault_injection.acknowledged import AckFile, find_defects, read_acks
from tests.store.fault_injection.crowd import Crowd
from tests.store.fault_injection.kills import save

__all__ = ["stress_wal"]

_WRITERS = 6
_CHECKPOINTERS = 2
_TINY = 4
_FEWEST_SAVES = 60


def stress_wal(folder: Path, *, seconds: float) -> tuple[int, list[str]]:
    """Return how many saves were acknowledged in a new project at `folder`, and the defects."""
    (folder / "acks").mkdir()
    first = open_store(None, project=folder)
    first.write(partial(save, name="first"))
    first.close()
    crowd, end = Crowd(), time.monotonic() + seconds

    try:
        for writer in range(_WRITERS):
            crowd.start(partial(_write, folder, f"w{writer}", end))

        for _ in range(_CHECKPOINTERS):
            crowd.start(partial(_checkpoint, folder / ".goopspec" / "goop.db", end))

        crowd.wait(patience=seconds)
    finally:
        crowd.end()

    store = open_store(None, project=folder)
    acknowledged = read_acks(folder / "acks")
    defects = find_defects(store, acknowledged)
    store.close()

    return len(acknowledged), defects


def _write(project: Path, name: str, end: float) -> None:
    store, acks, number = open_store(None, project=project), AckFile(project / "acks" / name), 0
    # However slow the machine is, a writer has opened the file again at least once.
    while time.monotonic() < end or number < _FEWEST_SAVES:
        acks.add(store.write(partial(save, name=f"{name}-{number}")))
        number += 1
        if number % 50 == 0:
            # Opening and closing is part of the stress: the last one to close empties the file.
            store.close()
            store = open_store(None, project=project)

    store.close()


def _checkpoint(database: Path, end: float) -> None:
    """Checkpoint outside the lock, all the time."""
    connection = apsw.Connection(str(database))
    connection.set_busy_timeout(1000)
    connection.execute(f"PRAGMA wal_autocheckpoint = {_TINY}")
    modes = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")
    number = 0

    while time.monotonic() < end:
        number += 1
        with suppress(apsw.BusyError):
            connection.execute(f"PRAGMA wal_checkpoint({modes[number % len(modes)]})")

    connection.close()
