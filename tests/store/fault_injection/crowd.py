"""Start many processes that do one thing, without starting an interpreter for each of them."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping

__all__ = ["Crowd", "Due"]

Due = Callable[[], bool]

_LONGEST_LIFE = 300.0


class Crowd:
    """Children of this process, which must have no other threads."""

    def __init__(self) -> None:
        self._alive: set[int] = set()

    def start(self, work: Callable[[], None]) -> int:
        """Do `work` in a child, and return its process id."""
        pid = os.fork()
        if pid == 0:
            _live(work)

        self._alive.add(pid)
        return pid

    def wait(self, deaths: Mapping[int, Due] | None = None, *, patience: float = 0.0) -> set[int]:
        """Wait for all, and kill those in `deaths` when theirs is due, checked every millisecond.

        Returns those that died of SIGKILL. Raises ChildProcessError when one failed or lived too
        long; `patience` is
        how many seconds more than usual they may live.
        """
        coming, killed = dict(deaths or {}), set()
        deadline = time.monotonic() + _LONGEST_LIFE + patience

        while self._alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in self._alive:
                self._alive.discard(pid)
                killed |= {pid} if _was_killed(status) else set()
            elif time.monotonic() > deadline:
                raise ChildProcessError(f"{len(self._alive)} processes did not end")
            else:
                self._kill_due(coming)
                time.sleep(0.001)

        return killed

    def _kill_due(self, coming: dict[int, Due]) -> None:
        for pid in [pid for pid, due in coming.items() if due()]:
            del coming[pid]
            if pid in self._alive:
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the remaining processes, so that none outlives a failed run."""
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._alive.clear()


def _was_killed(status: int) -> bool:
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, -signal.SIGKILL}:
        raise ChildProcessError(f"a process ended with {code}")
    return code != 0


def _live(work: Callable[[], None]) -> None:
    """Do the work of a child and end it without returning into its parent's code."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
