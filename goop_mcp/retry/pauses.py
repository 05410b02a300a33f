"""How long to wait before a call that failed is repeated."""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from goop_mcp.retry.policy import RetryPolicy

if TYPE_CHECKING:
    from tenacity.wait import wait_base

__all__ = ["pause_before"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_LONGEST_NAMED_PAUSE = 3600.0
_JITTER = 0.2


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
    # Needed only after a failure; every start would pay for it
    import tenacity  # noqa: PLC0415

    wait: wait_base = policy.backoff or tenacity.wait_random_exponential(
        multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE
    )
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = failures
    if failure is not None:
        state.set_exception((type(failure), failure, None))

    named = min(max(0.0, _seconds(_named(failure), now)), _LONGEST_NAMED_PAUSE)
    added = _JITTER * named * chance()
    if time_left is not None and named < time_left:
        # What would still be in time must not come too late by chance.
        added = min(added, (time_left - named) / 2)

    return max(wait(state), named + added)


def _named(failure: Exception | None) -> object:
    """Return how long a failure asks to wait, None where it does not.

    It is an attribute of the failure, or the header of its HTTP answer.
    """
    named = getattr(failure, "retry_after", None)
    if named is not None:
        return named

    headers = _headers(failure)
    milliseconds = headers.get("retry-after-ms", "")
    digits = milliseconds.replace(".", "", 1)
    if digits.isascii() and digits.isdecimal():
        return float(milliseconds) / 1000
    return headers.get("retry-after")


def _headers(failure: object) -> dict[str, str]:
    """Return the headers of the answer that a failure carries, with names in lower case."""
    answer: Any = getattr(failure, "response", None)
    headers = getattr(failure if answer is None else answer, "headers", None)
    items = getattr(headers, "items", dict[str, str]().items)
    return {str(name).lower(): str(value).strip() for name, value in items()}


def _seconds(named: object, now: Callable[[], float]) -> float:
    """Return the seconds in `named`: a number, a duration, or a time of day as in HTTP."""
    if isinstance(named, timedelta):
        return named.total_seconds()
    if isinstance(named, datetime):
        return named.timestamp() - now()

    try:
        return float(named) if isinstance(named, str | int | float) else 0.0
    except ValueError:
        return _until(str(named), now)


def _until(date: str, now: Callable[[], float]) -> float:
    # Slow to import, and few failures name a date
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return 0.0

    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() - now()
