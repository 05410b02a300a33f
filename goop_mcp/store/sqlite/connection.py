"""Open one SQLite file: for the one thread that writes, and for many that read."""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from goop_mcp.errors import StoreCorruptError, StoreError, StoreVersionError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.file_faults import file_fault
from goop_mcp.store.filesystems import MOUNT_TABLE, network_filesystem
from goop_mcp.store.migrations import Migration
from goop_mcp.store.sqlite.faults import sqlite_faults

__all__ = ["DatabaseFile", "Identity", "refuse_unsafe_sqlite"]

Identity = tuple[int, int]
"""What tells one file from another at the same path: its device and its number there."""

_APPLICATION = 0x676F6F70

_OLDEST_SAFE = (3, 51, 3)
_WRITER = (
    "synchronous=FULL",
    "cache_size=-16000",
    "foreign_keys=ON",
    "mmap_size=0",
    "trusted_schema=OFF",
    "wal_autocheckpoint=1000",
)
_READER = ("query_only=ON", "cache_size=-8000", "mmap_size=0", "trusted_schema=OFF")
_PATIENCE_MS = 10_000


def refuse_unsafe_sqlite(version: str) -> None:
    """Raise StoreError for a SQLite that many processes can destroy a file with (the WAL-reset bug)."""
    if tuple(int(part) for part in version.split(".")[:3]) < _OLDEST_SAFE:
        raise StoreError(f"SQLite {version} can damage a shared database; install apsw 3.51.3 or newer")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFile:
    """A place for a database. `name` is what people call it, `migrations` leads to the tables of this program.

    `makes_folder` tells whether the folder of the file is created with it; the folders above it never are.
    """

    path: Path
    name: str
    migrations: Sequence[Migration]
    mount_table: Path = MOUNT_TABLE
    makes_folder: bool = False

    @property
    def newest(self) -> int:
        """The version of the tables that this program works with."""
        return self.migrations[-1].version

    def identity(self) -> Identity | None:
        """Return what tells this file from one put in its place, None when there is none.

        Raises StoreError for a symbolic link and for what is no file.
        """
        try:
            found = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise file_fault(error, self.name) from error
        if stat.S_ISLNK(found.st_mode):
            raise StoreError(f"{self.name} is a symbolic link, which is not followed; put the file itself there")
        if not stat.S_ISREG(found.st_mode):
            raise StoreCorruptError(f"{self.name} is no file; move it away, or name another database")
        return found.st_dev, found.st_ino

    def create_folder(self) -> None:
        """Create the folder of the database, if that is wanted, but none above it. Raises StoreError without one."""
        folder = self.path.parent
        if not self.makes_folder:
            if not folder.is_dir():
                raise file_fault(errno.ENOENT, self.name)
            return
        try:
            if not folder.exists():
                folder.mkdir()
                _sync(folder.parent)
        except FileExistsError:
            return
        except OSError as error:
            raise file_fault(error, self.name) from error

    def warnings(self) -> tuple[str, ...]:
        """Say what people should know about the place."""
        kind = network_filesystem(self.path.parent, mount_table=self.mount_table)
        if kind is None:
            return ()
        return (
            f"{self.name} lies on a network filesystem ({kind}): a slower and safer way of writing is used; "
            "for several machines use a database of PostgreSQL",
        )

    def open_writer(self) -> apsw.Connection:
        """Open the file, created if need be, for the thread that holds the lock, and bring its tables up to date."""
        with self._opened(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) as connection:
            self._refuse_other_programs(connection)
            connection.execute(f"PRAGMA journal_mode={'TRUNCATE' if self.warnings() else 'WAL'}")
            _set(connection, _WRITER)
            self._bring_up_to_date(connection)
        return connection

    def open_reader(self) -> apsw.Connection:
        """Open the existing file for reading; nothing but what SQLite needs beside the file is created."""
        with self._opened(apsw.SQLITE_OPEN_READWRITE) as connection:
            _set(connection, _READER)
            self._refuse_other_programs(connection)
        return connection

    def open_empty(self) -> apsw.Connection:
        """Open a database in memory, which has the tables and no rows: what is read where there is no file."""
        connection = apsw.Connection(":memory:")
        self._bring_up_to_date(connection)
        return connection

    def version_of(self, connection: apsw.Connection) -> int:
        """Return the version of the tables, 0 for none; raise StoreVersionError when this program does not know it."""
        version = int(connection.pragma("user_version"))
        if version > self.newest:
            raise StoreVersionError(
                f"{self.name} has version {version} of the tables, this goop-mcp knows them up to {self.newest}; "
                "install the newest goop-mcp, or name another database"
            )
        return version

    def faults(self, connection: apsw.Connection | None = None) -> AbstractContextManager[None]:
        """Raise what SQLite raises inside as an error under StoreError that names this file."""
        return sqlite_faults(self.path, name=self.name, connection=connection)

    @contextmanager
    def _opened(self, flags: int) -> Iterator[apsw.Connection]:
        """Open the file; close it again if what is done first with it fails."""
        refuse_unsafe_sqlite(apsw.sqlite_lib_version())
        # The folder may be reached through links, which is the user's choice; the file may not be one.
        path = self.path.parent.resolve() / self.path.name
        with self.faults():
            connection = apsw.Connection(str(path), flags=flags | apsw.SQLITE_OPEN_NOFOLLOW)
        try:
            # Closing must not move pages outside the lock, and must do nothing at all in a child after a fork.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.set_busy_timeout(_PATIENCE_MS)
            with self.faults(connection):
                yield connection
        except BaseException:
            connection.close()
            raise

    def _refuse_other_programs(self, connection: apsw.Connection) -> None:
        # In one view: another process may be creating the tables just now.
        connection.execute("BEGIN")
        is_ours = connection.pragma("application_id") == _APPLICATION
        has_tables = connection.execute("SELECT 1 FROM sqlite_schema").get is not None
        connection.execute("ROLLBACK")
        if has_tables and not is_ours:
            raise StoreCorruptError(f"{self.name} belongs to another program; name another database")

    def _bring_up_to_date(self, connection: apsw.Connection) -> None:
        version = self.version_of(connection)
        if version == 0:
            # A new file gets all its tables at once: a kill leaves none, and nothing that a copy is kept of.
            _migrate(connection, self.migrations)
        elif version < self.newest:
            self._keep_copy(connection, version)
            for migration in self.migrations[version:]:
                _migrate(connection, [migration])

    def _keep_copy(self, connection: apsw.Connection, version: int) -> None:
        """Copy the file beside itself, whole or not at all, before its tables are changed."""
        copy = self.path.with_name(f"{self.path.name}.version-{version}")
        unfinished = copy.with_name(f".{copy.name}.goop-tmp")
        try:
            unfinished.unlink(missing_ok=True)
            self._copy_to(unfinished, connection)
            unfinished.replace(copy)
            _sync(copy.parent)
        except StoreError:
            raise
        except OSError as error:
            raise file_fault(error, f"the copy of {self.name}") from error

    def _copy_to(self, path: Path, connection: apsw.Connection) -> None:
        target = apsw.Connection(str(path))
        try:
            with self.faults(target), target.backup("main", connection, "main") as backup:
                backup.step()
        finally:
            target.close()


def _sync(folder: Path) -> None:
    """Put the names in a folder on disk; Windows does that by itself."""
    if sys.platform != "win32":
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _set(connection: apsw.Connection, pragmas: Sequence[str]) -> None:
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")


def _migrate(connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
    """Carry out all of `migrations` or none."""
    connection.execute("BEGIN IMMEDIATE")
    failpoint(Failpoint.BEGIN)
    try:
        for migration in migrations:
            connection.execute(migration.sql).fetchall()
        connection.execute(f"PRAGMA user_version={migrations[-1].version}")
        failpoint(Failpoint.INSERT)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    failpoint(Failpoint.COMMIT)
