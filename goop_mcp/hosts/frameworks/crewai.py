"""crewai: a guardrail of a task that sends a report back until it is accepted.

Needs nothing of crewai's, which cannot be installed beside the MCP server: it pins an older `mcp`.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Unpack

from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.review import Review, ReviewTerms
from goop_mcp.validation.feedback import OPENING

__all__ = ["envelope_guardrail"]


def envelope_guardrail(
    *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewTerms]
) -> Callable[[Any], tuple[bool, Any]]:
    """Return the function for `Task(guardrail=..., guardrail_max_retries=2)`; `terms` are those of `Review`.

    Allow crewai one retry less than the attempts of the policy: the smaller limit counts. At the end without an
    accepted report NotAcceptedError is raised, whose outcome has every attempt; with `hand_on_unaccepted` the last
    reply is the output of the task.
    """
    ended = ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted)
    # Crews run side by side, each in a context of its own.
    current: ContextVar[Review | None] = ContextVar("goop_mcp_crewai_review", default=None)

    def guardrail(output: Any) -> tuple[bool, Any]:  # noqa: ANN401 - crewai's TaskOutput
        review = current.get()
        if review is None or review.stopped or _is_first(output):
            review = Review(**ended)
            current.set(review)
        feedback = review.hear(output.raw)
        return (True, output.raw) if feedback is None else (False, feedback)

    return guardrail


def _is_first(output: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether nothing was sent back before this output: a run that broke off must not count for the next."""
    return not any(OPENING in str(message.get("content")) for message in output.messages)
