"""How often, how long, at what cost and by which strategies an agent is asked."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Self, cast

from goop_mcp.errors import PolicyError
from goop_mcp.protocols import RULES
from goop_mcp.retry.replies import Agent, Way

__all__ = ["FailedCall", "RetryPolicy", "WhenExhausted", "pause_before", "retry_time"]

WhenExhausted = Literal["return", "raise", "fallback"]

_STRATEGIES = ("same_conversation", "minimal", "fresh")
_MOST_ATTEMPTS = 100
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LONGEST_NAMED_PAUSE = 3600.0
_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class FailedCall:
    """What `RetryPolicy.backoff` is called with.

    attempt_number: how often the call has failed, from 1.
    failure: the last error; None where it is not known, as after a replay.
    """

    attempt_number: int
    failure: Exception | None = None

    @property
    def outcome(self) -> Self:
        """Itself: waits of the library tenacity read `outcome.exception()`, and can be used."""
        return self

    def exception(self) -> Exception | None:
        """Return `failure`."""
        return self.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """What bounds a call.

    `deadline`, `max_calls`, `max_tokens` and `max_cost` bound the calls nested in it as well.

    max_attempts: replies that are judged, 1 to 100, the first included.
    deadline: seconds for everything, waiting included; None for no limit.
    attempt_timeout: seconds for one answer; a late one counts as a failed call.
    max_calls: messages to agents, repeated calls and the fallback included; for agents that do not
        say what they cost.
    max_tokens, max_cost: what may be spent. The next call is made while less than that is spent,
        counting what is reserved for calls under way: the most that the agent's last five answers
        used, all that is left before the first. Where the agent does not say what it used, the
        reservation counts.
    strategies: how the agent is asked again. The first is used until nothing changes, then the
        next; after the last one the call ends.
    call_retries: how often a call that fails is repeated, 0 to 100, not counted as attempts; the
        circuit may end that sooner.
    retry_call: which failures of a call are worth repeating; None: time-outs, lost connections,
        rate limits and overload, recognised by type, by a `retryable` attribute or by the status
        code.
    backoff: a function of a FailedCall that returns how many seconds to wait before the call is
        repeated, such as a wait of tenacity; None: random up to 0.5 s, doubled each time up to
        30 s. A time named by the failure itself (`retry_after`) is waited for at least.
    when_exhausted: what happens when the agent never sends an acceptable reply: "return" the
        outcome, "raise" a NotAcceptedError that carries it, or ask the `fallback`, whose one reply
        is judged too. Where limits of time or cost are reached, nobody is asked any more.
    fallback: an agent, or several, of which each is asked when the one before sent nothing
        acceptable.
    circuit: whether five failed calls in a row, of all who ask the same agent, end further calls at
        once for 30 s, and after each one more that fails for twice as long, up to 10 min.
    allow_repairs: False rejects a reply whose form had to be repaired (strict mode).
    rejected_repairs: rules whose repairs reject the reply although other forms are repaired.
    """

    max_attempts: int = 3
    deadline: float | None = None
    attempt_timeout: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    strategies: tuple[Way, ...] = ("same_conversation", "minimal")
    call_retries: int = 4
    retry_call: Callable[[Exception], bool] | None = None
    backoff: Callable[[FailedCall], float] | None = None
    when_exhausted: WhenExhausted = "return"
    fallback: Agent | Sequence[Agent] | None = None
    allow_repairs: bool = True
    rejected_repairs: frozenset[str] = frozenset()
    circuit: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be kept. Raises PolicyError, which names the fields."""
        # A list or a set of the caller's is copied: what is frozen must not change with it.
        if isinstance(strategies := cast("object", self.strategies), list):
            object.__setattr__(self, "strategies", tuple(strategies))
        if isinstance(
            rejected_repairs := cast("object", self.rejected_repairs), set | list | tuple
        ):
            object.__setattr__(self, "rejected_repairs", frozenset(rejected_repairs))
        if isinstance(self.fallback, list):
            object.__setattr__(self, "fallback", tuple(self.fallback))

        # Contradictions compare values, which is possible only once each of them is of its kind.
        errors = [*_numbers(self), *_others(self)] or _contradictions(self)
        if errors:
            raise PolicyError("the policy cannot be kept: " + "; ".join(errors))

    @property
    def fallbacks(self) -> "tuple[Agent, ...]":
        """The agents to ask in the end, in their order."""
        if self.fallback is None:
            return ()

        several = isinstance(self.fallback, tuple) and not callable(
            getattr(self.fallback, "ask", None)
        )
        return cast("tuple[Agent, ...]", self.fallback if several else (self.fallback,))


