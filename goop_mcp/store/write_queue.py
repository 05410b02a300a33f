"""One thread a process that writes, and the line of those who wait for it."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

from goop_mcp.errors import StoreBusyError, StoreError
from goop_mcp.store.write_lock import WriteLock

__all__ = ["WriteQueue"]

T = TypeVar("T")
_LAST_MOMENTS = 5.0


@dataclass(frozen=True, slots=True)
class _Turn:
    """Somebody's place in the line; `run` does nothing once its caller has withdrawn."""

    run: Callable[[], None]
    fail: Callable[[StoreError], None]
    is_withdrawn: Callable[[], bool]


class WriteQueue:
    """Runs one piece of work after the other in a thread of its own, each while the lock between processes is held.

    The thread starts with the first piece of work. It alone waits for the lock, in which nobody can be given up on;
    callers wait for their turn and may leave the line. `finish` is run by the thread at its end.
    """

    def __init__(self, lock: WriteLock, *, name: str, finish: Callable[[], None]) -> None:
        self._lock = lock
        self._name = name
        self._finish = finish
        self._closed = False
        self.reset()

    def reset(self) -> None:
        """Forget thread and line, which a fork does not bring along."""
        self._line = threading.Condition()
        self._callers = 0
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_waiting_for_lock = False

    def run(self, work: Callable[[], T], *, timeout: float) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises StoreBusyError when its turn has not come after `timeout` seconds; once begun it is
        waited for.
        """
        future: Future[T] = Future()
        with self._in_line(_turn(work, future)):
            try:
                return future.result(timeout)
            except WaitedTooLong:
                if not future.cancel():
                    return future.result()

                raise self._busy(timeout) from None
            except BaseException:
                # Whoever leaves the line, interrupted for example, must not be written for
                # afterwards.
                future.cancel()
                raise

    def close(self) -> None:
        """End the thread once those in the line have had their turn or left; may be called twice."""
        self._refuse_inner_call()
        with self._line:
            self._closed = True
            self._line.wait_for(lambda: self._callers == 0)
            thread, self._thread = self._thread, None

        if thread is not None:
            self._turns.put(None)
            # A thread that still waits for a hung process has nothing left to do; it ends with this
            # process.
            thread.join(0 if self._is_waiting_for_lock else _LAST_MOMENTS)

    @contextmanager
    def _in_line(self, turn: _Turn) -> Iterator[None]:
        self._refuse_inner_call()
        with self._line:
            if self._closed:
                raise StoreError(f"{self._name} has been closed; open it again")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="goop-mcp writer", daemon=True
                )
                self._thread.start()

            self._callers += 1
            self._turns.put(turn)

        try:
            yield
        finally:
            with self._line:
                self._callers -= 1
                self._line.notify_all()

    def _refuse_inner_call(self) -> None:
        if self._thread is threading.current_thread():
            raise StoreError(
                "a change must neither start another one nor close the store; do all in one change"
            )

    def _serve(self) -> None:
        while (turn := self._turns.get()) is not None:
            if not turn.is_withdrawn():
                self._take_turn(turn)
        self._finish()

    def _take_turn(self, turn: _Turn) -> None:
        self._is_waiting_for_lock = True
        try:
            self._lock.acquire()
        except StoreError as error:
            turn.fail(error)
            return
        finally:
            self._is_waiting_for_lock = False

        try:
            turn.run()
        finally:
            self._lock.release()

    def _busy(self, timeout: float) -> StoreBusyError:
        holder = self._lock.holder() or "another program"
        return StoreBusyError(
            f"{self._name} is held by {holder}, longer than the {timeout:g} s that were waited;"
            " nothing was written: try again, or end that process if it hangs"
        )


def _turn(work: Callable[[], T], future: Future[T]) -> _Turn:
    # What the writer does and logs for a caller belongs to the caller's request.
    context = copy_context()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(work))
            except BaseException as error:
                future.set_exception(error)

    def fail(error: StoreError) -> None:
        if future.set_running_or_notify_cancel():
            future.set_exception(error)

    return _Turn(run, fail, future.cancelled)
