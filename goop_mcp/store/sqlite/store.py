"""The store on one SQLite file: one thread writes, behind a lock between processes; any number of threads read."""

import logging
import os
import time
import weakref
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final, Literal, TypeVar

import apsw

from goop_mcp.errors import StoreCorruptError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.interface import Reading, Writing
from goop_mcp.store.sqlite.connection import DatabaseFile, Identity
from goop_mcp.store.sqlite.readers import SqliteReaders
from goop_mcp.store.sqlite.reading import SqliteReading
from goop_mcp.store.sqlite.writing import SqliteWriting
from goop_mcp.store.write_lock import WriteLock
from goop_mcp.store.write_queue import WriteQueue

__all__ = ["LOCK_FILE", "SqliteStore"]

LOCK_FILE: Final = ".lock"

T = TypeVar("T")
_CHECK_TIMEOUT = 30.0
_VACUUM_PATIENCE_MS = 1000
_log = logging.getLogger(__name__)


class SqliteStore:
    """One project's rows in one file. See `goop_mcp.store.interface.Store`."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._readers = SqliteReaders(file)
        self._lock = WriteLock(file.path.with_name(LOCK_FILE), name=str(PurePosixPath(file.name).with_name(LOCK_FILE)))
        self._queue = WriteQueue(self._lock, name=file.name, finish=self._finish)
        self._writer: apsw.Connection | None = None
        self._writer_of: Identity | None = None
        _stores.add(self)

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """The kind of database."""
        return "sqlite"

    @property
    def location(self) -> str:
        """The name of the file."""
        return self._file.name

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know about the place of the file."""
        return self._file.warnings() if self.exists() else ()

    def exists(self) -> bool:
        """Tell whether the file is there."""
        return self._file.identity() is not None

    def read(self, ask: Callable[[Reading], T]) -> T:
        """Run `ask` on one consistent view."""
        with self._file.faults(), self._readers.view() as connection:
            version = self._file.version_of(connection)
            if version == self._file.newest:
                return ask(SqliteReading(connection))
        if version:
            self.write(_change_nothing)
            return self.read(ask)
        # Somebody is about to create the tables, or was killed before that.
        return ask(SqliteReading(self._file.open_empty()))

    def write(
        self, change: Callable[[Writing], T], *, then: Callable[[T], None] | None = None, timeout: float = 30.0
    ) -> T:
        """Run `change` in one transaction, in a thread that waits in the line of writers."""
        self._file.create_folder()
        deadline = time.monotonic() + timeout
        return self._queue.run(lambda: self._write(change, then, deadline), timeout=timeout)

    def check(self) -> list[str]:
        """Return what SQLite finds wrong with the file, and whether the index of words fits the memories."""
        try:
            with self._file.faults(), self._readers.view() as connection:
                said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
            if said != ["ok"]:
                return said
            # The comparison with the memories counts as writing.
            return self._queue.run(self._check_index, timeout=_CHECK_TIMEOUT) if self.exists() else []
        except StoreCorruptError as error:
            return [str(error)]

    def close(self) -> None:
        """Let go of files and connections."""
        self._readers.close()
        self._queue.close()

    def leave_behind(self) -> list[apsw.Connection]:
        """Begin anew in a child after a fork, and return connections that must neither be used nor closed there."""
        left = self._readers.begin_anew()
        if self._writer is not None:
            left.append(self._writer)
        self._writer = None
        self._queue.begin_anew()
        self._lock.forget()
        return left

    def _write(self, change: Callable[[Writing], T], then: Callable[[T], None] | None, deadline: float) -> T:
        failpoint(Failpoint.LOCK)
        connection = self._open_writer()
        with self._file.faults(connection):
            connection.set_busy_timeout(max(int((deadline - time.monotonic()) * 1000), 1))
            answer = self._transaction(connection, change)
        if then is not None:
            self._follow_up(lambda: then(answer))
        return answer

    def _transaction(self, connection: apsw.Connection, change: Callable[[Writing], T]) -> T:
        connection.execute("BEGIN IMMEDIATE")
        failpoint(Failpoint.BEGIN)
        try:
            self._file.version_of(connection)
            writing = SqliteWriting(connection)
            answer = change(writing)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        failpoint(Failpoint.COMMIT)
        if writing.has_purged:
            self._follow_up(lambda: _vacuum(connection))
        return answer

    def _check_index(self) -> list[str]:
        connection = self._open_writer()
        try:
            connection.execute("INSERT INTO memory_index (memory_index, rank) VALUES ('integrity-check', 1)")
        except apsw.CorruptError:
            return [f"the index of words in {self._file.name} does not fit the memories; searches may miss some"]
        return []

    def _follow_up(self, action: Callable[[], None]) -> None:
        """Do what comes after the commit; its failure is reported and changes nothing about what is stored."""
        try:
            action()
        except Exception:
            _log.exception("%s: the change is stored, but not all that follows from it is done", self._file.name)

    def _open_writer(self) -> apsw.Connection:
        identity = self._file.identity()
        if self._writer is not None and identity == self._writer_of:
            return self._writer
        self._close_writer()
        self._writer = self._file.open_writer()
        self._writer_of = self._file.identity()
        return self._writer

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _finish(self) -> None:
        """Close the writer, and leave one whole file behind when nobody else has it open or writes."""
        try:
            if self._writer is not None and self._lock.try_acquire():
                self._writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            self._close_writer()
        finally:
            self._lock.forget()


def _change_nothing(_: Writing) -> None:
    """Open the file for writing, which brings its tables up to date."""


def _vacuum(connection: apsw.Connection) -> None:
    """Write the file anew, so that nothing of a purged row is left in unused parts of it."""
    # Others wait meanwhile: a long view of somebody is no reason to keep them.
    connection.set_busy_timeout(_VACUUM_PATIENCE_MS)
    connection.execute("INSERT INTO memory_index (memory_index) VALUES ('optimize')")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
# Never emptied: a child that closed them would touch files that its parent has open.
_left_behind: list[apsw.Connection] = []


def _after_fork() -> None:
    for store in _stores:
        _left_behind.extend(store.leave_behind())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
