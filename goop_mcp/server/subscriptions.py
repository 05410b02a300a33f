"""Notify clients of both protocol versions when a resource they subscribed to has changed.

A client of 2025-11-25 sends `resources/subscribe` and receives notifications; one of 2026-07-28
keeps a stream open. Both name the resources they want, and only these are polled: their etags are
compared at short intervals. A change by another process, another replica or a person is noticed
like one of this server, and no filesystem or database has to report changes.
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
from goop_mcp.server.clients import ClientCounter, client_of_message
from goop_mcp.server.message_limits import weight

__all__ = ["Subscriptions"]

# Each costs a look at its etag at every interval.
_MOST_SUBSCRIPTIONS: Final = 4_000
_MOST_OF_A_CLIENT: Final = 1_000
_LONGEST_URI: Final = 2_000
# Bytes. A stream holds the message that opened it for as long as it is open.
_MOST_KEPT_OF_A_CLIENT: Final = 16 * 1024 * 1024
_NO_SESSION = (
    "this server keeps no sessions, so it cannot send changes; read the resource again when you"
    " need it, connect to /sse, or listen as a client of 2026-07-28"
)
_END_SOME: Final = "end some, or read the resource again"

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Subscriber:
    """A connection: the client it counts for, its subscriptions, and the updates due to be sent.

    `due` is a dictionary because it keeps the order of changes and holds each resource once.
    """

    of: str
    uris: set[str] = field(default_factory=set)
    due: dict[str, None] = field(default_factory=dict)
    is_being_notified: bool = False


class Subscriptions:
    """The subscriptions of all clients, and the task that looks for changes.

    `read_etags` returns for each resource a value that differs after each change of it; it runs on
    a worker thread. It is called with all wanted resources every `interval` seconds, and not while
    there are no subscriptions. A round in which it raises GoopError notifies nobody; the next round
    finds the same changes.
    """

    def __init__(
        self, read_etags: Callable[[Collection[str]], Mapping[str, object]], *, interval: float
    ) -> None:
        self.bus = InMemorySubscriptionBus()
        self._read_etags = read_etags
        self._interval = interval
        self._wanted: Counter[str] = Counter()
        self._etags: dict[str, object] = {}
        self._clients: dict[Connection, _Subscriber] = {}
        self._count, self._kept = ClientCounter(), ClientCounter()
        self._someone = anyio.Event()
        # Several transports may watch at once; one of them looks, for all.
        self._turn = anyio.Lock()

    async def subscribe(self, client: Connection, uri: str, *, of: str) -> None:
        """Serve `resources/subscribe` of 2025-11-25; a second subscription changes nothing.

        `of` names the client for limits; it may have several connections. Raises MCPError if there
        are too many subscriptions, the address is too long, or this connection cannot carry
        notifications.
        """
        # A connection without a channel of its own only answers; a notification would never be
        # sent.
        if not client.has_standalone_channel:
            raise MCPError(INVALID_REQUEST, _NO_SESSION)
        if client not in self._clients:

            def forget() -> None:
                left = self._clients.pop(client)
                self._count.add(left.of, -len(left.uris))
                self._want_no_more(left.uris)

            self._clients[client] = _Subscriber(of)
            # However the connection ends, its subscriptions are counted off.
            client.exit_stack.callback(forget)

        subscriber = self._clients[client]
        if uri not in subscriber.uris:
            self._refuse_too_many([uri], subscriber.of)
            subscriber.uris.add(uri)
            self._count.add(subscriber.of)
            await self._want([uri])

    def unsubscribe(self, client: Connection, uri: str) -> None:
        """Serve `resources/unsubscribe`; a resource without a subscription is ignored."""
        subscriber = self._clients.get(client)
        if subscriber is not None and uri in subscriber.uris:
            subscriber.uris.remove(uri)
            self._count.add(subscriber.of, -1)
            self._want_no_more([uri])

    async def watch_streams(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Middleware that counts the resources of a stream of 2026-07-28 while it is open."""
        if ctx.method != "subscriptions/listen":
            return await call_next(ctx)

        # A request of a wrong shape asks for nothing here, and is refused by the SDK later.
        asked = (ctx.params or {}).get("notifications")
        listed = asked.get("resourceSubscriptions") if isinstance(asked, Mapping) else None
        named = listed if isinstance(listed, list) else []
        uris = list(dict.fromkeys(uri for uri in named if isinstance(uri, str)))
        of = client_of_message(ctx)

        size = weight([ctx.params, ctx.request_id], _MOST_KEPT_OF_A_CLIENT)
        self._refuse_too_many(uris, of, kept=size)
        self._count.add(of, len(uris))
        self._kept.add(of, size)

        # Counted before the first `await`, so that streams opened at the same time cannot pass the
        # limits together.
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

        Each transport opens a context; the lock lets only one of them look at a time.
        """

        async def watch(tasks: TaskGroup) -> None:
            async with self._turn:
                while True:
                    await self._someone.wait()
                    await anyio.sleep(self._interval)
                    for uri in await self._changed():
                        await self._notify(uri, tasks)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks)
            yield
            tasks.cancel_scope.cancel()

    async def _changed(self) -> list[str]:
        now = await self._etags_of(list(self._wanted))
        # The database is away: what changed meanwhile is seen when it is back.
        if now is None:
            return []

        # A resource that is new in this round has nothing to be compared with yet.
        changed = [
            uri for uri, etag in now.items() if uri in self._etags and self._etags[uri] != etag
        ]
        # A client that subscribed while the etags were read has added its etags meanwhile, and
        # one that unsubscribed wants none any more: merge, then drop what nobody wants.
        known = {**self._etags, **now}
        self._etags = {uri: etag for uri, etag in known.items() if uri in self._wanted}

        return changed

    async def _notify(self, uri: str, tasks: TaskGroup) -> None:
        # For clients of 2026-07-28, whose streams the SDK serves; those of 2025-11-25 follow.
        await self.bus.publish(ResourceUpdated(uri=uri))
        for client, subscriber in self._clients.items():
            if uri in subscriber.uris:
                # Each client has its own sending task: one that does not read delays only itself.
                subscriber.due[uri] = None
                if not subscriber.is_being_notified:
                    subscriber.is_being_notified = True
                    tasks.start_soon(self._send_due, client, subscriber)

    async def _send_due(self, client: Connection, subscriber: _Subscriber) -> None:
        """Send a client its due updates in order, until none is left.

        An update leaves `due` before it is sent, so a change during the sending is sent again.
        """
        try:
            while subscriber.due:
                uri = next(iter(subscriber.due))
                del subscriber.due[uri]
                await client.notify("notifications/resources/updated", {"uri": uri})
        finally:
            subscriber.is_being_notified = False

    def _refuse_too_many(self, uris: Collection[str], of: str, *, kept: int = 0) -> None:
        if any(len(uri) > _LONGEST_URI for uri in uris):
            raise MCPError(
                INVALID_PARAMS,
                f"an address has more than {_LONGEST_URI:,} characters; give a shorter one",
            )

        # The total is tested before the client's share: its message is about everybody.
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
        # The first etag is taken at once: a change right after the subscription counts already.
        fresh = [uri for uri in uris if uri not in self._wanted]
        self._wanted.update(uris)
        self._etags.update(await self._etags_of(fresh) or {})
        if self._wanted:
            self._someone.set()

    def _want_no_more(self, uris: Collection[str]) -> None:
        self._wanted.subtract(uris)
        # Removes the names with a count of zero, which Counter keeps.
        self._wanted = +self._wanted
        self._etags = {uri: etag for uri, etag in self._etags.items() if uri in self._wanted}
        if not self._wanted:
            # The watching task sleeps until somebody subscribes: an idle server does not poll.
            self._someone = anyio.Event()

    async def _etags_of(self, uris: Collection[str]) -> Mapping[str, object] | None:
        """Return the etags, None if they cannot be read at the moment."""
        if not uris:
            return {}

        try:
            return await anyio.to_thread.run_sync(self._read_etags, uris)
        except (GoopError, OSError) as error:
            _logger.debug("changes cannot be seen at the moment: %s", error)
            return None
