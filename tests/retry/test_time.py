"""Deadlines, time-outs and pauses, with trio's test clock, which jumps over waits."""

import subprocess
import sys
import urllib.error
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.message import Message as Headers
from typing import Any

import anyio
import pytest
import tenacity
import trio
from trio.testing import MockClock

from goop_mcp import RetryPolicy
from goop_mcp.retry import Hooks, Job, Outcome, RetryLoop, Usage, shared_budget
from goop_mcp.retry.calls import is_repeatable
from goop_mcp.retry.policy import FailedCall, pause_before
from tests.retry.agents import BAD_STATUS, GOOD, Counting, Scripted, both_backends, results, run


def one_second(_failed: FailedCall) -> float:
    return 1.0


# Returns what the call returns
def on_test_clock(call: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
    return anyio.run(
        call, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)}
    )


# Any agent
def asked(agent: Any, policy: RetryPolicy) -> tuple[Outcome, float]:  # noqa: ANN401
    """Return the outcome and the seconds that passed on the test clock."""

    async def ask() -> tuple[Outcome, float]:
        began = trio.current_time()
        job = Job(agent, "Do it.", protocol="goop_report", policy=policy)
        outcome = await RetryLoop(job, clock=trio.current_time).run()
        return outcome, trio.current_time() - began

    result: tuple[Outcome, float] = on_test_clock(ask)

    return result


async def hang(_message: str) -> str:
    await anyio.sleep_forever()
    return ""


class RateLimitError(Exception):
    def __init__(self, retry_after: object = None) -> None:
        super().__init__("slow down")
        self.retry_after = retry_after


class HttpError(Exception):
    def __init__(self, code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"answer {code}")
        self.response = type("Response", (), {"status_code": code, "headers": headers or {}})()


def test_an_agent_that_hangs_is_left_at_the_time_limit_of_an_attempt_and_asked_again() -> None:
    policy = RetryPolicy(attempt_timeout=5, call_retries=2, backoff=one_second)
    outcome, seconds = asked(hang, policy)
    assert outcome.stopped_because == "agent_error"
    assert [each.error for each in outcome.attempts] == ["no answer within 5 s"] * 3
    assert seconds == pytest.approx(3 * 5 + 2 * 1)
    assert [each.seconds for each in outcome.attempts] == pytest.approx([5, 5, 5])


def test_the_deadline_ends_a_call_in_its_middle_and_keeps_it() -> None:
    outcome, seconds = asked(hang, RetryPolicy(deadline=7))
    assert outcome.stopped_because == "deadline"
    assert results(outcome) == ["failed"]
    assert "deadline" in (outcome.attempts[0].error or "")
    assert seconds == pytest.approx(7)


def test_the_deadline_counts_all_attempts_together() -> None:
    replies = iter([BAD_STATUS, BAD_STATUS.replace("DONE-ISH", "READY"), GOOD])

    async def slow(_message: str) -> str:
        await anyio.sleep(4)
        return next(replies)

    outcome, seconds = asked(slow, RetryPolicy(deadline=10))
    assert outcome.stopped_because == "deadline"
    assert results(outcome) == ["rejected", "rejected", "failed"]
    assert outcome.text == BAD_STATUS.replace("DONE-ISH", "READY")
    assert seconds == pytest.approx(10)


def test_no_pause_is_begun_that_would_last_beyond_the_deadline() -> None:
    outcome, seconds = asked(Scripted(RateLimitError(60)), RetryPolicy(deadline=10))
    assert outcome.stopped_because == "deadline"
    assert len(outcome.attempts) == 1
    assert seconds == 0


def test_a_validation_failure_is_asked_again_without_a_pause() -> None:
    _, seconds = asked(Scripted(BAD_STATUS, GOOD), RetryPolicy(backoff=one_second))
    assert seconds == 0


