"""Look on while an agent is asked. What a hook raises is logged and changes nothing."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from goop_mcp.retry.attempts import Attempt, Outcome
from goop_mcp.retry.calls import is_being_cancelled
from goop_mcp.retry.replies import Message

__all__ = ["Hooks", "call_hooks"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Functions, async or not, called before each ask, after each attempt and at the end.

    `after_attempt` hears of failed calls too. `on_stop` hears of every ending, a cancelled one
    included. A call with a deadline leaves an async hook that is still busy by then.
    """

    before_ask: Callable[[Message], Awaitable[None] | None] | None = None
    after_attempt: Callable[[Attempt], Awaitable[None] | None] | None = None
    on_stop: Callable[[Outcome], Awaitable[None] | None] | None = None


async def call_hooks(
    hooks: Iterable[Callable[[T], Awaitable[None] | None] | None], value: T
) -> None:
    """Call each hook that is there with `value`, one after the other."""
    for hook in hooks:
        if hook is None:
            continue

        try:
            answer = hook(value)
            if inspect.isawaitable(answer):
                await answer
        except Exception:
            _logger.exception("a hook failed; the call continues")
        # Under asyncio, a hook that awaits a cancelled task raises the same as a cancelled call.
        except anyio.get_cancelled_exc_class():
            if is_being_cancelled():
                raise

            _logger.exception("what a hook waited for was cancelled; the call continues")
