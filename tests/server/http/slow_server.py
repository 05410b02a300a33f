"""A server with a slow tool; run it as `goop-mcp serve` with a network transport."""

import sys
from functools import partial

import anyio
from mcp.types import ToolAnnotations

from goop_mcp.cli import main
from goop_mcp.server import GoopServer
from goop_mcp.server.http import serving


def add_waiting(server: GoopServer) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def wait(seconds: float) -> str:
        """Answer after `seconds`; say on stderr when it begins and when it is given up."""
        sys.stderr.write("waiting begins\n")
        sys.stderr.flush()

        try:
            await anyio.sleep(seconds)
        except anyio.get_cancelled_exc_class():
            sys.stderr.write("waiting given up\n")
            sys.stderr.flush()
            raise

        return "waited"


if __name__ == "__main__":
    serving.serve_network = partial(serving.serve_network, extend=add_waiting)
    sys.exit(main())
