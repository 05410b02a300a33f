"""Backups of a database: written while others use it, and checked before a restore."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from goop_mcp.errors import StoreCorruptError, StoreError, UnwritableFileError
from goop_mcp.store.sqlite.connection import DatabaseFile, sync_folder
from goop_mcp.store.sqlite.errors import translating

__all__ = ["opened_copy", "write_copy"]

_NOT_COPIED = "nothing was written: goop-mcp doctor shows what is wrong with the database"
_NOT_RESTORED = "nothing was restored: name another copy that goop-mcp backup wrote"


def write_copy(
    file: DatabaseFile, connection: apsw.Connection, target: Path, *, force: bool
) -> None:
    """Write what `connection` sees of `file` to `target`: one complete, undamaged file or none.

    Raises StoreError, and UnwritableFileError for a target that cannot be written or that exists,
    unless `force`.
    """
    _refuse_target(file, target, force=force)
    # Copy, check, sync, and only then rename: an existing backup is replaced by a checked one, and
    # a kill or power failure leaves either of the two.
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.goop-tmp")

    try:
        unfinished.unlink(missing_ok=True)
        file.copy_to(unfinished, connection)
        _refuse_damaged(unfinished, name=f"the copy of {file.name}")
        _sync_file(unfinished)
        unfinished.replace(target)
        sync_folder(target.parent)
    except StoreError:
        raise
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise UnwritableFileError(
            f"{str(target)!r} cannot be written ({reason}); name another file"
        ) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextmanager
def opened_copy(source: Path, file: DatabaseFile) -> Iterator[apsw.Connection]:
    """Open the backup at `source` for reading, after checking that it is undamaged and ours.

    A log next to it counts as part of it. Raises StoreError, and then nothing may be restored.
    """
    name = repr(str(source))
    if not source.is_file():
        raise StoreError(f"{name} is not a file; name a copy that goop-mcp backup wrote")
    if file.path.exists() and source.samefile(file.path):
        raise StoreError(f"{name} is the database itself; name a copy that goop-mcp backup wrote")

    with translating(source, name=name, advice=_NOT_RESTORED):
        connection = apsw.Connection(str(source.resolve()), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            file.refuse_foreign_objects(connection, name=name)
            if not file.version_of(connection, name=name):
                raise StoreCorruptError(
                    f"{name} holds no tables of goop-mcp; name the copy that backup has written"
                )

            _refuse_damage(connection, name=name, advice=_NOT_RESTORED)
            yield connection
        finally:
            connection.close()


def _refuse_target(file: DatabaseFile, target: Path, *, force: bool) -> None:
    database = file.path.resolve()
    own = {
        database.with_name(database.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")
    }
    if target.resolve() in own:
        raise UnwritableFileError(f"{str(target)!r} is the database itself; name another file")
    if not force and os.path.lexists(target):
        raise UnwritableFileError(
            f"{str(target)!r} exists already; name another file, or overwrite it with --force"
        )


def _refuse_damaged(path: Path, *, name: str) -> None:
    with translating(path, name=name, advice=_NOT_COPIED):
        connection = apsw.Connection(str(path))
        try:
            # Without WAL mode the copy is one file, which can be moved without WAL files.
            connection.execute("PRAGMA journal_mode=DELETE")
            _refuse_damage(connection, name=name, advice=_NOT_COPIED)
        finally:
            connection.close()


def _refuse_damage(connection: apsw.Connection, *, name: str, advice: str) -> None:
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise StoreCorruptError(f"{name} is damaged ({found[0][:200]}); {advice}")


def _sync_file(path: Path) -> None:
    # Windows syncs only files that are open for writing.
    flags = os.O_RDWR if sys.platform == "win32" else os.O_RDONLY
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
