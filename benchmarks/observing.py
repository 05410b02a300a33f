"""Measure what spans, metrics and ids of requests add to a tool call without a collector."""

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

from benchmarks.replies import REPLY
from benchmarks.tables import Bound, Table
from benchmarks.timing import Clock, clock, take_turns
from goop_mcp.server import create_server
from goop_mcp.server.sdk_internals import without_sdk_spans
from goop_mcp.settings import Settings

__all__ = ["run"]

_LEAST: Final = "a call, nothing observed"
_MESSAGE: Final = {
    "method": "tools/call",
    "params": {"name": "validate_report"},
    "protocol_version": "2026-07-28",
    "request": None,
    "request_id": 1,
    "meta": None,
}
_TURNS: Final = 60
_CALLS: Final = 20
_OBSERVED: Final = 2  # middlewares: the id, and the span with its metrics
_SHARE: Final = Bound(goal=0.02, defect=0.05)
_SECONDS: Final = 0.02


def run() -> Table:
    """Call the same tool of two servers in memory, and run the middlewares alone, in turns."""
    table = Table(
        "observing",
        ("", "p10", "median", "ratio p10", "ratio median"),
        [
            "µs of processor time for validate_report in memory; no exporter is set up; judged"
            " by p10"
        ],
    )
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings = Settings(project=Path(folder).resolve())
        portal = stack.enter_context(start_blocking_portal())
        ours, plain = create_server(settings), MCPServer("plain").middleware
        sdk = [each for each in plain if each not in without_sdk_spans(plain)]
        servers = {_LEAST: _bare(settings), "with spans, metrics and ids": ours}
        clocks = {
            name: _clock(
                portal, stack.enter_context(portal.wrap_async_context_manager(Client(server)))
            )
            for name, server in servers.items()
        }
        clocks["these alone"] = _alone(ours.middleware[:_OBSERVED])
        clocks["the SDK's spans alone, in whose place they are"] = _alone(sdk)
        timings = take_turns(clocks, turns=_TURNS)

    least = timings[_LEAST]

    for name, timing in timings.items():
        ratio = timing.p10 / least.p10
        cells = (f"{timing.p10 * 1e6:.1f}", f"{timing.median * 1e6:.1f}", f"{ratio:.3f}")
        judgement = _SHARE.judge(ratio) if name == "these alone" else ""
        table.add(name, *cells, f"{timing.median / least.median:.3f}", judgement=judgement)

    return table


def _alone(middlewares: Sequence[ServerMiddleware[Any]]) -> Clock:
    """Return a clock for what the middlewares add to a handler that does nothing."""
    context = cast("ServerRequestContext[Any, Any]", SimpleNamespace(**_MESSAGE))

    async def handle(_: ServerRequestContext[Any, Any]) -> HandlerResult:
        return None

    def around(inner: CallNext, outer: ServerMiddleware[Any]) -> CallNext:
        return lambda ctx: outer(ctx, inner)

    chain = reduce(around, reversed(middlewares), cast("CallNext", handle))

    def call() -> None:
        with suppress(StopIteration):
            chain(context).__await__().__next__()

    return clock(call, seconds=_SECONDS)


def _bare(settings: Settings) -> MCPServer:
    server = create_server(settings)
    del server.middleware[:_OBSERVED]
    return server


def _clock(portal: BlockingPortal, client: Client) -> Clock:
    async def call() -> float:
        began = time.thread_time()
        for _ in range(_CALLS):
            await client.call_tool("validate_report", {"text": REPLY})
        return (time.thread_time() - began) / _CALLS

    return lambda: portal.call(call)
