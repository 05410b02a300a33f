"""Read what a model said to a task, and take a review up again from it, in the terms of langchain.

A review lives only while one reply is judged: what was said is in the messages or in the state of
the agent, so that a conversation may be stored, resumed elsewhere, or forked.
"""

from collections.abc import Sequence
from typing import Final, TypedDict

from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.jobs import DEFAULT_POLICY
from goop_mcp.retry.replies import Usage
from goop_mcp.retry.review import Review, ReviewTerms

with needing("langchain_core", extra="langchain"):
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

__all__ = [
    "Said",
    "check_terms",
    "fail_unless_ended",
    "feedback_message",
    "is_feedback",
    "outcome_of",
    "recalled",
    "resumed",
    "said_by",
    "said_since_task",
    "usage_of_last",
    "usage_since_reply",
]

_MARK: Final = "goop_mcp"


class Said(TypedDict):
    """What the model said: the reply, None for a call of tools, and the tokens it took, None where unknown."""

    text: str | None
    tokens: int | None


def check_terms(terms: ReviewTerms) -> ReviewTerms:
    """Return `terms`.

    Raises PolicyError for a deadline, as messages do not tell when the task was given.
    """
    if terms.get("policy", DEFAULT_POLICY).deadline is not None:
        raise PolicyError(
            "deadline is given; messages bear no time, so expected None and a shared_budget around"
            " the call"
        )

    Review(**terms)

    return terms


def is_feedback(message: AnyMessage) -> bool:
    """Tell whether it is one of our messages."""
    return isinstance(message, HumanMessage) and _MARK in message.additional_kwargs


def feedback_message(feedback: str) -> HumanMessage:
    """Return the message that sends `feedback` back to the model, marked as ours."""
    return HumanMessage(feedback, additional_kwargs={_MARK: "feedback"})


def said_by(message: AIMessage, *, text: str | None) -> Said:
    """Return what `message` said; `text` is the reply in it, None where it only calls tools."""
    used = message.usage_metadata
    return Said(text=text, tokens=None if not used else used["total_tokens"] or None)


def said_since_task(messages: Sequence[AnyMessage]) -> list[Said]:
    """Return what was said to the last task in `messages`."""
    tasks = [
        index
        for index, each in enumerate(messages)
        if isinstance(each, HumanMessage) and not is_feedback(each)
    ]
    since = messages[tasks[-1] + 1 :] if tasks else messages
    following = [*since[1:], None][: len(since)]

    return [
        said_by(message, text=str(message.text) if _is_judged(message, after) else None)
        for message, after in zip(since, following, strict=True)
        if isinstance(message, AIMessage)
    ]


def recalled(said: Sequence[Said], terms: ReviewTerms) -> Review:
    """Return the review that heard the last of what was `said`; it may have ended.

    A reply on which another one followed did not end the run: where it ended a review, other
    middleware sent the agent back, and the next review began.
    """
    review = Review(**terms)
    for number, each in enumerate(said, 1):
        if each["text"] is None:
            continue
        if review.stopped:
            review = Review(**terms)

        review.recall(each["text"], usage=usage_of_last(said[:number]))

    return review


def resumed(said: Sequence[Said], terms: ReviewTerms) -> Review:
    """Return the review of what follows on what was `said`."""
    review = recalled(said, terms)
    return Review(**terms) if review.stopped else review


def fail_unless_ended(said: Sequence[Said], terms: ReviewTerms, failure: BaseException) -> None:
    """Report the failure of a run; not after a reply that ended its review, which was reported then."""
    review = recalled(said, terms)
    if not review.stopped:
        review.fail(failure, usage=usage_since_reply(said))


def usage_of_last(said: Sequence[Said]) -> Usage | None:
    """Return what the last reply in `said` cost, the calls of tools before it included; None where one is unknown."""
    return _usage([*_since_reply(said[:-1]), said[-1]])


def usage_since_reply(said: Sequence[Said]) -> Usage | None:
    """Return what the calls of tools after the last reply in `said` cost; None without any, or where it is unknown."""
    return _usage(_since_reply(said))


def _since_reply(said: Sequence[Said]) -> Sequence[Said]:
    replies = [number for number, each in enumerate(said, 1) if each["text"] is not None]
    return said[replies[-1] if replies else 0 :]


def _usage(said: Sequence[Said]) -> Usage | None:
    tokens = [each["tokens"] for each in said if each["tokens"] is not None]
    return Usage(tokens=sum(tokens)) if tokens and len(tokens) == len(said) else None


def outcome_of(said: Sequence[Said], terms: ReviewTerms) -> Outcome:
    """Return the outcome of what was `said`, judged again on the same `terms`; times are not known."""
    return recalled(said, terms).outcome


def _is_judged(message: AIMessage, after: AnyMessage | None) -> bool:
    return not message.tool_calls and (after is None or is_feedback(after))
