"""Whether a process lives, and how a program is ended with everything that it started.

A program is started in a group of its own, with a mark of the call in its environment. At the end
its group is killed, and then what has the mark: programs that left the group (`setsid`, a daemon)
have it still. It is found in /proc, so on Linux alone; elsewhere only the group is killed. What
removes the mark from its environment, or is started by a service of the machine, is not found.

Also run as a program of its own, by `delegation.orphans`: it imports the standard library alone.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from subprocess import Popen

    from anyio.abc import Process

__all__ = [
    "MARK",
    "end_marked",
    "end_program",
    "kill_group",
    "lives",
    "marked",
    "new_mark",
    "started",
]

MARK: Final = "GOOP_CALL"
"""The variable with the marks of a call and of those around it, the innermost last."""

_PATIENCE: Final = 2.0
_PAUSE: Final = 0.01
_PROC: Final = "/proc"
# Places in /proc/PID/stat, counted from the state of the process.
_SESSION: Final = 3
_STARTED: Final = 19
# More than the kernel allows: in a part the mark could be missing.
_MOST_ENVIRONMENT: Final = 8 * 1024 * 1024
_MOST_OF_A_PIPE: Final = 1024 * 1024
# A program may call itself for ever, and an environment has a limit.
_MOST_CALLS: Final = 32
_MARK_BYTES: Final = 8


def new_mark() -> str:
    """Return a mark for one call, which no other one has."""
    return os.urandom(_MARK_BYTES).hex()


def marked(environment: Mapping[str, str] | None, mark: str) -> dict[str, str]:
    """Return `environment`, that of this process for None, with `mark` for what is started in it.

    The marks of calls around this one stay, so that the end of one of those ends it as well.
    """
    values = dict(os.environ if environment is None else environment)
    # An environment that was made for the program says nothing of the calls around this one.
    around = values.get(MARK) or os.environ.get(MARK, "")
    values[MARK] = "/".join((*filter(None, around.split("/")[1 - _MOST_CALLS :]), mark))

    return values


def kill_group(process: "Popen[bytes] | Process", number: int | None = None) -> None:
    """Send a signal, SIGKILL for None, to the group that `process` leads; never raises.

    To be called while the program runs: its id may be that of another one later.
    """
    with suppress(ProcessLookupError, PermissionError):
        # Windows has no groups.
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL if number is None else number)
        else:
            process.kill()


def end_marked(*marks: str) -> bool:
    """End every process that has one of `marks` in its environment, and wait for their end.

    Processes that start others meanwhile are looked for again, for at most two seconds; returns
    False where some are seen to run still. A program that goes on in new processes faster than
    they can be looked at may be seen nowhere, and run on. Takes milliseconds where there is none.
    Does nothing without /proc.
    """
    wanted = frozenset(mark.encode() for mark in marks)
    return _end_all(lambda pid: not wanted.isdisjoint(_marks_of(pid)) if wanted else False)


def started(pid: int) -> str:
    """Return when a process started, in units of its system; "" where that is not known."""
    status = _status_of(pid)
    return "" if status is None else status[1]


def lives(pid: int, began: str) -> bool:
    """Whether the process `pid` that started at `began` still runs.

    A number is used again by other processes, whose start differs.
    """
    if began and started(os.getpid()):
        return started(pid) == began

    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def end_program(pid: int, began: str, *, key: str) -> bool:
    """End a program that leads a session, with all that is in that session or has its mark.

    `began` is what `started` returned when it began: another process that was given the same id
    since is left alone. Where the program has ended and others of its session run on, those are
    ended that carry `key` as GOOP_IDEMPOTENCY_KEY in their environment. Waits at most two seconds
    for the end of the session, and as long for that of the others; returns False where some of it
    still runs. Does nothing outside of Linux.
    """
    # Ids from 1 down mean other things to the kernel: "every process of mine" among them.
    if pid <= 1 or not began or not started(os.getpid()):
        return True

    # The last mark is that of the call which started it; the others are of calls around this one.
    marks = _marks_of(pid)[-1:] if started(pid) == began else ()
    gone = _end_all(lambda each: _is_left_of(pid, each, began, key))

    return end_marked(*(mark.decode() for mark in marks)) and gone


def _is_left_of(pid: int, each: int, began: str, key: str) -> bool:
    """Return whether the process `each` is one of the session that the program led."""
    status = _status_of(each)
    if status is None or status[0] != pid:
        return False

    # The id of a session is not given away while one of its processes lives. But all of the old
    # session may be gone and the id be that of a later one: only the key shows it then.
    variable = f"GOOP_IDEMPOTENCY_KEY={key}".encode()
    return started(pid) == began or variable in _environment_of(each)


def _end_all(is_wanted: Callable[[int], bool]) -> bool:
    """Kill what `is_wanted` until none is left, for two seconds; return whether none is."""
    patience = time.monotonic() + _PATIENCE
    # They may start others while they are being ended, so it is looked for again.
    while found := [pid for pid in _processes() if is_wanted(pid)]:
        for pid in found:
            _kill(pid, is_wanted)
        if time.monotonic() > patience:
            return False
        time.sleep(_PAUSE)

    return True


def _processes() -> list[int]:
    try:
        found = [int(name) for name in os.listdir(_PROC) if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return []
    return [pid for pid in found if pid != os.getpid()]


def _kill(pid: int, is_wanted: Callable[[int], bool]) -> None:
    """Kill a process of which `is_wanted` holds, and none that was given its id meanwhile."""
    began = started(pid)
    with ExitStack() as closing, suppress(ProcessLookupError, PermissionError):
        try:
            # It names the process that had the id then. If that one ends before it is looked at,
            # what is seen is another one, and the signal reaches none.
            process = os.pidfd_open(pid)
        except (OSError, AttributeError):
            # As with Python that was built for an older kernel: nearly the same.
            if is_wanted(pid) and started(pid) == began:
                os.kill(pid, signal.SIGKILL)
            return

        closing.callback(os.close, process)
        if is_wanted(pid):
            signal.pidfd_send_signal(process, signal.SIGKILL)


def _marks_of(pid: int) -> tuple[bytes, ...]:
    prefix = f"{MARK}=".encode()
    # A program that sets it twice in its environment takes no mark away.
    return tuple(
        mark
        for variable in _environment_of(pid)
        if variable.startswith(prefix)
        for mark in variable.removeprefix(prefix).split(b"/")
    )


def _environment_of(pid: int) -> list[bytes]:
    """Return the variables with which a process began; none where they may not be read."""
    try:
        return _content(pid, "environ").split(b"\0")
    except OSError:
        return []


def _content(pid: int, name: str) -> bytes:
    # Before `goop-mcp run` starts a command this is loaded, and pathlib is not.
    with open(f"{_PROC}/{pid}/{name}", "rb") as file:  # noqa: PTH123
        return file.read(_MOST_ENVIRONMENT)


def _status_of(pid: int) -> tuple[int, str] | None:
    """Return the session of a process and when it started, None for one that has ended."""
    try:
        text = _content(pid, "stat")
    except OSError:
        return None

    # The name of the program, in parentheses, may hold blanks and parentheses itself.
    fields = text[text.rfind(b")") + 1 :].split()
    # A zombie has ended: it only waits for its parent to ask how.
    if len(fields) <= _STARTED or fields[0] in (b"Z", b"X", b"x"):
        return None
    return int(fields[_SESSION]), fields[_STARTED].decode()


def _end_orphans(parent: int) -> None:
    """End the programs named on standard input as soon as the process `parent` is gone.

    Each line is `[key, pid, began]`, the arguments of `end_program`, and 0 where the programs under
    a key are to be left alone.
    """
    # Who starts a program needs neither.
    import json  # noqa: PLC0415
    import select  # noqa: PLC0415

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
