"""Progress is another value under the same rule; the same reply or value is none."""

import pytest

from goop_mcp import RetryPolicy, ask_until_accepted_sync, validate
from goop_mcp.retry import Message, Reply
from tests.requirements import requirement
from tests.retry.agents import BAD_STATUS, GOOD, Counting, Scripted

BROKEN, FAILED, READY = (
    BAD_STATUS.replace("DONE-ISH", word) for word in ("BROKEN", "FAILED", "READY")
)


@requirement("G-36")
def test_another_wrong_value_is_progress() -> None:
    agent = Counting(FAILED, BROKEN, GOOD, usage=None)
    outcome = ask_until_accepted_sync(
        agent, "Do it.", policy=RetryPolicy(strategies=("same_conversation",))
    )
    assert outcome.accepted
    assert agent.ways == ["first", "same_conversation", "same_conversation"]


def test_other_values_end_at_the_limit_of_attempts() -> None:
    outcome = ask_until_accepted_sync(Scripted(FAILED, BROKEN, READY), "Do it.")
    assert (outcome.stopped_because, len(outcome.attempts)) == ("attempts", 3)


@pytest.mark.parametrize(
    "replies",
    [
        (FAILED, FAILED),
        (FAILED, "Once more, with other prose.\n\n" + FAILED),
        (FAILED, BROKEN, FAILED),
    ],
    ids=["the same reply", "the same value", "back to the first value"],
)
def test_the_same_value_stops_early(replies: tuple[str, ...]) -> None:
    policy = RetryPolicy(max_attempts=9, strategies=("same_conversation",))
    outcome = ask_until_accepted_sync(Scripted(*replies), "Do it.", policy=policy)
    assert (outcome.stopped_because, len(outcome.attempts)) == ("no_progress", len(replies))


def test_messages_carry_the_number_of_their_attempt() -> None:
    agent = Counting(FAILED, BROKEN, GOOD, usage=None)
    numbers: list[int] = []

    class Numbered:
        async def ask(self, message: Message) -> Reply:
            numbers.append(message.attempt)
            if len(numbers) == 2:
                raise ConnectionError
            return await agent.ask(message)

    outcome = ask_until_accepted_sync(Numbered(), "Do it.")
    assert outcome.accepted
    assert numbers == [1, 2, 3, 4]


def test_verdicts_and_outcomes_are_true_when_they_are_accepted() -> None:
    assert validate(GOOD)
    assert not validate(BAD_STATUS)
    assert ask_until_accepted_sync(Scripted(GOOD), "Do it.")
    assert not ask_until_accepted_sync(Scripted(BAD_STATUS), "Do it.")
