"""Run the network application, from binding its port to the last answer after a signal."""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

import anyio
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import HANDLED_SIGNALS

from goop_mcp.server.http.application import NetworkApplication
from goop_mcp.server.http.ports import allow_many_sockets, bind
from goop_mcp.server.http.settings import NetworkSettings
from goop_mcp.server.http.uvicorn_protocol import TimedProtocol
from goop_mcp.server.sdk_internals import check_parts
from goop_mcp.server.server import GoopServer
from goop_mcp.server.telemetry_export import start_exporting
from goop_mcp.settings import Settings

__all__ = ["Served", "run_server", "serve_network"]

_GRACE = 5
_LAST_GRACE = 1
_END_AT_LAST = 3
_KEEP_ALIVE = 30
_MOST_CONNECTIONS = 4_000
_LONGEST_HEAD = 32 * 1024

_logger = logging.getLogger(__name__)


def serve_network(
    settings: Settings,
    network: NetworkSettings,
    *,
    extend: Callable[[GoopServer], None] | None = None,
    pages: Callable[[NetworkApplication], ASGIApp] | None = None,
) -> int:
    """Serve until a signal comes, let calls end within five seconds, and return the exit code.

    The signal is raised again at the end, for the handler that was there before. The addresses are
    printed to stderr once clients can connect. `extend` is called with each new server, `pages`
    makes what serves people. Raises SettingsError if the port cannot be bound,
    IncompatiblePackageError if uvicorn has changed.
    """
    check_parts("uvicorn")
    if network.is_open_under_other_names:
        _logger.warning(
            "clients of other names need no token: whoever reaches the proxy in front may do"
            " everything; set GOOP_TOKEN or --token-file, or remove --allowed-host"
        )

    # Bound here and not by uvicorn, so that a port in use is reported with its owner, before
    # anything else has started.
    listening = bind(network.host, network.port)
    allow_many_sockets(_MOST_CONNECTIONS)
    exporting = start_exporting(os.environ, with_page=True)
    application = NetworkApplication(
        settings, network, extend=extend, metrics=exporting.page, pages=pages
    )
    addresses = _addresses(listening.getsockname()[1], network, has_pages=pages is not None)

    try:
        run_server(
            application,
            listening,
            ready=lambda: _announce(addresses, as_record=settings.log_format == "json"),
            hang_up=application.reload_tokens,
        )
    finally:
        exporting.finish()

    return 0


class Served(Protocol):
    """An ASGI application that can be stopped."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ...

    async def drain(self, within: float) -> None:
        """Refuse new requests, let calls end for `within` seconds, then end open streams."""
        ...


def run_server(
    application: Served,
    listening: socket.socket,
    *,
    ready: Callable[[], None],
    hang_up: Callable[[], None] | None = None,
) -> None:
    """Serve `application` on a bound socket until a signal comes, which is raised again.

    `ready` is called once clients can connect. `hang_up` is what SIGHUP does; without it that
    signal ends the server as the others do, except where it was ignored before, as by nohup.
    """
    config = uvicorn.Config(
        application,
        http=TimedProtocol,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_LAST_GRACE,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
    anyio.run(_Server(config, application, ready=ready, hang_up=hang_up).serve, [listening])


def _announce(addresses: str, *, as_record: bool) -> None:
    if as_record:
        # Handled directly, whatever the level is: programs that start the server wait for this
        # record.
        record = _logger.makeRecord(
            _logger.name, logging.INFO, "", 0, "serving %s", (addresses,), None
        )
        _logger.handle(record)
        return

    sys.stderr.write(f"goop-mcp: serving {addresses}\n")
    sys.stderr.flush()


class _Server(uvicorn.Server):
    """Reports when it serves, and lets calls end before streams."""

    def __init__(
        self,
        config: uvicorn.Config,
        application: Served,
        *,
        ready: Callable[[], None],
        hang_up: Callable[[], None] | None,
    ) -> None:
        super().__init__(config)
        self._application, self._ready, self._hang_up = application, ready, hang_up

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report that clients can connect."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no new connections, let calls end, then close everything."""
        # Uvicorn would wait for open streams first, and they end only after the calls.
        for server in self.servers:
            server.close()
        await self._application.drain(_GRACE)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Begin to stop at a signal, and raise it again at the end, for the handler from before.

        In place of uvicorn's handlers, which are methods of the server: sse-starlette, by which the
        SDK writes its streams, replaces these and looks for their server. It would end all streams
        at the signal, and lose answers that are still to be written to them.
        """
        received: list[int] = []
        # Windows has no such signal.
        hang_up = getattr(signal, "SIGHUP", None)

        def stop(number: int, _frame: FrameType | None) -> None:
            # A second signal ends the process at once. A timer ends it in any case, as a worker
            # thread may never return.
            if self.should_exit:
                # The system, a shell and a launcher may all report that the terminal has closed.
                if number == hang_up:
                    return
                os._exit(128 + number)

            watch = threading.Timer(_GRACE + _LAST_GRACE + _END_AT_LAST, os._exit, [128 + number])
            watch.daemon = True
            watch.start()
            received.append(number)
            self.should_exit = True

        before = {number: signal.signal(number, stop) for number in HANDLED_SIGNALS}
        if hang_up is not None and self._hang_up is not None:
            before[hang_up] = signal.signal(hang_up, _in_a_thread(self._hang_up))
        elif hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
            before[hang_up] = signal.signal(hang_up, stop)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

        for received_number in received:
            signal.raise_signal(received_number)


def _in_a_thread(does: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    """Return a handler of signals: no request waits for `does`, and no end of the process."""
    loop = asyncio.get_running_loop()

    def start() -> None:
        threading.Thread(target=does, daemon=True).start()

    def handle(_number: int, _frame: FrameType | None) -> None:
        # From the loop, because the signal may interrupt a line just being written to the log.
        loop.call_soon_threadsafe(start)

    return handle


def _addresses(port: int, network: NetworkSettings, *, has_pages: bool) -> str:
    """Return the addresses for clients; if there are other names, also host, port and all names."""
    paths = [
        path
        for path, served in (("/mcp", network.streamable), ("/sse", network.sse), ("/", has_pages))
        if served
    ]
    addresses = " and ".join(f"http://{network.name_with(port)}{path}" for path in paths)
    if not network.other_names:
        return addresses

    place = "" if network.is_local else f" on {network.host} port {port}"

    return (
        f"{addresses}{place}; accepts requests that name {' or '.join(network.allowed_hosts)} as"
        " their host"
    )
