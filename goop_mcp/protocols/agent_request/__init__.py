"""The `<agent_request>` envelope, by which one agent hands a task to another."""

from goop_mcp.protocols.agent_request.family import AGENT_REQUEST
from goop_mcp.protocols.agent_request.model import Request

__all__ = ["AGENT_REQUEST", "Request"]
