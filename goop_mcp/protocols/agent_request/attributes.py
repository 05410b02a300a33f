"""The attributes of the root that have a meaning, and how their values are read (H-13, H-14)."""

import re

from goop_mcp.protocols.agent_request.model import Duration

__all__ = ["OWN_ATTRIBUTES", "read_duration", "read_list", "read_number"]

OWN_ATTRIBUTES = frozenset(
    {
        "version",
        "session_id",
        "parent_agent",
        "target_agent",
        "priority",
        "estimated_duration",
        "max_retries",
        "notify_on_completion",
        "depends_on",
        "timeout",
    }
)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhd])")
_DURATION = re.compile(rf"(?:{_PART.pattern} ?)+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_BETWEEN = re.compile(r"[,\s]+")
_MOST_CHARACTERS = 60


def read_duration(text: str) -> Duration | None:
    """Return the duration that `text` gives as numbers with s, m, h or d; None for other text.

    >>> read_duration("1h30m").seconds
    5400.0
    """
    if len(text) > _MOST_CHARACTERS or not _DURATION.fullmatch(text):
        return None
    return Duration(
        text=text,
        seconds=sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text)),
    )


def read_number(text: str) -> int | None:
    """Return `text` as a whole number from 0, of nine digits at most; None for other text."""
    return int(text) if _NUMBER.fullmatch(text) else None


def read_list(text: str) -> tuple[str, ...] | None:
    """Return the names in `text`, parted by commas or blanks; None when there is none."""
    return tuple(name for name in _BETWEEN.split(text) if name) or None
