"""Record the notifications of changes that a client receives, in either protocol version."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from mcp import Client
from mcp.types import ResourceUpdatedNotification

from tests.server.connections import PATIENCE

__all__ = ["Heard", "listening"]


class Heard:
    """The addresses of changed resources that a client received, in order.

    `note` is the message handler of the client.
    """

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._received = anyio.Event()

    async def note(self, message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.add(message.params.uri)

    def add(self, uri: str) -> None:
        self.uris.append(uri)
        self._received.set()

    async def wait_for(self, uri: str) -> None:
        """Wait until the client has heard of `uri`."""
        await self._wait_until(lambda: uri in self.uris)

    async def wait_for_count(self, count: int) -> None:
        """Wait until the client has received `count` notifications."""
        await self._wait_until(lambda: len(self.uris) >= count)

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not is_so():
                self._received = anyio.Event()
                await self._received.wait()


@asynccontextmanager
async def listening(client: Client, *uris: str) -> AsyncIterator[Heard]:
    """Let a client of 2026-07-28 listen to `uris` while the context is open."""
    heard = Heard()
    async with (
        client.listen(resource_subscriptions=list(uris)) as events,
        anyio.create_task_group() as tasks,
    ):

        async def listen() -> None:
            async for event in events:
                heard.add(getattr(event, "uri", ""))

        tasks.start_soon(listen)
        yield heard
        tasks.cancel_scope.cancel()
