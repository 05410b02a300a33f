"""A cancelled call stops at once, loses no attempt and leaves no task, wherever it is cancelled."""

import asyncio

import anyio
import pytest
import trio
from anyio.lowlevel import checkpoint

from goop_mcp import RetryPolicy, ask_many
from goop_mcp.retry import Attempt, Hooks, Job, Message, Outcome, RetryLoop
from tests.retry.agents import BAD_STATUS, GOOD, both_backends, results, run

LONG = BAD_STATUS.replace("The work is done.", "The work is done. " * 8_000)


PLACES = 12  # three attempts: before each, in the call, with the answer on its way, after it


class Watched:
    """A call with an agent and hooks that wait at several places; any may be the last one."""

    def __init__(self, cancel_at: int, scope: anyio.CancelScope | None) -> None:
        self.cancel_at, self.scope, self.passed = cancel_at, scope, 0
        self.asked: list[str] = []
        self.answered: list[str] = []
        self.seen: list[Attempt] = []
        self.stopped: list[Outcome] = []
        self.replies = iter([LONG, BAD_STATUS.replace("DONE-ISH", "READY"), GOOD])
        hooks = Hooks(before_ask=self.before, after_attempt=self.after, on_stop=self.at_stop)
        self.loop = RetryLoop(Job(self.agent, "Do it.", protocol="goop_report", hooks=[hooks]))

    def pass_by(self) -> None:
        self.passed += 1
        if self.passed == self.cancel_at:
            (self.scope or self.loop).cancel()

    async def wait(self) -> None:
        self.pass_by()
        await checkpoint()

    async def agent(self, message: str) -> str:
        self.asked.append(message)
        await self.wait()
        self.pass_by()  # the answer is on its way already and arrives
        reply = next(self.replies)
        self.answered.append(reply)
        return reply

    async def before(self, _message: Message) -> None:
        await self.wait()

    async def after(self, attempt: Attempt) -> None:
        self.seen.append(attempt)
        await self.wait()

    async def at_stop(self, outcome: Outcome) -> None:
        await checkpoint()
        self.stopped.append(outcome)


@pytest.mark.parametrize("place", range(1, PLACES + 3))
@both_backends
def test_no_attempt_is_lost_wherever_the_caller_cancels(place: int, backend: str) -> None:
    async def call() -> Watched:
        with anyio.CancelScope() as scope:
            watched = Watched(place, scope)
            await watched.loop.run()
        assert scope.cancelled_caught == (place <= PLACES), "the cancellation goes through"
        return watched

    check(run(backend, call), cancelled=place <= PLACES)


@pytest.mark.parametrize("place", range(1, PLACES + 3))
@both_backends
def test_no_attempt_is_lost_wherever_the_call_itself_is_cancelled(place: int, backend: str) -> None:
    async def call() -> Watched:
        watched = Watched(place, None)
        assert await watched.loop.run() is watched.loop.outcome
        return watched

    check(run(backend, call), cancelled=place <= PLACES)


def check(watched: Watched, *, cancelled: bool) -> None:
    outcome = watched.loop.outcome
    assert outcome is not None
    assert outcome.stopped_because == ("cancelled" if cancelled else "accepted")
    assert [each.message for each in outcome.attempts] == watched.asked
    assert [each.reply for each in outcome.attempts if each.reply is not None] == watched.answered
    assert all(each.verdict is not None for each in outcome.attempts if each.reply is not None)
    assert list(outcome.attempts[: len(watched.seen)]) == watched.seen
    assert watched.stopped == [outcome]
    if len(watched.asked) > len(watched.answered):
        assert outcome.attempts[-1].error == "the call was cancelled"
        assert outcome.attempts[-1].failure is None


@both_backends
def test_a_call_cancelled_before_it_begins_asks_nobody(backend: str) -> None:
    asked: list[str] = []

    async def agent(message: str) -> str:
        asked.append(message)
        return GOOD

    async def call() -> Outcome:
        loop = RetryLoop(Job(agent, "Do it."))
        loop.cancel()
        return await loop.run()

    outcome: Outcome = run(backend, call)
    assert (outcome.stopped_because, outcome.attempts, asked) == ("cancelled", (), [])


