"""Programs of agents end as soon as this process is gone, also where nobody else looks after them.

A process of its own watches this one, since nothing of this one runs after SIGKILL. The kernel's
PR_SET_PDEATHSIG would not do: it comes when the thread that started the program ends, as the
workers of trio do after ten idle seconds, and what a program starts never gets it.
"""

import atexit
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

from goop_mcp import processes

__all__ = ["ProgramWatch", "forget_program", "watch_program"]

_END_SECONDS: Final = 2.0

_logger = logging.getLogger(__name__)


class ProgramWatch:
    """A process that ends programs when this one has ended; begins with the first program.

    May be shared by threads. Does nothing outside of Linux, and where Python cannot be started.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._watching: subprocess.Popen[bytes] | None = None
        self._programs: dict[str, dict[int, str]] = {}

    @property
    def pid(self) -> int | None:
        """The id of the process that watches; None before it begins and after its end."""
        return None if self._watching is None else self._watching.pid

    def add(self, key: str, pid: int, began: str) -> None:
        """Have a program ended with this process, as all others under `key`.

        `key` is its GOOP_IDEMPOTENCY_KEY, `began` what `started` says of it.
        """
        if began:
            with self._lock:
                self._programs.setdefault(key, {})[pid] = began
                self._write([(key, pid, began)])

    def forget(self, key: str) -> None:
        """Leave the programs under `key` alone: their work has ended."""
        with self._lock:
            if self._programs.pop(key, None) is not None and self._watching is not None:
                self._write([(key, 0, "")])

    def close(self) -> None:
        """End the watch, which ends the programs that were not forgotten."""
        with self._lock:
            self._programs.clear()
            self._leave(kill=False)

    def begin_again(self) -> None:
        """Know nothing, in a process that was forked: all that is known is its parent's."""
        self._lock, self._watching, self._programs = Lock(), None, {}

    def _write(self, lines: list[tuple[str, int, str]]) -> None:
        """Say what became of programs; to a new watch, all that is known."""
        for _ in range(2):
            try:
                if self._watching is None:
                    self._watching = _start()
                    lines = [
                        (key, pid, began)
                        for key, known in self._programs.items()
                        for pid, began in known.items()
                    ]
                if self._watching is None or self._watching.stdin is None:
                    return
                for line in lines:
                    # Whole lines: a pipe takes a line of this length at once or not at all.
                    written = json.dumps(line).encode() + b"\n"
                    os.write(self._watching.stdin.fileno(), written)
            except OSError as error:
                # It was ended, or stands still with its pipe full: another one takes its place.
                _logger.info("the watch over programs begins again: %s", error)
                self._leave(kill=True)
            else:
                return

    def _leave(self, *, kill: bool) -> None:
        watching, self._watching = self._watching, None
        if watching is None:
            return
        # Before its input ends, which means to it that this process has.
        if kill:
            watching.kill()
        if watching.stdin is not None:
            watching.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            watching.wait(_END_SECONDS)


def _start() -> "subprocess.Popen[bytes] | None":
    program = Path(processes.__file__)
    # What is frozen into one program has no file, and its executable is not Python.
    if sys.platform != "linux" or not sys.executable or not program.is_file():
        return None

    # Signals that are sent to all of a service: it ends with its parent, and not before. What is
    # held back here it inherits, so that none can end it while it begins.
    held_back = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held_back)
    try:
        # A session of its own, which outlives what ends this one; without `site` it starts faster.
        watching = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", str(program), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            start_new_session=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if watching.stdin is not None:
        os.set_blocking(watching.stdin.fileno(), False)
    return watching


_watch = ProgramWatch()


def watch_program(key: str, pid: int, began: str) -> None:
    """Have a program ended when this process ends without having ended it; see `ProgramWatch`."""
    _watch.add(key, pid, began)


def forget_program(key: str) -> None:
    """Leave the programs under `key` alone from now on."""
    _watch.forget(key)


atexit.register(_watch.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.begin_again)
