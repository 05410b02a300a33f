"""Compare start, answers and size of the MCP server with a minimal server of the same SDK."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Protocol

from benchmarks.http_session import HttpSession
from benchmarks.protocol_versions import LEGACY, PROTOCOL_VERSIONS, ProtocolVersion
from benchmarks.replies import REPLY
from benchmarks.stdio_session import StdioSession
from benchmarks.tables import Bound, Table
from benchmarks.timing import Clock, Timing, take_turns

__all__ = ["BURST", "PING", "add_row", "run"]

_OURS: Final = ("-m", "goop_mcp", "serve")
_BARE: Final = ("-m", "benchmarks.bare_server")
# The guards and limits stay on; a limit that is never met.
_OURS_ON_HTTP: Final = (
    *_OURS,
    "--transport",
    "streamable-http",
    "--port",
    "PORT",
    "--rate-limit",
    "100000",
)
_BARE_ON_HTTP: Final = (*_BARE, "PORT")

_STARTS: Final = 8
_CALLS: Final = 400
_BURSTS: Final = 20
_BURST_CALLS: Final = 200
_IN_FLIGHT: Final = 32

_START: Final = Bound(goal=1.25, defect=1.25)
PING: Final = Bound(goal=1.3, defect=2)
_CALL: Final = Bound(goal=1.4, defect=1.8)
BURST: Final = Bound(goal=1 / 0.7, defect=2)
_SIZE: Final = Bound(goal=1.3, defect=1.6)


class _Session(Protocol):
    def ping(self) -> None: ...

    def call(self, tool: str, text: str) -> None: ...

    def call_many(self, tool: str, text: str, *, count: int, in_flight: int) -> None: ...

    def resident_mb(self) -> float | None: ...


def run() -> Table:
    """Measure starts of both servers in turns, then calls over each transport and version."""
    table = Table(
        "server",
        ("", "ours p10", "ours median", "bare p10", "bare median", "ratio p10", "ratio median"),
        [
            "bare: one tool that does nothing, of the same SDK; ms",
            "calls are judged by the median, alone and in flight, the rest by p10",
            (
                f"call: validate_report of {len(REPLY):,} characters, bare: nothing; {_IN_FLIGHT}"
                f" in flight: ms a call of {_BURST_CALLS}, at most 1/0.7 of bare is 0.7 of its"
                " throughput"
            ),
        ],
    )
    for version in PROTOCOL_VERSIONS:
        starts = take_turns(
            {"ours": _start_clock(_OURS, version), "bare": _start_clock(_BARE, version)},
            turns=_STARTS,
        )
        add_row(
            table,
            f"stdio {version.name}, start to first answer",
            starts["ours"],
            starts["bare"],
            _START,
        )

    _add_pings(table, "stdio", StdioSession(_OURS, LEGACY), StdioSession(_BARE, LEGACY))
    _add_pings(
        table, "HTTP", HttpSession(_OURS_ON_HTTP, LEGACY), HttpSession(_BARE_ON_HTTP, LEGACY)
    )
    for version in PROTOCOL_VERSIONS:
        _add_calls(
            table,
            f"stdio {version.name}",
            StdioSession(_OURS, version),
            StdioSession(_BARE, version),
        )

    for version in PROTOCOL_VERSIONS:
        _add_calls(
            table,
            f"HTTP {version.name}",
            HttpSession(_OURS_ON_HTTP, version),
            HttpSession(_BARE_ON_HTTP, version),
        )

    return table


def _add_pings(
    table: Table,
    where: str,
    ours_served: AbstractContextManager[_Session],
    bare_served: AbstractContextManager[_Session],
) -> None:
    """Add the cost of everything around a tool; 2026-07-28 has no ping."""
    with ours_served as ours, bare_served as bare:
        clocks = {"ours": _clock(ours.ping), "bare": _clock(bare.ping)}
        pings = take_turns(clocks, turns=_CALLS)

    add_row(table, f"{where} 2025, ping", pings["ours"], pings["bare"], PING)


def _add_calls(
    table: Table,
    where: str,
    ours_served: AbstractContextManager[_Session],
    bare_served: AbstractContextManager[_Session],
) -> None:
    """Add what a call costs alone and among others, and how large the servers are afterwards."""
    with ours_served as ours, bare_served as bare:
        calls = take_turns(
            {
                "ours": _clock(lambda: ours.call("validate_report", REPLY)),
                "bare": _clock(lambda: bare.call("nothing", REPLY)),
            },
            turns=_CALLS,
        )
        bursts = take_turns(
            {"ours": _burst_clock(ours, "validate_report"), "bare": _burst_clock(bare, "nothing")},
            turns=_BURSTS,
        )
        sizes = ours.resident_mb(), bare.resident_mb()

    add_row(table, f"{where}, call", calls["ours"], calls["bare"], _CALL)
    add_row(table, f"{where}, {_IN_FLIGHT} in flight", bursts["ours"], bursts["bare"], BURST)
    _add_sizes(table, f"{where}, resident MB", *sizes)


def add_row(table: Table, name: str, ours: Timing, bare: Timing, bound: Bound) -> None:
    """Add a row, judged by the median of calls and bursts, and by p10 of noisier measurements."""
    by_p10, by_median = ours.p10 / bare.p10, ours.median / bare.median
    times = [f"{seconds * 1e3:.2f}" for seconds in (ours.p10, ours.median, bare.p10, bare.median)]
    judgement = bound.judge(by_median if bound in {_CALL, BURST} else by_p10)
    table.add(name, *times, f"{by_p10:.2f}", f"{by_median:.2f}", judgement=judgement)


def _add_sizes(table: Table, name: str, ours: float | None, bare: float | None) -> None:
    if ours is not None and bare is not None:
        ratio = ours / bare
        table.add(
            name,
            "",
            f"{ours:.0f}",
            "",
            f"{bare:.0f}",
            "",
            f"{ratio:.2f}",
            judgement=_SIZE.judge(ratio),
        )


def _start_clock(arguments: tuple[str, ...], version: ProtocolVersion) -> Clock:
    def read() -> float:
        began = time.perf_counter()
        with StdioSession(arguments, version):
            return time.perf_counter() - began

    return read


def _burst_clock(session: _Session, tool: str) -> Clock:
    burst = _clock(lambda: session.call_many(tool, REPLY, count=_BURST_CALLS, in_flight=_IN_FLIGHT))
    return lambda: burst() / _BURST_CALLS


def _clock(action: Callable[[], None]) -> Clock:
    def read() -> float:
        began = time.perf_counter()
        action()
        return time.perf_counter() - began

    return read
