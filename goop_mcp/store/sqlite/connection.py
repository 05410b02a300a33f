"""Open a SQLite file: for the one thread that writes, and for the threads that read."""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from goop_mcp.errors import StoreCorruptError, StoreError, StoreVersionError
from goop_mcp.store.failpoints import Failpoint, failpoint
from goop_mcp.store.file_errors import file_error
from goop_mcp.store.filesystems import MOUNT_TABLE, network_filesystem
from goop_mcp.store.git_ignore import GIT_IGNORE, NOT_FOR_GIT
from goop_mcp.store.migrations import Migration
from goop_mcp.store.sqlite.errors import translating
from goop_mcp.store.sqlite.schema import find_foreign_objects, read_objects
from goop_mcp.store.sqlite.wal_files import SUFFIXES, FileIdentity, WalFiles, find_wal_files

__all__ = [
    "NEW_FILE_MODE",
    "DatabaseFile",
    "OtherProgramError",
    "refuse_unsafe_sqlite",
    "sync_folder",
]

NEW_FILE_MODE = 0o600
"""Only the owner may read reports and memories; SQLite gives -wal and -shm the same mode."""

# "goop" in ASCII, in the header of the file: by which programs recognize their own files.
_APPLICATION = 0x676F6F70

# 3.51.3 repaired a reset of the log that could overwrite commits of another process.
_OLDEST_SAFE = (3, 51, 3)
# FULL, as an acknowledged report must survive a power cut, not only the end of the process.
_WRITER = (
    "synchronous=FULL",
    "cache_size=-16000",
    "foreign_keys=ON",
    "mmap_size=0",
    "trusted_schema=OFF",
    "wal_autocheckpoint=1000",
    # Deleted content is overwritten with zeros, as a forgotten memory must not stay in unused parts
    # of the file.
    "secure_delete=ON",
)
# A reader that wrote by mistake would bypass the lock of writers.
_READER = ("query_only=ON", "cache_size=-8000", "mmap_size=0", "trusted_schema=OFF")
# The lock of writers is held already, so only readers of a checkpoint are waited for.
_PATIENCE_MS = 10_000
# Several times the row of the longest reply. SQLite refuses a longer value before loading it.
_LONGEST_ROW = 16 * 1024 * 1024
_STEPS_BETWEEN_CLOCK_CHECKS = 100_000
# More foreign names would not help whoever has to decide what the file is.
_MOST_NAMED = 3
# Ten times what the slowest migration took with a cold cache.
_SECONDS_PER_MEGABYTE = 2


class OtherProgramError(StoreCorruptError):
    """Raised for a database of another program, which is neither moved nor overwritten."""


