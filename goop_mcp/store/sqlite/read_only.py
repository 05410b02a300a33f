"""Read a SQLite file of another program without changing or trusting anything in it."""

import itertools
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import apsw

from goop_mcp.errors import StoreCorruptError, StoreError, StoreUnavailableError

__all__ = ["read_only"]

T = TypeVar("T")

# Short: this is the database of another program, which must not be disturbed.
_BUSY_MILLISECONDS = 1_000
# Steps of SQLite's virtual machine, some seconds of work.
_MOST_STEPS = 20_000_000
_STEPS_AT_ONCE = 100_000
# A copy is only needed in rare cases, and it must not fill the disk for temporary files.
_MOST_COPIED = 256 * 1024 * 1024
_ATTEMPTS = 3
_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW


def read_only(path: Path, ask: Callable[[apsw.Connection], T]) -> T:
    """Return what `ask` reads in one view of the database in the file `path`, not a link.

    Raises StoreError.

    A log (`-wal`) next to the file holds the latest changes, so the file is then never read alone.
    Where the log cannot be read in place, as in a read-only folder, a copy of both is read.
    """
    try:
        for _ in range(_ATTEMPTS):
            # Before the file is opened, since opening a pipe waits for its other end.
            _refuse_special_files(path)
            if _next_to(path, "-wal").exists():
                return _ask_with_log(path, ask)

            before = _stamps(path)

            try:
                # Without a log the file is complete. `immutable` makes SQLite create no files next
                # to it, but also take no locks; the stamps show whether anybody wrote meanwhile.
                answer = _ask(path, "mode=ro&immutable=1", ask)
            except apsw.Error:
                if _is_as_before(path, before):
                    raise

                continue

            if _is_as_before(path, before):
                return answer
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorruptError(
            f"{path.name} cannot be read: {error}; restore it from a backup"
        ) from None
    except apsw.InterruptError:
        raise StoreUnavailableError(
            f"{path.name} cannot be read: it asks for too much work"
        ) from None
    except apsw.Error as error:
        raise StoreUnavailableError(f"{path.name} cannot be read: {error}; try again") from None
    except StoreError:
        raise
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise StoreUnavailableError(f"{path.name} cannot be read: {reason}; try again") from None

    raise StoreUnavailableError(
        f"{path.name} cannot be read: it is being written all the time; try again"
    )


def _refuse_special_files(path: Path) -> None:
    """Raise StoreUnavailableError for a pipe, which SQLite would wait for, or a link."""
    for ending in ("", "-wal", "-shm", "-journal"):
        place = _next_to(path, ending)
        try:
            found = place.lstat()
        except FileNotFoundError:
            continue

        if not stat.S_ISREG(found.st_mode):
            raise StoreUnavailableError(
                f"{path.name} cannot be read: {place.name} is not a file; remove it"
            )


def _is_as_before(path: Path, before: list[tuple[int, int]]) -> bool:
    """Return whether nobody has started to write since `before`."""
    return not _next_to(path, "-wal").exists() and _stamps(path) == before


def _ask_with_log(path: Path, ask: Callable[[apsw.Connection], T]) -> T:
    if _next_to(path, "-shm").exists():
        # SQLite needs to write the index of the log even for reading. Without permission for that,
        # read a copy.
        with suppress(apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError):
            return _ask(path, "mode=ro", ask)

    with tempfile.TemporaryDirectory(prefix="goop-mcp-") as folder:
        return _ask(_copied(path, Path(folder)), "mode=ro", ask)


def _ask(path: Path, options: str, ask: Callable[[apsw.Connection], T]) -> T:
    connection = apsw.Connection(f"{path.as_uri()}?{options}", flags=_FLAGS)
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.execute("PRAGMA trusted_schema = OFF")
        # NOFOLLOW again in the flags: the file may have been replaced since it was looked at.
        # Bounds the work that the content of the file can cause.
        steps = itertools.count(_STEPS_AT_ONCE, _STEPS_AT_ONCE)
        connection.set_progress_handler(lambda: next(steps) > _MOST_STEPS, _STEPS_AT_ONCE)
        connection.execute("BEGIN")

        return ask(connection)
    finally:
        connection.close(force=True)


def _copied(path: Path, folder: Path) -> Path:
    """Return a copy of the file in `folder`, with its log, as both were at one moment."""
    # Two files cannot be copied atomically. If size and time of both are the same before and after,
    # neither was written in between; otherwise the copy is made again.
    copy, log = folder / path.name, _next_to(path, "-wal")
    for _ in range(_ATTEMPTS):
        before = _stamps(path, log)
        if sum(size for size, _ in before) > _MOST_COPIED:
            raise StoreUnavailableError(
                f"{path.name} cannot be read: a copy of it is needed, and it is too large"
            )

        for source, target in ((path, copy), (log, _next_to(copy, "-wal"))):
            shutil.copyfile(source, target, follow_symlinks=False)

        if _stamps(path, log) == before:
            return copy

    raise StoreUnavailableError(
        f"{path.name} cannot be read: it is being written all the time; try again"
    )


def _stamps(*paths: Path) -> list[tuple[int, int]]:
    return [(found.st_size, found.st_mtime_ns) for found in (path.lstat() for path in paths)]


def _next_to(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")
