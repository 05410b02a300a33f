"""How fast our MCP server starts and answers, and how large it is, beside the least server of the same SDK."""

import time
from collections.abc import Callable
from typing import Final

from benchmarks.replies import REPLY
from benchmarks.stdio_session import StdioSession
from benchmarks.tables import Bound, Table
from benchmarks.timing import Clock, Timing, take_turns

__all__ = ["run"]

_OURS: Final = ("-m", "goop_mcp", "serve")
_BARE: Final = ("-m", "benchmarks.bare_server")
_STARTS = 8
_CALLS = 200
_START = Bound(goal=1.25, defect=1.25)
_PING = Bound(goal=1.3, defect=2)


def run() -> Table:
    """Measure starts in turns, then requests to one server of each kind in turns."""
    table = Table(
        "server",
        ("", "ours p10", "ours median", "bare p10", "bare median", "ratio p10", "ratio median"),
        ["times in ms over stdio, protocol of 2025; bare: one tool that does nothing; judged by p10"],
    )
    starts = take_turns({"ours": _start_clock(_OURS), "bare": _start_clock(_BARE)}, turns=_STARTS)
    _add(table, "start to the first answer", starts["ours"], starts["bare"], _START)
    with StdioSession(_OURS) as ours, StdioSession(_BARE) as bare:
        requests = take_turns(
            {
                "our ping": _request_clock(lambda: ours.request("ping", {})),
                "bare ping": _request_clock(lambda: bare.request("ping", {})),
                "validate_report": _request_clock(lambda: ours.call("validate_report", REPLY)),
                "nothing": _request_clock(lambda: bare.call("nothing", REPLY)),
            },
            turns=_CALLS,
        )
        _add(table, "ping", requests["our ping"], requests["bare ping"], _PING)
        _add(table, "validate_report, to a tool that does nothing", requests["validate_report"], requests["nothing"])
        _add_sizes(table, ours.resident_mb(), bare.resident_mb())
    return table


def _add(table: Table, name: str, ours: Timing, bare: Timing, bound: Bound | None = None) -> None:
    ratio = ours.p10 / bare.p10
    times = [f"{seconds * 1e3:.2f}" for seconds in (ours.p10, ours.median, bare.p10, bare.median)]
    ratios = (f"{ratio:.2f}", f"{ours.median / bare.median:.2f}")
    table.add(name, *times, *ratios, judgement=bound.judge(ratio) if bound is not None else "")


def _add_sizes(table: Table, ours: float | None, bare: float | None) -> None:
    if ours is not None and bare is not None:
        table.add("resident MB after these calls", f"{ours:.0f}", "", f"{bare:.0f}", "", f"{ours / bare:.2f}", "")


def _start_clock(arguments: tuple[str, ...]) -> Clock:
    def read() -> float:
        began = time.perf_counter()
        with StdioSession(arguments):
            return time.perf_counter() - began

    return read


def _request_clock(request: Callable[[], None]) -> Clock:
    def read() -> float:
        began = time.perf_counter()
        request()
        return time.perf_counter() - began

    return read
