"""Stdin and stdout without threads: the SDK hands each line to another thread, three times a call.

Pipes and sockets say when they are ready, and files always are, so that one thread can serve them
and nothing is left waiting in a read when the server is to end. For anything else (a terminal,
Windows) the SDK's own way has to do.
"""

import json
import os
import re
import select
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio
import anyio.lowlevel
from mcp.types import INVALID_REQUEST

from goop_mcp.server.message_limits import too_large

__all__ = ["LONGEST_LINE", "Incoming", "Outgoing", "Owed", "take_stdin", "take_stdout"]

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_MOST_AT_ONCE: Final = getattr(select, "PIPE_BUF", 512)
"""Bytes that a pipe or socket which is ready takes without waiting."""
_CHUNK: Final = 65_536
LONGEST_LINE: Final = 32 * 1024 * 1024
"""Bytes of a line; the longest arguments that a tool takes are shorter, with every character written as an escape."""

_ENDS: Final = 200
"""Bytes at both ends of a line that is not read, among which its id is looked for."""
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[\w.-]{1,64}")\s*(?:,|$)')
_LAST_ANSWERS: Final = 1.0
"""Seconds that requests have which were under way when the other side ended."""

_REQUEST: Final = (b'"id"', b'"method"')
_STAYS_OPEN: Final = b'"subscriptions/listen"'
_ANSWER: Final = '{"jsonrpc":"2.0","id":'


Refuse = Callable[[str], Awaitable[None]]
"""Takes the answer to a line that is not read."""


class Owed:
    """How many requests have come that are not answered: whoever pipes one in and ends wants to read the answer.

    A look at the lines has to do, as whether the count is right matters at the end only, and there for a second.
    """

    def __init__(self) -> None:
        self._count = 0
        self._settled = anyio.Event()

    def note_line(self, line: bytes | bytearray) -> None:
        """Note a line that came in."""
        if all(mark in line for mark in _REQUEST) and _STAYS_OPEN not in line:
            self._count += 1

    def note_answer(self, text: str) -> None:
        """Note what went out."""
        if text.startswith(_ANSWER):
            self._count -= 1
            self._settled.set()

    async def settle(self) -> None:
        """Wait until everything is answered, at most for a second."""
        with anyio.move_on_after(_LAST_ANSWERS):
            while self._count > 0:
                self._settled = anyio.Event()
                await self._settled.wait()


