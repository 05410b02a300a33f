"""The connections that read a SQLite file: one for each thread that reads just now, and a few in reserve."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from goop_mcp.store.sqlite.connection import DatabaseFile, Identity

__all__ = ["SqliteReaders"]

_RESERVE = 4


class SqliteReaders:
    """Lends connections to any number of threads, each with a view of its own."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self.begin_anew()

    def begin_anew(self) -> list[apsw.Connection]:
        """Begin without connections and return those that were there, which a fork makes useless."""
        left = [connection for _, connection in getattr(self, "_idle", ())]
        self._guard = threading.Lock()
        self._idle: list[tuple[Identity, apsw.Connection]] = []
        return left

    @contextmanager
    def view(self) -> Iterator[apsw.Connection]:
        """Lend a connection with one consistent view; it is empty where there is no file."""
        identity = self._file.identity()
        connection = self._file.open_empty() if identity is None else self._reader(identity)
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("ROLLBACK")
        except BaseException:
            connection.close(force=True)
            raise
        self._take_back(identity, connection)

    def close(self) -> None:
        """Close the connections in reserve."""
        with self._guard:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _reader(self, identity: Identity) -> apsw.Connection:
        with self._guard:
            # Another file may lie at the path now, a copy put back for example.
            stale = [connection for known, connection in self._idle if known != identity]
            self._idle = [entry for entry in self._idle if entry[0] == identity]
            found = self._idle.pop()[1] if self._idle else None
        for connection in stale:
            connection.close()
        return found or self._file.open_reader()

    def _take_back(self, identity: Identity | None, connection: apsw.Connection) -> None:
        with self._guard:
            if identity is not None and len(self._idle) < _RESERVE:
                self._idle.append((identity, connection))
                return
        connection.close()
