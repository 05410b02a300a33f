"""Which process this is, whether another one still lives, and how its programs are ended."""

import os
import secrets
import signal
import socket
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["ThisProcess", "end_program", "lives", "started", "this_process"]

_PATIENCE: Final = 2.0
_FIELD_OF_START: Final = 19
"""Of the fields of /proc/PID/stat after the name: the time at which the process started."""


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """A runner: a random id that is never configured, and where it runs.

    `boot_id` changes with each start of the machine, so that a process id says something.
    """

    owner: str
    host: str
    boot_id: str
    pid: int
    pid_started: str


def this_process() -> ThisProcess:
    """Return this process as a new runner; each call is another one."""
    pid = os.getpid()
    return ThisProcess(secrets.token_hex(8), socket.gethostname(), boot_id(), pid, started(pid))


@cache
def boot_id() -> str:
    """Return what is different after each start of the machine; "" where that is not known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def started(pid: int) -> str:
    """Return when a process started, in units of its system; "" where that is not known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

    # The name stands in parentheses and may hold anything, spaces and parentheses included.
    after = text.rpartition(")")[2].split()
    # A zombie has ended: it only waits for its parent to ask how.
    if len(after) <= _FIELD_OF_START or after[0] in ("Z", "X"):
        return ""
    return after[_FIELD_OF_START]


def lives(pid: int, began: str) -> bool:
    """Whether the process `pid` that started at `began` still runs.

    A number is used again by other processes, whose start differs.
    """
    if began and Path("/proc/self/stat").exists():
        return started(pid) == began

    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def end_program(pid: int, began: str) -> bool:
    """End a program and all that it started; return whether it is gone within two seconds.

    Only the very process that was started then: nobody else's with the same number.
    """
    if not began or not lives(pid, began):
        return True

    try:
        # Each program leads a group of its own, so that what it started ends with it.
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except OSError:
        return False

    patience = time.monotonic() + _PATIENCE
    while lives(pid, began):
        if time.monotonic() > patience:
            return False
        time.sleep(0.01)

    return True
