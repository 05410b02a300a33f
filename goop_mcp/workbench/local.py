"""The workbench of one person on this machine: `goop-mcp ui`."""

import getpass
import logging
import os
import secrets
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from goop_mcp.context import AppContext
from goop_mcp.server.http.concurrency import ConcurrencyLimiter
from goop_mcp.server.http.host_origin import HostOriginCheck
from goop_mcp.server.http.ports import bind
from goop_mcp.server.http.rate_limit import RateLimiter
from goop_mcp.server.http.serving import run_server
from goop_mcp.server.scopes import ALL_SCOPES, READ, WORKSPACE
from goop_mcp.settings import Settings
from goop_mcp.workbench.access import Logins, OneTimeCodes, SignedValues
from goop_mcp.workbench.app import Door, Workbench

__all__ = ["LocalWorkbench", "serve_locally"]

_HOST: Final = "127.0.0.1"
_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
_PER_SECOND: Final = 50.0
_LONGEST_NAME: Final = 60
# How often it is looked whether the terminal is still there.
_LOOKS_SECONDS: Final = 1.0

_logger = logging.getLogger(__name__)


class LocalWorkbench:
    """The workbench for `application`; whoever has a code of `codes` may enter.

    `per_second` limits the requests of a person; 0 means no limit.
    """

    def __init__(
        self, application: AppContext, *, is_read_only: bool, per_second: float = _PER_SECOND
    ) -> None:
        # A signal ends the process right after the lifespan, so that it closes the database.
        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            try:
                yield
            finally:
                application.close()

        self.codes = OneTimeCodes()
        self._traffic = ConcurrencyLimiter()
        # New keys with each start: nobody is logged in from the last one.
        logins = Logins(SignedValues([secrets.token_hex(32)]))
        door = _CodeDoor(self, logins, is_read_only=is_read_only)
        self.workbench = Workbench(
            door,
            logins,
            lambda _: nullcontext(application),
            rates=RateLimiter(per_second),
            traffic=self._traffic,
            lifespan=lifespan,
        )
        origins = tuple(f"http://{name}:*" for name in _NAMES)
        self._app = HostOriginCheck(self.workbench, hosts=_NAMES, origins=origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._app(scope, receive, send)

    async def drain(self, within: float) -> None:
        """Refuse new requests, let running ones end for `within` seconds, then end streams."""
        await self._traffic.drain(within)


class _CodeDoor(Door):
    """Admits whoever brings a code that was printed on the terminal."""

    def __init__(self, local: LocalWorkbench, logins: Logins, *, is_read_only: bool) -> None:
        self._local, self._logins = local, logins
        self.is_read_only = is_read_only
        self._scopes = frozenset({READ, WORKSPACE}) if is_read_only else ALL_SCOPES
        self.routes = [Route("/login/{code}", self._enter, methods=["GET"])]

    async def _enter(self, request: Request) -> Response:
        workbench = self._local.workbench
        workbench.limit(request, None)
        # A program that only looks at the address must not use up the code.
        if request.method == "HEAD":
            return Response()

        if self._local.codes.use(request.path_params["code"]):
            try:
                name = getpass.getuser()
            except (ImportError, KeyError, OSError):
                name = "unknown"
            login, cookie = self._logins.issue(
                name="".join(each for each in name if each.isprintable())[:_LONGEST_NAME],
                scopes=self._scopes,
                tenant="",
            )
            response = workbench.enter(login, cookie, is_secure=False)
        else:
            response = workbench.login_page(error="code")
        # The address holds the code, and is named nowhere.
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def serve_locally(
    settings: Settings,
    *,
    port: int,
    is_read_only: bool,
    opens_browser: bool,
    terminal: int | None,
    announce: Callable[[str], None],
) -> int:
    """Serve the workbench on this machine until a signal comes; return the exit code.

    `terminal` is the descriptor of the terminal with whose end this ends too, None without one.
    `announce` is called once it serves, with the address that logs in once. Raises SettingsError if
    the port cannot be bound.
    """
    listening = bind(_HOST, port)
    if terminal is not None:
        threading.Thread(target=_end_with, args=[terminal], daemon=True).start()
    local = LocalWorkbench(AppContext(settings), is_read_only=is_read_only)

    def ready() -> None:
        address = f"http://{_HOST}:{listening.getsockname()[1]}/login/{local.codes.make()}"
        announce(address)

        # On a terminal without a screen a browser would take the terminal.
        has_screen = sys.platform in {"win32", "darwin"} or bool(
            os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        )
        if opens_browser and has_screen:
            # A browser that does not return must not stop the server.
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()

    run_server(local, listening, ready=ready)

    return 0


def _end_with(terminal: int) -> None:
    """Send this process SIGHUP once `terminal` has closed.

    The system does so itself only for the processes in the foreground of a terminal and for the
    shell, which does not always pass it on. Whoever has the signal ignored, as nohup does, wants
    the process to outlive the terminal.
    """
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is None or signal.getsignal(hang_up) is signal.SIG_IGN:
        return

    while os.isatty(terminal):
        time.sleep(_LOOKS_SECONDS)
    os.kill(os.getpid(), hang_up)
