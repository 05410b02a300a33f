"""Agents whose interface says why their model stopped."""

from collections.abc import Mapping
from typing import Any

import pytest

from goop_mcp import RetryPolicy, ask_until_accepted_sync
from goop_mcp.retry import Message, NotAcceptedError, Outcome, Reply
from goop_mcp.retry.review import Review
from goop_mcp.validation.stop_reasons import stop_reason_of
from tests.retry.agents import BAD_STATUS, CUT_OFF, GOOD, PROSE

ONCE = RetryPolicy(max_attempts=1)
SHORTER = "Your report was not accepted. Your reply was cut at the token limit: send it shorter."


class Ending:
    """A conversation that answers each message with the next of `replies`, and keeps messages."""

    def __init__(self, *replies: tuple[str, str | None]) -> None:
        self.replies, self.heard = list(replies), list[Message]()

    async def ask(self, message: Message) -> Reply:
        self.heard.append(message)
        text, reason = self.replies[min(len(self.heard), len(self.replies)) - 1]
        return Reply(text, stop_reason=reason)


def ask(agent: Ending, policy: RetryPolicy = ONCE) -> Outcome:
    return ask_until_accepted_sync(agent, "Do it.", policy=policy)


@pytest.mark.parametrize("cut", [CUT_OFF, PROSE, "", BAD_STATUS])
def test_an_agent_whose_reply_was_cut_is_asked_for_a_shorter_one(cut: str) -> None:
    agent = Ending((cut, "max_tokens"), (GOOD, "end_turn"))
    outcome = ask(agent, RetryPolicy())
    assert outcome.accepted
    assert agent.heard[1].text.startswith(SHORTER)
    assert [each.stop_reason for each in outcome.attempts] == ["token_limit", None]
    assert outcome.stop_reason is None


def test_one_that_starts_again_is_asked_to_keep_it_short() -> None:
    agent = Ending((BAD_STATUS, "length"), (GOOD, "stop"))
    assert ask(agent, RetryPolicy(strategies=("fresh",))).accepted
    assert "Keep the reply short" in agent.heard[1].text


def test_the_outcome_and_its_error_say_how_the_last_reply_ended() -> None:
    outcome = ask(Ending((CUT_OFF, "max_tokens")))
    assert outcome.stop_reason == "token_limit"
    assert "it was cut at the token limit" in str(NotAcceptedError(outcome))
    refused = ask(Ending((PROSE, "refusal")))
    assert refused.stop_reason == "refusal"
    assert "the model refused to go on" in str(NotAcceptedError(refused))


def test_a_whole_report_at_the_limit_is_accepted() -> None:
    agent = Ending((GOOD, "length"))
    assert ask(agent, RetryPolicy()).accepted
    assert len(agent.heard) == 1


def test_an_outcome_is_read_again_with_it() -> None:
    outcome = ask(Ending((CUT_OFF, "length")))
    values = outcome.to_dict()
    assert values["attempts"][0]["stop_reason"] == "token_limit"
    assert Outcome.from_dict(values).to_dict() == values
    ordinary = ask(Ending((CUT_OFF, "stop"))).to_dict()
    assert "stop_reason" not in ordinary["attempts"][0]
    with pytest.raises(ValueError, match="stop_reason"):
        Outcome.from_dict(changed(values, "other"))


def changed(values: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {**values, "attempts": [{**values["attempts"][0], "stop_reason": reason}]}


def test_a_review_of_a_framework_says_it_too() -> None:
    review = Review(protocol="goop_report")
    feedback = review.hear(CUT_OFF, stop_reason="MAX_TOKENS")
    assert feedback is not None
    assert feedback.startswith(SHORTER)
    assert review.hear(GOOD, stop_reason="STOP") is None
    assert [each.stop_reason for each in review.attempts] == ["token_limit", None]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("max_tokens", "token_limit"),
        ("MAX_TOKENS", "token_limit"),
        ("FinishReason.MAX_TOKENS", "token_limit"),
        ("length", "token_limit"),
        ("max_output_tokens", "token_limit"),
        ("model_context_window_exceeded", "token_limit"),
        ("model_length", "token_limit"),
        ("refusal", "refusal"),
        ("content-filter", "refusal"),
        ("content_filter", "refusal"),
        ("content_filtered", "refusal"),
        ("SAFETY", "refusal"),
        ("guardrail_intervened", "refusal"),
        ("end_turn", None),
        ("stop", None),
        ("tool_use", None),
        ("pause_turn", None),
        ("stop_sequence", None),
        ("cancelled", None),
        ("the length of my reply", None),
        ("", None),
        (None, None),
        (7, None),
        ("x" * 1_000_000 + ".length", None),
    ],
)
def test_the_words_of_interfaces(word: object, reason: str | None) -> None:
    assert stop_reason_of(word) == reason
