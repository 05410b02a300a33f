"""What a call may still take. A call within a call draws on the same budget, so that limits do not multiply."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from typing import Literal

from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Usage

__all__ = ["Budget", "shared_budget", "time_left"]

_current: ContextVar["Budget | None"] = ContextVar("goop_mcp_budget", default=None)


class Budget:
    """What `policy` leaves of time, calls, tokens and cost, here and in the calls around this one.

    `clock` gives seconds that never go back.
    """

    def __init__(self, policy: RetryPolicy, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._outer = _current.get()
        self._ends = None if policy.deadline is None else clock() + policy.deadline
        self._calls = policy.max_calls
        self._called = 0
        self._tokens = policy.max_tokens
        self._cost = policy.max_cost
        self._spent = Usage()
        self._spending = Lock()  # calls of the synchronous twin may run on several threads

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let calls that start within the context draw on this budget as well."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def count_call(self) -> None:
        """Count a message to an agent, here and outside."""
        with self._spending:
            self._called += 1
        if self._outer is not None:
            self._outer.count_call()

    def spend(self, usage: Usage) -> None:
        """Count what an answer cost, here and outside."""
        with self._spending:
            self._spent += usage
        if self._outer is not None:
            self._outer.spend(usage)

    def time_left(self) -> float | None:
        """Return the seconds to the nearest deadline, below 0 when it has passed; None without any."""
        outer = self._outer.time_left() if self._outer is not None else None
        if self._ends is None:
            return outer
        own = self._ends - self._clock()
        return own if outer is None else min(own, outer)

    def used_up(self) -> Literal["deadline", "budget"] | None:
        """Tell which limit forbids another ask, here or outside; None when all allow it."""
        left = self.time_left()
        if left is not None and left <= 0:
            return "deadline"
        tokens = self._tokens is not None and self._spent.tokens >= self._tokens
        cost = self._cost is not None and self._spent.cost >= self._cost
        calls = self._calls is not None and self._called >= self._calls
        if tokens or cost or calls:
            return "budget"
        return self._outer.used_up() if self._outer is not None else None

    @property
    def counts_usage(self) -> bool:
        """Whether it matters what an answer cost."""
        limited = self._tokens is not None or self._cost is not None
        return limited or (self._outer is not None and self._outer.counts_usage)


@contextmanager
def shared_budget(
    *,
    deadline: float | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
) -> Iterator[None]:
    """Bound everything that is asked within the context together; each call keeps its own policy as well.

    The arguments are those of RetryPolicy. Raises PolicyError for a limit that cannot be kept.
    """
    policy = RetryPolicy(deadline=deadline, max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost)
    with Budget(policy, monotonic).open():
        yield


def time_left() -> float | None:
    """Return the seconds to the nearest deadline around the caller, None without any."""
    current = _current.get()
    return None if current is None else current.time_left()
