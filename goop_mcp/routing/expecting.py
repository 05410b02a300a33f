"""What a context expects of the reply, as the expectations of its verdict."""

from goop_mcp.protocols.agent_request.sessions import SESSIONS_FOLDER
from goop_mcp.routing.context import RoutingContext
from goop_mcp.validation.expectations import Expectations

__all__ = ["expectations_of"]


def expectations_of(context: RoutingContext) -> Expectations:
    """Return what agent, phase, session and policy of `context` require of a reply."""
    return Expectations(
        agent=context.expected_agent,
        phase=context.phase,
        profile=context.profile,
        session_id=context.session_id,
        session_folder=_session_folder(context),
        markdown=context.policy.markdown,
    )


def _session_folder(context: RoutingContext) -> str | None:
    """Return the folder that paths must not leave, None without such a policy or session."""
    if context.policy.containment != "session" or context.session_id is None:
        return None
    return f"{SESSIONS_FOLDER}/{context.session_id}"
