"""Measure a talk from the first request to the accepted reply, with an instant fake model."""

import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import anyio

from benchmarks.peers.contender import FLOOR, OURS, Contender, Talk
from benchmarks.peers.payload import TWO_BAD, VALID
from benchmarks.tables import Bound, Table
from benchmarks.timing import Timing, take_turns

__all__ = ["run"]

_TURNS = 30
_SECONDS_A_TURN = 0.03
_ATTEMPT = Bound(goal=200, defect=400)
_TIMES_FASTER = {"": 3, "pydantic-ai": 5}
"""How many times as fast as the fastest peer, and as the fastest form of some, ours has to be."""


def run(contenders: Iterable[Contender]) -> Iterator[Table]:
    """Measure every contender that can talk, in turns; one table for each course of the talk."""
    talkers = {each.name: each.talk for each in contenders if each.talk is not None}
    yield _measure("valid at the first try", talkers, VALID)
    yield _measure("two bad replies, then a valid one", talkers, TWO_BAD)


def _measure(
    title: str, talkers: dict[str, Callable[[Sequence[str]], Talk]], replies: Sequence[str]
) -> Table:
    timings = take_turns(
        {name: _clock(make(replies)) for name, make in talkers.items()}, turns=_TURNS
    )
    table = Table(
        title,
        ("", "p10 µs", "median µs", "p10 µs an attempt", "× goop-mcp, p10"),
        [
            f"processor time of the process; {len(replies)} attempts, the last reply of"
            f" {len(replies[-1]):,} bytes"
        ],
    )
    ours = timings[OURS].p10

    for name, timing in timings.items():
        attempt = timing.p10 / len(replies) * 1e6
        judgement = _judge(attempt, timings) if name == OURS else ""
        cells = [f"{each:,.0f}" for each in (timing.p10 * 1e6, timing.median * 1e6, attempt)]
        table.add(name, *cells, f"{timing.p10 / ours:.1f}", judgement=judgement)

    return table


def _judge(attempt: float, timings: dict[str, Timing]) -> str:
    """Compare with the bound of an attempt and with the peers, all measured in the same run."""
    for peer, times in _TIMES_FASTER.items():
        others = [
            each.p10
            for name, each in timings.items()
            if name.startswith(peer) and name not in (OURS, FLOOR)
        ]
        ahead = min(others, default=math.inf) / timings[OURS].p10
        if ahead < times:
            return (
                f"DEFECT: {ahead:.1f} times as fast as {peer or 'the fastest peer'}; expected"
                f" {times}"
            )

    return _ATTEMPT.judge(attempt)


def _clock(talk: Talk) -> Callable[[], float]:
    """Return a clock for the mean of the talks that fit into a turn, in a loop if they need one."""
    anyio.run(_repeat, talk, 2)  # what is set up at the first call does not count
    count = max(1, round(_SECONDS_A_TURN / anyio.run(_repeat, talk, 2)))
    if inspect.iscoroutinefunction(talk):
        return partial(anyio.run, _repeat, talk, count)
    return partial(_repeat_at_once, talk, count)


async def _repeat(talk: Talk, count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        answer = talk()
        if answer is not None:
            await answer

    return (time.process_time() - began) / count


def _repeat_at_once(talk: Talk, count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        talk()
    return (time.process_time() - began) / count
