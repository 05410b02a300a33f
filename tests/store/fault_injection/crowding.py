"""Many processes write at once: everything acknowledged is stored, and no process waits long."""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from goop_mcp.store.opening import open_store
from tests.store.fault_injection.acknowledged import AckFile, find_defects, read_acks
from tests.store.fault_injection.crowd import Crowd
from tests.store.fault_injection.kills import save

__all__ = ["WritersReport", "write_together"]


@dataclass(frozen=True, slots=True)
class WritersReport:
    """What came of it; times are in seconds."""

    acknowledged: int
    longest_wait: float
    seconds: float
    defects: list[str]


def write_together(writers: int, *, writes: int, folder: Path) -> WritersReport:
    """Start `writers` processes that save `writes` memories each in a new project at `folder`."""
    acks, waits = folder / "acks", folder / "waits"
    acks.mkdir()
    waits.mkdir()
    crowd = Crowd()
    began = time.monotonic()

    try:
        for writer in range(writers):
            crowd.start(partial(_write, folder, f"w{writer}", writes))

        crowd.wait()
    finally:
        crowd.end()

    seconds = time.monotonic() - began
    store = open_store(None, project=folder)
    acknowledged = read_acks(acks)
    defects = find_defects(store, acknowledged)
    store.close()
    if len(acknowledged) != writers * writes:
        defects.append(f"{writers * writes - len(acknowledged)} saves failed")
    return WritersReport(
        len(acknowledged),
        max(float(path.read_text()) for path in waits.iterdir()),
        seconds,
        defects,
    )


def _write(project: Path, name: str, writes: int) -> None:
    store, acks, longest = open_store(None, project=project), AckFile(project / "acks" / name), 0.0
    for number in range(writes):
        began = time.monotonic()
        acks.add(store.write(partial(save, name=f"{name}-{number}")))
        longest = max(longest, time.monotonic() - began)

    store.close()
    (project / "waits" / name).write_text(str(longest))
