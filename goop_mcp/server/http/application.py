"""Assemble the network application: middleware, routes and tenants."""

import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from http import HTTPStatus

import anyio
import anyio.to_thread
from mcp.server.auth.provider import AccessToken
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError
from goop_mcp.server.app import create_server
from goop_mcp.server.clients import CLIENT_KEY
from goop_mcp.server.http.auth import BearerAuth, StaticTokens, Verifier, VerifierChain
from goop_mcp.server.http.body import BODY_BYTES, BodyReader, Judge
from goop_mcp.server.http.concurrency import ConcurrencyLimiter
from goop_mcp.server.http.error_responses import JsonErrors, refusal
from goop_mcp.server.http.host_origin import HostOriginCheck
from goop_mcp.server.http.jsonrpc import judged, judged_whole
from goop_mcp.server.http.oauth import IssuedTokens, metadata_route, metadata_url
from goop_mcp.server.http.principal import caller_of, client_of
from goop_mcp.server.http.rate_limit import RateLimit, RateLimiter
from goop_mcp.server.http.request_ids import HEADER as REQUEST_ID
from goop_mcp.server.http.request_ids import RequestIds
from goop_mcp.server.http.session_order import SessionOrder
from goop_mcp.server.http.settings import NetworkSettings
from goop_mcp.server.http.tenants import Tenant, Tenants, TooManyTenantsError
from goop_mcp.server.scopes import DEFAULT_SCOPES
from goop_mcp.server.server import GoopServer
from goop_mcp.settings import Settings, SettingsError

__all__ = ["NetworkApplication"]

_logger = logging.getLogger(__name__)

# Seconds for a probe of readiness. Orchestrators give up after about ten.
_READY_WITHIN = 5.0

_OTHER_METHOD = (
    "this address accepts GET, POST or DELETE; whether the server runs is shown at /health"
)
_TOO_MANY_TENANTS = (
    "as many tenants are at work as this server holds; try again in a second, or ask another"
    " replica"
)
_METHODS = ("GET", "POST", "DELETE")
# Addresses that never serve a page, even if the workbench has one with a similar name.
_FOR_PROGRAMS = frozenset({"/mcp", "/sse", "/messages/", "/health", "/ready", "/metrics"})
# Headers that scripts of other origins may read; browsers hide all others.
_EXPOSED = ("Mcp-Session-Id", "MCP-Protocol-Version", "Retry-After", "WWW-Authenticate", REQUEST_ID)


