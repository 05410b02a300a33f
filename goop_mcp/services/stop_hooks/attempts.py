"""Decide whether to ask an agent again to correct its report (D-89).

Asking again must end: at the limit of the policy, and earlier if a request had no effect, which the
same reply or the same errors show.
"""

from enum import StrEnum
from typing import NamedTuple

__all__ = ["Rejection", "RetryDecision", "TurnState", "of_turn", "requests_of", "weigh"]


class RetryDecision(StrEnum):
    """The decision on a rejected report: ask again, or the reason to allow it."""

    ASK = "ask"
    LIMIT = "limit"
    SAME_REPLY = "same reply"
    SAME_FINDINGS = "same findings"


class TurnState(NamedTuple):
    """The state between two checks: the number of requests, and the digests of the last rejection.

    `over` states that the agent ended its turn with a report that is not accepted. `stated` is what
    its first readable reply claimed, as JSON, and `prose` the most characters of text that one of
    its replies had around the envelope.
    """

    asked: int
    reply: str
    findings: str
    over: bool = False
    stated: str = ""
    prose: int = 0


class Rejection(NamedTuple):
    """One rejected report: digests of its text and of its errors (rule, path, value).

    `again` is False for the first check of a turn, according to the host. `stated` and `prose` are
    those of this reply.
    """

    reply: str
    findings: str
    again: bool
    stated: str = ""
    prose: int = 0


def weigh(
    before: TurnState | None, rejection: Rejection, *, limit: int
) -> tuple[TurnState, RetryDecision]:
    """Return the new state and the decision, given the state `before`, None without one.

    An agent whose report was allowed is asked again only in its next turn.
    """
    before = before if of_turn(before, again=rejection.again) else None
    outcome = RetryDecision.ASK
    if limit == 0 or (before is not None and (before.over or before.asked >= limit)):
        outcome = RetryDecision.LIMIT
    elif before is not None and before.reply == rejection.reply:
        outcome = RetryDecision.SAME_REPLY
    elif before is not None and before.findings == rejection.findings:
        outcome = RetryDecision.SAME_FINDINGS

    asked = before.asked if before is not None else 0
    asks = outcome is RetryDecision.ASK

    after = TurnState(
        asked + asks,
        rejection.reply,
        rejection.findings,
        over=not asks,
        stated=(before.stated if before is not None else "") or rejection.stated,
        prose=max(before.prose if before is not None else 0, rejection.prose),
    )

    return after, outcome


def of_turn(before: TurnState | None, *, again: bool) -> bool:
    """Return whether the state belongs to the turn of a reply; `again` as in `Rejection`."""
    return before is not None and (again or not before.over)


def requests_of(attempt: TurnState | None) -> int:
    """Return how often the agent was asked in its turn; 0 after the end of a turn."""
    return 0 if attempt is None or attempt.over else attempt.asked
