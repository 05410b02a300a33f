"""One server a tenant: each has its own application, sessions and subscriptions, so that nothing can cross over."""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from goop_mcp.composition import Application
from goop_mcp.server.boundary import GoopServer
from goop_mcp.server.network.direct import DirectWhereItCan
from goop_mcp.settings import Settings

__all__ = ["Endpoints", "Tenants", "TooManyTenantsError"]

_MOST_TENANTS = 200
_SESSION_IDLE = 1_800.0
_MOST_SESSIONS = 10_000

# Our own guard stands before every route and has judged Host and Origin already.
_GUARDED_ALREADY = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class TooManyTenantsError(Exception):
    """Raised when there are servers for as many tenants as one process holds."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the requests of a tenant go, by transport, and what they work on."""

    application: Application
    streamable: ASGIApp
    sse: ASGIApp


class Tenants:
    """The servers of all tenants. `make` puts a server together for an application."""

    def __init__(
        self, settings: Settings, make: Callable[[Application], GoopServer], *, stateless: bool, body_bytes: int
    ) -> None:
        self._settings = settings
        self._make = make
        self._stateless = stateless
        self._body_bytes = body_bytes
        self._endpoints: dict[str, Endpoints] = {}
        self._tasks: TaskGroup | None = None
        self._starting = anyio.Lock()

    @asynccontextmanager
    async def running(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Serve the tenants called `names`, and others as they come, while the context is open."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for name in sorted(names):
                await self.endpoints(name)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def endpoints(self, name: str) -> Endpoints:
        """Return where the requests of tenant `name` go. Raises TooManyTenantsError."""
        if (found := self._endpoints.get(name)) is not None:
            return found
        async with self._starting:
            if name not in self._endpoints:
                self._endpoints[name] = await self._started(name)
        return self._endpoints[name]

    async def _started(self, name: str) -> Endpoints:
        if self._tasks is None:
            raise RuntimeError("requests came before the application was started")
        if len(self._endpoints) >= _MOST_TENANTS:
            raise TooManyTenantsError
        started: Endpoints = await self._tasks.start(self._serve, name)
        return started

    async def _serve(self, name: str, *, task_status: TaskStatus[Endpoints]) -> None:
        async with AsyncExitStack() as stack:
            empty = stack.enter_context(tempfile.TemporaryDirectory(prefix="goop-mcp-"))
            application = stack.enter_context(Application(self._of_tenant(name, Path(empty))))
            server = self._make(application)
            server.streamable_http_app(
                stateless_http=self._stateless,
                max_request_body_size=self._body_bytes,
                session_idle_timeout=_SESSION_IDLE,
                max_sessions=_MOST_SESSIONS,
                transport_security=_GUARDED_ALREADY,
            )
            sse = server.sse_app(max_request_body_size=self._body_bytes, transport_security=_GUARDED_ALREADY)
            streaming, direct = server.session_manager, server.direct_manager(_GUARDED_ALREADY, self._body_bytes)
            await stack.enter_async_context(streaming.run())
            await stack.enter_async_context(direct.run())
            task_status.started(Endpoints(application, DirectWhereItCan(streaming=streaming, direct=direct), sse))
            await anyio.sleep_forever()

    def _of_tenant(self, name: str, empty: Path) -> Settings:
        """Return the settings of a tenant: the folder of the project belongs to the one that is the server's own."""
        project = self._settings.project if name == self._settings.tenant else empty.resolve()
        return replace(self._settings, tenant=name, project=project)
