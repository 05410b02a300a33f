"""Compare `ask_until_accepted` with judging the same replies; the agent answers at once."""

import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import anyio

from benchmarks.replies import REPLY, TWO_ERRORS
from benchmarks.tables import Bound, Table
from benchmarks.timing import Timing, take_turns
from goop_mcp import Job, RetryPolicy, Verdict, ask_until_accepted, validate
from goop_mcp.evidence.corrections import Correction
from goop_mcp.retry import RetryLoop

__all__ = ["run"]

_TURNS = 100
_CALLS_A_TURN = 10
_ONE_ERROR = TWO_ERRORS.replace(">DONE<", ">COMPLETE<")
_VALID: Final = (REPLY,)
_TWO_BAD: Final = (TWO_ERRORS, _ONE_ERROR, REPLY)
_BOUND: Final = Bound(goal=200, defect=400)


class _JudgedBefore(Job):
    """A job whose replies were judged already: what is left is the overhead."""

    __slots__ = ()

    def judge(self, reply: str, _correction: Correction | None = None) -> Verdict:
        """Return the verdict of `reply` out of the table."""
        return _VERDICTS[reply]


_VERDICTS: Final = {reply: validate(reply, protocol="goop_report") for reply in _TWO_BAD}


def run() -> Table:
    """Measure whole calls, under asyncio and trio; the overhead of an attempt is judged."""
    table = Table(
        "asking",
        ("", "p10 µs an attempt", "median µs an attempt"),
        [
            "an async agent that answers at once; overhead: the same calls with verdicts made"
            " beforehand"
        ],
    )
    for replies, name in ((_VALID, "valid at once"), (_TWO_BAD, "two bad, then valid")):
        timings = take_turns(_clocks(replies), turns=_TURNS)
        for what, timing in timings.items():
            judged = "overhead" in what
            _add(table, f"{name}: {what}", timing, len(replies), judged=judged)

    return table


def _add(table: Table, name: str, timing: Timing, attempts: int, *, judged: bool) -> None:
    p10 = timing.p10 / attempts * 1e6
    median = timing.median / attempts * 1e6
    table.add(name, f"{p10:.0f}", f"{median:.0f}", judgement=_BOUND.judge(p10) if judged else "")


def _clocks(replies: tuple[str, ...]) -> dict[str, Callable[[], float]]:
    ask, overhead = partial(_ask, replies), partial(_ask_judged, replies)
    return {
        "validate alone": partial(_time_validate, replies),
        "ask_until_accepted, asyncio": partial(anyio.run, _time, ask),
        "ask_until_accepted, trio": partial(anyio.run, _time, ask, backend="trio"),
        "overhead, asyncio": partial(anyio.run, _time, overhead),
        "overhead, trio": partial(anyio.run, _time, overhead, backend="trio"),
    }


def _time_validate(replies: tuple[str, ...]) -> float:
    began = time.thread_time()
    for _ in range(_CALLS_A_TURN):
        for reply in replies:
            validate(reply, protocol="goop_report")
    return (time.thread_time() - began) / _CALLS_A_TURN


async def _time(call: Callable[[], Coroutine[Any, Any, bool]]) -> float:
    began = time.thread_time()
    for _ in range(_CALLS_A_TURN):
        assert await call()
    return (time.thread_time() - began) / _CALLS_A_TURN


async def _ask(replies: tuple[str, ...]) -> bool:
    outcome = await ask_until_accepted(_agent(replies), "Do it.", protocol="goop_report")
    return outcome.accepted and len(outcome.attempts) == len(replies)


async def _ask_judged(replies: tuple[str, ...]) -> bool:
    job = _JudgedBefore(_agent(replies), "Do it.", protocol="goop_report", policy=RetryPolicy())
    return (await RetryLoop(job).run()).accepted


def _agent(replies: tuple[str, ...]) -> Callable[[str], Coroutine[Any, Any, str]]:
    waiting = iter(replies)

    async def agent(_message: str) -> str:
        return next(waiting)

    return agent
