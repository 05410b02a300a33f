"""Start a command, pass its output through, and end it at its time limit.

At the limit everything that the command started is ended, as far as `goop_mcp.processes` finds it.
Memory does not grow with the output: it is hashed as it arrives, and only its end is kept.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.processes import end_marked, kill_group, marked, new_mark

__all__ = [
    "COULD_NOT_START",
    "KEPT_END",
    "RESULT_KINDS",
    "CommandOutput",
    "EndedCommand",
    "RunRequest",
    "run_command",
]

COULD_NOT_START: Final = 127
RESULT_KINDS: Final = ("junit", "ctrf", "tap", "coverage")
"""The kinds of result files; each is also an option, and a key of a named check."""

KEPT_END: Final = 16 * 1024
"""How many bytes of the end of an output are kept while it runs."""

_BLOCK: Final = 64 * 1024
# What a program that left its group and holds our pipes may still print.
_DRAIN_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.05


class RunRequest(NamedTuple):
    """A command to run and record.

    `name` is that of the check, "" to take it from the command. `project` is the folder whose files
    count, `cwd` the working directory. `timeout` is the time limit in seconds, None for none.
    `results` are the files with results that it writes, each with its kind, one of
    RESULT_KINDS.
    `pinned` and `paths` are those of `RecordedRun`.
    """

    argv: tuple[str, ...]
    project: Path
    cwd: Path
    name: str = ""
    timeout: float | None = None
    results: tuple[tuple[Path, str], ...] = ()
    pinned: bool = False
    paths: tuple[str, ...] = ()
    session: str | None = None
    agent: str | None = None
    task: str | None = None


class CommandOutput:
    """Everything that a command prints: passed on at once, hashed, and its end kept."""

    def __init__(self) -> None:
        # Loaded here, as the command runs already.
        self.digest, self.size = import_module("hashlib").sha256(), 0
        self._end = bytearray()
        self._closed: set[int] = set()

    def take(self, data: bytes, target: int | None) -> None:
        """Keep what is needed of `data`, and write it to the descriptor `target`, None for none."""
        self.digest.update(data)
        self.size += len(data)
        self._end += data
        if len(self._end) > 4 * KEPT_END:
            del self._end[:-KEPT_END]

        if target is None or target in self._closed:
            return
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(target, view) :]
        except OSError:
            # Nobody reads any more (`… | head`): the run goes on and is recorded.
            self._closed.add(target)

    @property
    def end(self) -> str:
        """The last characters, at most KEPT_END bytes of them; of a longer output whole words."""
        end = bytes(self._end[-KEPT_END:])
        if self.size > KEPT_END:
            # The cut may be within a secret, which nobody would recognise by its second half.
            end = (end.split(None, 1) or [b""])[-1] if not end[:1].isspace() else end
        return end.decode("utf-8", "replace")


class EndedCommand(NamedTuple):
    """How a process ended: its exit status, or the negative number of a signal."""

    output: CommandOutput
    status: int
    timed_out: bool = False
    interrupted: bool = False
    not_started: str = ""


def run_command(
    request: RunRequest,
    environment: Mapping[str, str],
    *,
    passes_on: bool,
    meanwhile: Callable[[RunRequest], None],
) -> EndedCommand:
    """Run the command to its end, and return how it ended.

    `passes_on` is whether its output is written to our own streams as well, and ours is its input.
    `meanwhile` is called with `request` once the command runs, and must return at once.
    """
    mark = new_mark()
    try:
        process = _started(request, marked(environment, mark), passes_on=passes_on)
        if isinstance(process, EndedCommand):
            return process

        meanwhile(request)
        output = CommandOutput()
        interrupted: list[int] = []
        with _forwarded_signals(process, interrupted):
            timed_out = _pump(process, output, request.timeout, passes_on=passes_on)
            process.wait()

            # What it left in its group would write to files that a later run is about.
            kill_group(process)
            status = process.wait()
        if timed_out or interrupted:
            end_marked(mark)
    except BaseException:
        # Also a signal that came while it was being started, when only the mark names the process.
        end_marked(mark)
        raise

    return EndedCommand(output, status, timed_out=timed_out, interrupted=bool(interrupted))


def _started(
    request: RunRequest, environment: Mapping[str, str], *, passes_on: bool
) -> "subprocess.Popen[bytes] | EndedCommand":
    """Start the command; an ended one is why that was not possible."""
    try:
        # The caller's own command, as it is: no shell reads it.
        return subprocess.Popen(  # noqa: S603
            request.argv,
            cwd=request.cwd,
            env=environment,
            stdin=None if passes_on else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        # The system's own words for a missing program speak of a file or directory.
        missing = isinstance(error, FileNotFoundError) and Path(request.cwd).is_dir()
        reason = getattr(error, "strerror", None) or "its arguments cannot be used"
        return EndedCommand(
            CommandOutput(),
            COULD_NOT_START,
            not_started="there is no such program" if missing else reason.lower(),
        )


def _pump(
    process: "subprocess.Popen[bytes]",
    output: CommandOutput,
    timeout: float | None,
    *,
    passes_on: bool,
) -> bool:
    """Read the output until it ends; return whether the time limit was reached."""
    until = None if timeout is None else time.monotonic() + timeout
    drained_by: float | None = None
    timed_out = False

    with selectors.DefaultSelector() as selector:
        for stream, target in ((process.stdout, 1), (process.stderr, 2)):
            selector.register(stream or -1, selectors.EVENT_READ, target if passes_on else None)

        while selector.get_map():
            now = time.monotonic()
            if until is not None and now >= until and not timed_out:
                timed_out = True
                kill_group(process)
                drained_by = now + _DRAIN_SECONDS
            if drained_by is None and process.poll() is not None:
                drained_by = now + _DRAIN_SECONDS
            if drained_by is not None and now >= drained_by:
                # A daemon that it started keeps the pipe open for ever.
                break

            deadline = min(
                each for each in (until, drained_by, now + _POLL_SECONDS) if each is not None
            )
            for key, _ in selector.select(max(deadline - now, 0)):
                data = os.read(key.fd, _BLOCK)
                if data:
                    output.take(data, key.data)
                else:
                    selector.unregister(key.fileobj)

    # Also at the limit: a server runs many commands.
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()

    return timed_out or _outlives(process, until)


def _outlives(process: "subprocess.Popen[bytes]", until: float | None) -> bool:
    """Return whether the command, which closed its output, was ended at the limit."""
    if until is None or process.poll() is not None:
        return False

    try:
        process.wait(max(until - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        kill_group(process)
        return True

    return False


@contextmanager
def _forwarded_signals(
    process: "subprocess.Popen[bytes]", interrupted: list[int]
) -> Iterator[None]:
    """Send what a person or a host sends to us on to the command, which is in its own session."""

    def forward(number: int, _frame: object) -> None:
        interrupted.append(number)
        # Who asks twice means it.
        kill_group(process, signal.SIGKILL if len(interrupted) > 1 else number)

    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        # Signals can be handled in the main thread only: a server runs this in another one.
        with suppress(ValueError):
            if number is not None:
                before[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
