"""A conversation that somebody else drives is judged and counted by the same rules."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from goop_mcp import NotAcceptedError, RetryPolicy, UnknownNameError, ask_until_accepted
from goop_mcp.errors import PolicyError
from goop_mcp.retry import Outcome, Review, Usage, shared_budget
from goop_mcp.retry.review import ReviewOptions
from goop_mcp.validation.feedback import OPENING
from tests.retry.agents import BAD_AGENT, BAD_STATUS, CUT_OFF, GOOD, PROSE, Scripted


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bad_reply_is_answered_and_a_good_one_ends_the_review() -> None:
    review = Review()
    feedback = review.hear(BAD_STATUS)
    assert feedback is not None
    assert feedback.startswith(OPENING)
    assert review.hear(GOOD) is None
    assert review.stopped
    assert review.outcome.accepted
    assert [attempt.message for attempt in review.outcome.attempts] == ["", feedback]


@pytest.mark.parametrize(
    "replies", [(BAD_STATUS, GOOD), (BAD_STATUS, BAD_STATUS), (BAD_STATUS, BAD_AGENT, PROSE)]
)
async def test_it_says_and_ends_as_asking_would(replies: tuple[str, ...]) -> None:
    agent, review = Scripted(*replies), Review()
    policy = RetryPolicy(strategies=("same_conversation",))
    asked = await ask_until_accepted(agent, "Implement it.", policy=policy)
    answers = [review.hear(reply) for reply in replies]
    assert answers == [*agent.heard[1:], None]
    assert review.outcome.stopped_because == asked.stopped_because
    assert review.outcome.warnings == asked.warnings


def test_a_reply_accepted_at_the_last_attempt_is_marked() -> None:
    review = Review(policy=RetryPolicy(max_attempts=2))
    review.hear(BAD_STATUS)
    review.hear(GOOD)
    assert review.outcome.accepted_at_last_attempt


def test_the_deadline_ends_it_before_another_answer() -> None:
    clock = Clock()
    review = Review(clock=clock, policy=RetryPolicy(deadline=10, max_attempts=9))
    assert review.hear(BAD_STATUS)
    clock.now = 11.0
    assert review.hear(BAD_AGENT) is None
    assert review.outcome.stopped_because == "deadline"
    assert [attempt.seconds for attempt in review.attempts] == [0.0, 11.0]


def test_a_deadline_around_it_counts_too() -> None:
    with shared_budget(deadline=1e-9):
        review = Review()
        assert review.hear(BAD_STATUS) is None
    assert review.outcome.stopped_because == "deadline"


def test_the_last_reply_that_a_framework_allows_ends_it() -> None:
    review = Review(policy=RetryPolicy(max_attempts=9))
    assert review.hear(BAD_STATUS, last=True) is None
    assert review.outcome.stopped_because == "attempts"
    assert Review().hear(GOOD, last=True) is None


def test_a_review_that_was_left_in_the_middle_keeps_what_it_heard() -> None:
    review = Review()
    review.hear(BAD_STATUS)
    assert (review.outcome.stopped_because, review.outcome.text) == ("attempts", BAD_STATUS)


def test_the_end_raises_with_every_attempt_where_the_policy_says_so() -> None:
    outcomes: list[Outcome] = []
    review = Review(
        policy=RetryPolicy(max_attempts=2, when_exhausted="raise"), on_stop=outcomes.append
    )
    review.hear(BAD_STATUS)
    with pytest.raises(NotAcceptedError) as caught:
        review.hear(CUT_OFF)

    assert outcomes == [caught.value.outcome]
    assert [attempt.reply for attempt in outcomes[0].attempts] == [BAD_STATUS, CUT_OFF]


def test_what_on_stop_raises_is_logged_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_outcome: Outcome) -> None:
        raise RuntimeError("no room")

    review = Review(on_stop=fail)
    with caplog.at_level(logging.ERROR):
        assert review.hear(GOOD) is None

    assert review.outcome.accepted
    assert "on_stop failed" in caplog.text


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        (RetryPolicy(attempt_timeout=3), "attempt_timeout"),
        (RetryPolicy(max_tokens=3), "max_tokens"),
        (RetryPolicy(strategies=("fresh",)), "strategies"),
        (RetryPolicy(when_exhausted="fallback", fallback=Scripted(GOOD)), "fallback"),
    ],
)
def test_a_policy_that_only_asking_can_keep_is_refused_by_the_name_of_the_field(
    policy: RetryPolicy, named: str
) -> None:
    with pytest.raises(PolicyError, match=named):
        Review(policy=policy)


def test_the_only_strategy_may_be_named() -> None:
    review = Review(policy=RetryPolicy(strategies=("same_conversation",)))
    assert review.hear(BAD_STATUS)


def test_an_unknown_protocol_is_refused_before_anything_is_heard() -> None:
    terms: ReviewOptions = {"protocol": "goop_rapport"}
    with pytest.raises(UnknownNameError):
        Review(**terms)


def test_form_that_must_not_be_repaired_is_an_error() -> None:
    slip = GOOD.replace("login/logout endpoints", "login & logout")
    assert Review().hear(slip) is None
    assert Review(policy=replace(RetryPolicy(), allow_repairs=False)).hear(slip)


def test_a_review_that_has_ended_hears_no_more() -> None:
    review = Review()
    assert review.hear(GOOD) is None
    with pytest.raises(RuntimeError, match=r"has ended \(accepted\)"):
        review.hear(GOOD)
    assert len(review.attempts) == 1


@pytest.mark.parametrize(
    "terms", [{"protcol": "goop_report"}, {"policy": 3}, {"expected": "goop-executor"}], ids=str
)
def test_terms_of_no_use_are_refused_before_anything_is_heard(terms: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(terms))):
        Review(**terms)


def test_what_a_framework_knows_of_a_reply_is_in_the_outcome() -> None:
    review = Review()
    review.hear(BAD_STATUS, usage=Usage(tokens=10), conversation_id="thread-1")
    review.hear(GOOD)
    assert [each.usage for each in review.outcome.attempts] == [Usage(tokens=10), None]
    assert review.outcome.attempts[0].conversation_id == "thread-1"
    assert (review.outcome.usage.tokens, review.outcome.attempts_without_usage) == (10, 1)


def test_usage_that_is_known_counts_in_a_budget_around_it() -> None:
    with shared_budget(max_tokens=10):
        review = Review()
        assert review.hear(BAD_STATUS, usage=Usage(tokens=10)) is None
    assert review.outcome.stopped_because == "budget"


def test_a_conversation_that_fails_reaches_on_stop_with_its_failure() -> None:
    outcomes: list[Outcome] = []
    review = Review(on_stop=outcomes.append, policy=RetryPolicy(when_exhausted="raise"))
    review.hear(BAD_STATUS)
    failure = ConnectionError("gone")
    review.fail(failure, usage=Usage(tokens=7))
    assert [each.stopped_because for each in outcomes] == ["agent_error"]
    assert outcomes[0].failure is failure
    assert outcomes[0].attempts[-1].error == "ConnectionError: gone"
    assert outcomes[0].usage == Usage(tokens=7)


def test_a_conversation_that_is_killed_reaches_on_stop() -> None:
    outcomes: list[Outcome] = []
    review = Review(on_stop=outcomes.append)
    review.hear(BAD_STATUS)
    review.cancel()
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [("cancelled", 2)]


def test_what_has_ended_ends_once() -> None:
    outcomes: list[Outcome] = []
    review = Review(on_stop=outcomes.append)
    review.hear(GOOD)
    review.fail(ConnectionError())
    review.cancel()
    assert [each.stopped_because for each in outcomes] == ["accepted"]


def test_the_time_that_is_left_bounds_the_frameworks_own_call() -> None:
    clock = Clock()
    review = Review(clock=clock, policy=RetryPolicy(deadline=10))
    clock.now = 4.0
    assert review.time_left == 6.0
    assert Review().time_left is None


@pytest.mark.parametrize(("seconds", "because"), [(4.0, "agent_error"), (10.0, "deadline")])
def test_a_time_out_after_the_deadline_is_the_deadlines(seconds: float, because: str) -> None:
    clock = Clock()
    review = Review(clock=clock, policy=RetryPolicy(deadline=10))
    clock.now = seconds
    review.fail(TimeoutError())
    assert review.outcome.stopped_because == because


def test_a_reply_that_is_recalled_ends_the_review_without_a_notice() -> None:
    outcomes: list[Outcome] = []
    review = Review(
        policy=RetryPolicy(max_attempts=1, when_exhausted="raise"), on_stop=outcomes.append
    )
    review.recall(BAD_STATUS)
    assert review.outcome.stopped_because == "attempts"
    assert outcomes == []
    with pytest.raises(RuntimeError, match="has ended"):
        review.recall(GOOD)
