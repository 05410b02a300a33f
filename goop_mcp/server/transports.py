"""Ways to serve: one function a transport, each returning the exit code of the program."""

import anyio

from goop_mcp.server.app import create_server
from goop_mcp.settings import Settings

__all__ = ["serve_stdio"]


def serve_stdio(settings: Settings) -> int:
    """Serve one client on stdin and stdout until its end of input."""
    anyio.run(create_server(settings).run_stdio_async)
    return 0
