"""Put the network application together: what a request passes on its way, and where it ends."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import anyio
import anyio.to_thread
from mcp.server.request_state import RequestStateSecurity
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from goop_mcp.composition import Application
from goop_mcp.errors import GoopError
from goop_mcp.server.app import create_server
from goop_mcp.server.boundary import GoopServer
from goop_mcp.server.clients import CLIENT_KEY
from goop_mcp.server.network.access import Access, FirstKnown, KnownTokens, Verifier
from goop_mcp.server.network.bodies import BODY_BYTES, Bodies, Judge
from goop_mcp.server.network.callers import caller_of, client_of
from goop_mcp.server.network.guard import Guard
from goop_mcp.server.network.messages import judged, judged_whole
from goop_mcp.server.network.oauth import IssuedTokens, metadata_route, metadata_url
from goop_mcp.server.network.rates import RateLimit, Rates
from goop_mcp.server.network.refusals import InOneForm, refusal
from goop_mcp.server.network.request_ids import HEADER as REQUEST_ID
from goop_mcp.server.network.request_ids import RequestIds
from goop_mcp.server.network.settings import NetworkSettings
from goop_mcp.server.network.tenants import Tenant, Tenants, TooManyTenantsError
from goop_mcp.server.network.traffic import Traffic
from goop_mcp.settings import Settings

__all__ = ["NetworkApplication"]

_READY_WITHIN = 5.0

_OTHER_METHOD = (
    "this address is asked with GET, POST or DELETE; whether the server runs is told at /health"
)
_TOO_MANY_TENANTS = (
    "as many tenants are at work as this server holds; try again in a second, or ask another"
    " replica"
)
_METHODS = ("GET", "POST", "DELETE")
_EXPOSED = ("Mcp-Session-Id", "MCP-Protocol-Version", "Retry-After", "WWW-Authenticate", REQUEST_ID)


class NetworkApplication:
    """The ASGI application that serves MCP; `network` says over which transports and to whom."""

    def __init__(
        self,
        settings: Settings,
        network: NetworkSettings,
        *,
        extend: Callable[[GoopServer], None] | None = None,
    ) -> None:
        """Let `extend` add to each server that is made, before it serves."""
        self._settings, self._network, self._extend = settings, network, extend
        self._rates = Rates(network.rate)
        self._traffic = Traffic()
        self._verifier = _verifier(network)
        self.tenants = Tenants(
            settings, self._server, stateless=network.stateless, body_bytes=BODY_BYTES
        )
        self._app = self._guarded(InOneForm(self._served()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await self._app(scope, receive, send)

    async def drain(self, within: float) -> None:
        """Take nothing new, give what runs `within` seconds to end, then end what stays open."""
        await self._traffic.drain(within)

    def _server(self, application: Application) -> GoopServer:
        keys = self._network.state_keys
        server = create_server(
            application.settings,
            application=application,
            asks_for_tokens=self._network.asks_for_tokens,
            request_state=RequestStateSecurity(keys=keys) if keys else None,
            middleware=[self._traffic.count],
        )
        if self._extend is not None:
            self._extend(server)
        return server

    def _guarded(self, app: ASGIApp) -> ASGIApp:
        network = self._network
        if network.cors_origins:
            app = CORSMiddleware(
                app,
                allow_origins=network.cors_origins,
                allow_methods=_METHODS,
                allow_headers=["*"],
                expose_headers=_EXPOSED,
            )

        return RequestIds(Guard(app, hosts=network.allowed_hosts, origins=network.allowed_origins))

    def _served(self) -> ASGIApp:
        """Return what serves every address: those of MCP at once, as the router takes as long as all else of ours."""
        served: dict[str, ASGIApp] = {}
        if self._network.streamable:
            served["/mcp"] = self._asked(lambda to: to.streamable)
        if self._network.sse:
            served["/sse"] = self._asked(lambda to: to.sse)
            served["/messages/"] = self._asked(lambda to: to.sse, judge=judged_whole)

        others = self._others()

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            app = served.get(scope["path"], others) if scope["type"] == "http" else others
            await app(scope, receive, send)

        return serve

    def _others(self) -> Starlette:
        ready = RateLimit(_Answer(self._ready), self._rates)
        routes = [
            Route("/health", _health, methods=["GET"]),
            Route("/ready", ready, methods=["GET"]),
        ]
        if self._network.issuer is not None:
            routes.append(metadata_route(self._network.issuer))

        app = Starlette(
            routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: _refused}
        )
        # A redirect would lead clients that came through a proxy with TLS to plain HTTP, token and
        # all.
        app.router.redirect_slashes = False

        return app

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with self.tenants.running():
            yield

    def _asked(self, endpoint: Callable[[Tenant], ASGIApp], *, judge: Judge = judged) -> ASGIApp:
        """Return what serves one address: whose token it is says which tenant's endpoint it is."""
        app: ASGIApp = _Dispatch(self.tenants, endpoint, tenant=self._settings.tenant)
        # Only what has arrived counts as under way: a slow body must not keep others out.
        app = Bodies(self._traffic.limited(app), judge=judge, charge=self._rates.charge)
        app = RateLimit(app, self._rates)
        if self._verifier is not None:
            issuer = self._network.issuer
            app = Access(
                app,
                self._verifier,
                self._rates,
                metadata_url=metadata_url(issuer) if issuer else None,
            )

        return app

    async def _ready(self) -> Response:
        own = await self.tenants.tenant(self._settings.tenant)
        is_ready = False
        with anyio.move_on_after(_READY_WITHIN):
            is_ready = await anyio.to_thread.run_sync(
                _reads, own.application, abandon_on_cancel=True
            )

        return JSONResponse(
            {"status": "ready" if is_ready else "unavailable"}, status_code=200 if is_ready else 503
        )


def _verifier(network: NetworkSettings) -> Verifier | None:
    """Return what knows the tokens, None where none are asked for."""
    verifiers: list[Verifier] = []
    if network.tokens is not None:
        verifiers.append(KnownTokens(network.tokens))
    if network.issuer is not None:
        verifiers.append(IssuedTokens(network.issuer))
    return FirstKnown(*verifiers) if verifiers else None


class _Answer:
    """Serves an address whose answer depends on nothing in the request."""

    def __init__(self, make: Callable[[], Awaitable[Response]]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._make())(scope, receive, send)


class _Dispatch:
    """Hands a request to the server of the caller's tenant."""

    def __init__(
        self, tenants: Tenants, endpoint: Callable[[Tenant], ASGIApp], *, tenant: str
    ) -> None:
        self._tenants, self._endpoint, self._tenant = tenants, endpoint, tenant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] not in _METHODS:
            # The SDK would open a session, and for HEAD a stream of which nobody reads a word.
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


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _reads(application: Application) -> bool:
    """Tell whether the database answers; one that was never written to does."""
    try:
        application.store.read(lambda reading: reading.revision())
    except GoopError:
        return False

    return True


def _refused(_: Request, error: Exception) -> Response:
    """Say in our form what the router refuses: an address that there is not, or a method it does not take."""
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "GET")
        return refusal(
            405,
            "not_allowed",
            f"this address is asked with {allowed} only",
            headers={"Allow": allowed},
        )

    return refusal(
        404, "not_found", "there is nothing at this address; MCP is served at /mcp or /sse"
    )
