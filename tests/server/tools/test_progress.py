"""Progress comes while work goes on, and none together with the result."""

from threading import Event

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.server.mcpserver import Context, MCPServer

from goop_mcp.server.tools.progress import progress_reporter
from tests.server.connections import PROTOCOL_MODES


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_the_last_step_is_not_reported_together_with_the_result(protocol_mode: str) -> None:
    server = MCPServer("steps")
    heard: list[float] = []
    was_heard = Event()

    @server.tool()
    async def work(ctx: Context, total: int, waits: bool) -> str:
        report = progress_reporter(ctx, "working")

        def steps() -> None:
            done = 0
            while waits and not was_heard.is_set():
                done += 1
                report(done, total)
            report(total, total)

        await anyio.to_thread.run_sync(steps)
        return "done"

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (1_000_000_000, "working")
        heard.append(progress)
        was_heard.set()

    async def play() -> None:
        async with Client(server, mode=protocol_mode) as client:
            for waits in (False, True):
                arguments = {"total": 1_000_000_000, "waits": waits}
                await client.call_tool("work", arguments, progress_callback=note)
                # Quick work reports nothing.
                assert bool(heard) is waits

    anyio.run(play)
    assert all(progress < 1_000_000_000 for progress in heard)
