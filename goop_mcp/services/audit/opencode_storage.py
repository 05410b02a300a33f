"""Read the sessions that OpenCode keeps: in a database, in older versions in JSON files.

Nothing of it is changed: a database with a log of its own is copied before SQLite opens it, which
would write next to it.
"""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from goop_mcp.services.audit.sources import Source
from goop_mcp.services.small_files import read_whole

__all__ = ["UnreadableStorageError", "database_sessions", "read_session", "stored_sessions"]

_MOST_DATABASE: Final = 2 * 1024**3
_MOST_INFO: Final = 1024 * 1024
_MOST_SESSIONS: Final = 20_000
_MOST_PARTS: Final = 50_000
_STEPS: Final = 100_000
"""How many steps of SQLite pass before it asks whether it takes too long."""
_MOST_ASKED: Final = 20_000


class UnreadableStorageError(OSError):
    """Raised when a session cannot be read; the text says why, in one clause."""


def database_sessions(path: str, is_wanted: Callable[[str], bool]) -> Iterator[Source]:
    """Yield the sessions in the database whose folder is wanted.

    One that cannot be read is one source with its `problem`.
    """
    try:
        with opened_database(path) as database:
            rows = database.execute(
                "SELECT s.id, s.directory, s.time_updated, coalesce((SELECT sum(length(p.data))"
                " FROM part p WHERE p.session_id = s.id), 0) FROM session s"
                " ORDER BY s.time_updated DESC LIMIT ?",
                (_MOST_SESSIONS,),
            ).fetchall()
    except (OSError, sqlite3.Error) as error:
        yield Source("opencode", path, "", 0, 0.0, f"the database cannot be read: {_why(error)}")
        return

    for session, directory, updated, size in rows:
        if isinstance(session, str) and isinstance(directory, str) and is_wanted(directory):
            changed = updated / 1000 if isinstance(updated, int | float) else 0.0
            yield Source("opencode", path, session, int(size), changed)


def stored_sessions(paths: Iterable[str], is_wanted: Callable[[str], bool]) -> Iterator[Source]:
    """Yield the sessions whose files are at `paths`, below `storage/session`, if wanted."""
    for path in paths:
        try:
            info = _object(path)
            changed = Path(path).stat().st_mtime
        except OSError:
            continue
        directory = info.get("directory")
        if isinstance(directory, str) and is_wanted(directory):
            yield Source("opencode", path, str(info.get("id")), 0, changed)


def read_session(source: Source, *, most: int) -> dict[str, object]:
    """Return the session as its export has it: `info` and `messages`.

    Raises OSError, also for one that has more than `most` bytes.
    """
    if source.path.endswith(".json"):
        return _from_files(source, most=most)
    try:
        with opened_database(source.path) as database:
            return _from_database(database, source.session)
    except sqlite3.Error as error:
        raise UnreadableStorageError(f"the database cannot be read: {_why(error)}") from None


@contextmanager
def opened_database(path: str) -> Iterator[sqlite3.Connection]:
    """Open the database to read it, and change neither it nor its folder."""
    log = Path(f"{path}-wal")
    if not log.exists() or log.stat().st_size == 0:
        with closing(_connect(path)) as database:
            yield database
        return

    with tempfile.TemporaryDirectory(prefix="goop-audit-") as folder:
        copy = str(Path(folder, "copy.db"))
        before = _state(path)
        if before[1] + log.stat().st_size > _MOST_DATABASE:
            raise UnreadableStorageError("it is larger than 2 GB")
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        if _state(path) != before:
            raise UnreadableStorageError("its host writes it just now; try again")
        with closing(_connect(copy, immutable=False)) as database:
            yield database


def _state(path: str) -> tuple[int, int]:
    state = Path(path).stat()
    return state.st_mtime_ns, state.st_size


def _connect(path: str, *, immutable: bool = True) -> sqlite3.Connection:
    address = f"{Path(path).resolve().as_uri()}?mode={'ro&immutable=1' if immutable else 'rw'}"
    database = sqlite3.connect(address, uri=True)
    database.execute("PRAGMA trusted_schema = OFF")
    asked = iter(range(_MOST_ASKED))
    # A database that was made for it could keep us busy for ever.
    database.set_progress_handler(lambda: int(next(asked, None) is None), _STEPS)
    return database


def _from_database(database: sqlite3.Connection, session: str) -> dict[str, object]:
    row = database.execute(
        "SELECT directory, version FROM session WHERE id = ?", (session,)
    ).fetchone()
    if row is None:
        raise UnreadableStorageError("the session is gone")

    messages: dict[str, dict[str, object]] = {}
    for id, data in database.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id LIMIT ?",
        (session, _MOST_PARTS),
    ):
        messages[str(id)] = {"info": {**_decoded(data), "id": id}, "parts": []}
    for id, message, data in database.execute(
        "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id LIMIT ?",
        (session, _MOST_PARTS),
    ):
        _add(messages.get(str(message)), {**_decoded(data), "id": id})

    info = {"id": session, "directory": row[0], "version": row[1]}
    return {"info": info, "messages": list(messages.values())}


def _add(message: dict[str, object] | None, part: dict[str, object]) -> None:
    parts = message.get("parts") if message is not None else None
    if isinstance(parts, list):
        parts.append(part)


def _decoded(data: object) -> dict[str, object]:
    try:
        value = json.loads(data) if isinstance(data, str | bytes) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnreadableStorageError("a part of the session is damaged")
    return value


def _from_files(source: Source, *, most: int) -> dict[str, object]:
    # storage/session/PROJECT/SESSION.json, storage/message/SESSION/*, storage/part/MESSAGE/*
    storage = Path(source.path).parents[2]
    left = most
    messages: list[object] = []
    for path in _sorted_files(storage / "message" / source.session):
        info = _object(path, most=left)
        parts: list[object] = []
        for part in _sorted_files(storage / "part" / Path(path).stem):
            left -= Path(part).stat().st_size
            parts.append(_object(part, most=left))
        messages.append({"info": info, "parts": parts})

    return {"info": _object(source.path), "messages": messages}


def _sorted_files(folder: Path) -> list[str]:
    # Their ids grow with time.
    try:
        return sorted(str(each) for each in folder.iterdir() if each.suffix == ".json")
    except OSError:
        return []


def _object(path: str, *, most: int = _MOST_INFO) -> dict[str, object]:
    content = read_whole(path, most=max(most, 0))
    if content is None:
        raise UnreadableStorageError("a file of the session is missing")
    return _decoded(content)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error).lower()
