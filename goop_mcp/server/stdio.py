"""Read stdin and write stdout without threads; the SDK hands lines to threads three times a call.

Pipes and sockets report when they are ready, and files always are. Therefore one thread can serve
them, and no read is left waiting when the server ends. For anything else (a terminal, Windows) the
SDK's streams are used.
"""

import json
import os
import re
import select
import stat
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Self

import anyio
import anyio.lowlevel
from anyio.abc import ObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from goop_mcp.server.message_limits import too_large
from goop_mcp.server.surrogates import whole_characters
from goop_mcp.server.unserved_ids import BAD_ID, AnswerId, batch_ids, strange_ids

__all__ = [
    "LONGEST_LINE",
    "LineReader",
    "LineWriter",
    "PendingRequests",
    "ReadableMessages",
    "take_stdin",
    "take_stdout",
]

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_MOST_AT_ONCE: Final = getattr(select, "PIPE_BUF", 512)
"""Bytes that a ready pipe or socket accepts without blocking."""
# Bytes at a time: what a pipe of Linux holds.
_CHUNK: Final = 65_536
LONGEST_LINE: Final = 32 * 1024 * 1024
"""Most bytes of a line: more than the longest arguments of a tool with every character escaped."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_EVENT_KEY: Final = b'"hook_event_name"'
_KEY: Final = re.compile(_EVENT_KEY + b'|"jsonrpc"')
"""A key of every event that a host sends to a hook, or of every message of a client."""


_ENDS: Final = 200
"""Bytes at both ends of a refused line in which its id is searched."""
# A pattern instead of a parser: the line is too long to be parsed, which is why it is refused.
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[\w.-]{1,64}")\s*(?:,|$)')
_LAST_ANSWERS: Final = 1.0
"""Seconds that requests in progress have after the end of the input."""

_REQUEST: Final = (b'"id"', b'"method"')
# A request that is answered when its client leaves; waiting for its answer would be waiting for
# ever.
_STAYS_OPEN: Final = b'"subscriptions/listen"'
_ANSWER: Final = '{"jsonrpc":"2.0","id":'
_QUESTION: Final = re.compile(r'\{"jsonrpc":"2\.0","id":\d+,"method":')
"""The start of a request of the server, whose ids are numbers: a question to the client."""


_NO_BATCHES: Final = (
    "a list of messages (a batch) arrived, which this server does not accept; send each message on"
    " a line of its own"
)


@dataclass(frozen=True, slots=True)
class _Ends:
    """The first and the last bytes of a line, in which the id of a request stands."""

    first: bytes
    last: bytes

    @property
    def id(self) -> str | int | None:
        """The id of the message, None if none is found."""
        # It stands before or after the params. Ids within them are those of other things, so both
        # ends are cut at the params.
        before = self.first.partition(b'"params"')[0]
        after = self.last.rstrip().removesuffix(b"}").rpartition(b"}")[2]
        found = _ID.search(before) or _ID.search(after)
        return json.loads(found[1]) if found is not None else None

    @property
    def is_request(self) -> bool:
        """Whether the line seems to be a request, which has an id and a method."""
        return b'"method"' in self.first + self.last and self.id is not None


class _Opening:
    """What came before the first message of a client; `event` is the event of a hook instead.

    `seems_event` is true while lines seem to be parts of one: no client waits for their answers.
    """

    def __init__(self) -> None:
        self.is_over = self.has_text = self.seems_event = False
        self.event: bytes | None = None
        self._begun: bytearray | None = None
        self._key = b""

    def note_line(self, line: bytearray) -> None:
        """Note a line: a message, the event of a hook, or a part of one in several lines."""
        message = _parsed(line)
        if isinstance(message, dict):
            self.is_over = message.get("jsonrpc") == "2.0"
            if not self.has_text and _is_event(message):
                self.event = bytes(line)

        self.note_piece(line, is_whole=message is not None)

    def note_piece(self, piece: bytearray, *, is_whole: bool = False) -> None:
        """Note a part of the input, which no other follows if it `is_whole`."""
        if self.is_over:
            self._begun, self.seems_event = None, False
            return

        text = piece.removeprefix(_BYTE_ORDER_MARK).strip()
        if not self.has_text and text:
            self.has_text = True
            self._begun = bytearray() if text.startswith(b"{") and not is_whole else None
        if self._begun is not None:
            # What a tool was given may hold the other key further on.
            if not self._key and (found := _KEY.search(piece)) is not None:
                self._key = found[0]
            self.seems_event = self._key == _EVENT_KEY
            self._begun += piece + b"\n"
            if len(self._begun) > LONGEST_LINE:
                self.end()

    def end(self) -> None:
        """Note that nothing follows any more: what was begun may be the event of a hook."""
        if self._begun is None:
            return

        begun, self._begun = self._begun, None
        message = _parsed(begun)
        # The hook says what is wrong with one that is cut off.
        if _is_event(message) if isinstance(message, dict) else self.seems_event:
            self.event = bytes(begun)


def _parsed(text: bytearray) -> object:
    """Return the value that the text is in JSON, None if it is not."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)

    return None