@pytest.mark.parametrize(
    ("failure", "least"),
    [
        (RateLimitError(30), 30),
        (RateLimitError("12"), 12),
        (RateLimitError("soon"), 1),
        (RateLimitError(float("nan")), 1),
        (HttpError(429, {"retry-after": "20"}), 20),
        (HttpError(503), 1),
        (ConnectionResetError(), 1),
        (TimeoutError(), 1),
        (ExceptionGroup("two", [ConnectionError(), TimeoutError()]), 1),
    ],
    ids=repr,
)
def test_a_passing_failure_is_repeated_after_the_pause_it_asks_for(
    failure: Exception, least: float
) -> None:
    agent = Scripted(failure, GOOD)
    outcome, seconds = asked(agent, RetryPolicy(max_attempts=1, backoff=one_second))
    assert outcome.accepted, "calls that fail do not use up attempts"
    assert results(outcome) == ["failed", "accepted"]
    assert agent.heard == ["Do it."] * 2
    assert least <= seconds <= 1.2 * least


@pytest.mark.parametrize(
    "failure",
    [HttpError(401), ValueError(), ExceptionGroup("two", [ConnectionError(), ValueError()])],
    ids=repr,
)
def test_a_failure_that_will_not_pass_is_not_repeated(failure: Exception) -> None:
    outcome, seconds = asked(Scripted(failure, GOOD), RetryPolicy(backoff=one_second))
    assert outcome.stopped_because == "agent_error"
    assert seconds == 0


def test_the_pause_grows_with_jitter_by_default() -> None:
    policy = RetryPolicy(call_retries=6)
    _, seconds = asked(Scripted(ConnectionError()), policy)
    assert 0 < seconds <= 0.5 + 1 + 2 + 4 + 8 + 16


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_the_pause_is_random_up_to_a_limit_that_doubles(chance: float) -> None:
    pauses = [
        pause_before(count, None, RetryPolicy(), chance=lambda: chance) for count in range(1, 10)
    ]
    assert pauses == [chance * most for most in (0.5, 1, 2, 4, 8, 16, 30, 30, 30)]


def test_a_backoff_knows_how_often_and_why_the_call_failed() -> None:
    seen: list[tuple[int, str]] = []

    def note(failed: FailedCall) -> float:
        seen.append((failed.attempt_number, type(failed.failure).__name__))
        return 2.0 * failed.attempt_number

    agent = Scripted(ConnectionError(), TimeoutError(), GOOD)
    outcome, seconds = asked(agent, RetryPolicy(backoff=note))
    assert outcome.accepted
    assert seen == [(1, "ConnectionError"), (2, "TimeoutError")]
    assert seconds == pytest.approx(2 + 4)


