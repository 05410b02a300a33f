"""The files next to a database in WAL mode: its log (-wal) and the index of that (-shm), which belong together.

Whoever removes them under an open connection leaves it a log that nobody else finds: what is written there is lost
with the process.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["SUFFIXES", "Companions", "FileIdentity", "companions_of"]

FileIdentity = tuple[int, int]
"""What tells one file from another at the same path: its device and its number there."""

SUFFIXES: Final = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Companions:
    """Which files lie next to a database now; None for one that is not there."""

    log: FileIdentity | None
    index: FileIdentity | None


def companions_of(path: Path) -> Companions:
    """Return the companions of the database at `path`; two looks at the folder, and nothing is opened."""
    return Companions(*(_identity(f"{path}{suffix}") for suffix in SUFFIXES))


def _identity(path: str) -> FileIdentity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