def test_a_task_cancelled_by_asyncio_itself_keeps_its_attempts() -> None:
    async def main() -> None:
        waiting = asyncio.Event()

        async def agent(message: str) -> str:
            if message == "Do it.":
                return BAD_STATUS
            waiting.set()
            await asyncio.Event().wait()
            return ""

        loop = RetryLoop(Job(agent, "Do it.", protocol="goop_report"))
        task = asyncio.create_task(loop.run())
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert loop.outcome is not None
        assert loop.outcome.stopped_because == "cancelled"
        assert results(loop.outcome) == ["rejected", "failed"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_no_task_is_left_under_trio() -> None:
    async def hang(_message: str) -> str:
        await trio.Event().wait()
        return ""

    async def main() -> int:
        before = trio.lowlevel.current_statistics().tasks_living
        with trio.move_on_after(0.05):
            await RetryLoop(Job(hang, "Do it.")).run()
        return trio.lowlevel.current_statistics().tasks_living - before

    assert trio.run(main) == 0


@both_backends
def test_a_hook_that_hangs_at_the_stop_does_not_hold_up_a_cancelled_call(backend: str) -> None:
    async def hang(_outcome: Outcome) -> None:
        await anyio.sleep_forever()

    async def agent(_message: str) -> str:
        await anyio.sleep_forever()
        return ""

    async def call() -> RetryLoop:
        loop = RetryLoop(Job(agent, "Do it.", policy=RetryPolicy(), hooks=[Hooks(on_stop=hang)]))
        with anyio.move_on_after(0.01):
            await loop.run()
        return loop

    loop: RetryLoop = run(backend, call)
    assert loop.outcome is not None
    assert loop.outcome.stopped_because == "cancelled"


async def wait_for_something_cancelled(_message: object = None) -> str:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


def test_an_agent_whose_own_work_was_cancelled_has_failed_and_cancels_nobody() -> None:
    async def good(_message: str) -> str:
        await checkpoint()
        return GOOD

    jobs = [Job(wait_for_something_cancelled, "a"), Job(good, "b"), Job(good, "c")]
    outcomes: list[Outcome] = run("asyncio", lambda: ask_many(jobs, limit=1))
    assert [each.stopped_because for each in outcomes] == ["agent_error", "accepted", "accepted"]
    assert "was cancelled, and not this call" in (outcomes[0].attempts[0].error or "")


def test_a_hook_whose_own_work_was_cancelled_changes_nothing() -> None:
    hooks = Hooks(before_ask=wait_for_something_cancelled, on_stop=wait_for_something_cancelled)  # type: ignore[arg-type]  # returns a text, which nobody reads
    loop = RetryLoop(Job(lambda _message: GOOD, "Do it.", hooks=hooks))
    assert run("asyncio", loop.run).accepted


def test_an_agent_that_ends_the_program_is_not_called_cancelled() -> None:
    def agent(_message: str) -> str:
        raise SystemExit(3)

    loop = RetryLoop(Job(agent, "Do it."))
    with pytest.raises(SystemExit):
        run("asyncio", loop.run)

    assert [each.error for each in loop.attempts] == ["SystemExit: 3"]


@both_backends
def test_a_call_is_made_outside_the_loop_and_run_once(backend: str) -> None:
    stopped: list[Outcome] = []
    loop = RetryLoop(Job(lambda _message: GOOD, "Do it.", hooks=Hooks(on_stop=stopped.append)))
    assert run(backend, loop.run).accepted
    with pytest.raises(RuntimeError, match="was run before"):
        run(backend, loop.run)

    assert stopped == [loop.outcome]


@both_backends
def test_hooks_do_not_hear_of_an_ask_that_is_never_made(backend: str) -> None:
    heard: list[Message] = []
    loop = RetryLoop(Job(lambda _message: GOOD, "Do it.", hooks=Hooks(before_ask=heard.append)))
    loop.cancel()
    assert run(backend, loop.run).stopped_because == "cancelled"
    assert heard == []
