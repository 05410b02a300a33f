"""What a call may still take. A call within a call draws on the same budget, so that limits do not multiply."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Usage

__all__ = ["Budget"]

_outer: ContextVar["Budget | None"] = ContextVar("goop_mcp_budget", default=None)


class Budget:
    """Time, tokens and cost that are left, here and in the calls around this one. `clock` gives seconds."""

    def __init__(self, policy: RetryPolicy, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._outer = _outer.get()
        self._ends = None if policy.deadline is None else clock() + policy.deadline
        self._tokens = policy.max_tokens
        self._cost = policy.max_cost
        self._spent = Usage()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let calls that start within the context draw on this budget as well."""
        token = _outer.set(self)
        try:
            yield
        finally:
            _outer.reset(token)

    def spend(self, usage: Usage) -> None:
        """Count what an answer cost, here and outside."""
        self._spent += usage
        if self._outer is not None:
            self._outer.spend(usage)

    def time_left(self) -> float | None:
        """Return the seconds to the nearest deadline, below 0 when it has passed; None without any."""
        outer = self._outer.time_left() if self._outer is not None else None
        own = None if self._ends is None else self._ends - self._clock()
        return min((each for each in (own, outer) if each is not None), default=None)

    def used_up(self) -> Literal["deadline", "budget"] | None:
        """Tell which limit forbids another ask, here or outside; None when all allow it."""
        left = self.time_left()
        if left is not None and left <= 0:
            return "deadline"
        tokens = self._tokens is not None and self._spent.tokens >= self._tokens
        cost = self._cost is not None and self._spent.cost >= self._cost
        if tokens or cost:
            return "budget"
        return self._outer.used_up() if self._outer is not None else None

    @property
    def counts_usage(self) -> bool:
        """Whether it matters what an answer cost."""
        limited = self._tokens is not None or self._cost is not None
        return limited or (self._outer is not None and self._outer.counts_usage)
