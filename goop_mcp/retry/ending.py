"""How a call ended, from its attempts; pure."""

from collections.abc import Sequence
from typing import Final

from goop_mcp.retry.attempts import Attempt, Outcome, StoppedBecause, gave_up
from goop_mcp.retry.policy import RetryPolicy

__all__ = ["UNCOUNTED", "assumed_usage", "outcome_of"]

UNCOUNTED: Final = (
    "the agent does not say what its answers cost, so the limits on tokens and cost could not be"
    " kept"
)
"""Warns of a conversation that somebody else drives: nothing can be reserved for its calls."""

_LAST = "accepted at the last attempt that the policy allows"
_SHORT = (
    "the accepted envelope is much shorter than an earlier one; look whether it still says"
    " everything"
)
_FALLBACK = "the answer is the fallback's"


def outcome_of(
    attempts: Sequence[Attempt],
    because: StoppedBecause,
    policy: RetryPolicy,
    *,
    remarks: Sequence[str] = (),
) -> Outcome:
    """Return the outcome of a call that made `attempts`, with what should make people look twice.

    `remarks` are added to that.
    """
    replies = [each for each in attempts if each.verdict is not None]
    accepted = because == "accepted"
    fallback = accepted and replies[-1].fallback
    last = accepted and not fallback and 1 < len(replies) == policy.max_attempts
    warnings = {_FALLBACK: fallback, _LAST: last, _SHORT: accepted and gave_up(replies)}

    return Outcome(
        attempts=tuple(attempts),
        stopped_because=because,
        accepted_at_last_attempt=last,
        warnings=(*(text for text, holds in warnings.items() if holds), *remarks),
    )


def assumed_usage(calls: int) -> str:
    """Return the remark that `calls` counted in a budget with what was reserved for them."""
    which = "1 call" if calls == 1 else f"{calls} calls"
    return (
        f"the agent does not say what its answers cost: {which} counted with all that was reserved"
        " in the budget"
    )
