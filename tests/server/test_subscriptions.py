"""Subscriptions in both protocol versions, with a real file that somebody else changes."""

import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from mcp import Client, MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning

from goop_mcp.errors import StoreUnavailableError
from goop_mcp.server import GoopServer
from goop_mcp.server.subscriptions import Subscriptions
from tests.server.connections import PATIENCE
from tests.server.notifications import Heard

URI = "goop://project/SPEC.md"
OTHER = "goop://project/BLUEPRINT.md"

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)


@pytest.fixture
def spec(tmp_path: Path) -> anyio.Path:
    path = tmp_path / "SPEC.md"
    path.write_text("first", encoding="utf-8")
    return anyio.Path(path)


def serve(spec: anyio.Path) -> GoopServer:
    def read_etags(uris: Collection[str]) -> Mapping[str, object]:
        there = Path(spec).exists()
        return {
            uri: Path(spec).read_text(encoding="utf-8") if there and uri == URI else None
            for uri in uris
        }

    return serving(read_etags)


def serving(read_etags: Callable[[Collection[str]], Mapping[str, object]]) -> GoopServer:
    subscriptions = Subscriptions(read_etags, interval=0.02)
    server = GoopServer(
        "t",
        subscriptions=subscriptions.bus,
        middleware=[subscriptions.watch_streams],
        lifespan=subscriptions.watching,
    )
    server.serve_subscriptions(subscriptions)

    return server


@asynccontextmanager
async def legacy(server: GoopServer) -> AsyncIterator[tuple[Client, Heard]]:
    heard = Heard()
    async with Client(server, mode="legacy", message_handler=heard.note) as client:
        yield client, heard


async def test_a_client_of_the_earlier_version_hears_of_a_change_once(spec: anyio.Path) -> None:
    async with legacy(serve(spec)) as (client, heard):
        for uri in (URI, URI, OTHER):
            await client.subscribe_resource(uri)

        await spec.write_text("second", encoding="utf-8")
        await heard.wait_for_count(1)
        await spec.write_text("third", encoding="utf-8")
        await heard.wait_for_count(2)

    assert heard.uris == [URI, URI]


async def test_the_earlier_version_reads_that_it_may_subscribe(spec: anyio.Path) -> None:
    async with legacy(serve(spec)) as (client, _):
        resources = client.server_capabilities.resources
    assert resources is not None
    assert resources.subscribe


async def test_who_unsubscribes_hears_no_more(spec: anyio.Path) -> None:
    server = serve(spec)
    async with legacy(server) as (client, heard), legacy(server) as (second, control):
        for each in (client, second):
            await each.subscribe_resource(URI)

        await client.unsubscribe_resource(URI)
        await client.unsubscribe_resource(OTHER)
        await spec.write_text("second", encoding="utf-8")
        await control.wait_for_count(1)

    assert heard.uris == []


async def test_a_client_of_the_later_version_hears_of_a_change_on_its_stream(
    spec: anyio.Path,
) -> None:
    async with Client(serve(spec)) as client, client.listen(resource_subscriptions=[URI]) as events:
        await spec.write_text("second", encoding="utf-8")
        with anyio.fail_after(PATIENCE):
            event = await anext(aiter(events))
    assert getattr(event, "uri", None) == URI


async def test_others_hear_on_when_the_first_client_has_left(spec: anyio.Path) -> None:
    server = serve(spec)
    async with legacy(server) as (second, heard):
        async with legacy(server) as (first, _):
            await first.subscribe_resource(URI)
            await second.subscribe_resource(URI)

        await spec.write_text("second", encoding="utf-8")
        await heard.wait_for_count(1)

    assert heard.uris == [URI]


async def test_a_resource_that_vanishes_and_comes_back_is_notified_twice(spec: anyio.Path) -> None:
    async with legacy(serve(spec)) as (client, heard):
        await client.subscribe_resource(URI)
        await spec.unlink()
        await heard.wait_for_count(1)
        await spec.write_text("again", encoding="utf-8")
        await heard.wait_for_count(2)

    assert heard.uris == [URI, URI]


