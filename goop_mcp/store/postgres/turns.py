"""Turns among the threads of one process, first come first served."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["Turns"]


class Turns:
    """A number of places that threads take in the order in which they came, which a plain lock does not promise."""

    def __init__(self, places: int = 1) -> None:
        """Begin with so many free places, at least one."""
        self._free = places
        self._guard = Lock()
        self._waiting: deque[Lock] = deque()

    @contextmanager
    def taken(self, timeout: float) -> Iterator[bool]:
        """Hold a place; the value tells whether there was one within `timeout` seconds."""
        got = self._take(timeout)
        try:
            yield got
        finally:
            if got:
                self._give()

    def _take(self, timeout: float) -> bool:
        with self._guard:
            if self._free:
                self._free -= 1
                return True

            bell = Lock()
            bell.acquire()
            self._waiting.append(bell)

        return bell.acquire(timeout=max(timeout, 0)) or self._withdraw(bell)

    def _withdraw(self, bell: Lock) -> bool:
        """Leave the queue; True when the place was handed over at the last moment."""
        with self._guard:
            if bell in self._waiting:
                self._waiting.remove(bell)
                return False

            return True

    def _give(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
