"""Deadlines, time-outs, pauses: with trio's own test clock, which jumps to whatever is waited for."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import tenacity
import trio
from trio.testing import MockClock

from goop_mcp import RetryPolicy
from goop_mcp.retry import Asking, Job, Outcome
from tests.retry.agents import BAD_STATUS, GOOD, Scripted, both_backends, results, run

ONE_SECOND = tenacity.wait_fixed(1)


def on_test_clock(call: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - returns what the call returns
    return anyio.run(call, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})


def asked(agent: Any, policy: RetryPolicy) -> tuple[Outcome, float]:  # noqa: ANN401 - any agent
    """Return the outcome and the seconds that passed on the test clock."""

    async def ask() -> tuple[Outcome, float]:
        began = trio.current_time()
        job = Job(agent, "Do it.", protocol="goop_report", policy=policy)
        outcome = await Asking(job, clock=trio.current_time).run()
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
    policy = RetryPolicy(attempt_timeout=5, call_retries=2, backoff=ONE_SECOND)
    outcome, seconds = asked(hang, policy)
    assert outcome.stopped_because == "agent_error"
    assert [each.error for each in outcome.attempts] == ["TimeoutError: no answer within 5 s"] * 3
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
    _, seconds = asked(Scripted(BAD_STATUS, GOOD), RetryPolicy(backoff=ONE_SECOND))
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
def test_a_passing_failure_is_repeated_after_the_pause_it_asks_for(failure: Exception, least: float) -> None:
    agent = Scripted(failure, GOOD)
    outcome, seconds = asked(agent, RetryPolicy(max_attempts=1, backoff=ONE_SECOND))
    assert outcome.accepted, "calls that fail do not use up attempts"
    assert results(outcome) == ["failed", "accepted"]
    assert agent.heard == ["Do it."] * 2
    assert seconds == pytest.approx(least)


@pytest.mark.parametrize(
    "failure", [HttpError(401), ValueError(), ExceptionGroup("two", [ConnectionError(), ValueError()])], ids=repr
)
def test_a_failure_that_will_not_pass_is_not_repeated(failure: Exception) -> None:
    outcome, seconds = asked(Scripted(failure, GOOD), RetryPolicy(backoff=ONE_SECOND))
    assert outcome.stopped_because == "agent_error"
    assert seconds == 0


def test_the_pause_grows_with_jitter_by_default() -> None:
    policy = RetryPolicy(call_retries=6)
    _, seconds = asked(Scripted(ConnectionError()), policy)
    assert 0 < seconds <= 0.5 + 1 + 2 + 4 + 8 + 16


def test_the_policy_says_which_failures_are_repeated() -> None:
    policy = RetryPolicy(retry_call=lambda failure: isinstance(failure, KeyError), backoff=ONE_SECOND)
    assert asked(Scripted(KeyError("busy"), GOOD), policy)[0].accepted
    assert asked(Scripted(ConnectionError(), GOOD), policy)[0].stopped_because == "agent_error"


def test_a_policy_whose_own_functions_fail_ends_the_call_with_every_attempt() -> None:
    def broken(_argument: object) -> bool:
        raise RuntimeError("a slip of the caller")

    outcome, _ = asked(Scripted(ConnectionError()), RetryPolicy(retry_call=broken))
    assert (outcome.stopped_because, results(outcome)) == ("agent_error", ["failed"])
    outcome, _ = asked(Scripted(ConnectionError()), RetryPolicy(backoff=broken))  # type: ignore[arg-type]  # any callable will do
    assert (outcome.stopped_because, results(outcome)) == ("agent_error", ["failed"])


@both_backends
def test_a_deadline_holds_on_a_real_clock_too(backend: str) -> None:
    async def ask() -> Outcome:
        return await Asking(Job(hang, "Do it.", policy=RetryPolicy(deadline=0.05))).run()

    assert run(backend, ask).stopped_because == "deadline"


def test_a_function_on_a_thread_that_hangs_is_left_behind() -> None:
    from threading import Event  # noqa: PLC0415 - blocks only here

    released = Event()

    async def ask() -> Outcome:
        job = Job(lambda _message: str(released.wait(20)), "Do it.", policy=RetryPolicy(deadline=0.05))
        return await Asking(job).run()

    try:
        assert run("asyncio", ask).stopped_because == "deadline"
    finally:
        released.set()
