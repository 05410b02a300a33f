"""Many jobs that are ended from outside: what has ended by then is there, and nothing is lost."""

import asyncio

import anyio
import pytest

from goop_mcp import Job, Outcome, ask_many, shared_budget
from goop_mcp.retry import Agent, JobGroup
from tests.retry.agents import BAD_STATUS, GOOD, Scripted, both_backends, results, run


async def hang(_message: str) -> str:
    await anyio.sleep_forever()
    return GOOD


class Stubborn:
    """Sends a wrong report, and then nothing more."""

    async def __call__(self, message: str) -> str:
        return BAD_STATUS if message == "b" else await hang(message)


def jobs() -> list[Job]:
    """Return one job that ends, one that is rejected and hangs, one that hangs, one too many."""
    agents: tuple[Agent, ...] = (Scripted(GOOD), Stubborn(), hang, Scripted(GOOD))
    return [
        Job(each, name, protocol="goop_report") for each, name in zip(agents, "abcd", strict=True)
    ]


def check(outcomes: list[Outcome]) -> None:
    assert [each.stopped_because for each in outcomes] == ["accepted"] + ["cancelled"] * 3
    # The fourth never got its turn.
    assert [results(each) for each in outcomes] == [
        ["accepted"],
        ["rejected", "failed"],
        ["failed"],
        [],
    ]
    assert not any(each.attempts[-1].failure for each in outcomes if each.attempts)


@both_backends
def test_what_has_ended_is_there_after_a_scope_around_it_ended_the_rest(backend: str) -> None:
    async def call() -> list[Outcome]:
        group = JobGroup(jobs(), limit=2)
        with anyio.move_on_after(0.2) as scope:
            await group.run()
        # The scope of the caller sees its own end, as with anything else in it.
        assert scope.cancelled_caught
        return group.outcomes

    check(run(backend, call))


@both_backends
def test_a_caller_who_waits_only_so_long_still_hears_that_it_was_too_long(backend: str) -> None:
    async def call() -> list[Outcome]:
        group = JobGroup(jobs(), limit=2)
        with pytest.raises(TimeoutError), anyio.fail_after(0.2):
            await group.run()
        return group.outcomes

    check(run(backend, call))


@both_backends
def test_a_group_that_its_owner_ends_returns_what_has_ended(backend: str) -> None:
    async def call() -> list[Outcome]:
        group = JobGroup(jobs(), limit=2)
        found: list[Outcome] = []

        async def wait() -> None:
            found.extend(await group.run())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.sleep(0.2)
            group.cancel()
        assert found == group.outcomes
        return found

    check(run(backend, call))


def test_what_has_ended_is_there_after_asyncio_itself_cancelled_the_task() -> None:
    async def main() -> None:
        group = JobGroup(jobs(), limit=2)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(group.run(), 0.2)
        check(group.outcomes)

        group = JobGroup(jobs(), limit=2)
        task = asyncio.create_task(group.run())
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        check(group.outcomes)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@both_backends
def test_a_deadline_of_the_caller_returns_what_has_ended(backend: str) -> None:
    async def call() -> list[Outcome]:
        with shared_budget(deadline=0.3):
            return await ask_many(jobs(), limit=2)

    outcomes: list[Outcome] = run(backend, call)
    assert [each.stopped_because for each in outcomes] == ["accepted"] + ["deadline"] * 3
    assert [len(each.attempts) for each in outcomes] == [1, 2, 1, 0]


@both_backends
def test_a_group_that_was_ended_before_it_began_asks_nobody(backend: str) -> None:
    agent = Scripted(GOOD)
    group = JobGroup([Job(agent, "a"), Job(agent, "b")])
    assert [each.stopped_because for each in group.outcomes] == ["cancelled"] * 2
    group.cancel()
    outcomes: list[Outcome] = run(backend, group.run)
    assert [each.stopped_because for each in outcomes] == ["cancelled"] * 2
    assert agent.heard == []


@both_backends
def test_a_group_is_run_once(backend: str) -> None:
    group = JobGroup([Job(Scripted(GOOD), "a")])
    assert [each.accepted for each in run(backend, group.run)] == [True]
    with pytest.raises(RuntimeError, match="were run before"):
        run(backend, group.run)
