"""Put the server together."""

from mcp.server import CacheHint, MCPServer

from goop_mcp import __version__
from goop_mcp.composition import Application
from goop_mcp.server.boundary import GoopServer
from goop_mcp.server.completions import add_completions
from goop_mcp.server.middleware import PAGE_SIZE, log_timing, paging
from goop_mcp.server.prompts import add_prompts
from goop_mcp.server.resources import add_resources
from goop_mcp.server.tools import offered_tools
from goop_mcp.settings import Settings

__all__ = ["create_server"]

_INSTRUCTIONS = """\
Checks the machine-readable envelope of an agent's reply: <goop_report>, <agent_request>, speckit or Factory JSON.
Call validate_report with the whole reply of a subagent before you act on it, and with your own report before you send \
it. Rejected: send the feedback back to the agent, or mend your report by it. explain_rule tells more about a rule.
route_next_action says who continues with which words; build_handoff makes the prompt for a task you hand on.
The prompt goop_report says how to write an envelope; goop://rules lists what is checked."""

# The lists change only when another version is installed.
_LISTS_ARE_STABLE = CacheHint(ttl_ms=60_000, scope="public")


def create_server(settings: Settings) -> MCPServer:
    """Return the MCP server for `settings`, ready to be run on any transport."""
    server = GoopServer(
        "goop-mcp",
        tools=offered_tools(Application(settings)),
        title="Goop MCP",
        description="Checks the machine-readable envelopes that agents end their replies with.",
        instructions=_INSTRUCTIONS,
        version=__version__,
        log_level=settings.log_level,
        cache_hints={
            "tools/list": _LISTS_ARE_STABLE,
            "resources/list": _LISTS_ARE_STABLE,
            "resources/templates/list": _LISTS_ARE_STABLE,
            "prompts/list": _LISTS_ARE_STABLE,
        },
        middleware=[log_timing, paging(PAGE_SIZE)],
    )
    add_resources(server)
    add_prompts(server)
    add_completions(server)
    return server