def _is_event(message: Mapping[str, object]) -> bool:
    return "hook_event_name" in message and "jsonrpc" not in message


Refuse = Callable[[str], Awaitable[None]]
"""Writes the answer to a line that is refused."""


class PendingRequests:
    """Counts requests without an answer: a client that pipes one in and ends waits to read it.

    Lines are only searched for marks of requests and answers, not parsed. A wrong count matters at
    the end of the input only, where it costs a second at most.
    """

    def __init__(self) -> None:
        self._count = 0
        self._settled = anyio.Event()

    def note_line(self, line: bytes | bytearray) -> None:
        """Note an incoming line."""
        if all(mark in line for mark in _REQUEST) and _STAYS_OPEN not in line:
            self._count += 1

    def note_answer(self, text: str) -> None:
        """Note an outgoing line."""
        if text.startswith(_ANSWER) and _QUESTION.match(text) is None:
            self._count -= 1
            self._settled.set()

    async def settle(self) -> None:
        """Wait until everything is answered, at most for a second."""
        with anyio.move_on_after(_LAST_ANSWERS):
            while self._count > 0:
                self._settled = anyio.Event()
                await self._settled.wait()


class LineReader:
    """The incoming lines, over which the SDK iterates as over those of a file."""

    def __init__(
        self, descriptor: int, unanswered: PendingRequests, *, refuse: Refuse | None = None
    ) -> None:
        """Read from the open `descriptor` of a pipe, a socket or a file.

        `refuse` is called with the answer to a line that is too large; the line is skipped.
        """
        self._descriptor = descriptor
        self._refuse = refuse
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._unanswered = unanswered
        self._opening = _Opening()
        self._yielded: deque[_Ends] = deque()

    async def answer_unreadable(self, error: Exception | None) -> bool:
        """Note what the SDK made of the next line; return whether it was a request and refused.

        `error` is why the SDK could not read it, which then drops the line without an answer.
        """
        # The SDK makes one item of each line, in the same order.
        ends = self._yielded.popleft()
        if error is None or self._refuse is None or not ends.is_request:
            return False

        answer = {"jsonrpc": "2.0", "id": ends.id, "error": _why_unreadable(error)}
        # Without blanks: that is how an answer is recognised and counted.
        await self._refuse(json.dumps(answer, separators=(",", ":")) + "\n")

        return True

    @property
    def is_no_client(self) -> bool:
        """Whether text but no message came, as when somebody pipes a reply in by mistake."""
        return self._opening.has_text and not self._opening.is_over

    @property
    def event(self) -> bytes | None:
        """The event of a host's hook that came instead of messages; it ends the input."""
        return self._opening.event

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield each line; bytes that are not UTF-8 become replacement characters."""
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
                if not left_out:
                    self._opening.note_piece(begun)

                # Otherwise a client could fill the memory with one endless line.
                # Only the two ends of a line that is too long are kept: the id is in one of them.
                left_out = left_out or begun[:_ENDS]
                del begun[:-_ENDS]

        if begun and (line := await self._line(begun, left_out)) is not None:
            yield line

        self._opening.end()
        await self._unanswered.settle()

    async def _read(self) -> bytes:
        """Return the next bytes, none at the end of the input or after the event of a hook."""
        if self.event is not None:
            return b""

        # A file is always ready, and without this a long one would let no other task run.
        if self._is_file:
            await anyio.lowlevel.checkpoint()
        else:
            await anyio.wait_readable(self._descriptor)

        try:
            return os.read(self._descriptor, _CHUNK)
        # The other end was closed in the middle; what came before is served.
        except ConnectionError:
            return b""

    async def _line(self, line: bytearray, left_out: bytearray) -> str | None:
        """Return a complete line, None if it is refused; `left_out` is the start of a long one."""
        # Parsed only until the first message has come, which is nearly always the first line.
        if not (self._opening.is_over or left_out):
            self._opening.note_line(line)
        if self._opening.event is not None or self._opening.seems_event:
            return None

        # Checked before it is decoded: a decoded line takes up to four times its bytes.
        reason = (
            f"the line has more than {LONGEST_LINE:,} bytes; send less at a time"
            if left_out
            else None
        )
        reason = reason or too_large(bytes(line))
        ends = _Ends(bytes((left_out or line)[:_ENDS]), bytes(line[-_ENDS:]))
        ids: Sequence[AnswerId] = [ends.id]
        if reason is None:
            ids, reason = _unserved(bytes(line))
        if reason is None or self._refuse is None:
            self._unanswered.note_line(line)
            self._yielded.append(ends)
            return whole_characters(bytes(line)).decode(errors="replace")

        # JSON-RPC answers a request that cannot be read with an error, and null for an unknown id.
        error = {"code": INVALID_REQUEST, "message": reason}
        for id in ids:
            await self._refuse(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}) + "\n")

        return None


class ReadableMessages:
    """What the SDK made of the lines, without requests that it could not read.

    These are answered with an error, as the client would wait for an answer otherwise. The SDK
    reads from it as from its own stream.
    """

    def __init__(
        self, incoming: ObjectReceiveStream[SessionMessage | Exception], lines: LineReader
    ) -> None:
        """Read from `incoming`, to which the SDK sends one item for each of `lines`."""
        self._incoming = incoming
        self._lines = lines

    async def receive(self) -> SessionMessage | Exception:
        """Return the next item. Raises EndOfStream at the end of the input."""
        while True:
            item = await self._incoming.receive()
            error = item if isinstance(item, Exception) else None
            if not await self._lines.answer_unreadable(error):
                return item

    async def aclose(self) -> None:
        """Close the stream of the SDK."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        """Return itself, as it can be read once only."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next item."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        """Return itself, which is closed at the end."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()


def _unserved(line: bytes) -> tuple[Sequence[AnswerId], str | None]:
    """Return the ids of what the SDK would not answer, and why; no reason for any other line."""
    # Text that only begins with a bracket, such as a reply by mistake, has no ids.
    if batch := batch_ids(line):
        return batch, _NO_BATCHES
    strange = strange_ids(line)
    return strange, BAD_ID if strange else None


def _why_unreadable(error: Exception) -> dict[str, str | int]:
    """Return the error of JSON-RPC for a line that the SDK could not read."""
    # Only the first: the SDK tries each kind of message, and each of them has its own errors.
    first = error.errors(include_input=False)[0] if isinstance(error, ValidationError) else None
    if first is not None and first["type"] == "json_invalid":
        # Where and why, without any text of the message.
        text = f"the line is not JSON ({first['msg']}); send one message of JSON-RPC on a line"
        return {"code": PARSE_ERROR, "message": text}

    text = "the line is not a JSON-RPC message; send its params as an object and its method as text"
    return {"code": INVALID_REQUEST, "message": text}


class LineWriter:
    """The outgoing lines; the SDK writes to it as to a file.

    Waiting for a client that does not read blocks no other task.
    """

    def __init__(self, descriptor: int, unanswered: PendingRequests) -> None:
        """Write to the open `descriptor` of a pipe, a socket or a file."""
        self._descriptor = descriptor
        self._unanswered = unanswered
        # Refusals are written by the reading task, all other answers by another task.
        self._turn = anyio.Lock(fast_acquire=True)
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Write all of `text`. Raises BrokenPipeError if the client has closed its end."""
        rest = memoryview(text.encode())
        async with self._turn:
            while rest:
                if not self._ready.poll(0):
                    await anyio.wait_writable(self._descriptor)

                # In pieces that never block: the descriptor may be shared with other processes,
                # and must not be switched to non-blocking writes.
                rest = rest[os.write(self._descriptor, rest[:_MOST_AT_ONCE]) :]

        # Only after the last byte: the client has the answer then.
        self._unanswered.note_answer(text)

    async def flush(self) -> None:
        """Do nothing: `write` buffers nothing."""


