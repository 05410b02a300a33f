"""The files next to a database in WAL mode: its log (-wal) and the index of the log (-shm).

If they are removed while a connection has them open, the connection goes on writing to a log that
nobody else can open, and its writes are lost when the process ends.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["SUFFIXES", "FileIdentity", "WalFiles", "find_wal_files"]

FileIdentity = tuple[int, int]
"""Distinguishes files that are at the same path one after the other: device and inode."""

SUFFIXES: Final = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class WalFiles:
    """Which files are next to a database now; None for a file that does not exist."""

    log: FileIdentity | None
    index: FileIdentity | None


def find_wal_files(path: Path) -> WalFiles:
    """Return the files next to the database at `path`, without opening them."""
    return WalFiles(*(_identity(f"{path}{suffix}") for suffix in SUFFIXES))


def _identity(path: str) -> FileIdentity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
