"""Which process this is, whether another one still lives, and how its programs are ended."""

import json
import os
import secrets
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["ThisProcess", "end_program", "lives", "started", "this_process"]

_PATIENCE: Final = 2.0
_PROC: Final = Path("/proc")
# Places in /proc/PID/stat, counted from the state of the process.
_SESSION: Final = 3
_STARTED: Final = 19
_MOST_ENVIRONMENT: Final = 256 * 1024
_MOST_OF_A_PIPE: Final = 1024 * 1024


class _Status(NamedTuple):
    """What the kernel says of a process."""

    session: int
    started: str


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """A runner: a random id that is never configured, and where it runs.

    `boot_id` names the start of the machine and, on Linux, the namespace of process ids; "" where
    that is not known.
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
    """Return what names this start of this machine, and the process ids that are seen in it."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # Containers share the kernel and its boot id, and each counts process ids by itself.
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def started(pid: int) -> str:
    """Return when a process started, in units of its system; "" where that is not known."""
    status = _status_of(pid)
    return "" if status is None else status.started


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


def end_program(pid: int, began: str, *, key: str) -> bool:
    """End a program that leads a session, with all that is in that session.

    `began` is what `started` returned when it began: another process that was given the same id
    since is left alone. Where the program has ended and others of its session run on, those are
    ended that carry `key` as GOOP_IDEMPOTENCY_KEY in their environment. Waits at most two seconds
    for their end; returns False where some of it still runs. Does nothing outside of Linux.
    """
    # Ids from 1 down mean other things to the kernel: "every process of mine" among them.
    if pid <= 1 or not began or not _PROC.joinpath("self/stat").exists():
        return True

    # A program may start others while it is being ended, so the session is looked at again.
    patience = time.monotonic() + _PATIENCE
    while left := _left_of(pid, began, key):
        for each in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)

        if time.monotonic() > patience:
            return False
        time.sleep(0.01)

    return True


def _left_of(pid: int, began: str, key: str) -> list[int]:
    """Return what runs of the session that the program led."""
    leads = started(pid) == began
    left: list[int] = []
    for each in _PROC.iterdir():
        status = _status_of(int(each.name)) if each.name.isdecimal() else None
        if status is None or status.session != pid:
            continue

        # The id of a session is not given away while one of its processes lives. But all of the
        # old session may be gone and the id be that of a later one: only the key shows it then.
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
    # A zombie has ended: it only waits for its parent to ask how.
    if len(fields) <= _STARTED or fields[0] in (b"Z", b"X", b"x"):
        return None
    return _Status(int(fields[_SESSION]), fields[_STARTED].decode())


def _end_orphans(parent: int) -> None:
    """End the programs named on standard input as soon as the process `parent` is gone.

    Each line is `[key, pid, began]`, the arguments of `end_program`, and 0 where the programs under
    a key are to be left alone.
    """
    sources = [0]
    os.set_blocking(0, False)
    # A child that the parent forked may hold the pipe open for longer than the parent lives.
    # Neither an older kernel has it nor a Python that was built for one.
    with suppress(OSError, AttributeError):
        sources.append(os.pidfd_open(parent))

    # Of one task several may run at once: an agent that stays, and the one that is asked instead.
    programs: dict[str, dict[int, str]] = {}
    is_gone, rest = False, b""
    while not is_gone:
        # Asked after the descriptor was opened, whose id could be that of another process by then.
        is_gone = os.getppid() != parent or select.select(sources, [], [])[0] != [0]
        # What was written last is read as well: all that a pipe holds.
        with suppress(BlockingIOError):
            part = os.read(0, _MOST_OF_A_PIPE)
            is_gone = is_gone or not part
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                key, pid, began = json.loads(line)
                if pid:
                    programs.setdefault(key, {})[pid] = began
                else:
                    programs.pop(key, None)

    for key, known in programs.items():
        for pid, began in known.items():
            end_program(pid, began, key=key)


if __name__ == "__main__":
    _end_orphans(int(sys.argv[1]))
