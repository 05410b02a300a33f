"""Compare a decision with a call of a function that does nothing."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import goop_mcp
from benchmarks.families import LARGEST
from benchmarks.tables import Bound, Table
from benchmarks.timing import clock, take_turns

__all__ = ["run"]

_TURNS = 60
_SECONDS_A_TURN = 0.002
_BOUND: Final = Bound(goal=50, defect=50)
_BARE: Final = "a function that does nothing"
_ROOT = Path(__file__).parent.parent


def run() -> Table:
    """Measure a decision on the largest example of each protocol and on a rejected reply."""
    texts = {
        name: (_ROOT / "tests/cases" / name / file).read_text("utf-8")
        for name, file in LARGEST.items()
    }
    verdicts = {name: goop_mcp.validate(text) for name, text in texts.items()}
    verdicts["rejected"] = goop_mcp.validate("Done.")
    context = goop_mcp.RoutingContext()
    actions: dict[str, Callable[[], object]] = {
        _BARE: partial(_nothing, verdicts["rejected"], context)
    }
    for name, verdict in verdicts.items():
        actions[f"route, {name}"] = partial(goop_mcp.route, verdict, context)

    clocks = {name: clock(action, seconds=_SECONDS_A_TURN) for name, action in actions.items()}
    timings = take_turns(clocks, turns=_TURNS)
    table = Table(
        "route", ("", "p10 µs", "median µs"), [f"bound: {_BOUND.defect} µs, judged by p10"]
    )

    for name, timing in timings.items():
        microseconds = timing.p10 * 1e6
        judgement = "" if name == _BARE else _BOUND.judge(microseconds)
        table.add(name, f"{microseconds:.2f}", f"{timing.median * 1e6:.2f}", judgement=judgement)

    return table


def _nothing(verdict: goop_mcp.Verdict, context: goop_mcp.RoutingContext) -> None:
    del verdict, context
