"""Which agents can continue the work under speckit."""

from goop_mcp.protocols.speckit.model import AGENTS
from goop_mcp.routing.row import RoutingInput

__all__ = ["can_start"]


def can_start(case: RoutingInput, agent: str | None) -> bool:
    """Return whether `agent` is one of the eleven, or one that the caller says it can start."""
    return agent is not None and (agent in AGENTS or agent in case.context.known_agents)