@pytest.mark.parametrize(
    ("wait", "pauses"),
    [
        (tenacity.wait_fixed(3), (3, 3, 3)),
        (tenacity.wait_exponential(multiplier=2), (2, 4, 8)),
        (tenacity.wait_incrementing(start=1, increment=2), (1, 3, 5)),
        (tenacity.wait_chain(tenacity.wait_fixed(1), tenacity.wait_fixed(9)), (1, 9, 9)),
        (tenacity.wait_fixed(1) + tenacity.wait_none(), (1, 1, 1)),
        # As newer versions read it in wait_exception.
        (lambda state: len(str(state.outcome.exception())), (4, 4, 4)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wait_of_tenacity_is_a_backoff(
    wait: Callable[[Any], float], pauses: tuple[float, ...]
) -> None:
    policy = RetryPolicy(backoff=wait)
    failure = ConnectionError("gone")
    assert tuple(pause_before(count, failure, policy) for count in (1, 2, 3)) == pauses


def test_the_policy_says_which_failures_are_repeated() -> None:
    policy = RetryPolicy(
        retry_call=lambda failure: isinstance(failure, KeyError), backoff=one_second
    )
    assert asked(Scripted(KeyError("busy"), GOOD), policy)[0].accepted
    assert asked(Scripted(ConnectionError(), GOOD), policy)[0].stopped_because == "agent_error"


def test_a_policy_whose_own_functions_fail_ends_the_call_with_every_attempt() -> None:
    def broken(_argument: object) -> bool:
        raise RuntimeError("a slip of the caller")

    outcome, _ = asked(Scripted(ConnectionError()), RetryPolicy(retry_call=broken))
    assert (outcome.stopped_because, results(outcome)) == ("agent_error", ["failed"])
    outcome, _ = asked(Scripted(ConnectionError()), RetryPolicy(backoff=broken))
    assert (outcome.stopped_because, results(outcome)) == ("agent_error", ["failed"])


@both_backends
def test_a_deadline_holds_on_a_real_clock_too(backend: str) -> None:
    async def ask() -> Outcome:
        return await RetryLoop(Job(hang, "Do it.", policy=RetryPolicy(deadline=0.05))).run()

    assert run(backend, ask).stopped_because == "deadline"


def test_a_function_on_a_thread_that_hangs_is_abandoned() -> None:
    from threading import Event  # noqa: PLC0415 - blocks only here

    released = Event()

    async def ask() -> Outcome:
        job = Job(
            lambda _message: str(released.wait(20)), "Do it.", policy=RetryPolicy(deadline=0.05)
        )
        return await RetryLoop(job).run()

    try:
        assert run("asyncio", ask).stopped_because == "deadline"
    finally:
        released.set()


NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
IN_A_MINUTE = "Sun, 01 Mar 2026 12:01:00 GMT"
AN_HOUR_AGO = "Sun, 01 Mar 2026 11:00:00 GMT"
SLOWLY = Headers()
SLOWLY["Retry-After"] = "20"


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (HttpError(429, {"retry-after": IN_A_MINUTE}), 60),
        (HttpError(429, {"Retry-After": "7"}), 7),
        (HttpError(429, {"Retry-After": AN_HOUR_AGO}), 1),
        (HttpError(429, {"Retry-After": "Sun, 99 Mar"}), 1),
        (HttpError(429, {"Retry-After-Ms": "2500"}), 2.5),
        (HttpError(429, {"Retry-After-Ms": "1.2.3", "Retry-After": "7"}), 7),
        (HttpError(429, {"Retry-After-Ms": "\u00b2", "Retry-After": "7"}), 7),
        (RateLimitError(IN_A_MINUTE), 60),
        (RateLimitError(timedelta(seconds=9)), 9),
        (RateLimitError(NOON + timedelta(seconds=5)), 5),
        (RateLimitError(7200), 3600),
        (RateLimitError(["7"]), 1),
        (urllib.error.HTTPError("http://localhost", 429, "slow down", SLOWLY, None), 20),
        (None, 1),
    ],
    ids=repr,
)
def test_the_pause_is_as_long_as_the_failure_says_in_any_of_the_usual_ways(
    failure: Exception | None, seconds: float
) -> None:
    policy = RetryPolicy(backoff=one_second)
    assert pause_before(1, failure, policy, now=NOON.timestamp, chance=lambda: 0.0) == seconds


def test_what_is_added_at_random_does_not_make_a_repeat_come_too_late() -> None:
    policy = RetryPolicy(backoff=one_second, deadline=10)
    for _ in range(20):
        assert asked(Scripted(RateLimitError(9), GOOD), policy)[0].accepted


def test_calls_that_were_refused_together_do_not_come_back_together() -> None:
    policy = RetryPolicy(backoff=one_second)
    pauses = [pause_before(1, RateLimitError(100), policy) for _ in range(200)]
    assert 100 <= min(pauses) < 104
    assert 116 < max(pauses) <= 120
    assert pause_before(1, ConnectionError(), policy) == 1, (
        "what nobody named stays as the policy says"
    )


@pytest.mark.parametrize(
    ("failure", "passes"),
    [
        (urllib.error.HTTPError("http://localhost", 503, "busy", Headers(), None), True),
        (urllib.error.HTTPError("http://localhost", 404, "gone", Headers(), None), False),
        (urllib.error.URLError(ConnectionRefusedError()), True),
        (urllib.error.URLError("unknown url type"), False),
        (subprocess.TimeoutExpired("agent", 3), True),
        (type("ClientResponseError", (Exception,), {"status": 429})(), True),
        (type("CurlError", (Exception,), {"code": 7})(), False),
    ],
    ids=repr,
)
def test_passing_failures_of_common_libraries_are_known(failure: Exception, passes: bool) -> None:
    assert is_repeatable(failure, RetryPolicy()) == passes


@pytest.mark.parametrize("field", ["deadline", "attempt_timeout"])
def test_an_agent_that_fails_in_its_own_way_when_it_is_stopped_was_too_late(field: str) -> None:
    async def agent(_message: str) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            raise RuntimeError("interrupted")

    outcome, seconds = asked(agent, RetryPolicy(call_retries=0, **{field: 5}))  # type: ignore[arg-type]  # a number
    assert outcome.stopped_because == ("deadline" if field == "deadline" else "agent_error")
    assert isinstance(outcome.failure, TimeoutError)
    assert seconds == pytest.approx(5)


@pytest.mark.parametrize("own_failure", [False, True])
def test_usage_until_the_deadline_is_that_of_the_call_that_was_cut_off(own_failure: bool) -> None:
    async def agent(_message: str) -> str:
        try:
            return await hang(_message)
        except BaseException as raised:
            failure = RuntimeError("cut off") if own_failure else raised
            vars(failure)["usage"] = Usage(tokens=7)
            raise failure from raised

    outcome, _ = asked(agent, RetryPolicy(deadline=5))
    assert outcome.stopped_because == "deadline"
    assert outcome.usage.tokens == 7


def test_a_fallback_that_is_cut_off_by_the_deadline_ends_the_call_so() -> None:
    policy = RetryPolicy(deadline=5, max_attempts=1, when_exhausted="fallback", fallback=hang)
    outcome, _ = asked(Scripted(BAD_STATUS), policy)
    assert outcome.stopped_because == "deadline"
    assert results(outcome) == ["rejected", "failed"]


def test_the_deadline_of_a_job_begins_when_its_turn_comes() -> None:
    async def slow(_message: str) -> str:
        await anyio.sleep(4)
        return GOOD

    async def ask() -> list[str]:
        job = Job(slow, "Do it.", policy=RetryPolicy(deadline=5))
        loops = [RetryLoop(job, clock=trio.current_time) for _ in range(3)]
        return [(await each.run()).stopped_because for each in loops]

    assert on_test_clock(ask) == ["accepted"] * 3


@pytest.mark.parametrize("place", ["before_ask", "after_attempt", "on_stop"])
def test_a_hook_that_hangs_is_left_soon_after_the_deadline(place: str) -> None:
    async def hang_as_well(_value: object) -> None:
        await anyio.sleep_forever()

    async def ask() -> tuple[Outcome, float]:
        hooks = Hooks(**{place: hang_as_well})
        job = Job(hang, "Do it.", policy=RetryPolicy(deadline=7), hooks=hooks)
        began = trio.current_time()
        outcome = await RetryLoop(job, clock=trio.current_time).run()
        return outcome, trio.current_time() - began

    outcome, seconds = on_test_clock(ask)
    assert outcome.stopped_because == "deadline"
    assert len(outcome.attempts) == 1
    assert seconds == pytest.approx(7 if place == "before_ask" else 8)


def test_nobody_is_asked_when_a_hook_takes_all_the_time_there_is() -> None:
    agent = Scripted(GOOD)

    async def ask() -> Outcome:
        hooks = Hooks(before_ask=lambda _message: anyio.sleep(9))
        return await RetryLoop(
            Job(agent, "a", policy=RetryPolicy(deadline=5), hooks=hooks), clock=trio.current_time
        ).run()

    outcome = on_test_clock(ask)
    assert (outcome.stopped_because, agent.heard) == ("deadline", [])
    assert "before the agent was asked" in (outcome.attempts[0].error or "")


def test_nobody_is_asked_when_others_spend_the_budget_during_a_pause() -> None:
    async def ask() -> Outcome:
        with shared_budget(max_tokens=10):
            waiting = RetryLoop(
                Job(Scripted(ConnectionError(), GOOD), "a", policy=RetryPolicy(backoff=one_second))
            )
            async with anyio.create_task_group() as group:
                group.start_soon(waiting.run)
                await anyio.sleep(0.5)
                group.start_soon(RetryLoop(Job(Counting(GOOD, usage=Usage(tokens=10)), "b")).run)

        assert waiting.outcome is not None
        return waiting.outcome

    outcome = on_test_clock(ask)
    assert (outcome.stopped_because, len(outcome.attempts)) == ("budget", 1)


def test_a_program_ends_although_a_function_on_a_thread_hangs() -> None:
    code = (
        "import time; from goop_mcp import *\npolicy ="
        " RetryPolicy(deadline=0.05)\nprint(ask_until_accepted_sync(lambda message:"
        " time.sleep(600), 'Do it.', policy=policy).stopped_because)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "deadline\n"
    assert done.stderr == ""
