"""What a client was told of changes, in either era of the protocol."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from mcp import Client
from mcp.types import ResourceUpdatedNotification

from tests.server.connections import PATIENCE

__all__ = ["Heard", "listening"]


class Heard:
    """The addresses of the resources that a client was told to have changed, in order; `note` handles its messages."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._told = anyio.Event()

    async def note(self, message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.add(message.params.uri)

    def add(self, uri: str) -> None:
        self.uris.append(uri)
        self._told.set()

    async def wait_for(self, uri: str) -> None:
        """Wait until the client has heard of `uri`."""
        await self._wait_until(lambda: uri in self.uris)

    async def wait_for_count(self, count: int) -> None:
        """Wait until the client has been told `count` times."""
        await self._wait_until(lambda: len(self.uris) >= count)

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not is_so():
                self._told = anyio.Event()
                await self._told.wait()


@asynccontextmanager
async def listening(client: Client, *uris: str) -> AsyncIterator[Heard]:
    """Let a client of the later era listen to `uris` while the context is open."""
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
