"""Limit the sessions of each client; only protocol versions up to 2025-11-25 have sessions."""

from collections.abc import Callable, Collection
from typing import Final

from mcp.types import INTERNAL_ERROR
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goop_mcp.server.clients import ClientCounter
from goop_mcp.server.http.error_responses import rpc_refusal
from goop_mcp.server.http.principal import client_of
from goop_mcp.validation.findings import counted_noun

__all__ = ["MOST_OF_A_CLIENT", "SessionLimit"]

MOST_OF_A_CLIENT: Final = 1_000

_SESSION: Final = "mcp-session-id"
_SESSION_HEADER: Final = _SESSION.encode()
_BAD_REQUEST: Final = 400
_MOST_CLIENTS: Final = 10_000


class SessionLimit:
    """Answers 503 to a client that opens more sessions than its share.

    The SDK does not report when a session ends: `open_sessions` returns the open ones. It is called
    only if a client seems to have reached its share.
    """

    def __init__(
        self,
        app: ASGIApp,
        open_sessions: Callable[[], Collection[str]],
        *,
        most: int = MOST_OF_A_CLIENT,
    ) -> None:
        self._app = app
        self._open_sessions = open_sessions
        self._most = most
        self._sessions: dict[str, set[str]] = {}
        self._opening = ClientCounter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        version = headers.get("mcp-protocol-version")
        has_sessions = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        if _SESSION in headers or not has_sessions:
            await self._app(scope, receive, send)
            return

        client = client_of(scope)
        if self._count(client) >= self._most:
            answer = rpc_refusal(
                503,
                INTERNAL_ERROR,
                f"this client has {counted_noun(self._most, 'session')} open, which is its share;"
                " end those that are not needed any more with DELETE, or try again later",
                headers={"Retry-After": "60"},
            )
            await answer(scope, receive, send)
            return

        # A session counts from the beginning of the request that opens it: with requests at the
        # same time, a client could otherwise open more than its share before any has an id. The
        # count ends with the id in the answer, or with the request if there is none.
        is_opening = True

        async def note_session(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _BAD_REQUEST:
                opened = dict(message.get("headers", ())).get(_SESSION_HEADER)
                if opened is not None:
                    opening_ends()
                    self._sessions.setdefault(client, set()).add(opened.decode("latin-1"))

            await send(message)

        def opening_ends() -> None:
            nonlocal is_opening
            if is_opening:
                is_opening = False
                self._opening.add(client, -1)

        self._opening.add(client)

        try:
            await self._app(scope, receive, note_session)
        finally:
            opening_ends()

    def _count(self, client: str) -> int:
        """Return how many sessions a client has or is about to have."""
        # The list of open sessions is long, and most clients have few. It is fetched only for a
        # client that seems full, which may have closed some since.
        opening = self._opening.of(client)
        seems_full = len(self._sessions.get(client, ())) + opening >= self._most
        if seems_full or len(self._sessions) > _MOST_CLIENTS:
            # The sessions of all clients are checked: clients that have left are dropped only here.
            still_open = set(self._open_sessions())
            kept = {name: sessions & still_open for name, sessions in self._sessions.items()}
            self._sessions = {name: sessions for name, sessions in kept.items() if sessions}

        return len(self._sessions.get(client, ())) + opening
