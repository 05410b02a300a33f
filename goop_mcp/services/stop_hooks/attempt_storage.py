"""The attempts of all running agents, in a file or in memory, and lines for orchestrators.

A file is shared by processes that run one check each. Each change of it is a read, a decision and
a replacement of the whole file under a lock between processes, so that two agents that stop at the
same time do not lose a count. A process that runs for a whole session keeps them in memory.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final, TypeVar

from goop_mcp.services.small_files import read_whole
from goop_mcp.services.stop_hooks.attempts import TurnState, requests_of
from goop_mcp.store.file_locks import take_lock_if_free

__all__ = ["NAME", "AttemptFile", "AttemptsInMemory", "DecisionFile", "EntryFile", "RefusalFile"]

NAME: Final = "hook-attempts.json"
_DECISIONS: Final = "hook-decisions.json"
_REFUSALS: Final = "task-refusals.json"
_KEPT_SECONDS = 24 * 60 * 60
_MOST_ENTRIES = 10_000
_MOST_BYTES = 8 * 1024 * 1024
_PATIENCE = 3.0
_PAUSE = 0.01
_T = TypeVar("_T")


class EntryFile:
    """Values of JSON by key, in a file that is shared by processes.

    `now` is in seconds since 1970. Entries expire a day after their last change, the oldest first
    if there are more than 10,000, or more than 8 MiB of them. Methods raise OSError.
    """

    def __init__(self, folder: str, name: str, *, now: float) -> None:
        """Use the file `name` in `folder`, which is created when something is stored."""
        self._folder, self._name, self._now = folder, name, now
        self._path = f"{folder}{os.sep}{name}"

    def read(self) -> dict[str, object]:
        """Return the values that have not expired; a damaged file counts as empty."""
        return {key: value for key, (_, value) in self._read().items()}

    @contextmanager
    def changing(self) -> Iterator[dict[str, object]]:
        """Yield the values without any other process in between; store what changed in them."""
        # `os` instead of pathlib, which is slow to import.
        os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103
        with self._alone():
            entries = self._read()
            values = {key: value for key, (_, value) in entries.items()}
            yield values

            kept = {
                key: entries[key]
                if key in entries and entries[key][1] == value
                # An entry that changed expires later.
                else (self._now, value)
                for key, value in values.items()
            }
            if kept != entries:
                newest = sorted(kept.items(), key=lambda each: each[1][0])[-_MOST_ENTRIES:]
                content = json.dumps(dict(newest)).encode()
                while len(content) > _MOST_BYTES:
                    # A larger file would never be read again. Half of them go at a time, because
                    # each look at the size costs as much as the file is long.
                    newest = newest[(len(newest) + 1) // 2 :]
                    content = json.dumps(dict(newest)).encode()

                # The lock admits a single writer, so that a fixed name is safe, and the next writer
                # overwrites the temporary file of a killed one.
                temporary = f"{self._path}.new"
                with os.fdopen(_open(temporary, os.O_WRONLY | os.O_TRUNC), "wb") as file:
                    file.write(content)

                os.replace(temporary, self._path)  # noqa: PTH105 - pathlib is slow to import

    def _read(self) -> dict[str, tuple[float, object]]:
        content = read_whole(self._path, most=_MOST_BYTES)
        try:
            stored = json.loads(content or b"{}")
        except (ValueError, RecursionError):
            return {}

        read: dict[str, tuple[float, object]] = {}
        for key, entry in stored.items() if isinstance(stored, dict) else ():
            match entry:
                case [int() | float() as at, value] if abs(self._now - at) < _KEPT_SECONDS:
                    read[key] = (at, value)
                case _:
                    continue

        return read

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock between processes. Raises OSError after three seconds."""
        lock = _open(f"{self._path}.lock", os.O_RDWR)
        give_up = time.monotonic() + _PATIENCE
        try:
            while not take_lock_if_free(lock):
                if time.monotonic() > give_up:
                    raise OSError(
                        f"{self._name} is in use by another process for over {_PATIENCE:.0f}"
                        " seconds"
                    )

                time.sleep(_PAUSE)

            yield
        finally:
            os.close(lock)


