"""Changes of counters that the caller should store."""

from typing import Any

from goop_mcp.routing.context_parts import Counters
from goop_mcp.routing.decision import Retry

__all__ = ["another_try", "counted", "progressed"]

# Rejections of a critic and retries of a session count over the whole work: progress of one task
# must not grant further ones. Prerequisites are a mapping and reset separately.
_ON_PROGRESS = tuple(
    name
    for name in Counters.__dataclass_fields__
    if name not in ("prerequisites", "critic_rejections", "session_retries")
)


def counted(**counters: object) -> dict[str, Any]:
    """Return the state changes that set `counters` to these values."""
    return {"counters": counters}


def progressed(counters: Counters) -> dict[str, Any]:
    """Return the state changes after progress: whatever has counted is back at 0."""
    reset: dict[str, Any] = {name: 0 for name in _ON_PROGRESS if getattr(counters, name)}
    if counters.prerequisites:
        reset["prerequisites"] = {}
    return {"counters": reset, "previous_rules": [], "attempt": 1}


def another_try(used: int, limit: int, *, delay: int = 0, message: str = "") -> Retry:
    """Return the try after `used` of `limit` retries; the first request is attempt 1."""
    return Retry(attempt=used + 2, max_attempts=limit + 1, delay_seconds=delay, message=message)
