"""One call of an agent: made, bounded, and told apart from others when it fails."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent, Conversation, Message, PlainAgent, Reply, ReplyTypeError

if TYPE_CHECKING:
    from tenacity.wait import wait_base

__all__ = ["call_of", "is_transient", "pause_before"]

_TRANSIENT_CODES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_TRANSIENT_NAMES = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "InternalServerError",
        "OverloadedError",
        "RateLimitError",
        "ServiceUnavailableError",
        "TransportError",
    }
)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LONGEST_NAMED_PAUSE = 3600.0

Call = Callable[[Message], Awaitable[Reply]]


def call_of(agent: Agent) -> Call:
    """Return one way to call any agent. Raises TypeError for what cannot be called."""
    if isinstance(agent, Conversation):
        return partial(_ask_conversation, agent)
    if not callable(agent):
        raise TypeError(f"the agent is {type(agent).__name__}; expected a function of one text, or an object with ask")
    is_async = inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None))  # noqa: B004 - the method is looked at, not whether there is one
    return partial(_ask_coroutine if is_async else _ask_thread, agent)


async def _ask_conversation(agent: Conversation, message: Message) -> Reply:
    reply: object = await agent.ask(message)
    if not isinstance(reply, Reply):
        raise ReplyTypeError(f"the agent's ask returned {type(reply).__name__}; expected a Reply")
    text: object = reply.text
    if not isinstance(text, str):
        raise ReplyTypeError(_no_text(text))
    return reply


async def _ask_coroutine(agent: PlainAgent, message: Message) -> Reply:
    return await _read(agent(message.text))


async def _ask_thread(agent: PlainAgent, message: Message) -> Reply:
    return await _read(await anyio.to_thread.run_sync(agent, message.text, abandon_on_cancel=True))


async def _read(answer: object) -> Reply:
    text = await answer if inspect.isawaitable(answer) else answer
    if not isinstance(text, str):
        raise ReplyTypeError(_no_text(text))
    return Reply(text=text)


def _no_text(answer: object) -> str:
    hint = "; decode it first" if isinstance(answer, bytes | bytearray) else ""
    return f"the agent answered with {type(answer).__name__}; expected a text{hint}"


def is_transient(failure: Exception) -> bool:
    """Tell whether the same call may succeed later: a lost connection, a time-out, a limit on rate or load."""
    marked = getattr(failure, "retryable", None)
    if isinstance(marked, bool):
        return marked
    if isinstance(failure, TimeoutError | ConnectionError):
        return True
    code = getattr(failure, "status_code", None) or getattr(getattr(failure, "response", None), "status_code", None)
    if isinstance(code, int):
        return code in _TRANSIENT_CODES
    return any(each.__name__ in _TRANSIENT_NAMES for each in type(failure).__mro__)


def pause_before(failures: int, failure: BaseException | None, policy: RetryPolicy) -> float:
    """Return the seconds to wait before a call is repeated that has failed `failures` times, at least once."""
    import tenacity  # noqa: PLC0415 - needed only after a failure; every start would pay for it

    wait: wait_base = policy.backoff or tenacity.wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
    state = tenacity.RetryCallState(tenacity.AsyncRetrying(), None, (), {})
    state.attempt_number = failures
    return max(wait(state), _named_pause(failure))


def _named_pause(failure: BaseException | None) -> float:
    """Return the seconds that a failure asks to wait: its own attribute, or the header of its HTTP answer."""
    named = getattr(failure, "retry_after", None)
    if named is None:
        headers = getattr(getattr(failure, "response", None), "headers", None)
        named = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
    try:
        seconds = float(named) if named is not None else 0.0
    except (TypeError, ValueError):
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_NAMED_PAUSE)
