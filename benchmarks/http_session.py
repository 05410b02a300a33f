"""Talk to an MCP server over streamable HTTP, with as little of our own in between as can be."""

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from benchmarks.machine import resident_mb
from benchmarks.protocol_versions import ProtocolVersion
from benchmarks.timing import program_environment

__all__ = ["HttpSession"]

_LONGEST_START: Final = 60.0
_LONGEST_END: Final = 10
_LONGEST_ANSWER: Final = 60.0
_END: Final = b"\r\n0\r\n\r\n"
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)
_SESSION: Final = re.compile(rb"\r\nmcp-session-id: *([^\r]+)", re.I)

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class HttpSession:
    """A running server that has answered the opening; leaving the context ends it."""

    def __init__(self, arguments: Sequence[str], version: ProtocolVersion) -> None:
        """Start `python` with `arguments`, PORT in them a free port, and wait for an answer."""
        self._version = version
        self._port = _free_port()
        self._session: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._connections: list[_Connection] = []
        command = [sys.executable, *(each.replace("PORT", str(self._port)) for each in arguments)]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=program_environment()
        )
        self._run(self._open())

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Hang up and end the server; kill it when it does not end by itself."""
        for _, writer in self._connections:
            writer.close()

        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
        self._process.terminate()

        try:
            self._process.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ping(self) -> None:
        """Send the request that does nothing and wait for its answer."""
        self._run(self._answered(self._connections[0], self._request("ping", {})))

    def call(self, tool: str, text: str) -> None:
        """Call `tool` with `text` and wait for its answer.

        Raises RuntimeError when that is an error.
        """
        self._run(self._answered(self._connections[0], self._tool_call(tool, text)))

    def call_many(self, tool: str, text: str, *, count: int, in_flight: int) -> None:
        """Call `tool` `count` times over `in_flight` connections at once."""
        # A session identifies its answers by the number of the request.
        self._run(
            self._call_many(
                [self._tool_call(tool, text, number) for number in range(in_flight)], count
            )
        )

    def resident_mb(self) -> float | None:
        """Return the resident size of the server in MB, None if the system does not show it."""
        return resident_mb(self._process.pid)

    async def _call_many(self, requests: Sequence[bytes], count: int) -> None:
        while len(self._connections) < len(requests):
            self._connections.append(await self._connect())

        numbers = iter(range(count))

        async def calling(connection: _Connection, request: bytes) -> None:
            for _ in numbers:
                await self._answered(connection, request)

        await asyncio.gather(*map(calling, self._connections, requests))

    async def _open(self) -> None:
        connection = await self._first_connection()
        self._connections.append(connection)
        version = self._version
        head = await self._answered(
            connection, self._request(version.opening, version.opening_parameters())
        )
        if version.has_sessions and (found := _SESSION.search(head)):
            self._session = {"Mcp-Session-Id": found[1].decode()}
            await self._answered(
                connection, self._request("notifications/initialized", None), accepted=b"202"
            )

    async def _first_connection(self) -> _Connection:
        until = time.monotonic() + _LONGEST_START
        while True:
            try:
                return await self._connect()
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise

                await asyncio.sleep(0.01)

    async def _connect(self) -> _Connection:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=1_000_000)

    def _tool_call(self, tool: str, text: str, number: int = 0) -> bytes:
        return self._request(
            "tools/call", self._version.parameters(name=tool, arguments={"text": text}), number
        )

    def _request(
        self, method: str, parameters: Mapping[str, object] | None, number: int = 0
    ) -> bytes:
        """Return a request, or where `parameters` is None a notification."""
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method}
        if parameters is not None:
            message |= {"id": number, "params": parameters}

        body = json.dumps(message).encode()
        headers = {
            "Host": f"127.0.0.1:{self._port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
            **self._version.headers(method, parameters or {}),
            **self._session,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

        return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body

    async def _answered(
        self, connection: _Connection, request: bytes, *, accepted: bytes = b"200"
    ) -> bytes:
        """Send a request, wait for the whole of its answer and return the head of that."""
        reader, writer = connection
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else await reader.readuntil(_END)
        if head.split(b" ", 2)[1] != accepted or b'"isError":true' in body:
            raise RuntimeError(f"the answer is {head[:300]!r} {body[:500]!r}")
        return head

    def _run(self, work: Coroutine[object, object, object]) -> None:
        self._loop.run_until_complete(asyncio.wait_for(work, _LONGEST_ANSWER + _LONGEST_START))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
