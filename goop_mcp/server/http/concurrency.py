"""Limit the calls and streams in progress, and end them when the server stops."""

from typing import Any, Final

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.types import INTERNAL_ERROR
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goop_mcp.server.clients import ClientCounter, client_of_message, size_of_message
from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.principal import client_of

__all__ = ["ConcurrencyLimiter"]

_LISTEN: Final = "subscriptions/listen"
_MOST: Final = {"call": 512, "stream": 2_000}
_MOST_OF_A_CLIENT: Final = {"call": 256, "stream": 1_000}
_MOST_HELD_OF_A_CLIENT: Final = 128 * 1024 * 1024
_SOON: Final = {"Retry-After": "1"}
_STOPPING: Final = (503, "stopping", "this server is being stopped; ask again, or another one")
_BUSY: Final = (503, "busy", "too much is in progress; try again in a second")
_LAST_WORDS: Final = 0.1


class ConcurrencyLimiter:
    """Counts calls, which end by themselves, and streams, which stay open until they are closed.

    Answers 503 over the limits, and to every request once the server stops.
    """

    def __init__(self) -> None:
        self._stopping = False
        self._open = {kind: ClientCounter() for kind in _MOST}
        self._streams: set[anyio.CancelScope] = set()
        self._running, self._held = ClientCounter(), ClientCounter()
        self._rested = anyio.Event()

    async def count(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware of the MCP server that counts calls and limits those of each client.

        HTTP requests are not enough for that: over SSE they are answered before the call runs, and
        with protocol 2025-11-25 a call continues after its client has disconnected. Raises
        MCPError if the client is over its limit.
        """
        if ctx.method == _LISTEN:
            return await call_next(ctx)

        client, size = client_of_message(ctx), size_of_message(ctx)
        is_too_much = (
            self._running.of(client) >= _MOST_OF_A_CLIENT["call"]
            or self._held.of(client) + size > _MOST_HELD_OF_A_CLIENT
        )
        # Notifications have no id and no answer: they are counted, but cannot be refused.
        if is_too_much and ctx.request_id is not None:
            raise MCPError(
                INTERNAL_ERROR, "too much of this client is in progress; try again in a second"
            )

        self._running.add(client)
        self._held.add(client, size)

        try:
            return await call_next(ctx)
        finally:
            self._held.add(client, -size)
            self._running.add(client, -1)
            self._note_rest()

    def limited(self, app: ASGIApp) -> ASGIApp:
        """Return `app` with its requests counted and limited."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            headers, client = Headers(scope=scope), client_of(scope)
            # The SDK compares this header with the body for 2026-07-28 only; earlier versions do
            # not have it, and anybody could send it.
            is_listening = (
                headers.get("mcp-method") == _LISTEN
                and headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS
            )
            kind = "stream" if scope["method"] == "GET" or is_listening else "call"
            of_kind = self._open[kind]
            is_full = of_kind.total >= _MOST[kind] or of_kind.of(client) >= _MOST_OF_A_CLIENT[kind]
            if self._stopping:
                await refusal(*_STOPPING, headers={**_SOON, "Connection": "close"})(
                    scope, receive, send
                )
            elif is_full:
                await refusal(*_BUSY, headers=_SOON)(scope, receive, send)
            else:
                of_kind.add(client)
                try:
                    await (
                        self._streamed(app, scope, receive, send)
                        if kind == "stream"
                        else app(scope, receive, send)
                    )
                finally:
                    of_kind.add(client, -1)
                    self._note_rest()

        return counted

    async def drain(self, within: float) -> None:
        """Refuse new requests, wait `within` seconds for calls to end, then end the streams."""
        # Calls first, as streams may carry their answers. The event is replaced before each wait,
        # because a call that ended in between has set the old one.
        self._stopping = True
        with anyio.move_on_after(within):
            while self._is_working():
                self._rested = anyio.Event()
                await self._rested.wait()

        # Answers over SSE are written by another task, which needs a moment after the call ends.
        await anyio.sleep(_LAST_WORDS)
        for stream in list(self._streams):
            stream.cancel()

    def _is_working(self) -> bool:
        return bool(self._running.total or self._open["call"].total)

    def _note_rest(self) -> None:
        if not self._is_working():
            self._rested.set()

    async def _streamed(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        # Cancelled at the end, the application cannot close its response itself. Without the last
        # message the client would see a broken connection, and report an error.
        sending = _TrackedSend(send)
        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await app(scope, receive, sending)
            finally:
                self._streams.discard(stream)

        if stream.cancelled_caught:
            await sending.end()


class _TrackedSend:
    """Passes messages on, and can end the response so that the client sees a regular end."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_begun = self._is_ended = False

    async def __call__(self, message: Message) -> None:
        self._is_begun = True
        self._is_ended = message["type"] == "http.response.body" and not message.get(
            "more_body", False
        )
        await self._send(message)

    async def end(self) -> None:
        if self._is_begun and not self._is_ended:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
