"""How often an agent was asked to mend its report, and whether to ask once more (D-89)."""

from collections.abc import Callable
from enum import StrEnum
from threading import Lock
from typing import NamedTuple, TypeVar

__all__ = ["Attempt", "AttemptsInMemory", "Outcome", "Rejection", "requests_of", "weigh"]

_T = TypeVar("_T")
_MOST_ENTRIES = 1000


class Outcome(StrEnum):
    """What to do about a rejected report: ask again, or let it pass and why."""

    ASK = "ask"
    LIMIT = "limit"
    SAME_REPLY = "same reply"
    SAME_FINDINGS = "same findings"


class Attempt(NamedTuple):
    """What is kept between two checks: how often the agent was `asked`, its last rejection, and if that is `over`."""

    asked: int
    reply: str
    findings: str
    over: bool = False


class Rejection(NamedTuple):
    """One rejected report: digests of its text and of its set of (rule, path), and whether it follows a request.

    `again` is what the host says: False for the first check of a turn.
    """

    reply: str
    findings: str
    again: bool


def weigh(before: Attempt | None, rejection: Rejection, *, limit: int) -> tuple[Attempt, Outcome]:
    """Return what to keep and what to do, given what was kept `before`; None when nothing was.

    An agent that was let go is asked anew in its next turn only.
    """
    if before is not None and before.over and not rejection.again:
        before = None
    outcome = _outcome(before, rejection, limit)
    asked = before.asked if before is not None else 0
    asks = outcome is Outcome.ASK
    return Attempt(asked + asks, rejection.reply, rejection.findings, over=not asks), outcome


def requests_of(attempt: Attempt | None) -> int:
    """Return how often the agent was asked in its turn; one that was let go has begun another."""
    return 0 if attempt is None or attempt.over else attempt.asked


def _outcome(before: Attempt | None, rejection: Rejection, limit: int) -> Outcome:
    if limit == 0 or (before is not None and (before.over or before.asked >= limit)):
        return Outcome.LIMIT
    if before is not None and before.reply == rejection.reply:
        return Outcome.SAME_REPLY
    if before is not None and before.findings == rejection.findings:
        return Outcome.SAME_FINDINGS
    return Outcome.ASK


class AttemptsInMemory:
    """Attempts by key for a process that lives as long as the session; may be shared by threads."""

    def __init__(self) -> None:
        """Begin without any."""
        self._kept: dict[str, Attempt] = {}
        self._lock = Lock()

    def change(self, key: str, decide: Callable[[Attempt | None], tuple[Attempt, _T]]) -> _T:
        """Replace the attempt under `key` by what `decide` makes of it, and return what it says besides."""
        with self._lock:
            attempt, said = decide(self._kept.pop(key, None))
            self._kept[key] = attempt
            while len(self._kept) > _MOST_ENTRIES:
                del self._kept[next(iter(self._kept))]
        return said

    def forget(self, key: str) -> int:
        """Drop the attempt under `key`, if there is any, and return how often its agent was asked."""
        with self._lock:
            return requests_of(self._kept.pop(key, None))
