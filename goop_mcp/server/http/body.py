"""Read the whole body of a request first, within limits of size and time."""

from collections.abc import Callable
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goop_mcp.server.clients import SIZE_KEY, ClientCounter
from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.principal import client_of
from goop_mcp.server.surrogates import whole_characters

__all__ = ["BODY_BYTES", "BODY_SECONDS", "BodyReader", "Judge", "replay"]

Judge = Callable[[Headers, bytes], Response | None]
"""Returns the refusal of a body with these headers, None if it is acceptable."""

BODY_BYTES: Final = 4 * 1024 * 1024
_TOGETHER: Final = 64 * BODY_BYTES
BODY_SECONDS: Final = 30.0


class _DisconnectedError(Exception):
    """Raised if the client disconnects before its body is complete."""


class BodyReader:
    """Answers 413 to a body that is too large, 408 to a slow one, 415 to a compressed one.

    And 503 if the bodies in memory are too large together, or those of one client exceed half of
    that.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        judge: Judge = lambda *_: None,
        seconds: float = BODY_SECONDS,
        together: int = _TOGETHER,
        charge: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        """Let `judge` refuse complete bodies; call `charge` with each client and its bytes read.

        Wait `seconds` for a body; hold at most `together` bytes of all bodies in progress.
        """
        self._app = app
        self._judge = judge
        self._charge = charge
        self._seconds = seconds
        self._together = together
        self._held = ClientCounter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        if (refused := _refused_by_headers(headers)) is not None:
            await refused(scope, receive, send)
            return

        body, held, client = bytearray(), 0, client_of(scope)

        # `_held` counts every byte while it is read, and from then on only the body that is kept.
        # The outer `finally` subtracts what is left of both, however the request ends.
        try:
            try:
                answer = await self._read(receive, body, client)
            finally:
                self._charge(client, len(body))

            # Other methods have no body. If one came nevertheless, it is not held for as long as
            # the stream of a GET is open.
            whole = whole_characters(bytes(body)) if scope["method"] == "POST" else b""
            self._held.add(client, len(whole) - len(body))
            held = scope[SIZE_KEY] = len(whole)
            body.clear()
            if answer is None and scope["method"] == "POST":
                answer = self._judge(headers, whole)

            await (answer or self._app)(scope, receive if answer else replay(whole, receive), send)
        except _DisconnectedError:
            return
        finally:
            self._held.add(client, -held - len(body))

    async def _read(self, receive: Receive, body: bytearray, client: str) -> Response | None:
        """Read into `body`; return the refusal if it is too large or too slow."""
        with anyio.move_on_after(self._seconds):
            is_whole = False
            while not is_whole:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _DisconnectedError

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


def _refused_by_headers(headers: Headers) -> Response | None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        return refusal(
            415, "compressed", "bodies are read as they are; send this one without Content-Encoding"
        )

    length = headers.get("content-length", "0")
    is_number = length.isascii() and length.isdecimal()
    return _too_large() if is_number and int(length) > BODY_BYTES else None


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns `body` once, then the messages that follow it."""
    left: bytes | None = body

    async def replayed() -> Message:
        nonlocal left
        if left is None:
            return await receive()

        # The SDK may keep the request, and this function with it; the body is released.
        whole, left = left, None
        return {"type": "http.request", "body": whole, "more_body": False}

    return replayed
