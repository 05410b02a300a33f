"""The saves that writers received as acknowledged, and whether they are stored."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.store.records import MemoryFilter, StoredMemory

__all__ = ["AckFile", "Acknowledged", "find_defects", "read_acks"]


@dataclass(frozen=True, slots=True, order=True)
class Acknowledged:
    """A save as acknowledged to its writer."""

    id: int
    revision: int
    uid: str


class AckFile:
    """A file of acknowledgements.

    Each is one `write` of one line, which a kill cannot tear or undo.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, memory: StoredMemory) -> None:
        """Record that the save of `memory` was acknowledged."""
        os.write(self._file, f"{memory.id} {memory.revision} {memory.uid}\n".encode())


def read_acks(folder: Path) -> set[Acknowledged]:
    """Return the acknowledgements in all files of a folder."""
    lines = [line.split() for path in folder.iterdir() for line in path.read_text().splitlines()]
    return {Acknowledged(int(id), int(revision), uid) for id, revision, uid in lines}


def find_defects(store: Store, acknowledged: Iterable[Acknowledged]) -> list[str]:
    """Return the defects after writers died: rows lost, duplicated, out of order or damaged."""
    memories, revision, events = store.read(_all_rows)
    stored = {Acknowledged(memory.id, memory.revision, memory.uid) for memory in memories}
    revisions = [memory.revision for memory in memories]
    defects = {
        "acknowledged and lost": sorted(set(acknowledged) - stored),
        "ids twice": len(memories) - len({memory.id for memory in memories}),
        "revisions that do not rise": [pair for pair in pairwise(revisions) if pair[0] >= pair[1]],
        "revision is not the last": [] if revision == max(revisions, default=0) else [revision],
        "saves without their event": sorted({memory.uid for memory in memories} ^ events),
        "check": store.check(),
    }

    return [f"{what}: {found}" for what, found in defects.items() if found]


def _all_rows(reading: ReadTransaction) -> tuple[list[StoredMemory], int, set[str]]:
    memories = sorted(reading.memories(MemoryFilter()), key=lambda memory: memory.id)
    return memories, reading.revision(), {event.text for event in reading.events()}
