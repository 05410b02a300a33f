"""The store on one SQLite file.

One thread of each process writes, while it holds a lock between processes; any number of threads
read. In WAL mode, readers see a snapshot (the last commit when their transaction started) and
neither wait for the writer nor delay it.
"""

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
from goop_mcp.redaction.ahead import search_ahead
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.older_copies import OlderCopy
from goop_mcp.store.sqlite.backup import opened_copy, write_copy
from goop_mcp.store.sqlite.connection import DatabaseFile, OtherProgramError
from goop_mcp.store.sqlite.readers import SqliteReaders
from goop_mcp.store.sqlite.reading import SqliteReadTransaction
from goop_mcp.store.sqlite.wal_files import FileIdentity, WalFiles
from goop_mcp.store.sqlite.writing import SqliteWriteTransaction
from goop_mcp.store.write_lock import WriteLock
from goop_mcp.store.write_queue import WriteQueue

__all__ = ["LOCK_FILE", "SqliteStore"]

# Next to the database; `write_lock` says why it is a file of its own.
LOCK_FILE: Final = ".lock"

T = TypeVar("T")
# Seconds to wait for the writing thread where no caller gave a limit.
_CHECK_TIMEOUT = 30.0
# A check reads every page of the file, which takes long for a large one.
_CHECK_SECONDS = 600.0
# An acknowledged change waits for what follows it no longer than this.
_VACUUM_PATIENCE_MS = 1000
# On closing, nobody waits for the result, and a host may kill the process after a moment.
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
        self._writer_wal_files: WalFiles | None = None
        self._log_holds_forgotten = False
        self._used = 0
        self._noted: OlderCopy | None = None
        # Registered for the fork handler: a child must not use the connections of its parent.
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
        """What people should know about where the file is."""
        return self._file.warnings() if self.exists() else ()

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self._file.identity() is not None

    def read(self, ask: Callable[[ReadTransaction], T]) -> T:
        """Run `ask` on one consistent view."""
        if self._writer is not None and self._has_lost_its_log():
            # A reader would create a new log at the path. Before that, the commits that are only in
            # the writer's open log must get into the file, or this view would miss them.
            with suppress(StoreError):
                self._queue.run(self._open_writer, timeout=_CHECK_TIMEOUT)

        with self._file.translating(), self._readers.view() as connection:
            version = self._file.version_of(connection)
            if version == self._file.newest:
                return ask(SqliteReadTransaction(connection))

        if version:
            # Opening the file for writing migrates its tables.
            self.write(lambda _: None)
            return self.read(ask)

        # Another process is about to create the tables, or was killed before that.
        # Reading never creates the file. What has no tables yet reads as a database without rows.
        return ask(SqliteReadTransaction(self._file.open_empty()))

    def write(
        self,
        change: Callable[[WriteTransaction], T],
        *,
        then: Callable[[T], None] | None = None,
        timeout: float = 30.0,
    ) -> T:
        """Run `change` in one transaction, in the writing thread."""
        self._file.create_folder()
        deadline = time.monotonic() + timeout

        def write(run: Callable[[WriteTransaction], T]) -> T:
            return self._queue.run(lambda: self._write(run, then, deadline), timeout=timeout)

        return search_ahead(change, write)

    def mark_used(self, revision: int) -> None:
        """Give no revision up to `revision` any more."""
        self._used = max(self._used, revision)

    def take_older_copy(self) -> OlderCopy | None:
        """Return what a change has noted about the database, once."""
        noted, self._noted = self._noted, None
        return noted

    def check(self) -> list[str]:
        """Return the defects that SQLite finds in the file, the search index included."""
        try:
            with self._file.translating(), self._readers.view(seconds=_CHECK_SECONDS) as connection:
                found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]

            if found != ["ok"]:
                return found
            # FTS5 compares its index with the memories in an INSERT, which needs the writer.
            return (
                self._queue.run(self._check_index, timeout=_CHECK_TIMEOUT) if self.exists() else []
            )
        except StoreCorruptError as error:
            return [str(error)]

    def backup(self, target: Path, *, force: bool = False) -> None:
        """Write one file at `target` that `restore` reads, while others read and write."""
        with self._file.translating(), self._readers.view() as connection:
            # In memory, with all tables: so that no query needs a case for a project without a
            # database.
            if not self.exists():
                raise StoreError(
                    f"{self._file.name} does not exist, so there is nothing to copy; save something"
                    " first"
                )

            write_copy(self._file, connection, target, force=force)

    def restore(self, source: Path) -> str | None:
        """Replace the rows by those of the backup `source`, and return where the old ones are."""
        with opened_copy(source, self._file) as copy:
            self._file.create_folder()
            return self._queue.run(lambda: self._restore(copy), timeout=_CHECK_TIMEOUT)

    def close(self) -> None:
        """Release files and connections."""
        self._readers.close()
        self._queue.close()

    def abandon(self) -> list[apsw.Connection]:
        """Reset the store in a child after a fork, and return the connections of the parent.

        They must neither be used nor closed in the child.
        """
        left = self._readers.reset()
        if self._writer is not None:
            left.append(self._writer)

        self._writer = None
        self._queue.reset()
        self._lock.forget()

        return left

    def _write(
        self,
        change: Callable[[WriteTransaction], T],
        then: Callable[[T], None] | None,
        deadline: float,
    ) -> T:
        # Tests stop a process here and at each later point, to show that no point loses a change.
        failpoint(Failpoint.LOCK)
        connection = self._open_writer()
        try:
            with self._file.translating(connection), self._file.bounded(connection):
                connection.set_busy_timeout(max(int((deadline - time.monotonic()) * 1000), 1))
                answer = self._transaction(connection, change)
        except StoreError as error:
            # An error of the file says nothing good about the pages that this connection has in
            # memory.
            if _spoils_connection(error.__cause__):
                self._close_writer()

            raise

        if self._has_lost_its_log():
            # The log was removed since `_open_writer` checked it, so this commit is in a log that
            # only this process has open. It must get into the file before it is acknowledged.
            self._save_open_log(connection)
            self._close_writer()

        if then is not None:
            self._follow_up(lambda: then(answer))
        return answer

    def _transaction(
        self, connection: apsw.Connection, change: Callable[[WriteTransaction], T]
    ) -> T:
        # IMMEDIATE takes SQLite's write lock at once. A transaction that started as a reader would
        # fail when it wants to write after somebody else did.
        connection.execute("BEGIN IMMEDIATE")
        failpoint(Failpoint.BEGIN)
        try:
            # A newer goop-mcp may have migrated the file since it was opened.
            self._file.version_of(connection)
            writing = SqliteWriteTransaction(connection)
            writing.continue_after(max(self._used, self._lock.revision_of(self._file.path.name)))
            answer = change(writing)
            connection.execute("COMMIT")
        except BaseException:
            # SQLite rolls back by itself after some errors, such as a full disk. A second ROLLBACK
            # would fail and hide the reason.
            if connection.in_transaction:
                connection.execute("ROLLBACK")

            raise

        failpoint(Failpoint.COMMIT)
        if writing.given:
            # Next to the database, so that it is known when an older copy is put in its place.
            self._used = writing.given
            self._lock.note_revision(self._file.path.name, writing.given)
        if writing.older_copy is not None:
            self._noted = writing.older_copy
        self._log_holds_forgotten |= writing.has_forgotten
        if writing.has_purged:
            self._follow_up(lambda: _vacuum(connection))
        if self._log_holds_forgotten:
            self._follow_up(lambda: self._empty_log(connection))
        return answer

    def _restore(self, copy: apsw.Connection) -> str | None:
        """Overwrite all pages by those of `copy` in one transaction.

        Running servers see it as any other change.
        """
        was_there = self.exists()
        try:
            # A view of the old rows is kept first: whoever restores the wrong backup can go back.
            connection = self._open_writer()
            kept = self._file.keep_view(connection) if was_there else None
        except OtherProgramError:
            raise
        except StoreCorruptError:
            # A file that cannot be read cannot be overwritten page by page either.
            self._close_writer()
            kept = self._file.move_aside()
            connection = self._open_writer()

        with self._file.translating(connection):
            # Other processes may be in the middle of a read; a restore can wait for them.
            connection.set_busy_timeout(int(_CHECK_TIMEOUT * 1000))
            with connection.backup("main", copy, "main") as backup:
                backup.step()

        # Connections opened before hold pages of the replaced database in their caches.
        self._readers.close()
        self._close_writer()
        # Opening the writer again migrates a backup of an earlier version. The replaced rows must
        # not stay in the log.
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
        """Run `action` after the commit; its failure is logged, since the change is stored."""
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
        self._writer_of, self._writer_wal_files = self._file.identity(), self._file.wal_files()

        return self._writer

    def _has_lost_its_log(self) -> bool:
        # The writer remembers the inode of the log at opening. A cleaning tool, or a person who
        # removes "temporary" files next to a database, changes it.
        """Return whether the log or its index was removed or replaced after opening the writer."""
        return (
            self._writer_wal_files is not None and self._file.wal_files() != self._writer_wal_files
        )

    def _save_open_log(self, connection: apsw.Connection) -> None:
        """Move commits that are only in the log that `connection` has open into the database.

        That log was removed from its path, so only this process can still read it. The lock of
        writers is held. Raises StoreError when the commits cannot be moved; nothing is lost then,
        and nothing was written.
        """
        was, now = self._writer_wal_files, self._file.wal_files()
        if was is None or now.log == was.log or self._file.identity() != self._writer_of:
            # Either the log is still in its place (SQLite rebuilds a missing index from it), or
            # another database was put in place on purpose, which must not get our pages.
            return

        with self._file.translating(connection):
            _, frames, moved = _checkpoint(connection, "NOOP")
            # Everything in the log is in the database already.
            if frames == moved:
                return

            # Nobody has written a new log yet: the open log is the only continuation of the
            # database, and a checkpoint of it gives the complete database.
            if self._file.log_is_empty():
                if not _checkpoint(connection, "TRUNCATE")[0]:
                    return

                raise StoreBusyError(
                    f"{self._file.name}-wal was removed while this process had it open, and a"
                    " program reads what it held; nothing was written: try again, and leave the"
                    " file alone while a server runs"
                )

        # Others have written a new log for the same pages. Pages of two logs cannot be merged, so
        # the state of ours is kept in a file of its own.
        copy = self._file.keep_view(connection)
        self._close_writer()

        raise StoreError(
            f"{self._file.name}-wal was replaced while this process had it open; what only the old"
            f" one held is kept in {copy}, and nothing was written now: bring it over with goop-mcp"
            " memory export and import, call again"
        )

    def _empty_log(self, connection: apsw.Connection) -> None:
        """Truncate the log, which still holds forgotten texts.

        While others read it, that fails and is tried again after the next change.
        """
        connection.set_busy_timeout(_VACUUM_PATIENCE_MS)
        self._log_holds_forgotten = bool(_checkpoint(connection, "TRUNCATE")[0])

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = self._writer_wal_files = None

    def _finish(self) -> None:
        """Close the writer; if no other process is writing, first move the log into the file."""
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

        # While others have the file open, the log stays, but empty. Otherwise closing may now
        # delete it, since the lock of writers is held.
        connection.set_busy_timeout(_LAST_PATIENCE_MS)
        _checkpoint(connection, "TRUNCATE")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _checkpoint(
    connection: apsw.Connection, mode: Literal["NOOP", "TRUNCATE"]
) -> tuple[int, int, int]:
    """Run a checkpoint, which copies pages from the log to the file; NOOP only counts them.

    Return whether a reader or writer prevented it, how many pages the log holds, and how many of
    those are in the file.
    """
    [row] = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
    return cast("tuple[int, int, int]", row)


def _spoils_connection(cause: BaseException | None) -> bool:
    """Return whether a failure may be due to the connection, which is then opened again.

    A connection that was opened while the file was read-only stays read-only.
    """
    return isinstance(cause, apsw.Error) and not isinstance(
        cause, apsw.BusyError | apsw.ConstraintError
    )


def _vacuum(connection: apsw.Connection) -> None:
    """Rewrite the file, so that nothing of a purged row is left in unused parts of it."""
    # Other writers wait meanwhile, so this gives up early when a reader prevents it.
    connection.set_busy_timeout(_VACUUM_PATIENCE_MS)
    connection.execute("INSERT INTO memory_index (memory_index) VALUES ('optimize')")
    connection.execute("VACUUM")


_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
# Connections of the parent process. The list keeps them from being garbage-collected, since closing
# them in the child would release the parent's locks on the file.
_abandoned: list[apsw.Connection] = []


def _after_fork() -> None:
    for store in _stores:
        _abandoned.extend(store.abandon())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
