"""The course of a call as a pure function: by table and by property."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import RetryPolicy, validate
from goop_mcp.retry import Attempt, Way
from goop_mcp.retry.calls import DeadlinePassedError
from goop_mcp.retry.strategy import Ask, Stop, next_step
from tests.retry.agents import BAD_AGENT, BAD_STATUS, CUT_OFF, GOOD, PROSE

TASK = "Do it."
REPLIES = (GOOD, BAD_STATUS, BAD_AGENT, CUT_OFF, PROSE, "", TASK)


def answered(reply: str, way: Way = "first") -> Attempt:
    return Attempt(
        message=TASK, way=way, reply=reply, verdict=validate(reply, protocol="goop_report")
    )


def failed(failure: Exception, *, repeatable: bool = True) -> Attempt:
    return Attempt(
        message=TASK, way="first", error="failed", failure=failure, repeatable=repeatable
    )


ANSWERS = {reply: answered(reply) for reply in REPLIES}
LOST = failed(ConnectionError())
BROKEN = failed(ValueError(), repeatable=False)
LATE = failed(DeadlinePassedError())


@pytest.mark.parametrize(
    ("attempts", "policy", "expected"),
    [
        pytest.param([], RetryPolicy(), "first", id="nothing yet"),
        pytest.param([GOOD], RetryPolicy(), Stop("accepted"), id="accepted"),
        pytest.param([BAD_STATUS], RetryPolicy(), "same_conversation", id="rejected once"),
        pytest.param(
            [BAD_STATUS], RetryPolicy(strategies=("fresh",)), "fresh", id="the policy's first way"
        ),
        pytest.param(
            [BAD_STATUS], RetryPolicy(max_attempts=1), Stop("attempts"), id="one attempt only"
        ),
        pytest.param([BAD_STATUS, BAD_STATUS], RetryPolicy(), "minimal", id="the same again"),
        pytest.param(
            [BAD_STATUS, BAD_STATUS],
            RetryPolicy(strategies=("minimal",)),
            Stop("no_progress"),
            id="no other way",
        ),
        pytest.param(
            [BAD_STATUS] * 3, RetryPolicy(), Stop("no_progress"), id="the same a third time"
        ),
        pytest.param(
            [BAD_STATUS, PROSE, BAD_STATUS],
            RetryPolicy(max_attempts=9),
            "minimal",
            id="back to an old fault",
        ),
        pytest.param(
            [BAD_STATUS, BAD_AGENT, PROSE],
            RetryPolicy(),
            Stop("attempts"),
            id="three different errors",
        ),
        pytest.param([LOST], RetryPolicy(), "first", id="connection lost"),
        pytest.param([LOST] * 4, RetryPolicy(), "first", id="lost four times"),
        pytest.param([LOST] * 5, RetryPolicy(), Stop("agent_error"), id="lost five times"),
        pytest.param(
            [LOST], RetryPolicy(call_retries=0), Stop("agent_error"), id="no repeats wanted"
        ),
        pytest.param(
            [LOST, BAD_STATUS, LOST, LOST, LOST],
            RetryPolicy(),
            "first",
            id="counted again after a reply",
        ),
        pytest.param([BROKEN], RetryPolicy(), Stop("agent_error"), id="broken for good"),
        pytest.param([LATE], RetryPolicy(), Stop("deadline"), id="too late"),
        pytest.param(
            [LOST] * 4 + [BAD_STATUS, BAD_AGENT],
            RetryPolicy(),
            "same_conversation",
            id="not attempts",
        ),
    ],
)
def test_what_follows(
    attempts: list[str | Attempt], policy: RetryPolicy, expected: Stop | Way
) -> None:
    history = [ANSWERS[each] if isinstance(each, str) else each for each in attempts]
    step = next_step(TASK, history, policy)
    assert (step if isinstance(step, Stop) else step.message.way) == expected


histories = st.lists(st.sampled_from([*ANSWERS.values(), LOST, BROKEN, LATE]), max_size=12)
STRATEGIES: list[tuple[Way, ...]] = [
    ("same_conversation", "minimal"),
    ("same_conversation", "minimal", "fresh"),
    ("fresh",),
    ("minimal", "fresh"),
]
strategies = st.sampled_from(STRATEGIES)
policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 6),
    call_retries=st.integers(0, 4),
    strategies=strategies,
    allow_repairs=st.booleans(),
)


@given(histories, policies)
def test_every_history_has_a_next_step_and_only_an_accepted_reply_is_accepted(
    history: list[Attempt], policy: RetryPolicy
) -> None:
    step = next_step(TASK, history, policy)
    accepted = bool(history) and history[-1].accepted
    assert (step == Stop("accepted")) == accepted
    if isinstance(step, Ask):
        assert step.message.text
        assert (
            step.failures or sum(each.verdict is not None for each in history) < policy.max_attempts
        )


@given(st.lists(st.sampled_from([*ANSWERS.values(), LOST]), min_size=40, max_size=40), policies)
def test_no_agent_is_asked_more_often_than_the_policy_says(
    answers: list[Attempt], policy: RetryPolicy
) -> None:
    history: list[Attempt] = []
    while isinstance(step := next_step(TASK, history, policy), Ask):
        history.append(
            replace(answers[len(history)], message=step.message.text, way=step.message.way)
        )

    replies = [each for each in history if each.verdict is not None]
    assert len(replies) <= policy.max_attempts
    assert len(history) <= policy.max_attempts * (policy.call_retries + 1) + policy.call_retries
    assert not any(each.accepted for each in history[:-1])


@given(histories, policies)
def test_the_same_history_has_the_same_next_step(
    history: list[Attempt], policy: RetryPolicy
) -> None:
    assert next_step(TASK, history, policy) == next_step(TASK, list(history), policy)


def test_a_failed_call_is_repeated_with_the_same_words() -> None:
    lost = Attempt(message="Fix this.", way="minimal", failure=ConnectionError(), repeatable=True)
    step = next_step(TASK, [ANSWERS[BAD_STATUS], lost], RetryPolicy())
    assert isinstance(step, Ask)
    assert (step.message.text, step.message.way, step.failures) == ("Fix this.", "minimal", 1)