class NetworkApplication:
    """The ASGI application that serves MCP; `network` sets the transports and who may connect."""

    def __init__(
        self,
        settings: Settings,
        network: NetworkSettings,
        *,
        extend: Callable[[GoopServer], None] | None = None,
        metrics: Callable[[], bytes] | None = None,
        pages: "Callable[[NetworkApplication], ASGIApp] | None" = None,
    ) -> None:
        """Call `extend` with each new server, before it serves; `metrics` writes /metrics.

        `pages` returns the application for all other addresses, such as those of the workbench.
        """
        self._metrics = metrics
        self._settings, self._network, self._extend = settings, network, extend
        self.rates = RateLimiter(network.rate)
        self.traffic = ConcurrencyLimiter()
        self._static = StaticTokens(network.tokens) if network.tokens is not None else None
        self._reloading = threading.Lock()
        verifiers: list[Verifier] = [self._static] if self._static is not None else []
        if network.issuer is not None:
            verifiers.append(IssuedTokens(network.issuer))

        # None where no tokens are required.
        self.verifier: Verifier | None = VerifierChain(*verifiers) if verifiers else None
        # Without configured keys each process makes one. Made here and not for each tenant: a
        # tenant may be closed and started again while one of its questions is open.
        self.state_keys = network.state_keys or (secrets.token_hex(),)
        self.tenants = Tenants(
            settings, self._server, stateless=network.stateless, body_bytes=BODY_BYTES
        )

        # From the outside in: request ids go onto every answer; Host and Origin are checked before
        # anything else is read; CORS; one form for all errors.
        app: ASGIApp = JsonErrors(self._routes())
        if network.cors_origins:
            app = CORSMiddleware(
                app,
                allow_origins=network.cors_origins,
                allow_methods=_METHODS,
                allow_headers=["*"],
                expose_headers=_EXPOSED,
            )

        # Copied before the pages add theirs: CORS stays closed for the pages.
        origins = network.allowed_origins
        if pages is not None:
            # Errors are pages there, and no other origin may read them.
            app = _with_pages(app, pages(self))
            origins += network.own_origins

        guard = HostOriginCheck(app, hosts=network.allowed_hosts, origins=origins)
        self._app = RequestIds(guard)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._app(scope, receive, send)

    async def drain(self, within: float) -> None:
        """Refuse new requests, let calls end for `within` seconds, then end open streams."""
        await self.traffic.drain(within)

    def knows(self, holder: str, is_token: Callable[[str], bool]) -> bool:
        """Return whether `is_token` accepts the digest, in hex, of a token of `holder`."""
        known = self._static.holders if self._static is not None else ()
        # By digest, so that a cookie of the workbench can prove a token without holding it.
        return any(each.name == holder and is_token(each.digest.hex()) for each in known)

    def scopes_now(self, token: AccessToken) -> Collection[str]:
        """Return what the token of a caller may do by now; nothing if it counts no more."""
        # Only tokens of an issuer name a subject.
        if token.subject is not None:
            is_over = token.expires_at is not None and token.expires_at <= time.time()
            return () if is_over else token.scopes
        known = self._static.holders if self._static is not None else ()
        return next((each.scopes for each in known if each.name == token.client_id), ())

    def reload_tokens(self) -> None:
        """Read the file of tokens again; if it cannot be used, keep the tokens from before.

        For a thread of its own: the file may be a pipe that somebody has to write to first.
        """
        if self._network.read_tokens is None or self._static is None:
            _logger.warning("there is no file of tokens to read again")
            return

        # One after the other: a slow read must not put older tokens over those of a later one.
        with self._reloading:
            try:
                tokens = self._network.read_tokens()
            except SettingsError as error:
                _logger.warning("the tokens from before are kept: %s", error)
                return

            self._static.replace(tokens)

        # The tokens themselves are in no message: their number shows whether the file was the right
        # one.
        _logger.warning("read the file of tokens again: %d tokens", len(tokens.holders))

    def _server(self, application: AppContext) -> GoopServer:
        server = create_server(
            application.settings,
            application=application,
            without_token=frozenset() if self._network.asks_for_tokens else DEFAULT_SCOPES,
            state_keys=self.state_keys,
            middleware=[self.traffic.count],
        )
        server.look_up_scopes(self.scopes_now)
        if self._extend is not None:
            self._extend(server)
        return server

    def _routes(self) -> ASGIApp:
        """Return the application for all addresses."""
        # The addresses of MCP bypass the router of Starlette, which takes as long for a request as
        # all the rest of this package.
        served: dict[str, ASGIApp] = {}
        if self._network.streamable:
            served["/mcp"] = self._endpoint(lambda to: to.streamable)
        if self._network.sse:
            served["/sse"] = self._endpoint(lambda to: to.sse)
            served["/messages/"] = self._endpoint(lambda to: to.sse, judge=judged_whole)

        others = self._other_routes()

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            app = served.get(scope["path"], others) if scope["type"] == "http" else others
            await app(scope, receive, send)

        return serve

    def _other_routes(self) -> Starlette:
        async def health(_: Request) -> Response:
            return JSONResponse({"status": "ok"})

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with self.tenants.running():
                yield

        # Without a token, so that probes need no secret; limited, so that they cannot be used to
        # make the database busy.
        ready = RateLimit(_Answer(self._ready), self.rates)
        routes = [
            Route("/health", health, methods=["GET"]),
            Route("/ready", ready, methods=["GET"]),
        ]
        # Only where tokens are issued elsewhere: it names the issuer to clients.
        if self._network.issuer is not None:
            routes.append(metadata_route(self._network.issuer))
        if self._metrics is not None:
            routes.append(Route("/metrics", self._guarded(_Answer(self._counted)), methods=["GET"]))

        app = Starlette(
            routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _refused}
        )
        # A redirect would send clients of a proxy that terminates TLS to plain HTTP, with their
        # token.
        app.router.redirect_slashes = False

        return app

    async def _counted(self) -> Response:
        if self._metrics is None:
            raise HTTPException(404)
        # In a thread: it takes milliseconds with many series, and nothing else may wait for it.
        page = await anyio.to_thread.run_sync(self._metrics)
        return Response(page, media_type="text/plain; version=0.0.4")

    def _endpoint(self, endpoint: Callable[[Tenant], ASGIApp], *, judge: Judge = judged) -> ASGIApp:
        """Return the application for an address of MCP; the token selects the tenant."""
        app: ASGIApp = _Dispatch(self.tenants, endpoint, tenant=self._settings.tenant)
        # Only a request with a whole body counts as in progress: slow bodies must not keep others
        # out.
        app = BodyReader(self.traffic.limited(app), judge=judge, charge=self.rates.charge)
        # Nothing outside of it waits, and it needs the caller.
        return self._guarded(SessionOrder(app))

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        """Return `app` with the rate limit and, where tokens exist, with their check."""
        # The rate is limited before the token is looked at: guessing tokens is what it has to slow
        # down.
        app = RateLimit(app, self.rates)
        if self.verifier is None:
            return app

        issuer = self._network.issuer
        return BearerAuth(
            app,
            self.verifier,
            self.rates,
            metadata_url=metadata_url(issuer) if issuer else None,
        )

    async def _ready(self) -> Response:
        # The database is read on a thread that may be abandoned: a probe must be answered in time
        # even if the database does not answer at all.
        own = await self.tenants.tenant(self._settings.tenant)
        is_ready = False
        # Long enough for a busy database, short enough for the probe that asks.
        with anyio.move_on_after(_READY_WITHIN):
            is_ready = await anyio.to_thread.run_sync(
                _is_readable, own.application, abandon_on_cancel=True
            )

        return JSONResponse(
            {"status": "ready" if is_ready else "unavailable"}, status_code=200 if is_ready else 503
        )


