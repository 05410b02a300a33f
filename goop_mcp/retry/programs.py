"""Run a program to its end, or end it together with what it has started."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike

import anyio
from anyio.abc import ByteReceiveStream, Process

__all__ = ["Finished", "OutputTooLargeError", "run_program"]

_GRACE_SECONDS = 2.0
_MOST_OUTPUT = 32 * 1024 * 1024
_MOST_ERRORS = 64 * 1024


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
    on_start: Callable[[int], None] | None = None,
) -> Finished:
    """Run `words` with `given` on standard input, nothing for None, and return what became of it.

    `on_start` is called with its process id, which is also that of its group. A cancellation ends
    the program and all that it has started, and so does an output of more than 32 MiB. When it
    ends by itself, what it left running in the background runs on, and is not waited for although
    it may hold the output open. Raises OSError, of which OutputTooLargeError is one.
    """
    output, errors = bytearray(), bytearray()
    source = subprocess.DEVNULL if given is None else subprocess.PIPE

    # A session of its own makes it one group with what it starts. Shielded, as only what is known
    # can be ended.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            words, stdin=source, cwd=folder, env=environment, start_new_session=True
        )

    async with process:
        try:
            if on_start is not None:
                on_start(process.pid)

            async with anyio.create_task_group() as group:
                group.start_soon(_collect, process.stdout, output)
                group.start_soon(_keep_end, process.stderr, errors)
                if given is not None:
                    group.start_soon(_give, process, given)

                exit_code = await process.wait()
                group.cancel_scope.deadline = anyio.current_time() + _GRACE_SECONDS
        except BaseException as ended:
            # With the group ends all that the program has started. Windows has no groups.
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    if hasattr(os, "killpg"):
                        os.killpg(process.pid, signal.SIGKILL)
                    else:
                        process.kill()

            if isinstance(ended, BaseExceptionGroup):
                # Of the task group, which wraps what one of its tasks raised.
                too_large, others = ended.split(OutputTooLargeError)
                if too_large is not None and others is None:
                    raise OutputTooLargeError(
                        f"{words[0]} wrote more than {_MOST_OUTPUT // 1024 // 1024} MiB"
                    ) from None

            raise

    return Finished(exit_code, output, errors)


async def _collect(stream: ByteReceiveStream | None, into: bytearray) -> None:
    if stream is not None:
        async for part in stream:
            into += part
            if len(into) > _MOST_OUTPUT:
                raise OutputTooLargeError


async def _keep_end(stream: ByteReceiveStream | None, into: bytearray) -> None:
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
