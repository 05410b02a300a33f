"""One call of an agent: made, and told apart from others when it fails."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

import anyio.to_thread

from goop_mcp.errors import ReplyTypeError
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent, Conversation, Message, PlainAgent, Reply

if TYPE_CHECKING:
    from tenacity.wait import wait_base

__all__ = ["DeadlinePassedError", "call_of", "is_repeatable", "pause_before"]

_logger = logging.getLogger(__name__)

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


class DeadlinePassedError(TimeoutError):
    """Raised when the time for everything ends in the middle of a call, so that the call must not be repeated."""


def call_of(agent: Agent) -> Call:
    """Return one way to call any agent. Raises TypeError for what cannot be asked."""
    if isinstance(agent, type):
        raise TypeError(f"the agent is the class {agent.__name__}; expected an instance, or a function of one text")
    if _is_conversation(agent):
        return partial(_ask_conversation, agent)
    if not callable(agent):
        raise TypeError(f"the agent is {type(agent).__name__}; expected a function of one text, or an object with ask")
    is_async = inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None))  # noqa: B004 - the method is looked at, not whether there is one
    return partial(_ask_coroutine if is_async else _ask_thread, agent)


def _is_conversation(agent: Agent) -> TypeGuard[Conversation]:
    return callable(getattr(agent, "ask", None))


async def _ask_conversation(agent: Conversation, message: Message) -> Reply:
    reply: object = await agent.ask(message)
    if not isinstance(reply, Reply):
        raise ReplyTypeError(reply, "a Reply")
    _check_text(reply.text)
    return reply


async def _ask_coroutine(agent: PlainAgent, message: Message) -> Reply:
    return await _read(agent(message.text))


async def _ask_thread(agent: PlainAgent, message: Message) -> Reply:
    # A limiter a call: threads that were given up and still run must not keep others from being asked.
    limiter = anyio.CapacityLimiter(1)
    call = partial(_boxed, agent, message.text)
    (answer,) = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=limiter)
    return await _read(answer)


def _boxed(agent: PlainAgent, text: str) -> tuple[object]:
    """Return the answer in a tuple: trio lets no coroutine leave a thread, and a lambda may well return one."""
    return (agent(text),)


async def _read(answer: object) -> Reply:
    text = await answer if inspect.isawaitable(answer) else answer
    return Reply(text=_check_text(text))


def _check_text(answer: object) -> str:
    if not isinstance(answer, str):
        raise ReplyTypeError(answer)
    return answer


def is_repeatable(failure: Exception, policy: RetryPolicy) -> bool:
    """Tell whether the call that raised `failure` may succeed later; not when the policy's own test fails."""
    try:
        return bool((policy.retry_call or _is_transient)(failure))
    except Exception:
        _logger.exception("retry_call failed; the agent is not called again")
        return False


def _is_transient(failure: BaseException) -> bool:
    """Tell whether it is a lost connection, a time-out, a limit on rate or load; of a group, whether all are."""
    if isinstance(failure, BaseExceptionGroup):
        return all(map(_is_transient, failure.exceptions))
    marked = getattr(failure, "retryable", None)
    if isinstance(marked, bool):
        return marked
    if isinstance(failure, TimeoutError | ConnectionError):
        return True
    code = getattr(failure, "status_code", None) or getattr(getattr(failure, "response", None), "status_code", None)
    if isinstance(code, int):
        return code in _TRANSIENT_CODES
    return any(each.__name__ in _TRANSIENT_NAMES for each in type(failure).__mro__)


def pause_before(failures: int, failure: Exception | None, policy: RetryPolicy) -> float:
    """Return the seconds to wait before a call is repeated that has failed `failures` times, at least once."""
    import tenacity  # noqa: PLC0415 - needed only after a failure; every start would pay for it

    wait: wait_base = policy.backoff or tenacity.wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = failures
    if failure is not None:
        state.set_exception((type(failure), failure, None))
    return max(wait(state), _named_pause(failure))


def _named_pause(failure: Exception | None) -> float:
    """Return the seconds that a failure asks to wait: its own attribute, or the header of its HTTP answer."""
    named = getattr(failure, "retry_after", None)
    if named is None:
        headers = getattr(getattr(failure, "response", None), "headers", None)
        named = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
    try:
        seconds = float(named) if named is not None else 0.0
    except (TypeError, ValueError):
        return 0.0
    return min(max(0.0, seconds), _LONGEST_NAMED_PAUSE)
