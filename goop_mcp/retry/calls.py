"""One call of an agent, on a thread if it blocks, and how its failure is classified."""

import inspect
import logging
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, TypeVar, cast

import anyio
from anyio.lowlevel import current_token

from goop_mcp.errors import GoopError, ReplyTypeError
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import (
    NOTHING_USED,
    Agent,
    Conversation,
    Message,
    Reply,
    Usage,
)
from goop_mcp.validation.findings import excerpt

__all__ = [
    "AgentCancelledError",
    "AgentInterruptedError",
    "DeadlinePassedError",
    "Wakeup",
    "answer_within",
    "call_of",
    "describe_failure",
    "is_being_cancelled",
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

T = TypeVar("T")

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

    if callable(getattr(agent, "ask", None)):
        conversation = cast("Conversation", agent)
        is_async = _is_async(conversation.ask)

        async def ask_conversation(message: Message) -> Reply:
            reply = await _answer(conversation.ask, message, is_async=is_async)
            if not isinstance(reply, Reply):
                raise ReplyTypeError(reply, "a Reply")

            _check_text(reply.text)
            return reply

        return ask_conversation

    if not callable(agent):
        kind = type(agent).__name__
        raise TypeError(
            f"the {named} is {kind}; expected a function of one text, or an object with ask"
        )

    is_async = _is_async(agent)

    async def ask_function(message: Message) -> Reply:
        return Reply(text=_check_text(await _answer(agent, message.text, is_async=is_async)))

    return ask_function


def _is_async(function: Callable[..., object]) -> bool:
    # An object whose `__call__` is async is not a coroutine function itself.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004
    )


async def _answer(function: Callable[[Any], object], argument: object, *, is_async: bool) -> object:
    """Call `function`, on a thread unless it is async.

    What it returns may be awaitable all the same, as with a lambda.
    """
    # Only a function that is certainly async is called in the event loop: any other could block it.
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

            # A call that is stopped has used tokens all the same.
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

    # What the failure says of itself comes first; then types of Python, the status, what a library
    # wraps as the reason, and last the names that the common clients use, which are not imported.
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
    """Return what a failure says, on one line, after its kind where it is not one of ours."""
    text, kind = str(failure), type(failure).__name__
    # Our own sentences, and those about time, are complete; a library may only say 'id'.
    if text and isinstance(failure, GoopError | TimeoutError):
        return excerpt(text)
    return excerpt(f"{kind}: {text}" if text else kind)


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


def is_being_cancelled() -> bool:
    """Whether the running task is being cancelled, where a cancellation was caught.

    Under asyncio whoever awaits something cancelled gets the same exception without being
    cancelled. Under trio nobody does.
    """
    if anyio.get_cancelled_exc_class().__module__.startswith("trio"):
        return True

    # Loaded already wherever it runs; under trio it must not be loaded at all.
    import asyncio  # noqa: PLC0415

    task = asyncio.current_task()

    return task is None or task.cancelling() > 0


async def call_on_thread(function: Callable[[], T]) -> T:
    """Return what `function` returns, called on a new thread in a copy of the context.

    A cancellation abandons the thread, and so does the end of the program: a thread that hangs
    keeps nothing waiting.
    """
    future: Future[T] = Future()
    done = Wakeup()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:
            future.set_exception(raised)
        done.set()

    # The event loop belongs to the thread of the caller: with its name in the copied context, the
    # function would find an event loop where none runs.
    context = copy_context()
    if (sniffio := sys.modules.get("sniffio")) is not None:
        context.run(sniffio.current_async_library_cvar.set, None)

    Thread(target=context.run, args=(work,), name="goop-mcp agent", daemon=True).start()
    await done.wait()

    return future.result()


class Wakeup:
    """Wakes one task, from any thread and from any event loop.

    To be made in the loop of the task that waits.
    """

    def __init__(self) -> None:
        self._event = anyio.Event()
        loop: Any = current_token().native_token
        # Of asyncio and of trio; both return at once, so that the thread ends with its work.
        self._in_loop = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon

    def set(self) -> None:
        """Wake the task. Where its loop has ended meanwhile nobody waits."""
        with suppress(RuntimeError):
            self._in_loop(self._event.set)

    async def wait(self) -> None:
        """Wait until it is set."""
        await self._event.wait()
