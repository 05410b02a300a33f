"""Run one server for each tenant, with separate applications, sessions and subscriptions.

A process holds a limited number of them. The one that was idle longest is closed for a new one. A
tenant is not idle while a call runs, or a stream or a session of 2025-11-25 is open.
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

from goop_mcp.context import AppContext
from goop_mcp.server.http.fast_path import FastPath
from goop_mcp.server.http.session_limit import SessionLimit
from goop_mcp.server.http.sse_backpressure import UnreadAnswers
from goop_mcp.server.server import GoopServer
from goop_mcp.settings import Settings

__all__ = ["Tenant", "Tenants", "TooManyTenantsError"]

_logger = logging.getLogger(__name__)

_MOST_TENANTS = 200
_LONGEST_END = 1.0
_SESSION_IDLE = 1_800.0
_MOST_SESSIONS = 10_000

# `Guard` has checked Host and Origin of every request already.
_GUARDED_ALREADY = TransportSecuritySettings(enable_dns_rebinding_protection=False)


class TooManyTenantsError(Exception):
    """Raised if the process holds as many tenants as it may, and none of them is idle."""


@dataclass(slots=True, kw_only=True)
class Tenant:
    """The endpoints of a tenant, by transport, and its application.

    It is a context manager that each request enters. `asked` is the monotonic time, in seconds, at
    which a request last began or ended.
    """

    application: AppContext
    streamable: ASGIApp
    sse: ASGIApp
    has_sessions: Callable[[], bool]
    asked: float = 0.0
    requests: int = 0
    unwanted: anyio.Event = field(default_factory=anyio.Event)
    gone: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_at_work(self) -> bool:
        """Whether a request runs or a session is open."""
        return self.requests > 0 or self.has_sessions()

    # Counted by entering and leaving, so that an error in a request counts it off as well.
    def __enter__(self) -> Self:
        self.requests += 1
        self.asked = monotonic()
        return self

    def __exit__(self, *failure: object) -> None:
        self.requests -= 1
        self.asked = monotonic()


class Tenants:
    """The servers of all tenants, at most `most`; `make` creates the server of an application."""

    def __init__(
        self,
        settings: Settings,
        make: Callable[[AppContext], GoopServer],
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
        """Serve the tenant of the settings, and others on demand, while the context is open."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            # At the start, so that an error of the settings ends the program and not the first
            # request.
            await self.tenant(self._settings.tenant)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def tenant(self, name: str) -> Tenant:
        """Return the tenant `name`, started if necessary. Raises TooManyTenantsError.

        Enter it before the next `await`: an idle tenant may be closed.
        """
        # The lock is held while a tenant starts. A tenant that started may be closed again before
        # this task runs, and then the loop starts another.
        while (found := self._held.get(name)) is None:
            async with self._starting:
                if name in self._held:
                    continue
                if self._tasks is None:
                    raise RuntimeError("requests came before the application was started")
                # Before the next one is started: together they would be more than the limit.
                if len(self._held) >= self._most:
                    await self._make_room()

                started: Tenant = await self._tasks.start(self._serve, name)
                # From now on idle tenants are closed by the time of their last request.
                started.asked = monotonic()
                self._held[name] = started

        return found

    async def _make_room(self) -> None:
        """Close the tenant that was idle longest; the tenant of the settings stays."""
        idle = [
            name
            for name, held in self._held.items()
            if name != self._settings.tenant and not held.is_at_work
        ]
        if not idle:
            raise TooManyTenantsError

        left = self._held.pop(min(idle, key=lambda name: self._held[name].asked))
        left.unwanted.set()
        # A call that a client gave up may still run in a thread, for which nobody else waits.
        with anyio.move_on_after(_LONGEST_END):
            await left.gone.wait()

    async def _serve(self, name: str, *, task_status: TaskStatus[Tenant]) -> None:
        # Opened, served and closed in one task, because cancel scopes of the SDK must be left in
        # the task that entered them. Until `started` is called, an error goes to the request that
        # asked for the tenant; after that nobody else would see it.
        tenant = None
        try:
            async with AsyncExitStack() as stack:
                tenant = await self._opened(name, stack)
                task_status.started(tenant)
                await tenant.unwanted.wait()
        except Exception:
            if tenant is None:
                raise

            # The other tenants go on; the next request for this one starts it again.
            _logger.exception("a tenant did not end as it should")
        finally:
            if tenant is not None:
                if self._held.get(name) is tenant:
                    del self._held[name]

                tenant.gone.set()

    # A tenant without a project of its own works in an empty folder, so that nothing of the
    # server's machine is read for it.
    async def _opened(self, name: str, stack: AsyncExitStack) -> Tenant:
        empty = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="goop-mcp-", ignore_cleanup_errors=True)
        )
        application = stack.enter_context(AppContext(self._settings_of(name, Path(empty))))
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
        # Entered in this task, which also leaves them.
        await stack.enter_async_context(streaming.run())
        await stack.enter_async_context(direct.run())
        # How long custom rules take is not known, so they never run on the event loop.
        streamable: ASGIApp = (
            streaming.handle_request
            if application.rules
            else FastPath(streaming=streaming, direct=direct)
        )

        return Tenant(
            application=application,
            streamable=(
                streamable if self._stateless else SessionLimit(streamable, server.open_sessions)
            ),
            sse=UnreadAnswers(sse),
            has_sessions=lambda: bool(server.open_sessions()),
        )

    def _settings_of(self, name: str, empty: Path) -> Settings:
        """Return the settings of a tenant, whose project is `empty` unless it is the own tenant."""
        project = self._settings.project if name == self._settings.tenant else empty.resolve()
        return replace(self._settings, tenant=name, project=project)
