"""What becomes of a report that was never accepted, in frameworks that hand on the bare text."""

from dataclasses import replace

from goop_mcp.retry.jobs import DEFAULT_POLICY
from goop_mcp.retry.review import Review, ReviewOptions

__all__ = ["ending_terms"]


def ending_terms(terms: ReviewOptions, *, hand_on_unaccepted: bool) -> ReviewOptions:
    """Return the terms of a review that raises at its end, unless it hands on the last reply.

    A bare text does not show whether it was accepted. Raises at once for invalid terms, as `Review`
    does.
    """
    policy = replace(
        terms.get("policy", DEFAULT_POLICY),
        when_exhausted="return" if hand_on_unaccepted else "raise",
    )
    ended = terms | ReviewOptions(policy=policy)
    Review(**ended)

    return ended
