"""What a context expects of the reply, as the expectations of its verdict."""

from goop_mcp.protocols.agent_request.sessions import SESSIONS_FOLDER
from goop_mcp.routing.context import RoutingContext
from goop_mcp.validation.expectations import Expectations

__all__ = ["expectations_of"]


def expectations_of(context: RoutingContext) -> Expectations:
    """Return what agent, phase, session and policy of `context` require of a reply."""
    # The folder that paths must not leave; None without such a policy or session.
    folder = None
    if context.policy.containment == "session" and context.session_id is not None:
        folder = f"{SESSIONS_FOLDER}/{context.session_id}"

    return Expectations(
        agent=context.expected_agent,
        phase=context.phase,
        profile=context.profile,
        session_id=context.session_id,
        session_folder=folder,
        markdown=context.policy.markdown,
    )
