"""A semaphore for the threads of one process, fair in the order of their requests."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["FifoSemaphore"]


class FifoSemaphore:
    """A semaphore that grants places in the order of requests, which `threading` does not promise.

    A place that is given back while threads wait is handed to the first of them directly: it never
    becomes free in between, so no later thread can take it.
    """

    def __init__(self, places: int = 1) -> None:
        """Start with this number of free places, at least one."""
        self._free = places
        self._guard = Lock()
        self._waiting: deque[Lock] = deque()

    @contextmanager
    def taken(self, timeout: float) -> Iterator[bool]:
        """Hold a place in the block; False if there was none within `timeout` seconds."""
        got = self._take(timeout)
        try:
            yield got
        finally:
            if got:
                with self._guard:
                    if self._waiting:
                        self._waiting.popleft().release()
                    else:
                        self._free += 1

    def _take(self, timeout: float) -> bool:
        with self._guard:
            if self._free:
                self._free -= 1
                return True

            # Whoever gives a place to this thread releases this lock.
            bell = Lock()
            bell.acquire()
            self._waiting.append(bell)

        if bell.acquire(timeout=max(timeout, 0)):
            return True

        # Between the timeout and this point the place may have been handed over. Then the lock is
        # no longer in the queue, and the place must be taken, or nobody would ever return it.
        with self._guard:
            if bell not in self._waiting:
                return True

            self._waiting.remove(bell)
            return False
