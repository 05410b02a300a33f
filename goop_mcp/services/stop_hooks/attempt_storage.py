"""The attempts of all running agents, in a file or in memory.

The file is shared by processes that run one check each. Each change of it is a read, a decision and
a replacement of the whole file under a lock between processes, so that two agents that stop at the
same time do not lose a count. A process that runs for a whole session keeps them in memory.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final, TypeVar

from goop_mcp.services.stop_hooks.attempts import Attempt, requests_of
from goop_mcp.services.stop_hooks.small_files import read_whole
from goop_mcp.store.file_locks import take_lock_if_free

__all__ = ["NAME", "AttemptFile", "AttemptsInMemory"]

NAME: Final = "hook-attempts.json"
_KEPT_SECONDS = 24 * 60 * 60
_MOST_ENTRIES = 10_000
_MOST_BYTES = 8 * 1024 * 1024
_PATIENCE = 3.0
_PAUSE = 0.01
_T = TypeVar("_T")
_Entries = dict[str, tuple[float, Attempt]]


class AttemptFile:
    """Attempts by key.

    `now` is in seconds since 1970. Entries expire a day after their last change, the oldest first
    if there are too many. `change` raises OSError.
    """

    def __init__(self, folder: str, *, now: float) -> None:
        """Use the file in `folder`, which is created when an attempt is stored."""
        self._folder, self._now = folder, now
        self._path = f"{folder}{os.sep}{NAME}"

    def change(self, key: str, decide: Callable[[Attempt | None], tuple[Attempt, _T]]) -> _T:
        """Replace the attempt at `key` by the first result of `decide`, and return the second."""
        # `os` instead of pathlib, which is slow to import.
        os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103
        with self._alone():
            entries = self._read()
            attempt, result = decide(entries[key][1] if key in entries else None)
            self._write({**entries, key: (self._now, attempt)})

        return result

    def forget(self, key: str) -> int:
        """Remove the attempt at `key`, and return how often its agent was asked.

        Never raises: an accepted report must pass, and a count that stays expires in a day.
        """
        with suppress(OSError):
            # Most reports are accepted at once: without an entry neither lock nor write is needed.
            if key in self._read():
                with self._alone():
                    entries = self._read()
                    _, attempt = entries.pop(key, (0.0, None))
                    self._write(entries)

                return requests_of(attempt)

        return 0

    def passed_unaccepted(self, prefix: str) -> bool:
        """Whether the agent with keys that begin with `prefix` ended with an unaccepted report.

        False if the file cannot be read.
        """
        try:
            entries = self._read()
        except OSError:
            return False

        return any(one.over for key, (_, one) in entries.items() if key.startswith(prefix))

    def _read(self) -> _Entries:
        """Return the entries that have not expired; a damaged file counts as empty."""
        content = read_whole(self._path, most=_MOST_BYTES)
        try:
            values = json.loads(content or b"{}")
        except (ValueError, RecursionError):
            return {}

        read = _entries(values) if isinstance(values, dict) else {}

        return {
            key: entry for key, entry in read.items() if abs(self._now - entry[0]) < _KEPT_SECONDS
        }

    def _write(self, entries: _Entries) -> None:
        newest = sorted(entries.items(), key=lambda each: each[1][0])[-_MOST_ENTRIES:]
        values = {
            key: [at, one.asked, one.reply, one.findings, one.over] for key, (at, one) in newest
        }
        # The lock admits a single writer, so that a fixed name is safe, and the next writer
        # overwrites the temporary file of a killed one.
        temporary = f"{self._path}.new"
        with os.fdopen(_open(temporary, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(json.dumps(values).encode())

        os.replace(temporary, self._path)  # noqa: PTH105 - pathlib is slow to import

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock between processes. Raises OSError after three seconds."""
        lock = _open(f"{self._path}.lock", os.O_RDWR)
        give_up = time.monotonic() + _PATIENCE
        try:
            while not take_lock_if_free(lock):
                if time.monotonic() > give_up:
                    raise OSError(
                        f"{NAME} is in use by another process for over {_PATIENCE:.0f} seconds"
                    )

                time.sleep(_PAUSE)

            yield
        finally:
            os.close(lock)


def _open(path: str, flags: int) -> int:
    flags |= os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o600)


def _entries(values: Mapping[str, object]) -> _Entries:
    read: _Entries = {}
    for key, value in values.items():
        match value:
            case [
                int() | float() as at,
                int() as asked,
                str() as reply,
                str() as findings,
                bool() as over,
            ]:
                read[key] = (at, Attempt(asked, reply, findings, over))
            case _:
                continue

    return read


class AttemptsInMemory:
    """Attempts by key; may be shared by threads."""

    def __init__(self) -> None:
        """Begin without any."""
        self._kept: dict[str, Attempt] = {}
        self._lock = Lock()

    def change(self, key: str, decide: Callable[[Attempt | None], tuple[Attempt, _T]]) -> _T:
        """Replace the attempt at `key` by the first result of `decide`, and return the second."""
        with self._lock:
            # Removed and added again, so that the order of the dictionary is that of last use.
            attempt, result = decide(self._kept.pop(key, None))
            self._kept[key] = attempt
            while len(self._kept) > _MOST_ENTRIES:
                del self._kept[next(iter(self._kept))]

        return result

    def forget(self, key: str) -> int:
        """Remove the attempt at `key`, if any, and return how often its agent was asked."""
        with self._lock:
            return requests_of(self._kept.pop(key, None))
