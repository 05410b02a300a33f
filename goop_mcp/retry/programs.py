"""Run a program to its end, or end it together with what it has started."""

import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from goop_mcp.processes import end_marked, kill_group, marked, new_mark

__all__ = [
    "MOST_OUTPUT",
    "Finished",
    "OnStart",
    "OutputTooLargeError",
    "StartedProgram",
    "keep_end",
    "run_program",
    "start_program",
]

MOST_OUTPUT: Final = 32 * 1024 * 1024
"""Bytes of standard output that are read of one answer."""

_GRACE_SECONDS = 2.0
_MOST_ERRORS = 64 * 1024


OnStart = Callable[[int], Awaitable[None] | None]
"""Takes the process id of a program that was started; what it returns is awaited."""


class OutputTooLargeError(OSError):
    """Raised for a program that wrote more than is kept of its standard output; it was ended."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended and what it wrote; of its errors, the last 64 KiB."""

    exit_code: int
    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)


async def run_program(
    words: Sequence[str],
    *,
    given: bytes | None = None,
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
    on_start: OnStart | None = None,
) -> Finished:
    """Run `words` with `given` on standard input, nothing for None, and return what became of it.

    `on_start` gets its process id, which is also that of its group; what it returns is awaited
    while the program runs, and cancelled soon after its end. A cancellation ends the program and
    all that it has started, and so does an error of `on_start`, or an output of more than 32 MiB.
    When it ends by itself, what it left running in the background runs on, and is not waited for
    although it may hold the output open. Raises OSError, of which OutputTooLargeError is one.
    """
    output, errors = bytearray(), bytearray()
    source = subprocess.DEVNULL if given is None else subprocess.PIPE

    with anyio.CancelScope(shield=True):
        program = await start_program(words, source=source, folder=folder, environment=environment)
    process = program.process
    has_ended = False
    failures: list[Exception] = []

    async def finish(starting: Awaitable[None]) -> None:
        try:
            await starting
        except Exception as error:
            # Not to be wrapped by the task group.
            failures.append(error)
            group.cancel_scope.cancel()

    async with process:
        try:
            starting = None if on_start is None else on_start(process.pid)
            async with anyio.create_task_group() as group:
                # While it is sent its message: some wait for that no longer than a moment.
                if starting is not None:
                    group.start_soon(finish, starting)
                group.start_soon(_collect, process.stdout, output)
                group.start_soon(keep_end, process.stderr, errors)
                if given is not None:
                    group.start_soon(_give, process, given)

                try:
                    exit_code = await process.wait()
                except BaseException:
                    # At once: `starting` may wait for a thread that no cancellation ends.
                    program.kill()
                    raise
                has_ended = True
                group.cancel_scope.deadline = anyio.current_time() + _GRACE_SECONDS

            if failures:
                raise failures[0]
        except BaseException as ended:
            # Also where `on_start` itself failed, before anything was waited for.
            if not has_ended:
                await program.end()
            if isinstance(ended, BaseExceptionGroup):
                # Of the task group, which wraps what one of its tasks raised.
                too_large, others = ended.split(OutputTooLargeError)
                if too_large is not None and others is None:
                    raise OutputTooLargeError(
                        f"{words[0]} wrote more than {MOST_OUTPUT // 1024 // 1024} MiB"
                    ) from None

            raise

    return Finished(exit_code, output, errors)


class StartedProgram:
    """A program that was started, with the mark of its call; `process` is the program itself."""

    def __init__(self, process: Process, mark: str) -> None:
        self.process = process
        self._mark = mark

    def kill(self) -> None:
        """End it with its group at once; nothing where it has ended."""
        # The id of a program that ended may be that of another one by now.
        if self.process.returncode is None:
            kill_group(self.process)

    async def end(self) -> None:
        """End it with everything that it started, as far as `goop_mcp.processes` finds it.

        Also what a program left that has ended. Takes at most two seconds, and no cancellation ends
        it.
        """
        self.kill()
        with anyio.CancelScope(shield=True):
            # What left the group is looked for among all processes of the machine.
            await anyio.to_thread.run_sync(end_marked, self._mark)


async def start_program(
    words: Sequence[str],
    *,
    source: int,
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
) -> StartedProgram:
    """Start `words` as the leader of a session of its own, with `source` as standard input.

    To be shielded from cancellations: only what is known can be ended.
    """
    mark = new_mark()
    # The session makes it one group with what it starts.
    process = await anyio.open_process(
        words,
        stdin=source,
        cwd=folder,
        env=marked(environment, mark),
        start_new_session=True,
    )
    return StartedProgram(process, mark)


async def _collect(stream: ByteReceiveStream | None, into: bytearray) -> None:
    if stream is not None:
        async for part in stream:
            into += part
            if len(into) > MOST_OUTPUT:
                raise OutputTooLargeError


async def keep_end(stream: ByteReceiveStream | None, into: bytearray) -> None:
    """Read `stream` to its end; the last 64 KiB at least stay in `into`."""
    if stream is not None:
        async for part in stream:
            into += part
            # Cut now and then rather than each time: to move the rest costs as much as it is long.
            if len(into) > 2 * _MOST_ERRORS:
                del into[:-_MOST_ERRORS]


async def _give(process: Process, given: bytes) -> None:
    """Write `given`; a program that does not read it may still do its work."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(given)
        await process.stdin.aclose()
