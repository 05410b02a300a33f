"""The store on one SQLite file: one thread writes, behind a lock between processes; any number of threads read."""

import logging
import os
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeVar, cast

import apsw

from goop_mcp.errors import StoreBusyError, StoreCorruptError, StoreError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.interface import Reading, Writing
from goop_mcp.store.sqlite.companions import Companions, FileIdentity
from goop_mcp.store.sqlite.connection import DatabaseFile, OtherProgramError
from goop_mcp.store.sqlite.copies import opened_copy, write_copy
from goop_mcp.store.sqlite.readers import SqliteReaders
from goop_mcp.store.sqlite.reading import SqliteReading
from goop_mcp.store.sqlite.writing import SqliteWriting
from goop_mcp.store.write_lock import WriteLock
from goop_mcp.store.write_queue import WriteQueue

__all__ = ["LOCK_FILE", "SqliteStore"]

LOCK_FILE: Final = ".lock"

T = TypeVar("T")
_CHECK_TIMEOUT = 30.0
# A look at every page of a file takes as long as the file is large.
_CHECK_SECONDS = 600.0
_VACUUM_PATIENCE_MS = 1000
_LAST_PATIENCE_MS = 200
_log = logging.getLogger(__name__)


class SqliteStore:
    """One project's rows in one file. See `goop_mcp.store.interface.Store`."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._readers = SqliteReaders(file)
        self._lock = WriteLock(
            file.path.with_name(LOCK_FILE), name=str(PurePosixPath(file.name).with_name(LOCK_FILE))
        )
        self._queue = WriteQueue(self._lock, name=file.name, finish=self._finish)
        self._writer: apsw.Connection | None = None
        self._writer_of: FileIdentity | None = None
        self._writer_companions: Companions | None = None
        self._log_holds_forgotten = False
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
        if self._writer is not None and self._has_lost_its_log():
            # First save what only the open log holds: this view must see it, and would begin
            # another log.
            with suppress(StoreError):
                self._queue.run(self._open_writer, timeout=_CHECK_TIMEOUT)

        with self._file.translating(), self._readers.view() as connection:
            version = self._file.version_of(connection)
            if version == self._file.newest:
                return ask(SqliteReading(connection))

        if version:
            self.write(_change_nothing)
            return self.read(ask)

        # Somebody is about to create the tables, or was killed before that.
        return ask(SqliteReading(self._file.open_empty()))

    def write(
        self,
        change: Callable[[Writing], T],
        *,
        then: Callable[[T], None] | None = None,
        timeout: float = 30.0,
    ) -> T:
        """Run `change` in one transaction, in a thread that waits in the line of writers."""
        self._file.create_folder()
        deadline = time.monotonic() + timeout

        return self._queue.run(lambda: self._write(change, then, deadline), timeout=timeout)

    def check(self) -> list[str]:
        """Return what SQLite finds wrong with the file, and whether the index of words fits the memories."""
        try:
            with self._file.translating(), self._readers.view(seconds=_CHECK_SECONDS) as connection:
                said = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]

            if said != ["ok"]:
                return said
            # The comparison with the memories counts as writing.
            return (
                self._queue.run(self._check_index, timeout=_CHECK_TIMEOUT) if self.exists() else []
            )
        except StoreCorruptError as error:
            return [str(error)]

    def backup(self, target: Path, *, force: bool = False) -> None:
        """Write one whole file at `target` that `restore` takes, while others read and write."""
        with self._file.translating(), self._readers.view() as connection:
            if not self.exists():
                raise StoreError(
                    f"{self._file.name} does not exist, so there is nothing to copy; save something"
                    " first"
                )

            write_copy(self._file, connection, target, force=force)

    def restore(self, source: Path) -> str | None:
        """Put the rows of the copy at `source` in place of ours, and return where ours are kept, None for nowhere."""
        with opened_copy(source, self._file) as copy:
            self._file.create_folder()
            return self._queue.run(lambda: self._restore(copy), timeout=_CHECK_TIMEOUT)

    def close(self) -> None:
        """Let go of files and connections."""
        self._readers.close()
        self._queue.close()

    def abandon(self) -> list[apsw.Connection]:
        """Begin anew in a child after a fork, and return connections that must neither be used nor closed there."""
        left = self._readers.reset()
        if self._writer is not None:
            left.append(self._writer)

        self._writer = None
        self._queue.reset()
        self._lock.forget()

        return left

    def _write(
        self, change: Callable[[Writing], T], then: Callable[[T], None] | None, deadline: float
    ) -> T:
        failpoint(Failpoint.LOCK)
        connection = self._open_writer()
        try:
            with self._file.translating(connection), self._file.bounded(connection):
                connection.set_busy_timeout(max(int((deadline - time.monotonic()) * 1000), 1))
                answer = self._transaction(connection, change)
        except StoreError as error:
            if _spoils_connection(error.__cause__):
                self._close_writer()

            raise

        if self._has_lost_its_log():
            # Removed since the look before the change: nothing is acknowledged that only this
            # process can read.
            self._save_open_log(connection)
            self._close_writer()

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
        self._log_holds_forgotten |= writing.has_forgotten
        if writing.has_purged:
            self._follow_up(lambda: _vacuum(connection))
        if self._log_holds_forgotten:
            self._follow_up(lambda: self._empty_log(connection))
        return answer

    def _restore(self, copy: apsw.Connection) -> str | None:
        """Write all pages of `copy` over ours in one change, which servers that run see as any other change."""
        was_there = self.exists()
        try:
            connection = self._open_writer()
            kept = self._file.keep_view(connection) if was_there else None
        except OtherProgramError:
            raise
        except StoreCorruptError:
            # What cannot be read cannot be written over page by page either.
            self._close_writer()
            kept = self._file.move_aside()
            connection = self._open_writer()

        with self._file.translating(connection):
            connection.set_busy_timeout(int(_CHECK_TIMEOUT * 1000))
            with connection.backup("main", copy, "main") as backup:
                backup.step()

        self._readers.close()
        self._close_writer()
        # The copy may be of an earlier version; what it replaces must not stay in the log.
        self._follow_up(lambda: self._empty_log(self._open_writer()))

        return kept

    def _check_index(self) -> list[str]:
        connection = self._open_writer()
        with self._file.translating(connection), self._file.bounded(connection, _CHECK_SECONDS):
            try:
                connection.execute(
                    "INSERT INTO memory_index (memory_index, rank) VALUES ('integrity-check', 1)"
                )
            except apsw.CorruptError:
                return [
                    f"the index of words in {self._file.name} does not fit the memories; searches"
                    " may miss some"
                ]

        return []

    def _follow_up(self, action: Callable[[], None]) -> None:
        """Do what comes after the commit; its failure is reported and changes nothing about what is stored."""
        try:
            action()
        except Exception:
            _log.exception(
                "%s: the change is stored, but not all that follows from it is done",
                self._file.name,
            )

    def _open_writer(self) -> apsw.Connection:
        identity = self._file.identity()
        if self._writer is not None and identity == self._writer_of:
            if not self._has_lost_its_log():
                return self._writer

            self._save_open_log(self._writer)

        self._close_writer()
        self._writer = self._file.open_writer()
        self._writer_of, self._writer_companions = self._file.identity(), self._file.companions()

        return self._writer

    def _has_lost_its_log(self) -> bool:
        """Tell whether somebody has removed or replaced the log or its index since the writer was opened."""
        return (
            self._writer_companions is not None
            and self._file.companions() != self._writer_companions
        )

    def _save_open_log(self, connection: apsw.Connection) -> None:
        """Move what is only in the log that `connection` has open into the database, for which nobody else has it.

        The lock of writers is held. Raises StoreError where that cannot be; nothing is lost then, and nothing done.
        """
        was, beside = self._writer_companions, self._file.companions()
        if was is None or beside.log == was.log or self._file.identity() != self._writer_of:
            # The log is where it was, and its index is made from it; or another database was put in
            # place on purpose.
            return

        with self._file.translating(connection):
            _, frames, moved = _checkpoint(connection, "NOOP")
            if frames == moved:
                return
            if self._file.log_is_empty():
                if not _checkpoint(connection, "TRUNCATE")[0]:
                    return

                raise StoreBusyError(
                    f"{self._file.name}-wal was removed while this process had it open, and a"
                    " program reads what it held; nothing was written: try again, and leave the"
                    " file alone while a server runs"
                )

        # Others have begun another log on the same pages: the two cannot be joined, so both are
        # kept.
        copy = self._file.keep_view(connection)
        self._close_writer()

        raise StoreError(
            f"{self._file.name}-wal was replaced while this process had it open; what only the old"
            f" one held is kept in {copy}, and nothing was written now: bring it over with goop-mcp"
            " memory export and import, call again"
        )

    def _empty_log(self, connection: apsw.Connection) -> None:
        """Leave nothing of what was forgotten in the log; while somebody reads it, that waits for the next change."""
        connection.set_busy_timeout(_VACUUM_PATIENCE_MS)
        self._log_holds_forgotten = bool(_checkpoint(connection, "TRUNCATE")[0])

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = self._writer_companions = None

    def _finish(self) -> None:
        """Close the writer, and leave the whole database in one file when nobody else writes."""
        try:
            if self._writer is not None and self._lock.try_acquire():
                self._follow_up(lambda: self._leave_one_file(self._writer))

            self._close_writer()
        finally:
            self._lock.forget()

    def _leave_one_file(self, connection: apsw.Connection | None) -> None:
        if connection is None:
            return
        if self._has_lost_its_log():
            self._save_open_log(connection)

        # Others may have the file open: then the log stays, empty, and closing removes nothing.
        connection.set_busy_timeout(_LAST_PATIENCE_MS)
        _checkpoint(connection, "TRUNCATE")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _change_nothing(_: Writing) -> None:
    """Open the file for writing, which brings its tables up to date."""


def _checkpoint(
    connection: apsw.Connection, mode: Literal["NOOP", "TRUNCATE"]
) -> tuple[int, int, int]:
    """Return whether somebody was in the way, how many pages stand in the log and how many of them in the file."""
    [row] = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
    return cast("tuple[int, int, int]", row)


def _spoils_connection(cause: BaseException | None) -> bool:
    """Tell whether a failure may be one of the connection, such as a file that was read-only when it was opened."""
    return isinstance(cause, apsw.Error) and not isinstance(
        cause, apsw.BusyError | apsw.ConstraintError
    )


def _vacuum(connection: apsw.Connection) -> None:
    """Write the file anew, so that nothing of a purged row is left in unused parts of it."""
    # Others wait meanwhile: a long view of somebody is no reason to keep them.
    connection.set_busy_timeout(_VACUUM_PATIENCE_MS)
    connection.execute("INSERT INTO memory_index (memory_index) VALUES ('optimize')")
    connection.execute("VACUUM")


_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
# Never emptied: a child that closed them would touch files that its parent has open.
_abandoned: list[apsw.Connection] = []


def _after_fork() -> None:
    for store in _stores:
        _abandoned.extend(store.abandon())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
