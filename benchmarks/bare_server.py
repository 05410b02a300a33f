"""The least server of the same SDK: one tool that does nothing, on stdin and stdout."""

from mcp.server import MCPServer

__all__ = ["server"]

server = MCPServer("bare")


@server.tool()
async def nothing(text: str) -> str:  # noqa: ARG001 - takes what validate_report takes
    """Do nothing."""
    return "ok"


if __name__ == "__main__":
    server.run("stdio")
