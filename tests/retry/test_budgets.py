"""Budgets hold when many draw on them at once: usage is reserved before a call."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import pytest
import trio
from trio.testing import MockClock

from goop_mcp import Job, RetryPolicy, ask_many, ask_until_accepted, shared_budget
from goop_mcp.retry import Message, Outcome, Reply, RetryLoop, Usage
from goop_mcp.retry.budget import Budget
from tests.retry.agents import BAD_STATUS, GOOD, Counting, both_backends, results, run

THOUSAND = Usage(tokens=1000, cost=1.0)


class Model:
    """Answers after a while, as models do; counts usage and answers at once."""

    def __init__(self, usage: Usage | None = THOUSAND, *, reply: str = GOOD) -> None:
        self.usage, self.reply = usage, reply
        self.calls = self.now = self.most = 0

    async def ask(self, _message: Message) -> Reply:
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(0.002)
        self.now -= 1
        return Reply(text=self.reply, usage=self.usage)


def asked_together(backend: str, agents: Sequence[object], **limits: float) -> list[Outcome]:
    async def call() -> list[Outcome]:
        with shared_budget(**limits):  # type: ignore[arg-type]  # limits by their names
            jobs = [Job(agent, "Do it.", protocol="goop_report") for agent in agents]  # type: ignore[arg-type]  # any agent
            return await ask_many(jobs, limit=len(jobs))

    outcomes: list[Outcome] = run(backend, call)
    return outcomes


@both_backends
@pytest.mark.parametrize("limits", [{"max_tokens": 2000}, {"max_cost": 2.0}], ids=str)
def test_fifty_at_once_spend_what_the_budget_holds(backend: str, limits: dict[str, float]) -> None:
    model = Model()
    outcomes = asked_together(backend, [model] * 50, **limits)
    assert model.calls == 2
    assert [each.stopped_because for each in outcomes].count("budget") == 48


@both_backends
def test_fifty_agents_of_their_own_spend_no_more(backend: str) -> None:
    models = [Model() for _ in range(50)]
    asked_together(backend, models, max_tokens=2000)
    assert sum(each.calls for each in models) == 2


@both_backends
@pytest.mark.parametrize("limit", [1, 999, 1001, 2500])
def test_one_call_at_most_goes_beyond_the_budget(backend: str, limit: int) -> None:
    model = Model()
    asked_together(backend, [model] * 20, max_tokens=limit)
    assert limit <= 1000 * model.calls < limit + 1000


@both_backends
def test_the_first_call_runs_alone_and_the_rest_together_as_far_as_they_fit(backend: str) -> None:
    model = Model()
    asked_together(backend, [model] * 12, max_tokens=100_000)
    assert (model.calls, model.most) == (12, 11)

    model = Model()
    asked_together(backend, [model] * 12, max_tokens=5_000)
    assert (model.calls, model.most) == (5, 4)


@both_backends
def test_agents_of_the_same_key_are_known_by_one_usage(backend: str) -> None:
    running = most = 0

    class Keyed(Model):
        agent_key = f"agents of one key under {backend}"

        async def ask(self, message: Message) -> Reply:
            nonlocal running, most
            running += 1
            most = max(most, running)
            reply = await super().ask(message)
            running -= 1
            return reply

    asked_together(backend, [Keyed() for _ in range(6)], max_tokens=100_000)
    assert most == 5


def test_the_largest_of_the_last_five_is_expected() -> None:
    usages = iter([9000, 5000, 10, 10, 10, 10, 10])
    seen: list[int] = []

    async def call() -> None:
        class Varying:
            async def ask(self, _message: Message) -> Reply:
                return Reply(text=GOOD, usage=Usage(tokens=next(usages)))

        agent = Varying()
        with shared_budget(max_tokens=10**9):
            for _ in range(7):
                await ask_until_accepted(agent, "Do it.", protocol="goop_report")
                seen.append(_expected_tokens(agent))

    run("asyncio", call)
    assert seen == [9000] * 5 + [5000, 10]


def _expected_tokens(agent: object) -> int:
    from goop_mcp.retry.agent_records import record_of  # noqa: PLC0415 - only here

    return record_of(agent).expected_usage().tokens or 0  # type: ignore[arg-type]  # any agent


@both_backends
@pytest.mark.parametrize("usage", [None, Usage(), Usage(cost=0.5)], ids=str)
def test_unknown_usage_counts_as_its_reservation_and_the_outcome_says_so(
    backend: str, usage: Usage | None
) -> None:
    model = Model(usage, reply=BAD_STATUS)
    policy = RetryPolicy(max_tokens=2000)
    outcome = run(
        backend, partial(ask_until_accepted, model, "Do it.", protocol="goop_report", policy=policy)
    )
    assert (model.calls, outcome.stopped_because) == (1, "budget")
    assert any(
        "1 call counted with all that was reserved" in warning for warning in outcome.warnings
    )


def test_after_a_known_usage_an_unknown_one_counts_like_it() -> None:
    usages = iter([THOUSAND, None, None, THOUSAND])

    class Forgetful:
        calls = 0

        async def ask(self, _message: Message) -> Reply:
            self.calls += 1
            return Reply(
                text=BAD_STATUS.replace("DONE-ISH", f"DONE-{self.calls}"), usage=next(usages)
            )

    agent = Forgetful()
    policy = RetryPolicy(max_tokens=3000, max_attempts=9)
    outcome = run(
        "asyncio",
        partial(ask_until_accepted, agent, "Do it.", protocol="goop_report", policy=policy),
    )
    assert (agent.calls, outcome.stopped_because) == (3, "budget")
    assert any("2 calls counted" in warning for warning in outcome.warnings)
    assert outcome.usage == Usage(tokens=1000, cost=1.0)
    assert outcome.attempts_without_usage == 2


def test_a_failed_call_counts_with_the_usage_that_its_failure_carries() -> None:
    class Failing:
        calls = 0

        async def ask(self, _message: Message) -> Reply:
            self.calls += 1
            failure = ConnectionError("cut off")
            # As clients attach what was used.
            failure.usage = THOUSAND  # type: ignore[attr-defined]
            raise failure

    agent = Failing()
    policy = RetryPolicy(max_tokens=2000, backoff=lambda _: 0.0)
    outcome = run("asyncio", partial(ask_until_accepted, agent, "Do it.", policy=policy))
    assert (agent.calls, outcome.stopped_because) == (2, "budget")
    assert [each.usage for each in outcome.attempts] == [THOUSAND] * 2
    assert outcome.warnings == ()


def test_a_request_that_was_refused_uses_nothing() -> None:
    class RefusedError(Exception):
        status_code = 429

    script: list[Exception | None] = [RefusedError(), ConnectionRefusedError(), None]

    class Refusing:
        async def ask(self, _message: Message) -> Reply:
            failure = script.pop(0)
            if failure is not None:
                raise failure
            return Reply(text=GOOD, usage=THOUSAND)

    policy = RetryPolicy(max_tokens=2000, backoff=lambda _: 0.0)
    outcome = run("asyncio", partial(ask_until_accepted, Refusing(), "Do it.", policy=policy))
    assert outcome.accepted
    assert outcome.usage == Usage(tokens=1000, cost=1.0)


@both_backends
def test_agents_that_ask_others_do_not_wait_for_themselves(backend: str) -> None:
    model = Model()

    async def outer(_message: str) -> str:
        jobs = [Job(model, "Inner.", protocol="goop_report")] * 3
        inner = await ask_many(jobs, limit=3)
        return GOOD if all(inner) else BAD_STATUS

    async def call() -> Outcome:
        policy = RetryPolicy(max_tokens=50_000)
        return await ask_until_accepted(outer, "Outer.", protocol="goop_report", policy=policy)

    outcome = run(backend, call)
    assert outcome.accepted
    assert model.calls == 3
    assert outcome.warnings == (), "what the calls within used is known"


@both_backends
def test_agents_that_ask_others_do_not_wait_for_each_other(backend: str) -> None:
    begun: list[str] = []

    class Leader:
        agent_key = f"leaders under {backend}"
        all_are_there: anyio.Event

        async def ask(self, message: Message) -> Reply:
            begun.append(message.text)
            if begun.count("Lead.") == 3:
                self.all_are_there.set()
            if message.text == "Lead.":  # the first call of all runs alone
                await self.all_are_there.wait()

            inner = await ask_until_accepted(Model(), "Inner.", protocol="goop_report")
            return Reply(text=GOOD if inner else BAD_STATUS, usage=Usage(tokens=10))

    async def call() -> list[Outcome]:
        Leader.all_are_there = anyio.Event()
        with shared_budget(max_tokens=50_000):
            await ask_until_accepted(Leader(), "Alone.", protocol="goop_report")
            return await ask_many([Job(Leader(), "Lead.", protocol="goop_report")] * 3, limit=3)

    assert all(run(backend, call))


def test_those_who_wait_look_again_only_when_something_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0
    has_room = Budget._has_room

    # What is private there
    def counted(self: Budget, expected: Usage, around: Any) -> bool:  # noqa: ANN401
        nonlocal looks
        looks += 1
        return has_room(self, expected, around)

    monkeypatch.setattr(Budget, "_has_room", counted)

    class Leader:
        agent_key = "leaders, one of whom takes long"

        async def ask(self, message: Message) -> Reply:
            if message.text == "Slow.":
                await anyio.sleep(0.1)
            else:
                await ask_until_accepted(Model(), "Inner.", protocol="goop_report")
            return Reply(text=GOOD, usage=Usage(tokens=10))

    async def call() -> list[Outcome]:
        with shared_budget(max_tokens=50_000):
            await ask_until_accepted(Leader(), "Alone.", protocol="goop_report")
            prompts = ("Slow.", "Lead.", "Lead.", "Lead.")
            return await ask_many([Job(Leader(), each, protocol="goop_report") for each in prompts])

    assert all(run("asyncio", call))
    assert looks < 60


@both_backends
def test_a_call_that_is_cancelled_while_it_waits_leaves_the_budget_as_it_was(backend: str) -> None:
    async def call() -> tuple[Outcome | None, Outcome]:
        begun, go_on = anyio.Event(), anyio.Event()

        class Slow:
            async def ask(self, _message: Message) -> Reply:
                begun.set()
                await go_on.wait()
                return Reply(text=GOOD, usage=THOUSAND)

        with shared_budget(max_tokens=5000):
            first, waiting = RetryLoop(Job(Slow(), "a")), RetryLoop(Job(Model(), "b"))
            async with anyio.create_task_group() as group:
                group.start_soon(first.run)
                await begun.wait()
                group.start_soon(waiting.run)
                await anyio.sleep(0.01)
                waiting.cancel()
                go_on.set()

            last = await ask_until_accepted(Counting(GOOD, usage=THOUSAND), "c")

        return waiting.outcome, last

    cancelled, last = run(backend, call)
    assert cancelled is not None
    assert (cancelled.stopped_because, cancelled.attempts) == ("cancelled", ())
    assert last.accepted


def test_nobody_waits_for_the_budget_beyond_the_deadline() -> None:
    async def hang(_message: str) -> str:
        await anyio.sleep_forever()
        return ""

    async def call() -> tuple[Outcome | None, float]:
        began = trio.current_time()
        with shared_budget(max_tokens=10):
            waiting = RetryLoop(
                Job(Counting(GOOD, usage=THOUSAND), "b", policy=RetryPolicy(deadline=7)),
                clock=trio.current_time,
            )
            async with anyio.create_task_group() as group:
                group.start_soon(RetryLoop(Job(hang, "a")).run)
                await anyio.sleep(1)
                await waiting.run()
                group.cancel_scope.cancel()

        return waiting.outcome, trio.current_time() - began

    clock = MockClock(autojump_threshold=0)
    outcome, seconds = anyio.run(call, backend="trio", backend_options={"clock": clock})
    assert outcome is not None
    assert (outcome.stopped_because, results(outcome)) == ("deadline", [])
    assert seconds == pytest.approx(8)


class Crowd:
    """Leaders that ask others, and others that answer, fail or hide their usage, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.usages = [None, Usage(), Usage(tokens=0), Usage(tokens=5), Usage(tokens=50, cost=1.0)]

    def job(self) -> Job:
        policy = RetryPolicy(
            max_tokens=self.chance.choice([None, 40, 400]),
            max_cost=self.chance.choice([None, 3.0]),
            deadline=self.chance.choice([None, 0.02]),
            call_retries=0,
        )
        return Job(self if self.chance.random() < 0.5 else self.leaf, "Do it.", policy=policy)

    async def leaf(self, _message: str) -> str:
        await anyio.sleep(self.chance.random() * 0.003)
        if self.chance.random() < 0.1:
            raise self.chance.choice([ConnectionError, ConnectionRefusedError, ValueError])
        return self.chance.choice([GOOD, BAD_STATUS])

    async def ask(self, _message: Message) -> Reply:
        jobs = [Job(self.leaf, "Inner.") for _ in range(self.chance.randrange(4))]
        if jobs:
            await ask_many(jobs, limit=self.chance.randrange(1, 4))
        return Reply(text=GOOD, usage=self.chance.choice(self.usages))


@both_backends
@pytest.mark.parametrize("seed", range(15))
def test_whatever_happens_everybody_ends_and_nothing_stays_reserved(
    backend: str, seed: int
) -> None:
    crowd = Crowd(seed)

    async def call() -> tuple[int, int]:
        with shared_budget(max_tokens=crowd.chance.choice([100, 1000, 100_000])):
            shared = RetryLoop(crowd.job())
            async with anyio.create_task_group() as group:
                for _ in range(crowd.chance.randrange(1, 10)):
                    loop = RetryLoop(crowd.job())
                    group.start_soon(loop.run)
                    if crowd.chance.random() < 0.3:
                        await anyio.sleep(0.002)
                        loop.cancel()

            await shared.run()
            budget = shared._budget._outer

        assert budget is not None
        return len(budget._held), len(budget._waiting)

    assert run(backend, call) == (0, 0)
