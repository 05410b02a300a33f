"""Many at once: in order, a few at a time, each for itself, on one budget where wanted."""

from typing import Any

import anyio
import pytest

from goop_mcp import Job, RetryPolicy, ask_many, ask_until_accepted, ask_until_accepted_sync
from goop_mcp.retry import Outcome, PolicyError, Usage, shared_budget
from tests.retry.agents import (
    BAD_AGENT,
    BAD_STATUS,
    GOOD,
    Counting,
    Scripted,
    both_backends,
    results,
    run,
)

TEN = Usage(tokens=10)


class Crowd:
    """Agents that answer in reverse order; counts how many are asked at the same time."""

    def __init__(self, size: int) -> None:
        self.waiting = [anyio.Event() for _ in range(size)]
        self.now = self.most = 0

    async def answer(self, number: int) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        if number + 1 < len(self.waiting):
            await self.waiting[number + 1].wait()

        self.waiting[number].set()
        self.now -= 1
        return GOOD.replace("The work is done.", f"Number {number}.")


@both_backends
def test_outcomes_come_in_the_order_of_the_jobs(backend: str) -> None:
    async def call() -> list[Outcome]:
        crowd = Crowd(12)

        def agent(number: int) -> Job:
            return Job(lambda _message: crowd.answer(number), f"Job {number}.")

        return await ask_many([agent(number) for number in range(12)], limit=12)

    outcomes = run(backend, call)
    assert [each.text.split("\n")[0] for each in outcomes] == [
        f"Number {number}." for number in range(12)
    ]


@both_backends
def test_no_more_than_the_limit_are_asked_at_once(backend: str) -> None:
    now = most = 0

    async def agent(_message: str) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()

        now -= 1
        return GOOD

    outcomes = run(backend, lambda: ask_many([Job(agent, "Do it.")] * 20, limit=3))
    assert (len(outcomes), most) == (20, 3)


@both_backends
def test_one_failure_leaves_the_others_alone(backend: str) -> None:
    agents = [Scripted(GOOD), Scripted(ValueError("no")), Scripted(BAD_STATUS), Scripted(GOOD)]
    policy = RetryPolicy(when_exhausted="raise")
    outcomes = run(
        backend, lambda: ask_many([Job(each, "Do it.", policy=policy) for each in agents], limit=2)
    )
    assert [each.stopped_because for each in outcomes] == [
        "accepted",
        "agent_error",
        "no_progress",
        "accepted",
    ]


@both_backends
def test_the_first_failure_cancels_the_others_if_wanted(backend: str) -> None:
    asked: list[str] = []

    async def hang(message: str) -> str:
        asked.append(message)
        await anyio.sleep_forever()
        return GOOD

    jobs = [
        Job(Scripted(GOOD), "a"),
        Job(hang, "b"),
        Job(Scripted(ValueError()), "c"),
        Job(hang, "d"),
        Job(hang, "e"),
    ]
    outcomes = run(backend, lambda: ask_many(jobs, limit=2, cancel_others=True))
    assert [each.stopped_because for each in outcomes] == [
        "accepted",
        "cancelled",
        "agent_error",
    ] + ["cancelled"] * 2
    assert asked == ["b"]
    assert len(outcomes[1].attempts) == 1


def test_a_job_that_cannot_be_done_stops_all_before_anybody_is_asked() -> None:
    agent = Scripted(GOOD)
    with pytest.raises(TypeError):
        run("asyncio", lambda: ask_many([Job(agent, "Do it."), Job(None, "Do it.")]))  # type: ignore[arg-type]  # wrong

    with pytest.raises(ValueError, match="limit is 0"):
        run("asyncio", lambda: ask_many([Job(agent, "Do it.")], limit=0))

    assert agent.heard == []


