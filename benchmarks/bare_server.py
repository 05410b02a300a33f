"""A minimal server of the same SDK: one tool that does nothing, on stdio or a given port."""

import sys

from mcp.server import MCPServer

__all__ = ["server"]

server = MCPServer("bare")


@server.tool()
async def nothing(text: str) -> str:  # noqa: ARG001 - takes what validate_report takes
    """Do nothing."""
    return "ok"


def _serve_http(port: int) -> None:
    import uvicorn  # noqa: PLC0415 - stdio does without

    # As ours is served: with the same reader of HTTP, and without a line for each request.
    uvicorn.run(
        server.streamable_http_app(),
        port=port,
        http="h11",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=30,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve_http(int(sys.argv[1]))
    else:
        server.run("stdio")
