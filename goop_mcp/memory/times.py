"""Times of memories: UTC, ISO 8601, to the millisecond."""

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "utc_now", "written"]

Clock = Callable[[], datetime]
"""Returns the time of day with its zone."""


def utc_now() -> datetime:
    """Return the time by this machine's clock."""
    return datetime.now(UTC)


def written(time: datetime) -> str:
    """Return `time` as callers and the database see it, such as 2026-01-15T10:30:00.000Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
