"""Translate errors of SQLite into errors for people, with the fix."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Final

import apsw

from goop_mcp.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from goop_mcp.store.file_errors import file_error
from goop_mcp.store.sqlite.wal_files import SUFFIXES

__all__ = ["ForeignValueError", "translating"]

_CORRUPT = "{name} is damaged; {advice}"
_NO_DATABASE = "{name} is not a database; {advice}"
_RESTORE = "it was not changed: restore a copy with goop-mcp restore FILE, or move it away"
_BUSY = "{name} is locked by a program that does not wait for other writers; end it, or try again"
_MISFIT = (
    "{name} refuses the change, which does not fit what it holds ({error}); nothing was written"
)
_FULL = "no space is left for {name}; nothing was written: free some disk space and try again"
_READ_ONLY = (
    "{name} is not writable, and without its companion files it cannot even be read; "
    "give this user write permission on the file and on its folder"
)
_TOO_LONG = (
    "a value of {name} is longer than any that goop-mcp stores, so it is neither read nor written;"
    " restore a copy, or move the file away to start with an empty one"
)
_ENDED = (
    "{name} took too long to answer, so the query was cancelled and nothing was written; try again,"
    " and if it happens again restore a copy, or move the file away to start with an empty one"
)
_FOREIGN_VALUE = (
    "{name} holds a value that goop-mcp does not write, so it is not read; restore a copy, or move"
    " the file away to start with an empty one"
)
_MEMORY = "there is not enough memory to use {name}; nothing was written"
_OTHER = (
    "{name} cannot be used ({error}); nothing was written: check the disk, or name another database"
)

_ERRORS: Final[tuple[tuple[type[apsw.Error], type[StoreError], str], ...]] = (
    (apsw.FullError, StoreFullError, _FULL),
    (apsw.NotADBError, StoreCorruptError, _NO_DATABASE),
    (apsw.CorruptError, StoreCorruptError, _CORRUPT),
    (apsw.FormatError, StoreCorruptError, _CORRUPT),
    (apsw.BusyError, StoreBusyError, _BUSY),
    (apsw.LockedError, StoreBusyError, _BUSY),
    (apsw.ProtocolError, StoreBusyError, _BUSY),
    (apsw.ConstraintError, StoreError, _MISFIT),
    (apsw.NoMemError, StoreError, _MEMORY),
    (apsw.TooBigError, StoreCorruptError, _TOO_LONG),
    (apsw.InterruptError, StoreError, _ENDED),
)


class ForeignValueError(Exception):
    """Raised for a value in a row that goop-mcp never writes."""


@contextmanager
def translating(
    path: Path, *, name: str, connection: apsw.Connection | None = None, advice: str = _RESTORE
) -> Iterator[None]:
    """Raise errors of SQLite in the block as subclasses of StoreError about the file `name`.

    Other exceptions pass through. `connection` gives access to the errno of a failed read or
    write; `advice` is the fix for a damaged file.
    """
    try:
        yield
    except apsw.Error as error:
        raise _translated(error, path, name, connection, advice) from error
    except (UnicodeDecodeError, ForeignValueError) as error:
        raise StoreCorruptError(_FOREIGN_VALUE.format(name=name)) from error


def _translated(
    error: apsw.Error, path: Path, name: str, connection: apsw.Connection | None, advice: str
) -> StoreError:
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        return _not_writable(path, name)
    for kind, ours, text in _ERRORS:
        if isinstance(error, kind):
            return ours(text.format(name=name, error=_short(error), advice=advice))

    if isinstance(error, apsw.CantOpenError):
        return _cannot_open(path, name)

    number = _system_error(error, connection)

    return (
        file_error(number, name)
        if number
        else StoreError(_OTHER.format(name=name, error=_short(error)))
    )


def _system_error(error: apsw.Error, connection: apsw.Connection | None) -> int:
    """Return the errno that caused `error`, 0 when it is not known."""
    if not isinstance(error, apsw.IOError):
        return 0
    # SQLite keeps no errno when the -shm file, which its processes share, cannot grow.
    if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return errno.ENOSPC
    return connection.system_errno if connection is not None else 0


def _cannot_open(path: Path, name: str) -> StoreError:
    """Return the reason why a file cannot be opened."""
    # The file itself must not be opened here: POSIX drops all locks that this process holds on a
    # file when any of its descriptors is closed, those of SQLite's other connections included.
    try:
        # Fails where no further file can be opened (EMFILE, ENFILE), whichever file it is.
        os.close(os.open(os.devnull, os.O_RDONLY))
        if path.is_symlink():
            return StoreError(
                f"{name} is a symbolic link, which is not followed; put the file itself there"
            )

        path.parent.stat()
    except OSError as error:
        return file_error(error, name)

    if path.is_dir():
        return StoreCorruptError(f"{name} is a folder where a database should be; move it away")
    return _not_writable(path, name)


def _not_writable(path: Path, name: str) -> StoreError:
    """Return the error that names what may not be written: the file, its companions, its folder."""
    # SQLite creates the companions with the mode that the file had at that time, and says only
    # which database it was.
    files = {f"{name}{suffix}": f"{path}{suffix}" for suffix in ("", *SUFFIXES)}
    files[PurePath(name).parent.as_posix()] = str(path.parent)
    refused = [
        shown
        for shown, file in files.items()
        if os.path.lexists(file)
        and not os.access(file, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    ]
    # As far as the system says: a disk may be read-only as a whole.
    if not refused or refused[0] == name:
        return StoreReadOnlyError(_READ_ONLY.format(name=name))

    verb, them = ("is", "it") if len(refused) == 1 else ("are", "them")
    return StoreReadOnlyError(
        f"{' and '.join(refused)} {verb} not writable; give this user write permission on {them}:"
        f" chmod u+w {' '.join(refused)}"
    )


def _short(error: apsw.Error) -> str:
    return str(error).removeprefix(f"{type(error).__name__}: ")[:200]
