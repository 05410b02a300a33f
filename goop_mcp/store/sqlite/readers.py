"""The connections that read a SQLite file: one for each current reader, and a few in reserve."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from goop_mcp.store.sqlite.connection import DatabaseFile
from goop_mcp.store.sqlite.wal_files import FileIdentity, WalFiles

__all__ = ["SqliteReaders"]

_RESERVE = 4

_Place = tuple[FileIdentity | None, WalFiles]
"""Which files a connection reads."""


class SqliteReaders:
    """Lends connections to any number of threads, each with its own view."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self.reset()

    def reset(self) -> list[apsw.Connection]:
        """Start without connections, as after a fork, and return the previous ones."""
        left = [connection for _, connection in getattr(self, "_idle", ())]
        self._guard = threading.Lock()
        self._idle: list[tuple[_Place, apsw.Connection]] = []
        return left

    @contextmanager
    def view(self, *, seconds: float | None = None) -> Iterator[apsw.Connection]:
        """Lend a connection with one consistent view, which is empty when there is no file.

        Queries in it are interrupted after `seconds`, by default those of the file.
        """
        place, connection = self._lend()
        try:
            with self._file.bounded(connection, seconds):
                connection.execute("BEGIN")
                yield connection
                connection.execute("ROLLBACK")
        except BaseException:
            connection.close(force=True)
            raise

        # All connections of a process share one handle of the index of the log. A connection that
        # was opened while the file was read-only opened it for reading only, and as long as that
        # connection is open, no connection of this process can write.
        is_kept = place[0] is not None and not connection.readonly("main")
        with self._guard:
            if is_kept and len(self._idle) < _RESERVE:
                self._idle.append((place, connection))
                return

        connection.close()

    def close(self) -> None:
        """Close the connections in reserve."""
        with self._guard:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _lend(self) -> tuple[_Place, apsw.Connection]:
        place = self._place()
        if place[0] is None:
            return place, self._file.open_empty()

        with self._guard:
            # A connection keeps reading the file and the log that it opened. If others are at the
            # path now, such as a restored backup, it would return old rows for ever.
            stale = [connection for known, connection in self._idle if known != place]
            self._idle = [entry for entry in self._idle if entry[0] == place]
            found = self._idle.pop()[1] if self._idle else None

        for connection in stale:
            connection.close()

        if found is not None:
            return place, found

        opened = self._file.open_reader()

        # Opening may have created the WAL files.
        return self._place(), opened

    def _place(self) -> _Place:
        return self._file.identity(), self._file.wal_files()