def _with_pages(app: ASGIApp, pages: ASGIApp) -> ASGIApp:
    """Return what serves the addresses of programs by `app`, and all others by `pages`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        is_page = scope["type"] == "http" and not (
            path in _FOR_PROGRAMS or path.startswith("/.well-known/")
        )
        await (pages if is_page else app)(scope, receive, send)

    return serve


class _Answer:
    """Serves an address whose answer does not depend on the request."""

    def __init__(self, make: Callable[[], Awaitable[Response]]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._make())(scope, receive, send)


class _Dispatch:
    """Passes a request to the server of the caller's tenant."""

    def __init__(
        self, tenants: Tenants, endpoint: Callable[[Tenant], ASGIApp], *, tenant: str
    ) -> None:
        self._tenants, self._endpoint, self._tenant = tenants, endpoint, tenant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] not in _METHODS:
            # The SDK would open a session, and for HEAD a stream that nobody reads.
            answer = refusal(
                405, "not_allowed", _OTHER_METHOD, headers={"Allow": ", ".join(_METHODS)}
            )
            await answer(scope, receive, send)
            return

        caller = caller_of(scope)

        try:
            tenant = await self._tenants.tenant(
                caller.tenant if caller is not None else self._tenant
            )
        except TooManyTenantsError:
            answer = refusal(
                503, "too_many_tenants", _TOO_MANY_TENANTS, headers={"Retry-After": "1"}
            )
            await answer(scope, receive, send)
            return

        with tenant:
            await self._endpoint(tenant)({**scope, CLIENT_KEY: client_of(scope)}, receive, send)


# A project before its first report has no database, and that is no reason to take a server out of
# service.
def _is_readable(application: AppContext) -> bool:
    """Whether the database answers; one that does not exist yet counts as readable."""
    try:
        application.store.read(lambda reading: reading.revision())
    except GoopError:
        return False

    return True


def _refused(_: Request, error: Exception) -> Response:
    """Return the refusal of an unknown address, or of a method that the address does not accept."""
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "GET")
        return refusal(
            405,
            "not_allowed",
            f"this address accepts {allowed} only",
            headers={"Allow": allowed},
        )

    return refusal(
        404, "not_found", "there is nothing at this address; MCP is served at /mcp or /sse"
    )