def _numbers(policy: RetryPolicy) -> list[str]:
    errors = [
        f"{name} is {value!r}; expected a whole number from {least} to {_MOST_ATTEMPTS}"
        for name, value, least in (
            ("max_attempts", policy.max_attempts, 1),
            ("call_retries", policy.call_retries, 0),
        )
        # By type, since True is an int, and `max_attempts=True` was meant otherwise.
        if type(value) is not int or not least <= value <= _MOST_ATTEMPTS
    ]
    limits: dict[str, float | None] = {
        "deadline": policy.deadline,
        "attempt_timeout": policy.attempt_timeout,
        "max_calls": policy.max_calls,
        "max_tokens": policy.max_tokens,
        "max_cost": policy.max_cost,
    }
    errors += [
        f"{name} is {value!r}; expected a number above 0, or None for no limit"
        for name, value in limits.items()
        if value is not None and (type(value) not in (int, float) or not value > 0)
    ]

    return errors


def _others(policy: RetryPolicy) -> list[str]:
    wanted: list[tuple[str, object, bool, str]] = [
        (
            "strategies",
            policy.strategies,
            isinstance(policy.strategies, tuple),
            f"one or more of {', '.join(_STRATEGIES)}",
        ),
        (
            "rejected_repairs",
            policy.rejected_repairs,
            isinstance(policy.rejected_repairs, frozenset),
            "a set of names of rules",
        ),
        (
            "allow_repairs",
            policy.allow_repairs,
            isinstance(policy.allow_repairs, bool),
            "True or False",
        ),
        ("circuit", policy.circuit, isinstance(policy.circuit, bool), "True or False"),
        (
            "retry_call",
            policy.retry_call,
            policy.retry_call is None or callable(policy.retry_call),
            "a function of one failure, or None",
        ),
        (
            "backoff",
            policy.backoff,
            policy.backoff is None or callable(policy.backoff),
            "a function of a FailedCall, or None",
        ),
    ]
    errors = [
        f"{name} is {value!r}; expected {expected}"
        for name, value, fits, expected in wanted
        if not fits
    ]
    if errors:
        # The values can be looked at only where the types fit.
        return errors

    strategies = policy.strategies
    if not strategies or any(each not in _STRATEGIES for each in strategies):
        errors.append(
            f"strategies is {strategies!r}; expected one or more of {', '.join(_STRATEGIES)}"
        )
    elif len(set(strategies)) < len(strategies):
        errors.append(f"strategies names one twice: {', '.join(strategies)}")

    if policy.when_exhausted not in ("return", "raise", "fallback"):
        errors.append(
            f"when_exhausted is {policy.when_exhausted!r}; expected return, raise or fallback"
        )

    unknown = sorted(name for name in policy.rejected_repairs if name not in RULES)
    errors += [f"rejected_repairs names {name!r}; there is no such rule" for name in unknown]

    return errors