class Incoming:
    """The lines that come in until the other side ends; the SDK goes over them as over those of a file."""

    def __init__(self, descriptor: int, owed: Owed, *, refuse: Refuse | None = None) -> None:
        """Take the open `descriptor` of a pipe, a socket or a file.

        `refuse` is called with the answer to a line that is too large; the line itself is left out.
        """
        self._descriptor = descriptor
        self._refuse = refuse
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._owed = owed
        self._heard_text = self._heard_message = False

    @property
    def is_no_client(self) -> bool:
        """Whether text came and not one message: somebody pipes a reply into the server by mistake."""
        return self._heard_text and not self._heard_message

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield each line; bytes that are no UTF-8 become replacement characters."""
        begun, left_out = bytearray(), bytearray()
        while chunk := await self._read():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                begun += end
                if (line := await self._line(begun, left_out)) is not None:
                    yield line

                begun.clear()
                left_out.clear()

            begun += rest
            if len(begun) > LONGEST_LINE:
                # Of all that is too long, the beginning and the last bytes are kept: there its id
                # stands.
                left_out = left_out or begun[:_ENDS]
                del begun[:-_ENDS]

        if begun and (line := await self._line(begun, left_out)) is not None:
            yield line

        await self._owed.settle()

    async def _line(self, line: bytearray, left_out: bytearray) -> str | None:
        """Return a line that is whole, None for one that is refused; `left_out` is how a longer one began."""
        if not self._heard_message:
            self._heard_message = not left_out and _is_message(line)
            self._heard_text = self._heard_text or bool(left_out or line.strip())

        reason = (
            f"the line has more than {LONGEST_LINE:,} bytes; send less at a time"
            if left_out
            else None
        )
        reason = reason or too_large(bytes(line))
        if reason is None or self._refuse is None:
            self._owed.note_line(line)
            return line.decode(errors="replace")

        error = {"code": INVALID_REQUEST, "message": reason}
        await self._refuse(
            json.dumps({"jsonrpc": "2.0", "id": _id(left_out or line, line), "error": error}) + "\n"
        )

        return None

    async def _read(self) -> bytes:
        """Return what has come, empty at the end."""
        if self._is_file:
            await anyio.lowlevel.checkpoint()
        else:
            await anyio.wait_readable(self._descriptor)

        try:
            return os.read(self._descriptor, _CHUNK)
        except ConnectionError:
            return b""


def _id(begin: bytearray, end: bytearray) -> str | int | None:
    """Return the id of a message that was not read, None where it stands neither before nor after its params."""
    before = bytes(begin[:_ENDS]).partition(b'"params"')[0]
    after = bytes(end[-_ENDS:]).rstrip().removesuffix(b"}").rpartition(b"}")[2]
    found = _ID.search(before) or _ID.search(after)
    id: str | int | None = json.loads(found[1]) if found is not None else None
    return id


def _is_message(line: bytes | bytearray) -> bool:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and message.get("jsonrpc") == "2.0"


class Outgoing:
    """Lines that go out; the SDK writes to it as to a file.

    A client that does not read holds up nobody else.
    """

    def __init__(self, descriptor: int, owed: Owed) -> None:
        """Take the open `descriptor` of a pipe, a socket or a file."""
        self._descriptor = descriptor
        self._owed = owed
        # Answers to lines that are not read are written by another task than all others.
        self._turn = anyio.Lock(fast_acquire=True)
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Write all of `text`. Raises BrokenPipeError when nobody reads any more."""
        rest = memoryview(text.encode())
        async with self._turn:
            while rest:
                if not self._ready.poll(0):
                    await anyio.wait_writable(self._descriptor)

                rest = rest[os.write(self._descriptor, rest[:_MOST_AT_ONCE]) :]

        self._owed.note_answer(text)

    async def flush(self) -> None:
        """Do nothing: nothing is kept back."""


@contextmanager
def take_stdin(owed: Owed, *, refuse: Refuse | None = None) -> Iterator[Incoming | None]:
    """Keep stdin for the client: whoever else reads it in the meantime, a child too, meets its end.

    None: not ours.
    """
    with _taken(_STDIN, lambda: os.open(os.devnull, os.O_RDONLY)) as descriptor:
        yield None if descriptor is None else Incoming(descriptor, owed, refuse=refuse)


@contextmanager
def take_stdout(owed: Owed) -> Iterator[Outgoing | None]:
    """Keep stdout for the client: what else is printed in the meantime goes to stderr.

    None: not ours.
    """
    with _taken(_STDOUT, _stderr_or_nothing) as descriptor:
        yield None if descriptor is None else Outgoing(descriptor, owed)


@contextmanager
def _taken(standard: int, open_substitute: Callable[[], int]) -> Iterator[int | None]:
    """Move what `standard` leads to elsewhere and put a substitute in its place until the context is left."""
    if not _says_when_ready(standard):
        yield None
        return

    substitute = open_substitute()
    ours = os.dup(standard)
    os.dup2(substitute, standard)
    os.close(substitute)

    try:
        yield ours
    finally:
        os.dup2(ours, standard)
        os.close(ours)


def _stderr_or_nothing() -> int:
    try:
        return os.dup(_STDERR)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _says_when_ready(descriptor: int) -> bool:
    if not hasattr(select, "poll"):
        return False

    try:
        kind = os.fstat(descriptor).st_mode
    except OSError:
        return False

    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISREG(kind)
