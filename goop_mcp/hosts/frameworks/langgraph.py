"""langgraph: a node that judges the reply of the agent's node, and an edge back to it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from goop_mcp.hosts.frameworks.langchain_callback import FailedRunCallback
from goop_mcp.hosts.frameworks.langchain_messages import (
    check_terms,
    fail_unless_ended,
    feedback_message,
    is_feedback,
    outcome_of,
    resumed,
    turns_since_task,
    usage_of_last,
)
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.review import ReviewOptions

with needing("langgraph", extra="langgraph"):
    from langchain_core.messages import AIMessage, AnyMessage
    from langgraph.graph import END

__all__ = ["EnvelopeCheck"]


class EnvelopeCheck:
    """A node for a graph whose state holds `messages`; `terms` are those of `Review`.

    The last reply stands when the review ends without an accepted one; `outcome` shows why it
    was not accepted. A node learns nothing of the failure of another one: with
    `graph.with_config(callbacks=[check.callback])` `on_stop` also receives the outcome of a run
    that fails or is cancelled. Raises PolicyError for a deadline.
    """

    def __init__(self, **terms: Unpack[ReviewOptions]) -> None:
        self._terms = check_terms(terms)
        self.callback = FailedRunCallback(
            lambda state, failure: fail_unless_ended(
                turns_since_task(state.get("messages", ())), self._terms, failure
            )
        )

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Add what is wrong with the last message, nothing where the graph should go on."""
        turns = turns_since_task(state["messages"])
        if (
            not turns
            or not isinstance(state["messages"][-1], AIMessage)
            or turns[-1]["text"] is None
        ):
            return {}

        review = resumed(turns[:-1], self._terms)
        feedback = review.hear(
            turns[-1]["text"],
            usage=usage_of_last(turns),
            stop_reason=turns[-1].get("stop_reason"),
        )
        return {} if feedback is None else {"messages": [feedback_message(feedback, review)]}

    def edge(self, agent: str, *, otherwise: str = END) -> Callable[[Mapping[str, Any]], str]:
        """Return the condition for the edge after the node.

        It leads to `agent` after a rejected reply, else to `otherwise`.
        """

        def choose(state: Mapping[str, Any]) -> str:
            return agent if is_feedback(state["messages"][-1]) else otherwise

        return choose

    def outcome(self, messages: Sequence[AnyMessage]) -> Outcome:
        """Return the outcome of the last task in the messages of a finished run."""
        return outcome_of(turns_since_task(messages), self._terms)
