"""What an agent is to us: something that is asked with a message and answers with a text."""

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, Protocol

__all__ = ["Agent", "Conversation", "Message", "PlainAgent", "Reply", "Usage", "Way"]

Way = Literal["first", "same_conversation", "minimal", "fresh"]
"""How a message is put to an agent.

`first` is the task itself. `same_conversation` sends what is wrong and relies on the agent to remember. `minimal`
repeats the last envelope with what is wrong and needs no history. `fresh` begins anew with the task and what to mind;
the failed replies, which teach the error, are left out.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer cost: `tokens` of input and output together, `cost` in the currency of the caller's budget.

    Raises ValueError for what no budget can count. Where the cost is not known, leave the usage out.
    """

    tokens: int = 0
    cost: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what would let a budget run over unnoticed."""
        tokens: object = self.tokens
        if not (isinstance(tokens, int) and tokens >= 0):
            raise ValueError(f"tokens is {tokens!r}; expected a whole number from 0, or no usage at all")
        cost: object = self.cost
        if not (isinstance(cost, int | float) and cost >= 0):
            raise ValueError(f"cost is {cost!r}; expected a number from 0, or no usage at all")

    def __add__(self, other: "Usage") -> "Usage":
        """Return both together."""
        return Usage(tokens=self.tokens + other.tokens, cost=self.cost + other.cost)


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent to an agent, and which way it is meant."""

    text: str = field(repr=False)
    way: Way = "first"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered. `usage` is None where the agent does not say what it cost."""

    text: str = field(repr=False)
    _: KW_ONLY
    usage: Usage | None = None


class Conversation(Protocol):
    """An agent that knows what its answers cost and can begin anew.

    For a message whose way is `minimal` or `fresh` it forgets the earlier ones; for `same_conversation` it does not.
    """

    def ask(self, message: Message) -> "Awaitable[Reply] | Reply":
        """Send the message and return the answer. Best `async def`; what is not async runs on a thread."""
        ...


PlainAgent = Callable[[str], "Awaitable[str] | str"]
"""A function from message to reply that keeps its own conversation; one that is not async runs on a thread."""

Agent = PlainAgent | Conversation
"""Whatever can be asked."""
