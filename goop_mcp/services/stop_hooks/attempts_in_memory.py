"""The attempts of all running agents, in the memory of a process that runs for a whole session."""

from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from goop_mcp.services.stop_hooks.attempts import Attempt, requests_of

__all__ = ["AttemptsInMemory"]

_T = TypeVar("_T")
_MOST_ENTRIES = 10_000


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
