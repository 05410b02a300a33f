"""Outcomes are written as JSON values and read again, with every attempt."""

import json
from copy import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import RetryPolicy, ask_until_accepted_sync
from goop_mcp.retry import Attempt, Message, Outcome, RecordedError, Reply, Usage
from tests.retry.agents import BAD_AGENT, BAD_STATUS, CUT_OFF, GOOD, PROSE, Scripted
from tests.validation.replies import read_case

CASES = [
    "speckit/concrete_implement.json",
    "speckit/concrete_error_timeout.json",
    "factory/concrete_critic_blocking.json",
]
REPLIES = (GOOD, BAD_STATUS, BAD_AGENT, CUT_OFF, PROSE, "", *map(read_case, CASES))
USAGES = (None, Usage(), Usage(tokens=3), Usage(input_tokens=1, output_tokens=2, cost=0.5))
ANSWERS = st.lists(
    st.one_of(
        st.builds(
            Reply,
            st.sampled_from(REPLIES),
            usage=st.sampled_from(USAGES),
            conversation_id=st.sampled_from([None, "s"]),
        ),
        st.sampled_from([ConnectionError("gone"), ValueError("a slip")]),
    ),
    min_size=1,
    max_size=5,
)


class Session:
    def __init__(self, answers: list[Reply | Exception]) -> None:
        self.answers = answers

    async def ask(self, message: Message) -> Reply:
        answer = self.answers[min(message.attempt, len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def again(outcome: Outcome) -> Outcome:
    return Outcome.from_dict(json.loads(json.dumps(outcome.to_dict())))


@given(ANSWERS)
def test_every_outcome_is_read_again(answers: list[Reply | Exception]) -> None:
    policy = RetryPolicy(backoff=lambda _: 0.0, circuit=False)
    outcome = ask_until_accepted_sync(Session(answers), "Do it.", policy=policy)
    read = again(outcome)
    assert read.to_dict() == outcome.to_dict()
    assert (read.accepted, read.stopped_because, read.warnings) == (
        outcome.accepted,
        outcome.stopped_because,
        outcome.warnings,
    )
    assert (read.text, read.joined_text, read.envelope) == (
        outcome.text,
        outcome.joined_text,
        outcome.envelope,
    )
    assert (read.usage, read.attempts_without_usage) == (
        outcome.usage,
        outcome.attempts_without_usage,
    )
    assert [each.verdict for each in read.attempts] == [each.verdict for each in outcome.attempts]


def test_a_failure_is_known_by_its_kind_and_its_words() -> None:
    outcome = again(ask_until_accepted_sync(Scripted(ValueError("a slip")), "Do it."))
    assert isinstance(outcome.failure, RecordedError)
    assert (outcome.failure.kind, str(outcome.failure)) == ("ValueError", "a slip")
    assert outcome.attempts[0].error == "ValueError: a slip"


class LimitedError(ConnectionError):
    retry_after = 20


def test_a_failure_is_read_with_the_time_that_it_named() -> None:
    policy = RetryPolicy(call_retries=0)
    began = datetime.now(UTC)
    outcome = ask_until_accepted_sync(Scripted(LimitedError("later")), "Do it.", policy=policy)
    read = again(outcome)
    assert read.to_dict() == outcome.to_dict()
    assert isinstance(read.failure, RecordedError)
    copied = copy(read.failure)
    assert copied.retry_after == read.failure.retry_after
    assert read.failure.retry_after is not None
    assert 20 <= (read.failure.retry_after - began).total_seconds() < 80

    attempt = outcome.attempts[0].to_dict()
    for wrong in (1e300, float("nan")):
        with pytest.raises(ValueError, match="expected seconds since 1970"):
            Attempt.from_dict({**attempt, "retry_at": wrong})
    # Written by a version that did not know it.
    del attempt["retry_at"]
    earlier = Attempt.from_dict(attempt).failure
    assert isinstance(earlier, RecordedError)
    assert earlier.retry_after is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attempts": {}}, "no list of attempts"),
        ({"attempts": [3]}, "the attempt is not an object"),
        ({"attempts": []}, "accepted and its last attempt is not"),
        ({"stopped_because": "luck"}, "stopped_because is 'luck'; expected one of accepted"),
        ({"warnings": "none"}, "warnings is 'none'; expected a list"),
    ],
    ids=str,
)
def test_what_no_outcome_wrote_is_refused(change: dict[str, Any], message: str) -> None:
    values = ask_until_accepted_sync(Scripted(GOOD), "Do it.").to_dict()
    with pytest.raises(ValueError, match="expected") as caught:
        Outcome.from_dict({**values, **change})
    assert message in str(caught.value)
