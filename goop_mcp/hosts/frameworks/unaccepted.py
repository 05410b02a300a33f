"""What becomes of a report that was never accepted, in frameworks that hand on the bare text."""

from dataclasses import replace

from goop_mcp.retry.jobs import DEFAULT_POLICY
from goop_mcp.retry.review import Review, ReviewTerms

__all__ = ["ending_terms"]


def ending_terms(terms: ReviewTerms, *, hand_on_unaccepted: bool) -> ReviewTerms:
    """Return the terms of a review that raises at its end, unless it hands on the last reply.

    A bare text does not show whether it was accepted. Raises at once for invalid terms, as `Review`
    does.
    """
    policy = replace(
        terms.get("policy", DEFAULT_POLICY),
        when_exhausted="return" if hand_on_unaccepted else "raise",
    )
    ended = terms | ReviewTerms(policy=policy)
    Review(**ended)

    return ended
