"""How long to wait before a call that failed is repeated."""

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


def pause_before(
    failures: int, failure: Exception | None, policy: RetryPolicy, *, now: Callable[[], float] = time.time
) -> float:
    """Return the seconds to wait before a call is repeated that has failed `failures` times, at least once.

    `now` gives the seconds since 1970, against which a time of day named by the failure is held.
    """
    import tenacity  # noqa: PLC0415 - needed only after a failure; every start would pay for it

    wait: wait_base = policy.backoff or tenacity.wait_random_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE)
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = failures
    if failure is not None:
        state.set_exception((type(failure), failure, None))
    named = _seconds(_named(failure), now)
    return max(wait(state), min(max(0.0, named), _LONGEST_NAMED_PAUSE))


def _named(failure: Exception | None) -> object:
    """Return what a failure asks to wait: its own attribute, or the header of its HTTP answer; None for nothing."""
    named = getattr(failure, "retry_after", None)
    if named is not None:
        return named
    headers = _headers(failure)
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.replace(".", "", 1).isdigit():
        return float(milliseconds) / 1000
    return headers.get("retry-after")


def _headers(failure: object) -> dict[str, str]:
    """Return the headers of the answer that a failure carries, or is, with their names in small letters."""
    answer: Any = getattr(failure, "response", None)
    headers = getattr(failure if answer is None else answer, "headers", None)
    items = getattr(headers, "items", dict[str, str]().items)
    return {str(name).lower(): str(value).strip() for name, value in items()}


def _seconds(named: object, now: Callable[[], float]) -> float:
    """Return the seconds that `named` means: a number, a length of time, or a time of day as HTTP writes it."""
    if isinstance(named, timedelta):
        return named.total_seconds()
    if isinstance(named, datetime):
        return named.timestamp() - now()
    try:
        return float(named) if isinstance(named, str | int | float) else 0.0
    except ValueError:
        return _until(str(named), now)


def _until(date: str, now: Callable[[], float]) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to import, and few failures name a date

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() - now()
