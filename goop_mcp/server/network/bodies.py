"""Read the body of a request before anything works on it: whole, not too large, and not too slowly."""

from collections.abc import Callable
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goop_mcp.server.clients import SIZE_KEY
from goop_mcp.server.network.callers import client_of
from goop_mcp.server.network.refusals import refusal
from goop_mcp.server.tallies import Tally

__all__ = ["BODY_BYTES", "Bodies", "Judge", "replay"]

Judge = Callable[[Headers, bytes], Response | None]
"""Tells how a body is refused that came with these headers, None where nothing speaks against it."""

BODY_BYTES: Final = 4 * 1024 * 1024
_TOGETHER: Final = 64 * BODY_BYTES
_SECONDS: Final = 30.0


class _GoneError(Exception):
    """Raised when the other side has gone before its body was whole."""


class Bodies:
    """Answers 413 to a body that is too large, 408 to one that does not arrive, 415 to one that is compressed.

    And 503 where all together, or half of that from one client, are too much.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        judge: Judge = lambda *_: None,
        seconds: float = _SECONDS,
        together: int = _TOGETHER,
        charge: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        """Let `judge` refuse what was posted once it is there; `charge` is told how much of a client was read.

        Wait `seconds` for a body to arrive; hold at most `together` bytes of all that are under way.
        """
        self._app = app
        self._judge = judge
        self._charge = charge
        self._seconds = seconds
        self._together = together
        self._held = Tally()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        if (refused := _refused_by_its_head(headers)) is not None:
            await refused(scope, receive, send)
            return

        body, held, client = bytearray(), 0, client_of(scope)

        try:
            try:
                answer = await self._read(receive, body, client)
            finally:
                self._charge(client, len(body))

            # Other methods have no body: what came all the same is not held for as long as a stream
            # is open.
            whole = bytes(body) if scope["method"] == "POST" else b""
            self._held.add(client, len(whole) - len(body))
            held = scope[SIZE_KEY] = len(whole)
            body.clear()
            if answer is None and scope["method"] == "POST":
                answer = self._judge(headers, whole)

            await (answer or self._app)(scope, receive if answer else replay(whole, receive), send)
        except _GoneError:
            return
        finally:
            self._held.add(client, -held - len(body))

    async def _read(self, receive: Receive, body: bytearray, client: str) -> Response | None:
        """Read into `body`; return what to answer in place of going on."""
        with anyio.move_on_after(self._seconds):
            is_whole = False
            while not is_whole:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _GoneError

                is_whole = not message.get("more_body", False)
                chunk = message.get("body", b"")
                body += chunk
                self._held.add(client, len(chunk))
                if len(body) > BODY_BYTES:
                    return _too_large()
                if self._held.of(client) > self._together // 2 or self._held.total > self._together:
                    return refusal(
                        503, "busy", "other bodies fill the memory; try again", headers=_SOON
                    )

            return None

        return refusal(
            408,
            "too_slow",
            f"the body did not arrive within {self._seconds:g} s; send it again",
            headers=_CLOSE,
        )


_SOON: Final = {"Retry-After": "1"}
_CLOSE: Final = {"Connection": "close"}


def _too_large() -> Response:
    return refusal(
        413, "too_large", f"a request has at most {BODY_BYTES:,} bytes; send less at a time"
    )


def _refused_by_its_head(headers: Headers) -> Response | None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        return refusal(
            415, "compressed", "bodies are read as they are; send this one without Content-Encoding"
        )
    return _too_large() if _declared(headers) > BODY_BYTES else None


def _declared(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdecimal() else 0


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives `body` once, then whatever comes after it."""
    left: bytes | None = body

    async def replayed() -> Message:
        nonlocal left
        if left is None:
            return await receive()

        # Whoever keeps the request keeps this function, but not the body.
        whole, left = left, None
        return {"type": "http.request", "body": whole, "more_body": False}

    return replayed