@both_backends
def test_calls_within_calls_draw_on_one_budget(backend: str) -> None:
    inner = Counting(BAD_STATUS, BAD_AGENT, GOOD, usage=TEN)
    inside: list[Outcome] = []

    async def outer(_message: str) -> str:
        inside.append(await ask_until_accepted(inner, "Inner.", protocol="goop_report"))
        return BAD_STATUS

    async def call() -> Outcome:
        return await ask_until_accepted(
            outer, "Outer.", protocol="goop_report", policy=RetryPolicy(max_tokens=20)
        )

    outcome = run(backend, call)
    assert outcome.stopped_because == "budget"
    assert [each.stopped_because for each in inside] == ["budget"]
    assert len(inner.agent.heard) == 2


@both_backends
def test_the_synchronous_twin_on_a_thread_draws_on_the_budget_around_it(backend: str) -> None:
    inner = Counting(BAD_STATUS, BAD_AGENT, GOOD, usage=TEN)
    inside: list[Outcome] = []

    def outer(_message: str) -> str:
        inside.append(ask_until_accepted_sync(inner, "Inner.", protocol="goop_report"))
        return BAD_STATUS

    async def call() -> Outcome:
        return await ask_until_accepted(
            outer, "Outer.", protocol="goop_report", policy=RetryPolicy(max_tokens=10)
        )

    assert run(backend, call).stopped_because == "budget"
    assert [results(each) for each in inside] == [["rejected"]]


@both_backends
def test_a_shared_budget_bounds_all_jobs_together(backend: str) -> None:
    agents = [Counting(GOOD, usage=TEN) for _ in range(5)]

    async def call() -> list[Outcome]:
        with shared_budget(max_tokens=30):
            return await ask_many([Job(each, "Do it.") for each in agents], limit=1)

    assert [each.stopped_because for each in run(backend, call)] == ["accepted"] * 3 + [
        "budget"
    ] * 2


@both_backends
def test_the_number_of_calls_is_bounded_across_nested_calls(backend: str) -> None:
    inner = Scripted(BAD_STATUS, BAD_AGENT, GOOD)

    async def outer(_message: str) -> str:
        await ask_until_accepted(inner, "Inner.", protocol="goop_report")
        return BAD_STATUS

    async def call() -> Outcome:
        return await ask_until_accepted(
            outer, "Outer.", protocol="goop_report", policy=RetryPolicy(max_calls=3)
        )

    outcome = run(backend, call)
    assert (outcome.stopped_because, results(outcome), len(inner.heard)) == (
        "budget",
        ["rejected"],
        2,
    )


def test_repeated_calls_of_an_agent_that_fails_are_counted_too() -> None:
    async def call() -> list[Outcome]:
        with shared_budget(max_calls=3):
            policy = RetryPolicy(backoff=lambda _: 0.0, call_retries=9)
            return await ask_many(
                [Job(Scripted(ConnectionError()), "Do it.", policy=policy)] * 2, limit=1
            )

    outcomes = run("asyncio", call)
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("budget", 3),
        ("budget", 0),
    ]


@both_backends
def test_a_shared_deadline_ends_what_is_under_way(backend: str) -> None:
    async def hang(_message: str) -> str:
        await anyio.sleep_forever()
        return GOOD

    async def call() -> Outcome:
        with shared_budget(deadline=0.05):
            return await ask_until_accepted(hang, "Do it.", policy=RetryPolicy(deadline=60))

    assert run(backend, call).stopped_because == "deadline"


def test_a_shared_budget_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(PolicyError, match="max_tokens"), shared_budget(max_tokens=0):
        pass


@pytest.mark.parametrize(
    ("jobs", "words"),
    [([Scripted(GOOD)], "the job is Scripted"), (Job(Scripted(GOOD), "a"), "jobs is Job")],
    ids=["an agent", "one job"],
)
# Wrong on purpose
def test_what_is_no_job_is_refused(jobs: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(TypeError, match=words):
        run("asyncio", lambda: ask_many(jobs))


@pytest.mark.parametrize("limit", [None, "3", 2.0, True])
# Wrong on purpose
def test_a_limit_that_is_no_number_is_refused(limit: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match="limit is"):
        run("asyncio", lambda: ask_many([], limit=limit))
