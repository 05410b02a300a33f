"""A call that another process began goes on: what was answered is not asked again."""

import json
import random
from dataclasses import replace
from typing import cast

import anyio
import pytest

from goop_mcp.retry import (
    Agent,
    AgentInterruptedError,
    Attempt,
    Job,
    Message,
    Outcome,
    Reply,
    RetryLoop,
    RetryPolicy,
    Usage,
)
from tests.retry.agents import BAD_AGENT, BAD_STATUS, GOOD, PROSE, Scripted, both_backends, run

AT_ONCE = RetryPolicy(backoff=lambda _: 0.0, circuit=False)


def stored(attempts: list[Attempt]) -> list[Attempt]:
    """Return what another process reads of `attempts`."""
    return [Attempt.from_dict(json.loads(json.dumps(each.to_dict()))) for each in attempts]


def job(agent: Agent, policy: RetryPolicy = AT_ONCE) -> Job:
    return Job(agent, "Do it.", protocol="goop_report", policy=policy)


@both_backends
@pytest.mark.parametrize("seed", range(20))
def test_a_call_cut_at_any_place_ends_as_if_it_had_never_been_cut(backend: str, seed: int) -> None:
    chance = random.Random(seed)
    replies: list[str | Exception] = [BAD_STATUS, BAD_AGENT, PROSE, GOOD, ConnectionError("gone")]
    answers = chance.choices(replies, k=9)
    four = replace(AT_ONCE, max_attempts=4)
    whole = Scripted(*answers)
    expected: Outcome = run(backend, RetryLoop(job(whole, four)).run)
    made = list(expected.attempts)

    for cut in range(len(made) + 1):
        rest = Scripted(*answers[cut:])
        loop = RetryLoop(job(rest, four), attempts=stored(made[:cut]))
        outcome: Outcome = run(backend, loop.run)
        assert outcome.stopped_because == expected.stopped_because
        assert rest.heard == whole.heard[cut:]
        assert [each.message for each in outcome.attempts] == whole.heard
        assert [each.reply for each in outcome.attempts] == [each.reply for each in made]


@both_backends
def test_the_numbers_of_attempts_go_on(backend: str) -> None:
    numbers: list[int] = []

    class Counted:
        async def ask(self, message: Message) -> Reply:
            numbers.append(message.attempt)
            return Reply(text=BAD_STATUS if message.attempt < 3 else GOOD)

    first: Outcome = run(backend, RetryLoop(job(Counted(), replace(AT_ONCE, max_attempts=1))).run)
    loop = RetryLoop(job(Counted()), attempts=first.attempts)
    assert run(backend, loop.run).accepted
    assert numbers == [1, 2, 3]


@both_backends
def test_a_remark_stands_before_the_first_message_only(backend: str) -> None:
    agent = Scripted(BAD_STATUS, GOOD)
    run(backend, RetryLoop(job(agent), remark="You were interrupted.").run)
    assert agent.heard[0] == "You were interrupted.\n\nDo it."
    assert "You were interrupted." not in agent.heard[1]


@both_backends
@pytest.mark.parametrize(
    "limited",
    [
        replace(AT_ONCE, max_calls=1),
        replace(AT_ONCE, max_tokens=10),
        replace(AT_ONCE, max_cost=1.0),
    ],
    ids=["calls", "tokens", "cost"],
)
def test_what_was_used_before_counts(backend: str, limited: RetryPolicy) -> None:
    used = Usage(tokens=10, cost=1.0)
    spent = Attempt(message="Do it.", way="first", error="gone", repeatable=True, usage=used)
    agent = Scripted(GOOD)
    outcome: Outcome = run(backend, RetryLoop(job(agent, limited), attempts=[spent]).run)
    assert (outcome.stopped_because, agent.heard) == ("budget", [])


@both_backends
def test_fallbacks_that_were_asked_are_not_asked_again(backend: str) -> None:
    def policy(*fallbacks: Scripted) -> RetryPolicy:
        return replace(AT_ONCE, max_attempts=1, when_exhausted="fallback", fallback=fallbacks)

    first, second = Scripted(BAD_STATUS), Scripted(BAD_AGENT)
    ended: Outcome = run(backend, RetryLoop(job(first, policy(second))).run)
    assert [each.fallback for each in ended.attempts] == [False, True]

    one, two, three = Scripted(GOOD), Scripted(GOOD), Scripted(GOOD)
    loop = RetryLoop(job(one, policy(two, three)), attempts=stored(list(ended.attempts)))
    assert run(backend, loop.run).accepted
    assert [one.heard, two.heard, three.heard] == [[], [], ["Do it."]]


@both_backends
def test_a_call_that_waits_for_a_person_still_does(backend: str) -> None:
    ended: Outcome = run(backend, RetryLoop(job(Scripted(AgentInterruptedError("May I?")))).run)
    agent = Scripted(GOOD)
    loop = RetryLoop(job(agent), attempts=stored(list(ended.attempts)))
    assert (run(backend, loop.run).stopped_because, agent.heard) == ("interrupted", [])


def test_an_accepted_call_is_over() -> None:
    ended: Outcome = anyio.run(RetryLoop(job(Scripted(GOOD))).run)
    agent = Scripted(GOOD)
    assert anyio.run(RetryLoop(job(agent), attempts=ended.attempts).run).accepted
    assert agent.heard == []


def test_attempts_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="one of attempts is dict"):
        RetryLoop(job(Scripted(GOOD)), attempts=cast("list[Attempt]", [{"message": "Do it."}]))