@contextmanager
def take_stdin(
    unanswered: PendingRequests, *, refuse: Refuse | None = None
) -> Iterator[LineReader | None]:
    """Reserve stdin for the client: other readers, child processes too, meet its end.

    None: this stdin cannot be served without threads.
    """
    with _taken(_STDIN, lambda: os.open(os.devnull, os.O_RDONLY)) as descriptor:
        yield None if descriptor is None else LineReader(descriptor, unanswered, refuse=refuse)


@contextmanager
def take_stdout(unanswered: PendingRequests) -> Iterator[LineWriter | None]:
    """Reserve stdout for the client: anything else that is printed goes to stderr.

    None: this stdout cannot be served without threads.
    """

    def stderr_or_null() -> int:
        try:
            return os.dup(_STDERR)
        except OSError:
            return os.open(os.devnull, os.O_WRONLY)

    with _taken(_STDOUT, stderr_or_null) as descriptor:
        yield None if descriptor is None else LineWriter(descriptor, unanswered)


@contextmanager
def _taken(standard: int, open_substitute: Callable[[], int]) -> Iterator[int | None]:
    """Yield a duplicate of `standard`, with a substitute in its place until the context is left."""
    try:
        kind = os.fstat(standard).st_mode
    except OSError:
        kind = 0

    # A terminal reports none, and neither does what a service manager has closed.
    reports_readiness = stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISREG(kind)
    if not reports_readiness or not hasattr(select, "poll"):
        yield None
        return

    # Everything that prints by mistake, or in a child process, would otherwise be read by the
    # client as a message.
    substitute = open_substitute()
    ours = os.dup(standard)
    os.dup2(substitute, standard)
    os.close(substitute)

    try:
        # The server may have run within another program, which needs its own streams again.
        yield ours
    finally:
        os.dup2(ours, standard)
        os.close(ours)
