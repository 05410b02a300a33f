"""Read the turns of a model since a task was given, and resume a review from them.

A review lives only while one reply is judged: the turns are in the messages or in the state of
the agent, so that a conversation may be stored, resumed elsewhere, or forked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict

from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.jobs import DEFAULT_POLICY
from goop_mcp.retry.replies import Usage
from goop_mcp.retry.review import Review, ReviewOptions

with needing("langchain_core", extra="langchain"):
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

__all__ = [
    "ModelTurn",
    "check_terms",
    "fail_unless_ended",
    "feedback_message",
    "is_feedback",
    "outcome_of",
    "recalled",
    "resumed",
    "turn_of",
    "turns_since_task",
    "usage_of_last",
    "usage_since_reply",
]

_MARK: Final = "goop_mcp"
# As the packages of the providers name it.
_STOP_REASONS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason")


class ModelTurn(TypedDict):
    """A turn of the model: the reply, None for a call of tools, and its tokens, None if unknown.

    `stop_reason` is the word of the model's interface for why it stopped. `kept` is how the reply
    was judged: each one is judged once, by what was known then.
    """

    text: str | None
    tokens: int | None
    stop_reason: NotRequired[str | None]
    kept: NotRequired[Mapping[str, Any] | None]


def check_terms(terms: ReviewOptions) -> ReviewOptions:
    """Return `terms`.

    Raises PolicyError for a deadline, as messages do not show when the task was given.
    """
    if terms.get("policy", DEFAULT_POLICY).deadline is not None:
        raise PolicyError(
            "deadline is given; messages have no time, so expected None and a shared_budget around"
            " the call"
        )

    Review(**terms)

    return terms


def is_feedback(message: AnyMessage) -> bool:
    """Whether it is one of our messages."""
    return isinstance(message, HumanMessage) and _MARK in message.additional_kwargs


def feedback_message(feedback: str, review: Review) -> HumanMessage:
    """Return the message that sends `feedback` of the review back to the model.

    It is marked as ours by how the reply before it was judged.
    """
    return HumanMessage(feedback, additional_kwargs={_MARK: review.keep_last()})


def turn_of(message: AIMessage, *, text: str | None) -> ModelTurn:
    """Return the turn of `message`; `text` is the reply in it, None where it only calls tools."""
    used = message.usage_metadata
    tokens = None if not used else used["total_tokens"] or None
    words = (message.response_metadata.get(name) for name in _STOP_REASONS)
    reason = next((each for each in words if isinstance(each, str)), None)
    return ModelTurn(text=text, tokens=tokens, stop_reason=reason)


def turns_since_task(messages: Sequence[AnyMessage]) -> list[ModelTurn]:
    """Return the turns since the last task in `messages`."""
    tasks = [
        index
        for index, each in enumerate(messages)
        if isinstance(each, HumanMessage) and not is_feedback(each)
    ]
    since = messages[tasks[-1] + 1 :] if tasks else messages
    following = [*since[1:], None][: len(since)]

    turns: list[ModelTurn] = []
    for message, after in zip(since, following, strict=True):
        if isinstance(message, AIMessage):
            # A reply is judged where it is the last message, and was where feedback follows it.
            is_judged = not message.tool_calls and (after is None or is_feedback(after))
            turn = turn_of(message, text=str(message.text) if is_judged else None)
            kept = after.additional_kwargs[_MARK] if after is not None and is_judged else None
            # Messages of an earlier version only have the mark.
            turns.append({**turn, "kept": kept} if isinstance(kept, Mapping) else turn)

    return turns


def recalled(turns: Sequence[ModelTurn], terms: ReviewOptions) -> Review:
    """Return the review after the last of the `turns`; it may have ended.

    A reply on which another one followed did not end the run: where it ended a review, other
    middleware sent the agent back, and the next review began.
    """
    review = Review(**terms)
    for number, each in enumerate(turns, 1):
        if each["text"] is None:
            continue
        if review.stopped:
            review = Review(**terms)

        review.recall(
            each["text"],
            usage=usage_of_last(turns[:number]),
            stop_reason=each.get("stop_reason"),
            kept=each.get("kept"),
        )

    return review


def resumed(turns: Sequence[ModelTurn], terms: ReviewOptions) -> Review:
    """Return the review of the turns that follow."""
    review = recalled(turns, terms)
    return Review(**terms) if review.stopped else review


def fail_unless_ended(
    turns: Sequence[ModelTurn], terms: ReviewOptions, failure: BaseException
) -> None:
    """Report the failure of a run, unless its last reply ended the review and was reported."""
    review = recalled(turns, terms)
    if not review.stopped:
        review.fail(failure, usage=usage_since_reply(turns))


def usage_of_last(turns: Sequence[ModelTurn]) -> Usage | None:
    """Return what the last reply used with the calls of tools before it; None if one is unknown."""
    return _usage([*_since_reply(turns[:-1]), turns[-1]])


def usage_since_reply(turns: Sequence[ModelTurn]) -> Usage | None:
    """Return what the calls of tools after the last reply used; None without any, or if unknown."""
    return _usage(_since_reply(turns))


def _since_reply(turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
    replies = [number for number, each in enumerate(turns, 1) if each["text"] is not None]
    return turns[replies[-1] if replies else 0 :]


def _usage(turns: Sequence[ModelTurn]) -> Usage | None:
    tokens = [each["tokens"] for each in turns if each["tokens"] is not None]
    return Usage(tokens=sum(tokens)) if tokens and len(tokens) == len(turns) else None


def outcome_of(turns: Sequence[ModelTurn], terms: ReviewOptions) -> Outcome:
    """Return the outcome of the `turns`; one that was not kept is judged again on these `terms`."""
    return recalled(turns, terms).outcome
