"""An agent that fails again and again is left alone for a while, by all who ask it."""

import gc
import pickle
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio
from trio.testing import MockClock

from goop_mcp import Job, RetryPolicy, ask_many
from goop_mcp.retry import AgentUnavailableError, Message, Outcome, Reply, RetryLoop
from goop_mcp.retry.agent_records import AgentRecord, find_record, key_of, record_of
from tests.retry.agents import GOOD, Scripted, both_backends, results, run

AT_ONCE = RetryPolicy(backoff=lambda _: 0.0)


class Provider:
    """Fails while it is down; notes when it was called."""

    def __init__(
        self, *, down: bool = True, failure: Callable[[], Exception] = ConnectionError
    ) -> None:
        self.down, self.failure = down, failure
        self.calls: list[float] = []

    async def __call__(self, _message: str) -> str:
        self.calls.append(anyio.current_time())
        await anyio.lowlevel.checkpoint()
        if self.down:
            raise self.failure()
        return GOOD


# Returns what the call returns
def on_test_clock(call: Callable[[], Any]) -> Any:  # noqa: ANN401
    return anyio.run(
        call, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)}
    )


# Any agent
async def ask(agent: Any, policy: RetryPolicy = AT_ONCE) -> Outcome:  # noqa: ANN401
    return await RetryLoop(Job(agent, "Do it.", policy=policy), clock=trio.current_time).run()


@both_backends
def test_twenty_jobs_against_a_dead_provider_make_few_calls(backend: str) -> None:
    provider = Provider()
    outcomes = run(backend, lambda: ask_many([Job(provider, "Do it.")] * 20))
    assert 5 <= len(provider.calls) <= 12
    assert {each.stopped_because for each in outcomes} == {"agent_error"}
    refused = outcomes[-1]
    assert isinstance(refused.failure, AgentUnavailableError)
    assert "calls in a row failed" in str(refused.failure)
    assert 0 < refused.failure.retry_after <= 30
    assert refused.usage.tokens == 0


def test_the_rest_doubles_up_to_ten_minutes_and_one_probe_ends_each() -> None:
    provider = Provider()

    async def call() -> None:
        with anyio.move_on_after(4000):
            while True:
                await ask(provider)
                await anyio.sleep(0.5)

    on_test_clock(call)
    first, *probes = provider.calls[4:]
    pauses = [after - before for before, after in zip([first, *probes], probes, strict=False)]
    assert [round(each) for each in pauses[:7]] == [30, 60, 120, 240, 480, 600, 600]


def test_a_probe_that_gets_through_closes_the_circuit() -> None:
    provider = Provider()

    async def call() -> list[Outcome]:
        await ask(provider)
        refused = await ask(provider)
        provider.down = False
        await anyio.sleep(31)
        again = [await ask(provider) for _ in range(3)]
        provider.down = True
        broken = await ask(provider)

        return [refused, *again, broken]

    refused, *again, broken = on_test_clock(call)
    assert isinstance(refused.failure, AgentUnavailableError)
    assert [each.accepted for each in again] == [True] * 3
    assert results(broken) == ["failed"] * 5, "five again, as after any success"


def test_only_one_call_at_a_time_probes() -> None:
    provider = Provider()

    async def call() -> list[Outcome | None]:
        await ask(provider)
        await anyio.sleep(31)
        loops = [
            RetryLoop(Job(provider, "Do it.", policy=AT_ONCE), clock=trio.current_time)
            for _ in range(5)
        ]
        async with anyio.create_task_group() as group:
            for each in loops:
                group.start_soon(each.run)

        return [each.outcome for each in loops]

    on_test_clock(call)
    assert len(provider.calls) == 5 + 1


def test_a_probe_that_is_cancelled_lets_another_one_through() -> None:
    provider, hanging = Provider(), anyio.Event

    class Agent:
        hang = False

        async def ask(self, message: Message) -> Reply:
            if self.hang:
                await hanging().wait()
            return Reply(text=await provider(message.text))

    agent = Agent()

    async def call() -> Outcome:
        await ask(agent)
        await anyio.sleep(31)
        agent.hang = True
        with anyio.move_on_after(5):
            await ask(agent)

        agent.hang = provider.down = False
        return await ask(agent)

    assert on_test_clock(call).accepted


