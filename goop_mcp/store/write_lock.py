"""A lock between processes on a side file, which the kernel gives in the order of asking and takes from the dead."""

import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from goop_mcp.errors import StoreError
from goop_mcp.store.file_errors import file_error
from goop_mcp.store.file_locks import give_lock, take_lock, take_lock_if_free

__all__ = ["WriteLock"]

_NOTE_LENGTH = 48


class WriteLock:
    """The lock of one database, for one thread at a time.

    Its file is opened once and never deleted by us.

    `name` is what people call the file. Methods raise errors under StoreError.
    """

    def __init__(self, path: Path, *, name: str) -> None:
        self._path = path
        self._name = name
        self._file: int | None = None

    def acquire(self) -> None:
        """Wait until the lock is ours, however long that takes, and note down who holds it."""
        while True:
            file = self._open()
            try:
                take_lock(file)
            except OSError as error:
                raise file_error(error, self._name) from error

            # Somebody may have removed the folder meanwhile: a lock on a file that nobody else
            # finds guards nothing.
            if self._is_current(file):
                break

            self.forget()

        _note_holder(file)

    def try_acquire(self) -> bool:
        """Take the lock if it is free, and tell whether it is ours."""
        file = self._open()
        if not take_lock_if_free(file):
            return False

        _note_holder(file)
        return True

    def release(self) -> None:
        """Let the next one in."""
        if self._file is not None:
            give_lock(self._file)

    def holder(self) -> str | None:
        """Say who took the lock last and when, None when that is not to be found out."""
        try:
            pid, since = self._path.read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return None

        if pid == str(os.getpid()):
            return f"this process ({pid}) since {since}"
        return f"process {pid} since {since}"

    def forget(self) -> None:
        """Close the file, which gives the lock back; also in a child that got the file by a fork."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        if self._file is None:
            flags = (
                os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            )
            try:
                self._file = os.open(self._path, flags, 0o644)
            except OSError as error:
                raise file_error(error, self._name) from error

            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                self.forget()
                raise StoreError(f"{self._name} is no file; move it away")

        return self._file

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.lstat(self._path))
        except FileNotFoundError:
            return False


def _note_holder(file: int) -> None:
    """Write down who holds the lock since when, unless it stands there already: that is true for a second."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    note = f"{os.getpid()} {since}".ljust(_NOTE_LENGTH - 1).encode() + b"\n"

    # The note only helps those who wait: a disk without room for it is no reason to refuse the
    # lock.
    with suppress(OSError):
        os.lseek(file, 0, os.SEEK_SET)
        if os.read(file, _NOTE_LENGTH) != note:
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, note)
