"""Uvicorn's HTTP protocol with time limits for requests, and answers to clients that speak TLS."""

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from goop_mcp.server.http.error_responses import refusal
from goop_mcp.server.http.write_coalescing import WriteCoalescer
from goop_mcp.server.sdk_internals import OwnUpgradeWarning

__all__ = ["TimedProtocol"]

_SECONDS: Final = 10.0
_UNREAD_SECONDS: Final = 60.0
# The first bytes of a TLS connection: a handshake record of any version.
_TLS: Final = (0x16, 0x03)
_HTTP_2: Final = b"PRI * HTTP/2"

_FULL: Final = refusal(
    503,
    "busy",
    "too many connections are open; close some, or try again in a second",
    headers={"Retry-After": "1", "Connection": "close"},
)

_logger = logging.getLogger(__name__)


class TimedProtocol(OwnUpgradeWarning, H11Protocol):
    """Closes a connection on which the head of the next request is not complete after ten seconds.

    `Bodies` limits the time of a body, unless its request is answered already: then it must end
    within ten seconds as well. A client that does not read its answer for a minute is disconnected.
    """

    _due: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _has_spoken = False
    _gathering: WriteCoalescer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time limit for the first request of a new connection."""
        self._gathering = WriteCoalescer(cast("asyncio.Transport", transport), self.loop)
        super().connection_made(cast("asyncio.Transport", self._gathering))
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            # Uvicorn's own answer would be plain text without Retry-After.
            self.app, self.limit_concurrency = _FULL, None
            _logger.warning("%d connections are open, which is the limit", len(self.connections))

        self._expect()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and start or stop the time limit."""
        if not self._has_spoken and tuple(data[:2]) == _TLS:
            _logger.warning(
                "%s spoke TLS, and this port is plain HTTP; use http:// here, or a proxy that"
                " terminates TLS",
                self.client[0] if self.client else "a client",
            )
            # An answer in TLS is not possible; TLS clients recognize one in HTTP and report it.
            self._refuse(
                400,
                "no_tls",
                "this port is plain HTTP; use http://, or a proxy that terminates TLS",
            )
            return

        if not self._has_spoken and data.startswith(_HTTP_2):
            self._refuse(
                505, "no_http_2", "this port speaks HTTP/1.1; let the client or the proxy do so too"
            )
            return

        self._has_spoken = True
        super().data_received(data)

        # The time runs while a head has begun and not ended, and while the client still sends the
        # body of a request that is answered already.
        is_awaiting_client = self.conn.their_state is h11.IDLE or (
            self.conn.their_state is h11.SEND_BODY
            and self.conn.our_state in {h11.DONE, h11.MUST_CLOSE}
        )
        if is_awaiting_client:
            self._expect()
        else:
            self._expect_nothing()

    def on_response_complete(self) -> None:
        """Send what is buffered of a complete answer."""
        self._gathering.flush()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limits with the connection."""
        self._expect_nothing()
        self._note_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the time limit for a client that does not read its answer."""
        super().pause_writing()
        self._note_reading()
        self._unread = self.loop.call_later(_UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the time limit: the client reads again."""
        self._note_reading()
        super().resume_writing()

    def _note_reading(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP in the usual form; `msg` is the reason from uvicorn."""
        self._refuse(
            400,
            "no_http",
            f"{msg.rstrip('.').lower()}; send HTTP/1.1 with one Host and a whole head",
        )

    def _expect(self) -> None:
        # A timer that runs already is kept: bytes that arrive slowly must not extend the time.
        if self._due is None:
            self._due = self.loop.call_later(_SECONDS, self._give_up)

    def _expect_nothing(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        if self.transport.is_closing():
            return
        if (
            self._has_spoken
            and self.conn.our_state is h11.IDLE
            and self.conn.their_state is h11.IDLE
        ):
            self._refuse(
                408,
                "too_slow",
                f"the head of the request took more than {_SECONDS:g} s; send it at once",
            )
        else:
            self.transport.close()

    def _refuse(self, status: int, error: str, description: str) -> None:
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            # The request has its answer already, or part of it: the client would read a second
            # answer as the rest of the first.
            self.transport.close()
            return

        body = json.dumps({"error": error, "error_description": description}).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        head = h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase)
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")

        self.transport.close()
