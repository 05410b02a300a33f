"""How a call ended, from its attempts; pure."""

from collections.abc import Sequence

from goop_mcp.retry.attempts import Attempt, Outcome, StoppedBecause, gave_up
from goop_mcp.retry.policy import RetryPolicy

__all__ = ["outcome_of"]

_UNCOUNTED = "the agent does not say what its answers cost, so the limits on tokens and cost could not be kept"
_LAST = "accepted at the last attempt that the policy allows"
_SHORT = "the accepted envelope is much shorter than an earlier one; look whether it still says everything"
_FALLBACK = "the answer is the fallback's"


def outcome_of(
    attempts: Sequence[Attempt], because: StoppedBecause, policy: RetryPolicy, *, counts_usage: bool
) -> Outcome:
    """Return the outcome of a call that made `attempts`, with what should make people look twice.

    `counts_usage` tells that there were limits on tokens or cost, in this call or around it.
    """
    replies = [each for each in attempts if each.verdict is not None]
    accepted = because == "accepted"
    fallback = accepted and replies[-1].fallback
    last = accepted and not fallback and 1 < len(replies) == policy.max_attempts
    uncounted = counts_usage and any(each.usage is None for each in replies)
    warnings = {_FALLBACK: fallback, _LAST: last, _SHORT: accepted and gave_up(replies), _UNCOUNTED: uncounted}
    return Outcome(
        attempts=tuple(attempts),
        stopped_because=because,
        accepted_at_last_attempt=last,
        warnings=tuple([text for text, holds in warnings.items() if holds]),
    )
