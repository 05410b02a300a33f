"""The `<agent_request>` envelope, by which one agent hands a task to another.

The names are loaded on first use: other protocols read session ids by a module of this package.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import names_on_demand

__all__ = ["AGENT_REQUEST", "Request"]

if TYPE_CHECKING:
    from goop_mcp.protocols.agent_request.family import AGENT_REQUEST
    from goop_mcp.protocols.agent_request.model import Request
else:
    __getattr__ = names_on_demand(__name__, {"AGENT_REQUEST": "family", "Request": "model"})
