"""Which process runs a task, whether it is gone, and the end of programs that it left behind.

What is asked here only Linux answers without the help of another program. Elsewhere nothing is
certain: a task of a dead runner is taken over when its lease ends, and its program is not ended.
"""

import os
import platform
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["RunnerProcess", "end_program", "is_gone", "start_of", "this_process"]

_PROC: Final = Path("/proc")
_PAUSE: Final = 0.01
# Places in /proc/PID/stat, counted from the state of the process.
_SESSION: Final = 3
_STARTED: Final = 19
_MOST_ENVIRONMENT: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class RunnerProcess:
    """A process, so that no other one is ever taken for it.

    `boot_id` names the start of the machine and, on Linux, the namespace of process ids; "" where
    that is not known. `started` is when the process began, in a form of the system's own, "" where
    that is not known.
    """

    host: str
    boot_id: str
    pid: int
    started: str


class _Status(NamedTuple):
    """What the kernel says of a process."""

    session: int
    started: str


def this_process() -> RunnerProcess:
    """Return the process that calls, also in a child that was forked."""
    pid = os.getpid()
    return RunnerProcess(platform.node(), _boot_id(), pid, start_of(pid) or "")


def start_of(pid: int) -> str | None:
    """Return when the process `pid` of this machine began; None if it is gone or not known.

    A process that has ended and was not waited for by its parent counts as gone.
    """
    status = _status_of(pid)
    return None if status is None else status.started


def is_gone(process: RunnerProcess) -> bool:
    """Whether it is certain that `process` does not run any more.

    False where nothing is known: of another machine, of another container on this one, or of one
    that has started again since.
    """
    if not process.boot_id or not process.started:
        return False
    if (process.host, process.boot_id) != (platform.node(), _boot_id()):
        return False
    return start_of(process.pid) != process.started


def end_program(pid: int, started: str, *, key: str, seconds: float = 2.0) -> bool:
    """End a program of this machine that leads a session, with all that is in that session.

    `started` is what `start_of` returned when it began: another process that was given the same id
    since is left alone. Where the program has ended and others of its session run on, those are
    ended that carry `key` as GOOP_IDEMPOTENCY_KEY in their environment. Waits at most `seconds` for
    their end; returns False where some of it still runs. Does nothing outside of Linux.
    """
    # Ids from 1 down mean other things to the kernel: "every process of mine" among them.
    if pid <= 1 or sys.platform != "linux":
        return True

    # A program may start others while it is being ended, so the session is looked at again.
    until = time.monotonic() + seconds
    while left := _left_of(pid, started, key):
        for each in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)

        if time.monotonic() > until:
            return False

        time.sleep(_PAUSE)

    return True


def _left_of(pid: int, started: str, key: str) -> list[int]:
    """Return what runs of the session that the program led."""
    leads = start_of(pid) == started
    left: list[int] = []
    for each in _PROC.iterdir():
        status = _status_of(int(each.name)) if each.name.isdecimal() else None
        if status is None or status.session != pid:
            continue

        # The id of a session is not given away while one of its processes lives. But all of the
        # old session may be gone and the id be that of a later one: only the key tells then.
        if leads or _has_key(int(each.name), key):
            left.append(int(each.name))

    return left


def _has_key(pid: int, key: str) -> bool:
    try:
        with (_PROC / str(pid) / "environ").open("rb") as file:
            names = file.read(_MOST_ENVIRONMENT).split(b"\0")
    except OSError:
        return False

    return f"GOOP_IDEMPOTENCY_KEY={key}".encode() in names


def _status_of(pid: int) -> _Status | None:
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None

    # The name of the program, in parentheses, may hold blanks and parentheses itself.
    fields = text[text.rfind(b")") + 1 :].split()
    if len(fields) <= _STARTED or fields[0] in (b"Z", b"X", b"x"):
        return None
    return _Status(int(fields[_SESSION]), fields[_STARTED].decode())


@cache
def _boot_id() -> str:
    """Return what names this start of this machine, and the process ids that are seen in it."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # Containers share the kernel and its boot id, and each counts process ids by itself.
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""
