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
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.types import INVALID_PARAMS, INVALID_REQUEST

from goop_mcp.errors import GoopError
from goop_mcp.server.clients import client_of_message
from goop_mcp.server.message_limits import weight
from goop_mcp.server.tallies import Tally

__all__ = ["Notices"]

_MOST_SUBSCRIPTIONS: Final = 4_000
_MOST_OF_A_CLIENT: Final = 1_000
_LONGEST_URI: Final = 2_000
# A stream holds the message that opened it for as long as it is open.
_MOST_KEPT_OF_A_CLIENT: Final = 16 * 1024 * 1024
_NO_SESSION = (
    "no session is kept here through which a change could be told; read the resource again when you"
    " need it, connect to /sse, or listen as a client of 2026-07-28"
)
_END_SOME: Final = "end some, or read the resource again"

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Subscriber:
    """Whose connection it is, for their share, what is subscribed to through it, and what is still to be sent."""

    of: str
    uris: set[str] = field(default_factory=set)
    due: dict[str, None] = field(default_factory=dict)
    is_being_told: bool = False


class Notices:
    """Everyone who wants to hear of changes, and what they want to hear of.

    `take_stamps` gives for each resource a value that is another one after each change of it; it
    runs on a worker thread. It is called with all wanted resources every `interval` seconds, and
    not while nobody wants any. A round in which it raises GoopError tells nothing; the next one
    makes up for it.
    """

    def __init__(
        self, take_stamps: Callable[[Collection[str]], Mapping[str, object]], *, interval: float
    ) -> None:
        self.bus = InMemorySubscriptionBus()
        self._take_stamps = take_stamps
        self._interval = interval
        self._wanted: Counter[str] = Counter()
        self._stamps: dict[str, object] = {}
        self._clients: dict[Connection, _Subscriber] = {}
        self._count, self._kept = Tally(), Tally()
        self._someone = anyio.Event()
        self._turn = anyio.Lock()

    async def subscribe(self, client: Connection, uri: str, *, of: str) -> None:
        """Serve `resources/subscribe` of the earlier era; a second time changes nothing.

        `of` is who has the connection, perhaps among others. Raises MCPError: there are too many,
        the address is too long, or there is no way to tell this client anything by itself.
        """
        if not client.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, _NO_SESSION)
        if client not in self._clients:
            self._clients[client] = _Subscriber(of)
            client.exit_stack.callback(self._forget, client)

        subscriber = self._clients[client]
        if uri not in subscriber.uris:
            self._refuse_too_many([uri], subscriber.of)
            subscriber.uris.add(uri)
            self._count.add(subscriber.of)
            await self._want([uri])

    def unsubscribe(self, client: Connection, uri: str) -> None:
        """Serve `resources/unsubscribe`; one that was never subscribed to is no fault."""
        subscriber = self._clients.get(client)
        if subscriber is not None and uri in subscriber.uris:
            subscriber.uris.remove(uri)
            self._count.add(subscriber.of, -1)
            self._want_no_more([uri])

    async def watch_streams(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Note, as a middleware, what the streams of the later era want for as long as they are open."""
        if ctx.method != "subscriptions/listen":
            return await call_next(ctx)

        uris, of = _resources_of(ctx.params or {}), client_of_message(ctx)
        size = weight([ctx.params, ctx.request_id], _MOST_KEPT_OF_A_CLIENT)
        self._refuse_too_many(uris, of, kept=size)
        self._count.add(of, len(uris))
        self._kept.add(of, size)

        try:
            await self._want(uris)
            return await call_next(ctx)
        finally:
            self._want_no_more(uris)
            self._kept.add(of, -size)
            self._count.add(of, -len(uris))

    @asynccontextmanager
    async def watching(self, _server: object = None) -> AsyncIterator[None]:
        """Look for changes while the context is open.

        Of several open ones, one looks and the others stand by.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, tasks)
            yield
            tasks.cancel_scope.cancel()

    async def _watch(self, tasks: TaskGroup) -> None:
        async with self._turn:
            while True:
                await self._someone.wait()
                await anyio.sleep(self._interval)
                for uri in await self._changed():
                    await self._tell(uri, tasks)

    async def _changed(self) -> list[str]:
        now = await self._stamps_of(list(self._wanted))
        if now is None:
            return []

        changed = [
            uri for uri, stamp in now.items() if uri in self._stamps and self._stamps[uri] != stamp
        ]
        # Whoever subscribed while the stamps were taken has put one of its own there.
        known = {**self._stamps, **now}
        self._stamps = {uri: stamp for uri, stamp in known.items() if uri in self._wanted}

        return changed

    async def _tell(self, uri: str, tasks: TaskGroup) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for client, subscriber in self._clients.items():
            if uri in subscriber.uris:
                # A client that does not read holds up its own task, and nobody else.
                subscriber.due[uri] = None
                if not subscriber.is_being_told:
                    subscriber.is_being_told = True
                    tasks.start_soon(self._tell_one, client, subscriber)

    async def _tell_one(self, client: Connection, subscriber: _Subscriber) -> None:
        """Send a client all that it is to hear of, in order; what changes once more meanwhile is sent once more."""
        try:
            while subscriber.due:
                uri = next(iter(subscriber.due))
                del subscriber.due[uri]
                await client.notify("notifications/resources/updated", {"uri": uri})
        finally:
            subscriber.is_being_told = False

    def _forget(self, client: Connection) -> None:
        subscriber = self._clients.pop(client)
        self._count.add(subscriber.of, -len(subscriber.uris))
        self._want_no_more(subscriber.uris)

    def _refuse_too_many(self, uris: Collection[str], of: str, *, kept: int = 0) -> None:
        if any(len(uri) > _LONGEST_URI for uri in uris):
            raise MCPError(
                INVALID_PARAMS,
                f"an address has more than {_LONGEST_URI:,} characters; give a shorter one",
            )

        if self._count.total + len(uris) > _MOST_SUBSCRIPTIONS:
            raise MCPError(
                INVALID_REQUEST,
                f"there are {_MOST_SUBSCRIPTIONS:,} subscriptions already; {_END_SOME}",
            )

        if self._count.of(of) + len(uris) > _MOST_OF_A_CLIENT:
            raise MCPError(
                INVALID_REQUEST,
                f"one client may have {_MOST_OF_A_CLIENT:,} subscriptions; {_END_SOME}",
            )

        if self._kept.of(of) + kept > _MOST_KEPT_OF_A_CLIENT:
            raise MCPError(
                INVALID_REQUEST,
                f"the open streams of this client hold {_MOST_KEPT_OF_A_CLIENT:,} bytes of"
                " messages; end some, or listen with shorter metadata",
            )

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