def refuse_unsafe_sqlite(version: str) -> None:
    """Raise StoreError for a SQLite with the WAL-reset bug, which can damage shared files."""
    if tuple(int(part) for part in version.split(".")[:3]) < _OLDEST_SAFE:
        raise StoreError(
            f"SQLite {version} can damage a shared database; install apsw 3.51.3 or newer"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFile:
    """A database file, which may not exist yet.

    `name` is shown in messages; `migrations` create the tables of this program. `makes_folder` is
    whether the folder of the file may be created with it; the folders above it never are.
    `hides_from_git` is whether the folder gets a `.gitignore` with the first write, unless it has
    one. No read and no write takes longer than `seconds`.
    """

    path: Path
    name: str
    migrations: Sequence[Migration]
    mount_table: Path = MOUNT_TABLE
    makes_folder: bool = False
    hides_from_git: bool = False
    seconds: float = 30.0

    @property
    def newest(self) -> int:
        """The version of the tables that this program works with."""
        return self.migrations[-1].version

    def wal_files(self) -> WalFiles:
        """Return which log and index of the log are next to the file now."""
        return find_wal_files(self.path)

    def identity(self) -> FileIdentity | None:
        """Return what distinguishes this file from a replacement, None when it does not exist.

        Raises StoreError for a symbolic link and for anything else that is not a file.
        """
        try:
            found = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise file_error(error, self.name) from error

        if stat.S_ISLNK(found.st_mode):
            raise StoreError(
                f"{self.name} is a symbolic link, which is not followed; put the file itself there"
            )

        if not stat.S_ISREG(found.st_mode):
            raise StoreCorruptError(
                f"{self.name} is not a file; move it away, or name another database"
            )

        return found.st_dev, found.st_ino

    def create_folder(self) -> None:
        """Create the folder of the database if `makes_folder`, but none above it.

        Raises StoreError when there is no folder.
        """
        folder = self.path.parent
        if not self.makes_folder:
            if not folder.is_dir():
                raise file_error(errno.ENOENT, self.name)
            return

        try:
            if not folder.exists():
                folder.mkdir()
                sync_folder(folder.parent)
            # A person or a hook may have created the folder, and a writer may have been killed.
            ignored = folder / GIT_IGNORE
            if self.hides_from_git and not os.path.lexists(ignored):
                with ignored.open("x", encoding="utf-8") as file:
                    file.write(NOT_FOR_GIT)
        except FileExistsError:
            return
        except OSError as error:
            raise file_error(error, self.name) from error

    def warnings(self) -> tuple[str, ...]:
        """Return what people should know about where the file is."""
        kind = network_filesystem(self.path.parent, mount_table=self.mount_table)
        if kind is None:
            return ()
        return (
            (
                f"{self.name} lies on a network filesystem ({kind}): a slower and safer way of"
                " writing is used; for several machines use a database of PostgreSQL"
            ),
        )

    def open_writer(self) -> apsw.Connection:
        """Open the file for the thread that holds the lock; create it and its tables if needed."""
        self._create_private()
        with self._opened(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) as connection:
            if connection.readonly("main"):
                # Where the file may not be written, SQLite opens it for reading without an error.
                # Such a connection stays read-only after the permissions are fixed, and creates
                # WAL files that later writers may not write.
                raise apsw.ReadOnlyError("the file was opened for reading only")

            self.refuse_foreign_objects(connection)
            # WAL keeps its index in shared memory, which processes on different machines do not
            # share.
            connection.execute(f"PRAGMA journal_mode={'TRUNCATE' if self.warnings() else 'WAL'}")
            _set(connection, _WRITER)
            self._bring_up_to_date(connection)

        return connection

    def open_reader(self) -> apsw.Connection:
        """Open the existing file for reading; only the WAL files that SQLite needs are created."""
        with self._opened(apsw.SQLITE_OPEN_READWRITE) as connection:
            _set(connection, _READER)
            self.refuse_foreign_objects(connection)
        return connection

    def open_empty(self) -> apsw.Connection:
        """Open a database in memory with tables but no rows; it is read when there is no file."""
        connection = apsw.Connection(":memory:")
        self._bring_up_to_date(connection)
        return connection

    def version_of(self, connection: apsw.Connection, *, name: str = "") -> int:
        """Return the version of the tables, 0 without tables.

        `name` is shown in messages when `connection` has a copy of the file open. Raises
        StoreVersionError for a version that is newer than this program.
        """
        version = int(connection.pragma("user_version"))
        if version > self.newest:
            raise StoreVersionError(
                f"{name or self.name} has version {version} of the tables, "
                f"this goop-mcp knows them up to {self.newest}; "
                "install the newest goop-mcp, or name another database"
            )

        return version

    def translating(
        self, connection: apsw.Connection | None = None
    ) -> AbstractContextManager[None]:
        """Raise errors of SQLite in the block as subclasses of StoreError that name this file."""
        return translating(self.path, name=self.name, connection=connection)

    @contextmanager
    def bounded(self, connection: apsw.Connection, seconds: float | None = None) -> Iterator[None]:
        """Interrupt SQLite in the block after `seconds`, by default those of this file.

        A file made by somebody else may hold anything, such as an endless number of rows.
        """
        ends = time.monotonic() + (self.seconds if seconds is None else seconds)
        connection.set_progress_handler(
            lambda: time.monotonic() > ends, _STEPS_BETWEEN_CLOCK_CHECKS
        )

        try:
            yield
        finally:
            connection.set_progress_handler(None)

    @contextmanager
    def _opened(self, flags: int) -> Iterator[apsw.Connection]:
        """Open the file; close it again if the block fails."""
        refuse_unsafe_sqlite(apsw.sqlite_lib_version())
        # SQLITE_OPEN_NOFOLLOW refuses links anywhere in the path. Links to the folder are the
        # user's choice and are resolved here; the file itself must not be a link.
        path = self.path.parent.resolve() / self.path.name
        with self.translating():
            connection = apsw.Connection(str(path), flags=flags | apsw.SQLITE_OPEN_NOFOLLOW)

        try:
            # By default, closing the last connection runs a checkpoint and deletes the log. That
            # must not happen outside the lock, nor in a child after a fork.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            # Content of the file must not run code. This comes before the first statement, which
            # reads the schema.
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
            # Plans that do not depend on the values. Without it, SQLite prepares each statement
            # with an ORDER BY again for new values, to look at statistics that there are none of.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)

            connection.set_busy_timeout(min(_PATIENCE_MS, int(self.seconds * 1000)))
            with self.translating(connection), self.bounded(connection):
                yield connection
        except BaseException:
            connection.close()
            raise

    def _create_private(self) -> None:
        """Create the file, if there is none, with a mode that only its owner may read."""
        if self.identity() is not None:
            return

        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, NEW_FILE_MODE))
        except FileExistsError:
            return
        except OSError as error:
            raise file_error(error, self.name) from error

    def refuse_foreign_objects(self, connection: apsw.Connection, *, name: str = "") -> None:
        """Raise StoreCorruptError for a file of another program or with a different schema.

        `name` as in `version_of`.
        """
        # In one transaction, as another process may be creating the tables at this moment.
        connection.execute("BEGIN")
        is_ours = connection.pragma("application_id") == _APPLICATION
        found = read_objects(connection)
        if found and not is_ours:
            raise OtherProgramError(
                f"{name or self.name} belongs to another program; name another database"
            )

        version = self.version_of(connection, name=name)
        connection.execute("ROLLBACK")

        if foreign := find_foreign_objects(found, self.migrations[:version]):
            shown = ", ".join(ascii(name[:40]) for name in foreign[:_MOST_NAMED])
            more = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
            raise StoreCorruptError(
                f"{name or self.name} does not declare its tables as goop-mcp does (see"
                f" {shown}{more}), so it is not used; expected only what goop-mcp created: restore"
                " a copy, or move the file away to start with an empty one"
            )

    def _bring_up_to_date(self, connection: apsw.Connection) -> None:
        version = self.version_of(connection)
        if version == 0:
            # A new file has no rows to keep a copy of. It gets all its tables in one transaction,
            # so that a kill leaves none, and the next process starts from version 0 again.
            _migrate(connection, self.migrations)
        elif version < self.newest:
            # The lock of writers is held: no other process migrates or writes meanwhile. Each
            # migration and its version number are one transaction, so that after a kill the
            # remaining ones run; the copy is for going back to an earlier goop-mcp.
            self._keep_copy(connection, version)
            # Migrations that touch every row take longer than any other write. Their time is
            # bounded by the size of the file, so that a small forged one cannot take minutes.
            size = self.path.stat().st_size if self.identity() else 0
            with self.bounded(connection, self.seconds + _SECONDS_PER_MEGABYTE * size / 1e6):
                for migration in self.migrations[version:]:
                    _migrate(connection, [migration])

    def _keep_copy(self, connection: apsw.Connection, version: int) -> None:
        """Copy the file next to itself, whole or not at all, before its tables are changed."""
        # The copy is written under another name and renamed when it is complete, so that whatever
        # has the final name is whole.
        copy = self.path.with_name(f"{self.path.name}.version-{version}")
        unfinished = copy.with_name(f".{copy.name}.goop-tmp")

        try:
            unfinished.unlink(missing_ok=True)
            self.copy_to(unfinished, connection)
            unfinished.replace(copy)
            sync_folder(copy.parent)
        except StoreError:
            raise
        except OSError as error:
            raise file_error(error, f"the copy of {self.name}") from error

    def log_is_empty(self) -> bool:
        """Return whether there is no log next to the file, or an empty one."""
        try:
            return os.lstat(f"{self.path}-wal").st_size == 0
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def keep_view(self, connection: apsw.Connection) -> str:
        """Write what `connection` sees to a copy next to the file, and return the copy's name.

        Raises StoreError.
        """
        suffix = f".{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}"
        copy = self.path.with_name(f"{self.path.name}{suffix}")

        try:
            self.copy_to(copy, connection)
            sync_folder(copy.parent)
        except OSError as error:
            raise file_error(error, f"the copy of {self.name}") from error

        return f"{self.name}{suffix}"

    def move_aside(self) -> str:
        """Rename the file and its WAL files within the folder, and return the file's new name.

        Raises StoreError.
        """
        suffix = f".damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}"
        try:
            for companion in ("", *SUFFIXES):
                path = Path(f"{self.path}{companion}")
                if os.path.lexists(path):
                    path.replace(f"{self.path}{suffix}{companion}")

            sync_folder(self.path.parent)
        except OSError as error:
            raise file_error(error, self.name) from error

        return f"{self.name}{suffix}"

    def copy_to(self, path: Path, connection: apsw.Connection) -> None:
        """Write what `connection` sees to a new file at `path`, for its owner only.

        Raises OSError and StoreError.
        """
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, NEW_FILE_MODE))
        target = apsw.Connection(str(path))

        try:
            with self.translating(target), target.backup("main", connection, "main") as backup:
                backup.step()
        finally:
            target.close()


def sync_folder(folder: Path) -> None:
    """Write the entries of a folder to disk; a rename is durable only after it.

    Windows offers no such call and needs none.
    """
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
    """Run all of `migrations` or none."""
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
