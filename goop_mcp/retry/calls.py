"""One call of an agent, and how its failure is classified."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeGuard

import anyio

from goop_mcp.errors import GoopError, ReplyTypeError
from goop_mcp.retry.cancelling import is_being_cancelled
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import (
    NOTHING_USED,
    Agent,
    Conversation,
    Message,
    PlainAgent,
    Reply,
    Usage,
)
from goop_mcp.retry.threads import call_on_thread
from goop_mcp.validation.findings import excerpt

__all__ = [
    "AgentCancelledError",
    "AgentInterruptedError",
    "DeadlinePassedError",
    "answer_within",
    "call_of",
    "describe_failure",
    "is_repeatable",
    "is_transient",
    "usage_of_failure",
]

_logger = logging.getLogger(__name__)

_TRANSIENT_CODES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_STATUSES = range(100, 600)
_REFUSALS = range(400, 600)
_TRANSIENT_NAMES = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "ClientConnectionError",
        "ConnectionError",
        "InternalServerError",
        "OverloadedError",
        "RateLimitError",
        "ServiceUnavailableError",
        "Timeout",
        "TimeoutExpired",
        "TransportError",
    }
)

Call = Callable[[Message], Awaitable[Reply]]


class DeadlinePassedError(TimeoutError):
    """Raised when the whole time ends during a call, which must not be repeated."""


class AgentInterruptedError(GoopError):
    """Raised by an agent that waits for a person, such as for the approval of a tool.

    The call ends with "interrupted": nothing is repeated and no fallback is asked, since the run is
    not over. `usage` is what it used until then, None where that is unknown.
    """

    usage: Usage | None = None


class AgentCancelledError(Exception):
    """Raised when what the agent was waiting for was cancelled, and not the call."""


def call_of(agent: Agent, *, named: str = "agent") -> Call:
    """Return one way to call any agent.

    Raises TypeError, which says what it is `named`, for what cannot be asked.
    """
    if isinstance(agent, type):
        raise TypeError(
            f"the {named} is the class {agent.__name__}; expected an instance, or a function of one"
            " text"
        )

    if _is_conversation(agent):
        return partial(_ask_conversation, agent, is_async=_is_async(agent.ask))
    if not callable(agent):
        kind = type(agent).__name__
        raise TypeError(
            f"the {named} is {kind}; expected a function of one text, or an object with ask"
        )

    return partial(_ask_function, agent, is_async=_is_async(agent))


def _is_conversation(agent: Agent) -> TypeGuard[Conversation]:
    return callable(getattr(agent, "ask", None))


def _is_async(function: Callable[..., object]) -> bool:
    # The method is looked at, not whether there is one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


async def _ask_conversation(agent: Conversation, message: Message, *, is_async: bool) -> Reply:
    reply = await _answer(agent.ask, message, is_async=is_async)
    if not isinstance(reply, Reply):
        raise ReplyTypeError(reply, "a Reply")
    _check_text(reply.text)
    return reply


async def _ask_function(agent: PlainAgent, message: Message, *, is_async: bool) -> Reply:
    return Reply(text=_check_text(await _answer(agent, message.text, is_async=is_async)))


async def _answer(function: Callable[[Any], object], argument: object, *, is_async: bool) -> object:
    """Call `function`, on a thread unless it is async.

    What it returns may be awaitable all the same, as with a lambda.
    """
    answer = function(argument) if is_async else await call_on_thread(partial(function, argument))
    try:
        return await answer if inspect.isawaitable(answer) else answer
    except anyio.get_cancelled_exc_class() as raised:
        if is_being_cancelled():
            raise

        raise AgentCancelledError(
            "what the agent was waiting for was cancelled, and not this call"
        ) from raised


async def answer_within(seconds: float, call: Awaitable[Reply], *, late: TimeoutError) -> Reply:
    """Return the answer to `call`; raise `late` when it does not come within `seconds`.

    An answer that comes all the same when the agent is being stopped is taken; a failure that does
    is hidden by `late`, which takes over the `usage` that the failure, or the cancellation,
    carries.
    """
    with anyio.move_on_after(seconds) as scope:
        try:
            return await call
        except BaseException as raised:
            if not scope.cancel_called:
                raise

            vars(late)["usage"] = getattr(raised, "usage", None)
            if isinstance(raised, Exception):
                raise late from raised

            raise

    raise late


def _check_text(answer: object) -> str:
    if not isinstance(answer, str):
        raise ReplyTypeError(answer)
    return answer


def is_repeatable(failure: Exception, policy: RetryPolicy) -> bool:
    """Whether the call that raised `failure` may succeed later; not if the policy's test raises."""
    try:
        return bool((policy.retry_call or is_transient)(failure))
    except Exception:
        _logger.exception("retry_call failed; the agent is not called again")
        return False


def is_transient(failure: BaseException) -> bool:
    """Whether it is a lost connection, a time-out or a rate limit; of a group, whether all are."""
    if isinstance(failure, BaseExceptionGroup):
        return all(map(is_transient, failure.exceptions))

    marked = getattr(failure, "retryable", None)
    if isinstance(marked, bool):
        return marked
    if isinstance(failure, TimeoutError | ConnectionError):
        return True
    if (code := _status(failure)) is not None:
        return code in _TRANSIENT_CODES
    if isinstance(reason := getattr(failure, "reason", None), Exception):
        return is_transient(reason)
    return any(each.__name__ in _TRANSIENT_NAMES for each in type(failure).__mro__)


def describe_failure(failure: BaseException) -> str:
    """Return the kind of a failure and what it says, on one line."""
    return excerpt(
        f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__
    )


def usage_of_failure(failure: Exception) -> Usage | None:
    """Return what a failed call used, as the failure reports in `usage`; None if unknown.

    A request that was refused, by the host or with an HTTP status, never reached a model.
    """
    usage = getattr(failure, "usage", None)
    if isinstance(usage, Usage):
        return usage

    refused = isinstance(failure, ConnectionRefusedError) or (_status(failure) or 0) in _REFUSALS

    return NOTHING_USED if refused else None


def _status(failure: BaseException) -> int | None:
    """Return the HTTP status that a failure carries, under the names that libraries use."""
    answer = getattr(failure, "response", None)
    codes = (
        getattr(failure, "status_code", None),
        getattr(answer, "status_code", None),
        getattr(failure, "status", None),
        getattr(failure, "code", None),
    )

    return next((code for code in codes if isinstance(code, int) and code in _STATUSES), None)
