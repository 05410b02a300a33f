"""The JSON of the speckit agents: what they are given, and what they answer."""

from goop_mcp.protocols.speckit.family import SPECKIT
from goop_mcp.protocols.speckit.model import AgentInput, FeedbackContext, Response, WorkflowContext
from goop_mcp.protocols.speckit.writing import (
    write_input,
    write_response,
)

__all__ = [
    "SPECKIT",
    "AgentInput",
    "FeedbackContext",
    "Response",
    "WorkflowContext",
    "write_input",
    "write_response",
]