def test_calls_under_way_when_it_opens_do_not_prolong_it() -> None:
    record = AgentRecord()
    for _ in range(20):
        record.settle(0.0, failed=True, probe=False)
    assert record.admit(30.0)


@pytest.mark.parametrize(
    "failure", [ValueError, type("HttpError", (Exception,), {"status_code": 400})]
)
def test_failures_that_are_the_requests_own_do_not_count(failure: Callable[[], Exception]) -> None:
    provider = Provider(failure=failure)

    async def call() -> list[str]:
        return [type((await ask(provider)).failure).__name__ for _ in range(8)]

    assert "AgentUnavailableError" not in on_test_clock(call)
    assert len(provider.calls) == 8


def test_a_policy_may_do_without_it() -> None:
    provider = Provider()
    outcome = on_test_clock(
        lambda: ask(provider, RetryPolicy(circuit=False, call_retries=11, backoff=lambda _: 0.0))
    )
    assert results(outcome) == ["failed"] * 12


def test_agents_have_circuits_of_their_own_unless_they_name_the_same_key() -> None:
    class Session:
        def __init__(self, provider: Provider) -> None:
            self.provider = provider

        async def ask(self, message: Message) -> Reply:
            return Reply(text=await self.provider(message.text))

    class Keyed(Session):
        agent_key = "test_agents_have_circuits_of_their_own"

    dead, healthy = Provider(), Provider(down=False)

    async def call() -> tuple[Outcome, Outcome]:
        await ask(Session(dead))
        await ask(Keyed(dead))
        return await ask(Session(healthy)), await ask(Keyed(healthy))

    own, keyed = on_test_clock(call)
    assert own.accepted
    assert isinstance(keyed.failure, AgentUnavailableError)


def test_agents_may_name_an_object_that_they_stand_for() -> None:
    dead = Provider()

    class Session:
        agent_key = dead

        async def ask(self, message: Message) -> Reply:
            return Reply(text=await dead(message.text))

    async def call() -> Outcome:
        await ask(Session())
        return await ask(Session())

    assert isinstance(on_test_clock(call).failure, AgentUnavailableError)
    assert key_of(Session()) == key_of(dead)
    assert len(dead.calls) == 5


def test_an_open_circuit_goes_to_the_fallbacks_at_once() -> None:
    dead, cheap, strong = Provider(), Provider(), Provider(down=False)

    async def call() -> Outcome:
        await ask(dead)
        return await ask(dead, RetryPolicy(when_exhausted="fallback", fallback=[cheap, strong]))

    outcome = on_test_clock(call)
    assert outcome.accepted
    assert (len(dead.calls), len(cheap.calls), len(strong.calls)) == (5, 1, 1)
    assert [each.fallback for each in outcome.attempts] == [False, True, True]


def test_the_failure_of_a_call_that_was_not_made_can_be_pickled() -> None:
    # Our own bytes
    failure = pickle.loads(pickle.dumps(AgentUnavailableError(5, 27.0)))  # noqa: S301
    assert (failure.failures, failure.retry_after) == (5, 27.0)
    assert str(failure) == "not called: 5 calls in a row failed; the next one is allowed in 27 s"


def test_a_record_goes_with_its_agent() -> None:
    agent = Scripted(GOOD)
    assert find_record(key_of(agent)) is None
    record = record_of(agent)
    assert record_of(agent) is record is find_record(key_of(agent))
    method = agent.__call__
    assert record_of(method) is record_of(agent.__call__) is not record

    key = id(agent)
    del agent, method
    gc.collect()
    from goop_mcp.retry import agent_records  # noqa: PLC0415 - looked into here only

    assert not any(
        each == key or (isinstance(each, tuple) and each[0] == key)
        for each in agent_records._records
    )
