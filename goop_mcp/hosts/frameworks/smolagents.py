"""smolagents: a check of the final answer that sends a report back until it is accepted."""

from collections.abc import Callable
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.attempts import NotAcceptedError
from goop_mcp.retry.review import Review, ReviewTerms

__all__ = ["envelope_check"]


def envelope_check(*, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewTerms]) -> Callable[..., bool]:
    """Return the function for `CodeAgent(..., final_answer_checks=[...])`; `terms` are those of `Review`.

    Allow the agent a step for each attempt (`max_steps`). At the end without an accepted report the run is interrupted,
    which raises smolagents' AgentError, and `on_stop` hears the outcome with every attempt; with
    `hand_on_unaccepted` the last answer is the result.
    """
    ended = ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted)
    # By agent: the task that it is at, and the review of that.
    reviews: WeakKeyDictionary[Any, tuple[object, Review]] = WeakKeyDictionary()

    def envelope_check(final_answer: object, memory: Any, agent: Any) -> bool:  # noqa: ANN401 - smolagents' objects
        task = next(step for step in reversed(memory.steps) if type(step).__name__ == "TaskStep")
        known, review = reviews.get(agent, (None, None))
        if review is None or known is not task or review.stopped:
            review = Review(**ended)
            reviews[agent] = task, review
        try:
            feedback = review.hear(reply_text(final_answer))
        except NotAcceptedError:
            # What a check raises is taken for the agent's fault, and the agent would go on.
            agent.interrupt()
            raise
        if feedback is not None:
            raise ValueError(feedback)
        return True

    return envelope_check
