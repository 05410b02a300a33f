"""Limit unread answers over SSE: clients send messages on another connection than they read."""

import re
from typing import Final
from uuid import UUID

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goop_mcp.server.clients import ClientCounter
from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.principal import client_of

__all__ = ["UnreadAnswers"]

_MOST_WAITING: Final = 64
_ENDPOINT: Final = re.compile(rb"session_id=([0-9a-f]{32})")


class UnreadAnswers:
    """Answers 503 to messages of a client that does not read the answers to earlier ones.

    The first event of a stream names its session. While the client does not read, the stream waits
    in `send`.
    """

    def __init__(self, app: ASGIApp, *, most: int = _MOST_WAITING) -> None:
        self._app = app
        self._most = most
        self._blocked: dict[str, int] = {}
        self._owners: dict[str, str] = {}
        self._waiting = ClientCounter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] == "GET":
            await self._stream(scope, receive, send)
            return

        # Parsed as a UUID: a client may write the id in another form than the stream does.
        try:
            session = UUID(hex=QueryParams(scope["query_string"]).get("session_id", "")).hex
        except ValueError:
            session = ""

        if session in self._blocked:
            # Counted for the owner of the stream, because the stream subtracts the count again.
            client = self._owners[session]
            if self._waiting.of(client) >= self._most:
                description = (
                    "answers of this session wait to be read; read them, then send this again"
                )
                await refusal(503, "unread", description, headers={"Retry-After": "1"})(
                    scope, receive, send
                )
                return

            self._blocked[session] += 1
            self._waiting.add(client)

        await self._app(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        session, client = "", client_of(scope)

        async def watched(message: Message) -> None:
            nonlocal session
            if not session and (found := _ENDPOINT.search(message.get("body", b""))) is not None:
                session = found[1].decode()
                self._owners[session] = client
            # While `send` waits, messages to this session are counted; when it returns, the client
            # has read, and all of them are forgotten at once.
            if session:
                self._blocked.setdefault(session, 0)

            try:
                await send(message)
            finally:
                self._waiting.add(client, -self._blocked.pop(session, 0))

        try:
            await self._app(scope, receive, watched)
        finally:
            self._owners.pop(session, None)
            self._waiting.add(client, -self._blocked.pop(session, 0))