def _contradictions(policy: RetryPolicy) -> list[str]:
    errors: list[str] = []
    deadline, timeout = policy.deadline, policy.attempt_timeout
    if deadline is not None and timeout is not None and timeout > deadline:
        errors.append(f"attempt_timeout ({timeout}) is longer than deadline ({deadline})")
    if policy.when_exhausted == "fallback" and not policy.fallbacks:
        errors.append(
            f"when_exhausted is fallback and fallback is {policy.fallback}; name an agent"
        )

    if policy.fallback is not None and policy.when_exhausted != "fallback":
        errors.append(
            f"fallback is given and when_exhausted is {policy.when_exhausted}; expected fallback"
        )

    repeating = {"retry_call": policy.retry_call, "backoff": policy.backoff}
    errors += [
        f"{name} is given and call_retries is 0, which repeats no call; leave one of them out"
        for name, value in repeating.items()
        if value is not None and policy.call_retries == 0
    ]
    if policy.rejected_repairs and not policy.allow_repairs:
        errors.append(
            "rejected_repairs is given and allow_repairs is False, which repairs nothing; leave one"
            " of them out"
        )

    return errors


def pause_before(
    failures: int,
    failure: Exception | None,
    policy: RetryPolicy,
    *,
    now: Callable[[], float] = time.time,
    chance: Callable[[], float] = random.random,
    time_left: float | None = None,
) -> float:
    """Return the seconds to wait before a call that has failed `failures` times is repeated.

    A time that the failure names is lengthened by up to a fifth at random: many calls that were
    refused together must not all come back together. `now` gives the seconds since 1970, against
    which a time of day is held, and `chance` a number from 0 to 1. `time_left` are the seconds to a
    deadline.
    """
    if policy.backoff is not None:
        wait = policy.backoff(FailedCall(failures, failure))
    else:
        # Full jitter: callers that failed together spread over the whole interval.
        wait = chance() * min(_FIRST_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE)

    named = _named_pause(failure, now)
    added = _JITTER * named * chance()
    if time_left is not None and named < time_left:
        # What would still be in time must not come too late by chance.
        added = min(added, (time_left - named) / 2)

    return max(wait, named + added)


def retry_time(failure: Exception, *, now: Callable[[], float] = time.time) -> float | None:
    """Return when the call may be repeated, in seconds since 1970; None if `failure` names no time.

    For whoever repeats it in another process, where the failure itself is not known any more.
    """
    seconds = _named_pause(failure, now)
    return now() + seconds if seconds else None


def _named_pause(failure: Exception | None, now: Callable[[], float]) -> float:
    return min(max(0.0, _seconds(_named(failure), now)), _LONGEST_NAMED_PAUSE)


def _named(failure: Exception | None) -> object:
    """Return how long a failure asks to wait, None where it does not.

    It is an attribute of the failure, or the header of its HTTP answer.
    """
    named = getattr(failure, "retry_after", None)
    if named is not None:
        return named

    # Libraries give a failure its answer, or the headers themselves; a header has no fixed case.
    answer: Any = getattr(failure, "response", None)
    items = getattr(
        getattr(failure if answer is None else answer, "headers", None),
        "items",
        dict[str, str]().items,
    )
    headers = {str(name).lower(): str(value).strip() for name, value in items()}

    milliseconds = headers.get("retry-after-ms", "")
    # `float` also reads `nan`, `inf` and `1_000`, none of which a server means.
    digits = milliseconds.replace(".", "", 1)
    if digits.isascii() and digits.isdecimal():
        return float(milliseconds) / 1000
    return headers.get("retry-after")


def _seconds(named: object, now: Callable[[], float]) -> float:
    """Return the seconds in `named`: a number, a duration, or a time of day as in HTTP."""
    if isinstance(named, timedelta):
        return named.total_seconds()
    if isinstance(named, datetime):
        return named.timestamp() - now()

    try:
        return float(named) if isinstance(named, str | int | float) else 0.0
    except ValueError:
        # It is a date, which few failures name: the parser is slow to import.
        from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        moment = parsedate_to_datetime(str(named))
    except ValueError:
        return 0.0

    # HTTP dates are in UTC, also where they do not say so.
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() - now()
