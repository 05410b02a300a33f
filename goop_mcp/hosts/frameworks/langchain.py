"""langchain agents: a middleware that sends a report back until it is accepted."""

from collections.abc import Sequence
from typing import Any, Unpack

from goop_mcp.hosts.frameworks.langchain_messages import answer_to, check_terms, outcome_of
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.review import ReviewTerms

with needing("langchain", extra="langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain_core.messages import AnyMessage

__all__ = ["EnvelopeMiddleware"]


class EnvelopeMiddleware(AgentMiddleware):
    """For `create_agent(..., middleware=[EnvelopeMiddleware()])`; `terms` are those of `Review`.

    At the end without an accepted report NotAcceptedError is raised, whose outcome has every attempt. With
    `hand_on_unaccepted` the last reply stands, and `outcome` tells what it is worth. Raises PolicyError for a deadline.
    """

    def __init__(self, *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewTerms]) -> None:
        super().__init__()
        self._terms = check_terms(ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted))

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState, runtime: object) -> dict[str, Any] | None:  # noqa: ARG002 - langchain's
        """Judge what the model said, and let it go on where that is not accepted."""
        return self._check(state)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: AgentState, runtime: object) -> dict[str, Any] | None:  # noqa: ARG002 - as above
        """Do the same where the agent runs in an event loop."""
        return self._check(state)

    def _check(self, state: AgentState) -> dict[str, Any] | None:
        feedback = answer_to(state["messages"], **self._terms)
        return None if feedback is None else {"messages": [feedback], "jump_to": "model"}

    def outcome(self, messages: Sequence[AnyMessage]) -> Outcome:
        """Return the outcome of the last task in the messages of a finished run."""
        return outcome_of(messages, **self._terms)
