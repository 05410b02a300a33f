"""langgraph: a node that judges what the agent's node said, and an edge back to it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from goop_mcp.hosts.frameworks.langchain_messages import answer_to, check_terms, is_feedback, outcome_of
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.review import ReviewTerms

with needing("langgraph", extra="langgraph"):
    from langchain_core.messages import AnyMessage
    from langgraph.graph import END

__all__ = ["EnvelopeCheck"]


class EnvelopeCheck:
    """A node for a graph whose state holds `messages`; `terms` are those of `Review`.

    The last reply stands when the review ends without an accepted one; `outcome` tells what it is worth. Raises
    PolicyError for a deadline.
    """

    def __init__(self, **terms: Unpack[ReviewTerms]) -> None:
        self._terms = check_terms(terms)

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Add what is wrong with the last message, nothing where the graph should go on."""
        feedback = answer_to(state["messages"], **self._terms)
        return {} if feedback is None else {"messages": [feedback]}

    def edge(self, agent: str, *, otherwise: str = END) -> Callable[[Mapping[str, Any]], str]:
        """Return the condition behind the node: back to `agent` where something was wrong, else to `otherwise`."""

        def choose(state: Mapping[str, Any]) -> str:
            return agent if is_feedback(state["messages"][-1]) else otherwise

        return choose

    def outcome(self, messages: Sequence[AnyMessage]) -> Outcome:
        """Return the outcome of the last task in the messages of a finished run."""
        return outcome_of(messages, **self._terms)