class AttemptFile:
    """Attempts by key, in a file. `change` raises OSError."""

    def __init__(self, folder: str, *, now: float) -> None:
        """Use the file in `folder`, which is created when an attempt is stored."""
        self._file = EntryFile(folder, NAME, now=now)

    def change(self, key: str, decide: Callable[[TurnState | None], tuple[TurnState, _T]]) -> _T:
        """Replace the attempt at `key` by the first result of `decide`, and return the second."""
        with self._file.changing() as entries:
            attempt, result = decide(_attempt(entries.get(key)))
            entries[key] = list(attempt)

        return result

    def find(self, key: str) -> TurnState | None:
        """Return the attempt at `key`, None without one or where the file cannot be read."""
        try:
            return _attempt(self._file.read().get(key))
        except OSError:
            return None

    def forget(self, key: str) -> int:
        """Remove the attempt at `key`, and return how often its agent was asked.

        Never raises: an accepted report must pass, and a count that stays expires in a day.
        """
        with suppress(OSError):
            # Most reports are accepted at once: without an entry neither lock nor write is needed.
            if key in self._file.read():
                with self._file.changing() as entries:
                    return requests_of(_attempt(entries.pop(key, None)))

        return 0

    def unaccepted(self, prefix: str) -> TurnState | None:
        """Return the attempt of the agent with keys that begin with `prefix`, if it ended rejected.

        None for any other end, and if the file cannot be read.
        """
        try:
            entries = self._file.read()
        except OSError:
            return None

        attempts = (_attempt(value) for key, value in entries.items() if key.startswith(prefix))
        return next((each for each in attempts if each is not None and each.over), None)


class DecisionFile:
    """What became of recorded reports, a line each, until the orchestrator receives it.

    One process records the report of an agent, and another one answers the event by which the
    orchestrator receives the agent's result. A line that cannot be stored is not delivered, which
    breaks nothing: `record_report` then answers that the report is recorded already.
    """

    def __init__(self, folder: str, *, now: float) -> None:
        """Use the file in `folder`, which is created when a line is stored."""
        self._file = EntryFile(folder, _DECISIONS, now=now)

    def keep(self, agent: str, line: str) -> None:
        """Keep the line about the newest report of `agent`, a key."""
        with suppress(OSError), self._file.changing() as entries:
            entries[agent] = line

    def take(self, agent: str) -> str | None:
        """Return the line about the newest report of `agent`, and forget it."""
        with suppress(OSError):
            if agent in self._file.read():
                with self._file.changing() as entries:
                    line = entries.pop(agent, None)

                return line if isinstance(line, str) else None

        return None


def _open(path: str, flags: int) -> int:
    flags |= os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o600)


def _attempt(value: object) -> TurnState | None:
    match value:
        # An earlier version wrote four values.
        case [int() as asked, str() as reply, str() as findings, bool() as over, *more]:
            match more:
                case [str() as stated, int() as prose]:
                    return TurnState(asked, reply, findings, over, stated, prose)
                case _:
                    return TurnState(asked, reply, findings, over)
        case _:
            return None


class RefusalFile:
    """How often each task was refused to each run of an agent, in a file shared by processes."""

    def __init__(self, folder: str, *, now: float) -> None:
        """Use the file in `folder`, which is created with the first refusal."""
        self._file = EntryFile(folder, _REFUSALS, now=now)

    def count(self, key: str, *, most: int) -> int:
        """Return how often `key` was refused before, at most `most`, and count one more.

        Raises OSError.
        """
        with self._file.changing() as refusals:
            before = refusals.get(key)
            known = before if isinstance(before, int) and not isinstance(before, bool) else 0
            refusals[key] = min(known + 1, most)

        return known


class AttemptsInMemory:
    """Attempts by key; may be shared by threads."""

    def __init__(self) -> None:
        """Begin without any."""
        self._kept: dict[str, TurnState] = {}
        self._lock = Lock()

    def change(self, key: str, decide: Callable[[TurnState | None], tuple[TurnState, _T]]) -> _T:
        """Replace the attempt at `key` by the first result of `decide`, and return the second."""
        with self._lock:
            # Removed and added again, so that the order of the dictionary is that of last use.
            attempt, result = decide(self._kept.pop(key, None))
            self._kept[key] = attempt
            while len(self._kept) > _MOST_ENTRIES:
                del self._kept[next(iter(self._kept))]

        return result

    def find(self, key: str) -> TurnState | None:
        """Return the attempt at `key`, None without one."""
        with self._lock:
            return self._kept.get(key)

    def forget(self, key: str) -> int:
        """Remove the attempt at `key`, if any, and return how often its agent was asked."""
        with self._lock:
            return requests_of(self._kept.pop(key, None))
