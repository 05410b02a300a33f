"""How often an agent was asked to mend its report, and whether to ask once more (D-89)."""

from enum import StrEnum
from typing import NamedTuple

__all__ = ["Attempt", "Outcome", "Rejection", "requests_of", "weigh"]


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
    """One rejected report: digests of its text and of its errors (rule, path, value); whether it follows a request.

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
