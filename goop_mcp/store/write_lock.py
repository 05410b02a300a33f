"""The lock between the writing processes of one database, on a file of its own next to it.

SQLite's own write lock is polled: under load a process may wait for ever while others get it again
and again. This lock is taken before SQLite's, and the kernel grants it in the order of requests, so
every writer gets its turn. Correctness does not depend on it: a program that ignores it meets
SQLite's lock, and its writes wait or fail, but damage nothing.
"""

import os
import re
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from goop_mcp.errors import StoreError
from goop_mcp.store.file_errors import file_error
from goop_mcp.store.file_locks import give_lock, take_lock, take_lock_if_free

__all__ = ["WriteLock"]

# Process id and time, with room; always the same length, so that an old note never shows at the end
# of a new one.
_NOTE_LENGTH = 48
# What follows are lines of one length for each name: the newest revision of a database next to it.
_REVISION_LENGTH = 18
_MOST_BYTES = 64 * 1024


class WriteLock:
    """The lock of one database, for one thread at a time.

    The file is opened once and never deleted: a lock on a deleted file excludes nobody, since the
    next process would create and lock another one. `name` is the file's name in messages. Methods
    raise subclasses of StoreError.
    """

    def __init__(self, path: Path, *, name: str) -> None:
        self._path = path
        self._name = name
        self._file: int | None = None

    def acquire(self) -> None:
        """Wait until the lock is ours, however long that takes, and write down who holds it."""
        while True:
            file = self._open()
            try:
                take_lock(file)
            except OSError as error:
                raise file_error(error, self._name) from error

            # The file or its folder may have been removed or replaced while we waited. Other
            # processes lock the file that is at the path now, so ours must be that one; otherwise
            # open the new file and wait for its lock.
            if self._is_current(file):
                break

            self.forget()

        _note_holder(file)

    def try_acquire(self) -> bool:
        """Take the lock if it is free, and return whether it is ours."""
        file = self._open()
        if not take_lock_if_free(file):
            return False

        _note_holder(file)
        return True

    def release(self) -> None:
        """Release the lock to the next process."""
        if self._file is not None:
            give_lock(self._file)

    def holder(self) -> str | None:
        """Return which process took the lock last and when, None when that is not known."""
        try:
            pid, since = self._path.read_text(encoding="ascii")[:_NOTE_LENGTH].split()
        except (OSError, ValueError):
            return None

        if pid == str(os.getpid()):
            return f"this process ({pid}) since {since}"
        return f"process {pid} since {since}"

    def revision_of(self, name: str) -> int:
        """Return the revision noted for the database `name`, 0 without one; the lock is held."""
        with suppress(OSError):
            return self._noted(name)[1]
        return 0

    def note_revision(self, name: str, revision: int) -> None:
        """Note the newest revision of the database `name`; the lock is held.

        Only what recognises an older copy: without room for it on the disk nothing else is lost.
        """
        with suppress(OSError):
            at, _ = self._noted(name)
            file = self._open()
            os.lseek(file, at, os.SEEK_SET)
            os.write(file, f"{revision:>{_REVISION_LENGTH}} {quote(name)}\n".encode())

    def _noted(self, name: str) -> tuple[int, int]:
        """Return where the line of `name` begins or has to, and the revision in it."""
        file = self._open()
        os.lseek(file, _NOTE_LENGTH, os.SEEK_SET)
        text = os.read(file, _MOST_BYTES)
        line = rb"^ *(\d{1,%d}) %b\n" % (_REVISION_LENGTH, re.escape(quote(name).encode()))
        found = re.search(line, text, re.MULTILINE)
        if found is None:
            # After the last whole line: one that a full disk cut off is overwritten.
            return _NOTE_LENGTH + text.rfind(b"\n") + 1, 0

        return _NOTE_LENGTH + found.start(), int(found[1])

    def forget(self) -> None:
        """Close the file, which releases the lock; safe in a child that inherited it by a fork."""
        # A fork shares the open file, and with it the lock. Closing only the child's descriptor
        # keeps the parent's lock, as the kernel releases it with the last descriptor; LOCK_UN in
        # the child would release it for both.
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
                raise StoreError(f"{self._name} is not a file; move it away")

        return self._file

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.lstat(self._path))
        except FileNotFoundError:
            return False


def _note_holder(file: int) -> None:
    """Write down who holds the lock and since when, to the second, unless the file has it."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    note = f"{os.getpid()} {since}".ljust(_NOTE_LENGTH - 1).encode() + b"\n"

    # The note is only for the error message of those who wait, so a full disk must not prevent
    # taking the lock. The time has whole seconds: many writes in one second leave the note as it
    # is.
    with suppress(OSError):
        os.lseek(file, 0, os.SEEK_SET)
        if os.read(file, _NOTE_LENGTH) != note:
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, note)
