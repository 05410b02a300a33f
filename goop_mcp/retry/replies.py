"""What an agent is to us: something that is asked with a message and answers with a text."""

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Literal, Protocol, TypeVar

__all__ = [
    "NOTHING_USED",
    "Agent",
    "Conversation",
    "Message",
    "PlainAgent",
    "Reply",
    "Usage",
    "Way",
]

Number = TypeVar("Number", int, float)

Way = Literal["first", "same_conversation", "minimal", "fresh"]
"""How a message is put to an agent.

`first` is the task itself. `same_conversation` sends what is wrong and relies on the agent to
remember. `minimal` repeats the last envelope with what is wrong and needs no history. `fresh`
starts again with the task and what to mind; the failed replies, which teach the error, are left
out.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer used. None is unknown, which is not 0.

    `tokens` are those of input and output together; where `input_tokens` (those read from a cache
    included) and `output_tokens` are both given, it may be left out. `cost` is in the currency of
    the caller's budget. Raises ValueError for what no budget can count.
    """

    tokens: int | None = None
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def __post_init__(self) -> None:
        """Refuse what would let a budget run over unnoticed."""
        for name in ("tokens", "input_tokens", "output_tokens"):
            count: object = getattr(self, name)
            if count is not None and not (isinstance(count, int) and count >= 0):
                raise ValueError(
                    f"{name} is {count!r}; expected a whole number from 0, or None where it is"
                    " unknown"
                )

        cost: object = self.cost
        if cost is not None and not (isinstance(cost, int | float) and cost >= 0):
            raise ValueError(
                f"cost is {cost!r}; expected a number from 0, or None where it is unknown"
            )

        known = self.input_tokens is not None and self.output_tokens is not None
        if self.tokens is None and known:
            object.__setattr__(self, "tokens", _sum(self.input_tokens, self.output_tokens))

    def __add__(self, other: "Usage") -> "Usage":
        """Return what is known of both together; what neither knows stays unknown."""
        return Usage(
            tokens=_sum(self.tokens, other.tokens),
            cost=_sum(self.cost, other.cost),
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
        )


def _sum(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


NOTHING_USED: Final = Usage(tokens=0, cost=0.0)
"""What a call used that never reached a model."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent to an agent, and which way it is meant.

    `attempt` is its number among the messages of its call, from 1, calls that failed included:
    `outcome.attempts[attempt - 1]` is what became of it.
    """

    text: str = field(repr=False)
    way: Way = "first"
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered.

    `usage` is None where the agent does not say what it used. `conversation_id` names the session
    or thread in which it answered, where there is one. `stop_reason` is why the model stopped, in
    the word of its interface, such as "max_tokens" or "length"; an agent that is asked again learns
    that its reply was cut. None where that is unknown.
    """

    text: str = field(repr=False)
    _: KW_ONLY
    usage: Usage | None = None
    conversation_id: str | None = None
    stop_reason: str | None = None


class Conversation(Protocol):
    """An agent that knows what its answers cost and can start afresh.

    For a message whose way is `minimal` or `fresh` it forgets the earlier ones; for
    `same_conversation` it does not.
    """

    def ask(self, message: Message) -> "Awaitable[Reply] | Reply":
        """Send the message and return the answer.

        Best `async def`; what is not async runs on a thread.
        """
        ...


PlainAgent = Callable[[str], "Awaitable[str] | str"]
"""A function from message to reply that keeps its own conversation.

One that is not async runs on a thread.
"""

Agent = PlainAgent | Conversation
"""Whatever can be asked."""
