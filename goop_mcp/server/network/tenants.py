"""One server a tenant: each has its own application, sessions and subscriptions, so that nothing can cross over.

A process holds a number of them. The one that nobody has asked for longest makes room for one more, unless it is at
work: a call runs, a stream is open, or a session of the earlier protocol era is.
"""

import logging
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Self

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from goop_mcp.composition import Application
from goop_mcp.server.boundary import GoopServer
from goop_mcp.server.network.direct import DirectWhereItCan
from goop_mcp.server.network.sessions import SessionShares
from goop_mcp.server.network.unread import UnreadAnswers
from goop_mcp.settings import Settings

__all__ = ["Tenant", "Tenants", "TooManyTenantsError"]

_logger = logging.getLogger(__name__)

_MOST_TENANTS = 200
_LONGEST_END = 1.0
_SESSION_IDLE = 1_800.0
_MOST_SESSIONS = 10_000

# Our own guard stands before every route and has judged Host and Origin already.
_GUARDED_ALREADY = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class TooManyTenantsError(Exception):
    """Raised when as many tenants as one process holds are at work."""


@dataclass(slots=True, kw_only=True)
class Tenant:
    """Where the requests of a tenant go, by transport, and what they work on.

    Each request is one context.

    `asked` is when a request last began or ended, by the monotonic clock, in seconds.
    """

    application: Application
    streamable: ASGIApp
    sse: ASGIApp
    has_sessions: Callable[[], bool]
    asked: float = 0.0
    requests: int = 0
    unwanted: anyio.Event = field(default_factory=anyio.Event)
    gone: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_at_work(self) -> bool:
        """Whether anybody would miss it."""
        return self.requests > 0 or self.has_sessions()

    def __enter__(self) -> Self:
        self.requests += 1
        self.asked = monotonic()
        return self

    def __exit__(self, *failure: object) -> None:
        self.requests -= 1
        self.asked = monotonic()


class Tenants:
    """The servers of all tenants, at most `most`.

    `make` puts a server together for an application.
    """

    def __init__(
        self,
        settings: Settings,
        make: Callable[[Application], GoopServer],
        *,
        stateless: bool,
        body_bytes: int,
        most: int = _MOST_TENANTS,
    ) -> None:
        self._most = most
        self._settings = settings
        self._make = make
        self._stateless = stateless
        self._body_bytes = body_bytes
        self._held: dict[str, Tenant] = {}
        self._tasks: TaskGroup | None = None
        self._starting = anyio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve the server's own tenant, and others as they come, while the context is open."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await self.tenant(self._settings.tenant)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def tenant(self, name: str) -> Tenant:
        """Return the tenant `name`, to be entered before anything else is waited for: an idle one may be let go.

        Raises TooManyTenantsError.
        """
        while (found := self._held.get(name)) is None:
            async with self._starting:
                if name not in self._held:
                    self._held[name] = await self._started(name)

        return found

    async def _started(self, name: str) -> Tenant:
        if self._tasks is None:
            raise RuntimeError("requests came before the application was started")
        if len(self._held) >= self._most:
            await self._make_room()

        started: Tenant = await self._tasks.start(self._serve, name)
        started.asked = monotonic()
        return started

    async def _make_room(self) -> None:
        """Let go of the tenant that nobody has asked for longest; the server's own one stays."""
        idle = [
            name
            for name, held in self._held.items()
            if name != self._settings.tenant and not held.is_at_work
        ]
        if not idle:
            raise TooManyTenantsError

        left = self._held.pop(min(idle, key=lambda name: self._held[name].asked))
        left.unwanted.set()
        # What a client gave up may still hold a thread; others need not wait for that.
        with anyio.move_on_after(_LONGEST_END):
            await left.gone.wait()

    async def _serve(self, name: str, *, task_status: TaskStatus[Tenant]) -> None:
        tenant = None
        try:
            async with AsyncExitStack() as stack:
                tenant = await self._opened(name, stack)
                task_status.started(tenant)
                await tenant.unwanted.wait()
        except Exception:
            if tenant is None:
                raise

            # The others go on; whoever asks for this one next has it started anew.
            _logger.exception("a tenant did not end as it should")
        finally:
            if tenant is not None:
                if self._held.get(name) is tenant:
                    del self._held[name]

                tenant.gone.set()

    async def _opened(self, name: str, stack: AsyncExitStack) -> Tenant:
        empty = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="goop-mcp-", ignore_cleanup_errors=True)
        )
        application = stack.enter_context(Application(self._of_tenant(name, Path(empty))))
        server = self._make(application)
        server.streamable_http_app(
            stateless_http=self._stateless,
            max_request_body_size=self._body_bytes,
            session_idle_timeout=_SESSION_IDLE,
            max_sessions=_MOST_SESSIONS,
            transport_security=_GUARDED_ALREADY,
        )
        sse = server.sse_app(
            max_request_body_size=self._body_bytes, transport_security=_GUARDED_ALREADY
        )
        streaming, direct = (
            server.session_manager,
            server.direct_manager(_GUARDED_ALREADY, self._body_bytes),
        )
        await stack.enter_async_context(streaming.run())
        await stack.enter_async_context(direct.run())
        # How long rules take that were brought along is known to nobody.
        streamable: ASGIApp = (
            streaming.handle_request
            if application.rules
            else DirectWhereItCan(streaming=streaming, direct=direct)
        )

        return Tenant(
            application=application,
            streamable=(
                streamable if self._stateless else SessionShares(streamable, server.open_sessions)
            ),
            sse=UnreadAnswers(sse),
            has_sessions=lambda: bool(server.open_sessions()),
        )

    def _of_tenant(self, name: str, empty: Path) -> Settings:
        """Return the settings of a tenant: the folder of the project belongs to the one that is the server's own."""
        project = self._settings.project if name == self._settings.tenant else empty.resolve()
        return replace(self._settings, tenant=name, project=project)
