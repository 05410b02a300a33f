"""The open conversations of a framework keep their counts, however many there are."""

import pytest

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks import open_reviews
from goop_mcp.hosts.frameworks.open_reviews import OpenReviews
from goop_mcp.retry import Outcome
from goop_mcp.services.stop_hooks.attempt_storage import AttemptsInMemory
from goop_mcp.services.stop_hooks.attempts import TurnState
from tests.retry.agents import BAD_AGENT, BAD_STATUS, GOOD


def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    outcomes: list[Outcome] = []
    reviews = OpenReviews(policy=RetryPolicy(max_attempts=2), on_stop=outcomes.append)
    for reply in (BAD_STATUS, BAD_AGENT):
        for number in range(1200):
            with reviews.of(number) as review:
                review.hear(reply)

    assert len(outcomes) == 1200
    assert {(each.stopped_because, len(each.attempts)) for each in outcomes} == {("attempts", 2)}


def test_the_counts_of_1200_agents_of_one_server_are_kept() -> None:
    attempts = AttemptsInMemory()
    for number in range(1200):
        attempts.change(str(number), lambda before: (TurnState(1, "", ""), before))
    assert attempts.change("0", lambda before: (TurnState(2, "", ""), before)) == TurnState(
        1, "", ""
    )


def test_abandoned_conversations_are_reported_when_they_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_reviews, "_MOST", 3)
    outcomes: list[Outcome] = []
    now = [0.0]
    reviews = OpenReviews(now=lambda: now[0], on_stop=outcomes.append)
    for number in range(4):
        with reviews.of(number) as review:
            review.hear(BAD_STATUS)

    assert [each.stopped_because for each in outcomes] == ["cancelled"]

    now[0] = 25 * 60 * 60.0
    with reviews.of("another day") as review:
        assert review.hear(GOOD) is None

    assert [each.stopped_because for each in outcomes] == ["cancelled"] * 4 + ["accepted"]
