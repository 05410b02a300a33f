"""Times of memories: UTC, ISO 8601, to the millisecond."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "utc_now", "written"]

Clock = Callable[[], datetime]
"""Returns the current time with its time zone."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def written(time: datetime) -> str:
    """Return `time` in the form of the database and of results: 2026-01-15T10:30:00.000Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