async def test_a_subscription_made_during_a_look_hears_of_the_next_change() -> None:
    looking, go_on = anyio.Event(), threading.Event()
    contents = {URI: "first", OTHER: "first"}

    def read_etags(uris: Collection[str]) -> Mapping[str, object]:
        etags = {uri: contents[uri] for uri in uris}
        if etags.get(URI) == "second" and not go_on.is_set():
            anyio.from_thread.run_sync(looking.set)
            assert go_on.wait(PATIENCE)
        return etags

    async with legacy(serving(read_etags)) as (client, heard):
        await client.subscribe_resource(URI)
        contents[URI] = "second"
        with anyio.fail_after(PATIENCE):
            await looking.wait()

        await client.subscribe_resource(OTHER)
        contents[OTHER] = "second"
        go_on.set()
        await heard.wait_for_count(2)

    assert heard.uris == [URI, OTHER]


async def test_while_the_database_is_unavailable_no_change_is_sent_and_none_is_lost() -> None:
    asked_in_vain = anyio.Event()
    contents = ["first"]

    def read_etags(uris: Collection[str]) -> Mapping[str, object]:
        if contents[-1] == "away":
            anyio.from_thread.run_sync(asked_in_vain.set)
            raise StoreUnavailableError(
                "the database cannot be reached; call again when it is back"
            )

        return dict.fromkeys(uris, contents[-1])

    async with legacy(serving(read_etags)) as (client, heard):
        await client.subscribe_resource(URI)
        contents.append("away")
        with anyio.fail_after(PATIENCE):
            await asked_in_vain.wait()

        contents.append("second")
        await heard.wait_for_count(1)
        contents.append("third")
        await heard.wait_for_count(2)

    assert heard.uris == [URI, URI]


async def test_a_stream_that_is_given_up_before_it_begins_takes_no_place(spec: anyio.Path) -> None:
    asked, ended = anyio.Event(), anyio.Event()

    async def note(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "subscriptions/listen":
            asked.set()

        try:
            return await call_next(ctx)
        finally:
            if ctx.method == "subscriptions/listen":
                ended.set()

    async def listen() -> None:
        async with client.listen(
            resource_subscriptions=[f"goop://memories/{number}" for number in range(600)]
        ):
            pass

    server = serve(spec)
    server.middleware.insert(0, note)

    async with Client(server) as client:
        with anyio.fail_after(PATIENCE):
            async with all_threads_taken():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(listen)
                    await asked.wait()
                    tasks.cancel_scope.cancel()

                await ended.wait()

            await listen()


@asynccontextmanager
async def all_threads_taken() -> AsyncIterator[None]:
    limiter = anyio.to_thread.current_default_thread_limiter()
    borrowers = [object() for _ in range(int(limiter.available_tokens))]
    for each in borrowers:
        limiter.acquire_on_behalf_of_nowait(each)

    try:
        yield
    finally:
        for each in borrowers:
            limiter.release_on_behalf_of(each)


async def test_a_long_address_is_kept_by_nobody(spec: anyio.Path) -> None:
    async with legacy(serve(spec)) as (client, _):
        with pytest.raises(MCPError, match="an address has more than 2,000 characters"):
            await client.subscribe_resource("goop://" + "x" * 2_000)

    async with Client(serve(spec)) as later:
        with pytest.raises(MCPError, match="an address has more than 2,000 characters"):
            async with later.listen(resource_subscriptions=["goop://" + "x" * 2_000]):
                pass


async def test_more_subscriptions_than_are_the_share_of_a_client_are_refused(
    spec: anyio.Path,
) -> None:
    async with legacy(serve(spec)) as (client, _):
        for number in range(1000):
            await client.subscribe_resource(f"goop://memories/{number}")

        with pytest.raises(MCPError, match="one client may have 1,000 subscriptions"):
            await client.subscribe_resource(URI)
