"""Read what was said, and say what is wrong, in the messages of langchain.

Nothing is kept beside them, so that a conversation may be stored, taken up again elsewhere, or forked.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Unpack

from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.jobs import DEFAULT_POLICY
from goop_mcp.retry.review import Review, ReviewTerms

with needing("langchain_core", extra="langchain"):
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

__all__ = ["answer_to", "check_terms", "is_feedback", "outcome_of"]

_MARK: Final = "goop_mcp"


def check_terms(terms: ReviewTerms) -> ReviewTerms:
    """Return `terms`. Raises PolicyError for a deadline, as messages do not tell when the task was given."""
    if terms.get("policy", DEFAULT_POLICY).deadline is not None:
        raise PolicyError(
            "deadline is given; messages bear no time, so expected None and a shared_budget around the call"
        )
    Review(**terms)
    return terms


def is_feedback(message: AnyMessage) -> bool:
    """Tell whether it is one of our messages."""
    return isinstance(message, HumanMessage) and _MARK in message.additional_kwargs


def answer_to(messages: Sequence[AnyMessage], **terms: Unpack[ReviewTerms]) -> HumanMessage | None:
    """Return what to send back to the last message; None when it calls tools or the review has ended.

    Raises NotAcceptedError where the policy says so.
    """
    if not messages or not _is_reply(messages[-1]):
        return None
    review = Review(**terms)
    # Each reply but the last got an answer then, so none of them ends the review.
    feedback = [review.hear(reply) for reply in _replies(messages)][-1]
    return None if feedback is None else HumanMessage(feedback, additional_kwargs={_MARK: "feedback"})


def outcome_of(messages: Sequence[AnyMessage], **terms: Unpack[ReviewTerms]) -> Outcome:
    """Return the outcome of the last task in `messages`, judged again on the same `terms`; times are not known."""
    policy = replace(terms.get("policy", DEFAULT_POLICY), when_exhausted="return")
    review = Review(**(terms | ReviewTerms(policy=policy, on_stop=None)))
    for reply in _replies(messages):
        review.hear(reply)
    return review.outcome


def _replies(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the replies to the last task that were, or are to be, judged."""
    tasks = [index for index, each in enumerate(messages) if isinstance(each, HumanMessage) and not is_feedback(each)]
    since = messages[tasks[-1] + 1 :] if tasks else messages
    following = [*since[1:], None]
    return [
        str(message.text)
        for message, after in zip(since, following, strict=True)
        if _is_reply(message) and (after is None or is_feedback(after))
    ]


def _is_reply(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls
