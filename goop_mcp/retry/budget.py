"""What a call may still take.

A call within a call draws on the same budget, so that limits do not multiply.

Tokens and cost are reserved before a call and settled after it, so that calls at the same time
cannot all be admitted because none of them has used anything yet.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from typing import Literal

from goop_mcp.retry.calls import Wakeup
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Usage

__all__ = ["Budget", "shared_budget", "time_left"]

_current: ContextVar["Budget | None"] = ContextVar("goop_mcp_budget", default=None)

# One for all budgets: a call reserves in several at once, and each look takes microseconds.
_reserving = Lock()


class _Reservation:
    """The tokens and cost that one call may use, for each budget that limits it.

    It holds until the call is settled.
    """

    __slots__ = ("others_counted", "shares", "waiting_within")

    def __init__(self, shares: "Mapping[Budget, tuple[float, float]]") -> None:
        self.shares = shares
        # Calls made within this one have reported their usage.
        self.others_counted = False
        # How many calls within this one wait for their turn: until then it stands still.
        self.waiting_within = 0


class Budget:
    """What `policy` leaves of time, calls, tokens and cost, here and in the calls around this one.

    `clock` gives seconds that never go back. A budget that belongs to a call makes one reservation
    at a time.
    """

    def __init__(self, policy: RetryPolicy, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._outer = _current.get()
        self._ends = None if policy.deadline is None else clock() + policy.deadline
        self._calls = policy.max_calls
        self._called = 0
        self._tokens = policy.max_tokens
        self._cost = policy.max_cost
        self._used_tokens = 0.0
        self._used_cost = 0.0
        self._held: list[_Reservation] = []
        self._waiting: list[Wakeup] = []
        self._own: _Reservation | None = None
        self._counting = Lock()  # calls of the synchronous twin may run on several threads

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
        with self._counting:
            self._called += 1
        if self._outer is not None:
            self._outer.count_call()

    def count_earlier(self, usage: Usage | None) -> None:
        """Count a call that another process made for the same job, here only.

        What the calls around this one may take was given to them, not to that process.
        """
        with _reserving:
            self._called += 1
            self._count(usage or Usage())

    def spend(self, usage: Usage) -> None:
        """Count what an answer without a reservation used, here and outside.

        Unknown usage counts as nothing.
        """
        with _reserving:
            for budget in self._chain():
                budget._count(usage)

    async def reserve(self, expected: Callable[[], Usage]) -> bool:
        """Set aside what the next call is expected to use; False when a limit leaves nothing.

        Waits while calls under way hold what it needs. Where nothing is known of what to expect,
        the call gets all that is left and runs alone; so does one that is expected to use more than
        is left. Thus no more than one call goes beyond a limit, as far as expectations hold.
        """
        limited = [budget for budget in self._chain() if budget._limits_usage]
        # A call within another one draws on what that one has reserved, and must not wait for its
        # end.
        around = [budget._own for budget in self._chain() if budget._own is not None]
        marked = False

        try:
            while True:
                with _reserving:
                    if any(budget._is_used_up() for budget in limited):
                        return False

                    usage = expected()
                    # All limits are checked and reserved under one lock: between two locks another
                    # call could take what this one has seen.
                    full = next(
                        (each for each in limited if not each._has_room(usage, around)), None
                    )
                    if full is None:
                        self._own = _Reservation(
                            {budget: budget._share(usage) for budget in limited}
                        )
                        for budget in limited:
                            budget._held.append(self._own)

                        return True

                    if not marked:
                        marked = True
                        # The calls around this one stand still while it waits. All who wait for
                        # those look again, or two such calls would wait for each other for ever.
                        for each in around:
                            each.waiting_within += 1
                            for budget in each.shares:
                                budget._wake()

                    turn = Wakeup()
                    full._waiting.append(turn)

                try:
                    await turn.wait()
                finally:
                    # A call that is cancelled while it waits must not stay in the queue.
                    with _reserving:
                        if turn in full._waiting:
                            full._waiting.remove(turn)
        finally:
            if marked:
                with _reserving:
                    for each in around:
                        each.waiting_within -= 1

    def settle(self, usage: Usage | None) -> bool:
        """End the reservation with what the call used; return whether all of it was known.

        What is unknown counts as what was reserved. A call that says nothing itself and made others
        which did is taken to have used what those used.
        """
        own, self._own = self._own, None
        if own is None:
            return True

        reported, complete = usage or Usage(), True

        with _reserving:
            for budget, (tokens, cost) in own.shares.items():
                budget._held.remove(own)
                budget._count(reported)
                if (
                    not own.others_counted
                    and reported.tokens is None
                    and budget._tokens is not None
                ):
                    budget._used_tokens += tokens
                    complete = False

                if not own.others_counted and reported.cost is None and budget._cost is not None:
                    budget._used_cost += cost
                    complete = False

                budget._wake()

            # The calls around this one must not count again what was counted here.
            for budget in self._chain():
                if budget._own is not None and usage is not None:
                    budget._own.others_counted = True

        return complete

    def release(self) -> None:
        """End the reservation of a call that was not made; nothing when it was settled."""
        own, self._own = self._own, None
        if own is None:
            return

        with _reserving:
            for budget in own.shares:
                budget._held.remove(own)
                budget._wake()

    def _chain(self) -> Iterator["Budget"]:
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget._outer

    @property
    def _limits_usage(self) -> bool:
        return self._tokens is not None or self._cost is not None

    def _is_used_up(self) -> bool:
        tokens = self._tokens is not None and self._used_tokens >= self._tokens
        return tokens or (self._cost is not None and self._used_cost >= self._cost)

    def _has_room(self, expected: Usage, around: Sequence[_Reservation]) -> bool:
        """Whether a call may begin: nothing else runs, or all reservations fit together."""
        # What the calls around this one hold is meant for it. A call that stands still uses
        # nothing, so that a call which fits nowhere may run while all others wait.
        others = [each for each in self._held if each not in around]
        if not any(each.waiting_within == 0 for each in others):
            return True

        held = [each.shares[self] for each in others]
        if self._tokens is not None:
            reserved = self._used_tokens + sum(tokens for tokens, _ in held)
            if expected.tokens is None or reserved + expected.tokens > self._tokens:
                return False

        if self._cost is not None:
            reserved = self._used_cost + sum(cost for _, cost in held)
            if expected.cost is None or reserved + expected.cost > self._cost:
                return False

        return True

    def _share(self, expected: Usage) -> tuple[float, float]:
        """Return the tokens and the cost to reserve here: what is expected.

        Where nothing is known, all that is left is reserved.
        """
        tokens: float | None = expected.tokens
        if tokens is None:
            tokens = self._tokens - self._used_tokens if self._tokens is not None else 0

        cost = expected.cost
        if cost is None:
            cost = self._cost - self._used_cost if self._cost is not None else 0.0
        return tokens, cost

    def _count(self, usage: Usage) -> None:
        self._used_tokens += usage.tokens or 0
        self._used_cost += usage.cost or 0.0

    def _wake(self) -> None:
        """Have all that wait look again, in the order in which they came."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.set()

    def time_left(self) -> float | None:
        """Return the seconds to the nearest deadline, below 0 after it.

        Return None without any.
        """
        outer = self._outer.time_left() if self._outer is not None else None
        if self._ends is None:
            return outer

        own = self._ends - self._clock()
        return own if outer is None else min(own, outer)

    def used_up(self) -> Literal["deadline", "budget"] | None:
        """Return the limit that forbids another ask, here or outside; None when all allow it."""
        left = self.time_left()
        if left is not None and left <= 0:
            return "deadline"
        if self._is_used_up() or (self._calls is not None and self._called >= self._calls):
            return "budget"
        return self._outer.used_up() if self._outer is not None else None

    @property
    def counts_usage(self) -> bool:
        """Whether it matters what an answer cost."""
        return any(budget._limits_usage for budget in self._chain())


@contextmanager
def shared_budget(
    *,
    deadline: float | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
) -> Iterator[None]:
    """Bound everything that is asked within the context; each call keeps its own policy as well.

    The arguments are those of RetryPolicy. Raises PolicyError for a limit that cannot be kept.
    """
    policy = RetryPolicy(
        deadline=deadline, max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost
    )
    with Budget(policy, monotonic).open():
        yield


def time_left() -> float | None:
    """Return the seconds to the nearest deadline around the caller, None without any."""
    current = _current.get()
    return None if current is None else current.time_left()
