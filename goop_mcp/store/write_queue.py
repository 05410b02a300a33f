"""The write queue of one process: a thread that writes, and the callers that wait for it.

The lock between processes can only be waited for without a time limit, since a process that gave up
and asked again would lose its place. Callers however have a timeout. Therefore one thread waits for
the lock, and the callers wait for that thread, each on a future that it may cancel.

Why no write is lost or done twice: the state of the future decides. Exactly one of
`Future.cancel()`, called by a caller that gives up, and `set_running_or_notify_cancel()`, called by
the thread before it starts the work, succeeds. A caller therefore either withdraws before its work
started, and then it never runs, or waits until the work is finished and gets its result.
"""

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
_CLOSE_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class _Turn:
    """The place of one caller in the queue; `run` does nothing once its caller has withdrawn."""

    run: Callable[[], None]
    fail: Callable[[StoreError], None]
    is_withdrawn: Callable[[], bool]


class WriteQueue:
    """Runs the work of all callers in one thread, in order, while it holds the lock.

    The thread starts with the first work. Callers wait for their turn and may leave the queue
    before it. `finish` runs in the thread at its end.
    """

    def __init__(self, lock: WriteLock, *, name: str, finish: Callable[[], None]) -> None:
        self._lock = lock
        self._name = name
        self._finish = finish
        self._closed = False
        self.reset()

    def reset(self) -> None:
        """Start with an empty queue and no thread, as in a child after a fork.

        A fork copies the memory but no other threads: the thread that would serve the queue, or
        release the condition, does not exist in the child.
        """
        self._line = threading.Condition()
        self._callers = 0
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_waiting_for_lock = False

    def run(self, work: Callable[[], T], *, timeout: float) -> T:
        """Run `work` in the writing thread and return its result, or raise its exception.

        Raises StoreBusyError when its turn has not come after `timeout` seconds. Work that has
        started is waited for, however long it takes.
        """
        future: Future[T] = Future()
        with self._in_line(_turn(work, future)):
            try:
                return future.result(timeout)
            except WaitedTooLong:
                # Too late to cancel: the work runs or is done, and its outcome is the answer.
                if not future.cancel():
                    return future.result()

                holder = self._lock.holder() or "another program"
                raise StoreBusyError(
                    f"{self._name} is locked by {holder} for longer than the {timeout:g} s that"
                    " were waited; nothing was written: try again, or end that process if it hangs"
                ) from None
            except BaseException:
                # A caller that was interrupted (KeyboardInterrupt) believes that nothing was
                # written, so its work must not start later.
                future.cancel()
                raise

    def close(self) -> None:
        """End the thread after all callers have had their turn or left; may be called twice."""
        self._refuse_inner_call()
        with self._line:
            self._closed = True
            self._line.wait_for(lambda: self._callers == 0)
            thread, self._thread = self._thread, None

        if thread is not None:
            self._turns.put(None)
            # A thread that waits for the lock of a hung process cannot be interrupted. All its
            # callers have left, so it has nothing to write; as a daemon it ends with this process.
            thread.join(0 if self._is_waiting_for_lock else _CLOSE_TIMEOUT)

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
        # The thread would wait for a turn that only it can serve.
        if self._thread is threading.current_thread():
            raise StoreError(
                "a change must neither start another one nor close the store; do all in one change"
            )

    def _serve(self) -> None:
        while (turn := self._turns.get()) is not None:
            # The lock is not even waited for on behalf of a caller who has left.
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


def _turn(work: Callable[[], T], future: Future[T]) -> _Turn:
    # The request of the caller (its id, caller and span) is in context variables, which the writing
    # thread does not have by itself; the log and the rows must name that request.
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
