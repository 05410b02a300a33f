"""The MCP server: tools, resources and prompts over the same operations as every other surface.

The names are loaded on first use, as the options of `serve` are read without the SDK.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import names_on_demand

__all__ = ["GoopServer", "create_server", "serve_stdio"]

if TYPE_CHECKING:
    from goop_mcp.server.app import create_server
    from goop_mcp.server.server import GoopServer
    from goop_mcp.server.serving import serve_stdio
else:
    __getattr__ = names_on_demand(
        __name__, {"GoopServer": "server", "create_server": "app", "serve_stdio": "serving"}
    )
