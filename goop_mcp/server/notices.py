"""Tell clients of both protocol eras that a resource they subscribed to has changed, whoever changed it.

A client of 2025 subscribes with a request of its own and hears a notification; one of 2026 keeps a stream open. Both
say which resources they want, and only these are looked at: a stamp is taken of each, at short intervals, so that a
change by another process, another replica or a person counts like one of ours, and neither a filesystem nor a database
has to be able to report it.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.types import INVALID_REQUEST

from goop_mcp.errors import GoopError

__all__ = ["Notices"]

_MOST_SUBSCRIPTIONS = 1000
_NO_SESSION = (
    "no session is kept here through which a change could be told; read the resource again when you need it, connect "
    "to /sse, or listen as a client of 2026-07-28"
)

_logger = logging.getLogger(__name__)


class Notices:
    """Everyone who wants to hear of changes, and what they want to hear of.

    `take_stamps` gives for each resource a value that is another one after each change of it; it runs on a worker
    thread. It is called with all wanted resources every `interval` seconds, and not while nobody wants any. A round in
    which it raises GoopError tells nothing; the next one makes up for it.
    """

    def __init__(self, take_stamps: Callable[[Collection[str]], Mapping[str, object]], *, interval: float) -> None:
        self.bus = InMemorySubscriptionBus()
        self._take_stamps = take_stamps
        self._interval = interval
        self._wanted: Counter[str] = Counter()
        self._stamps: dict[str, object] = {}
        self._clients: dict[Connection, set[str]] = {}
        self._someone = anyio.Event()
        self._turn = anyio.Lock()

    async def subscribe(self, client: Connection, uri: str) -> None:
        """Serve `resources/subscribe` of the earlier era; a second time changes nothing.

        Raises MCPError: there are too many, or there is no way to tell this client anything by itself.
        """
        if not client.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, _NO_SESSION)
        if client not in self._clients:
            self._clients[client] = set()
            client.exit_stack.callback(self._forget, client)
        if uri not in self._clients[client]:
            self._refuse_too_many()
            self._clients[client].add(uri)
            await self._want([uri])

    def unsubscribe(self, client: Connection, uri: str) -> None:
        """Serve `resources/unsubscribe`; one that was never subscribed to is no fault."""
        uris = self._clients.get(client, set())
        if uri in uris:
            uris.remove(uri)
            self._want_no_more([uri])

    async def watch_streams(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Note, as a middleware, what the streams of the later era want for as long as they are open."""
        if ctx.method != "subscriptions/listen":
            return await call_next(ctx)
        if uris := _resources_of(ctx.params or {}):
            self._refuse_too_many(len(uris))
        try:
            await self._want(uris)
            return await call_next(ctx)
        finally:
            self._want_no_more(uris)

    @asynccontextmanager
    async def watching(self, _server: object = None) -> AsyncIterator[None]:
        """Look for changes while the context is open. Of several open ones, one looks and the others stand by."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            yield
            tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        async with self._turn:
            while True:
                await self._someone.wait()
                await anyio.sleep(self._interval)
                for uri in await self._changed():
                    await self._tell(uri)

    async def _changed(self) -> list[str]:
        now = await self._stamps_of(list(self._wanted))
        if now is None:
            return []
        changed = [uri for uri, stamp in now.items() if uri in self._stamps and self._stamps[uri] != stamp]
        # Whoever subscribed while the stamps were taken has put one of its own there.
        known = {**self._stamps, **now}
        self._stamps = {uri: stamp for uri, stamp in known.items() if uri in self._wanted}
        return changed

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for client, uris in list(self._clients.items()):
            if uri in uris:
                await client.notify("notifications/resources/updated", {"uri": uri})

    def _forget(self, client: Connection) -> None:
        self._want_no_more(self._clients.pop(client, set()))

    def _refuse_too_many(self, more: int = 1) -> None:
        if self._wanted.total() + more > _MOST_SUBSCRIPTIONS:
            message = f"there are {_MOST_SUBSCRIPTIONS} subscriptions already; end some, or read the resource again"
            raise MCPError(INVALID_REQUEST, message)

    async def _want(self, uris: Collection[str]) -> None:
        fresh = [uri for uri in uris if uri not in self._wanted]
        self._wanted.update(uris)
        self._stamps.update(await self._stamps_of(fresh) or {})
        if self._wanted:
            self._someone.set()

    def _want_no_more(self, uris: Collection[str]) -> None:
        self._wanted.subtract(uris)
        self._wanted = +self._wanted
        self._stamps = {uri: stamp for uri, stamp in self._stamps.items() if uri in self._wanted}
        if not self._wanted:
            self._someone = anyio.Event()

    async def _stamps_of(self, uris: Collection[str]) -> Mapping[str, object] | None:
        """Return the stamps, None when they cannot be taken now."""
        if not uris:
            return {}
        try:
            return await anyio.to_thread.run_sync(self._take_stamps, uris)
        except (GoopError, OSError) as error:
            _logger.debug("changes cannot be seen at the moment: %s", error)
            return None


def _resources_of(params: Mapping[str, Any]) -> list[str]:
    """Return the resources that a stream asks for; of a request of a wrong shape, which is refused later, none."""
    asked = params.get("notifications")
    listed = asked.get("resourceSubscriptions") if isinstance(asked, Mapping) else None
    uris = [uri for uri in listed if isinstance(uri, str)] if isinstance(listed, list) else []
    return list(dict.fromkeys(uris))
