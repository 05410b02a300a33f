"""The attempts of all running agents in one small file, shared by processes that live for one check each."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from goop_mcp.operations.stopping.attempts import Attempt, requests_of
from goop_mcp.operations.stopping.small_files import read_whole
from goop_mcp.store.file_locks import take_lock_if_free

__all__ = ["NAME", "AttemptFile"]

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

    Each change is made under a lock between processes, and the file replaced whole.

    `now` is in seconds since 1970. Entries are forgotten a day after their last change, the oldest
    first when there are too many. `change` raises OSError.
    """

    def __init__(self, folder: str, *, now: float) -> None:
        """Take the file in `folder`, which is made when something is kept."""
        self._folder, self._now = folder, now
        self._path = f"{folder}{os.sep}{NAME}"

    def change(self, key: str, decide: Callable[[Attempt | None], tuple[Attempt, _T]]) -> _T:
        """Let `decide` say what follows on the attempt under `key`, keep that, and return what it says besides."""
        # Pathlib is slow to load
        os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103
        with self._alone():
            entries = self._read()
            attempt, said = decide(entries[key][1] if key in entries else None)
            self._write({**entries, key: (self._now, attempt)})

        return said

    def forget(self, key: str) -> int:
        """Drop the attempt under `key`, and return how often its agent was asked; without one nothing is written.

        Raises nothing: a count that stays is forgotten in a day, and a report that was accepted must pass.
        """
        with suppress(OSError):
            if key in self._read():
                with self._alone():
                    entries = self._read()
                    _, attempt = entries.pop(key, (0.0, None))
                    self._write(entries)

                return requests_of(attempt)

        return 0

    def passed_unaccepted(self, prefix: str) -> bool:
        """Tell whether an agent, whose keys all begin with `prefix`, passed with a report that was not accepted.

        Nobody was when the counts cannot be read.
        """
        try:
            entries = self._read()
        except OSError:
            return False

        return any(one.over for key, (_, one) in entries.items() if key.startswith(prefix))

    def _read(self) -> _Entries:
        """Return the entries that are not too old; a damaged file holds none, and is replaced by the next change."""
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
        # Under the lock there is one writer: what a killed one left under this name is written
        # over.
        beside = f"{self._path}.new"
        with os.fdopen(_open(beside, os.O_WRONLY | os.O_TRUNC), "wb") as file:
            file.write(json.dumps(values).encode())

        os.replace(beside, self._path)  # noqa: PTH105 - as above

    @contextmanager
    def _alone(self) -> Iterator[None]:
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
