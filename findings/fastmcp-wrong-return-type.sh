#!/usr/bin/env bash
# Software: fastmcp 4.1.6 (server) with the clients of mcp 2.3.0 and fastmcp 4.1.6, Python
# Date: 2026-11-27
# Guess: a tool that is declared to return int and returns a text is an error of the tool: the server sends a result with
#        isError, as the server of mcp does, and a client returns it.
# Seen: the server of fastmcp sends the text as a success, with a structure that its own output schema excludes. Both
#       clients then raise RuntimeError, and no caller sees the result, although the tool has run. With the server of mcp
#       one returns isError, and the other raises ToolError.
# Matters: an agent gets no answer to a call that did its work, only because of a wrong annotation; a loop around these
#          clients has to expect three forms of the same mistake.
. "$(dirname "$0")/lib/finding.sh"
python_packages env fastmcp==4.1.6 mcp==2.3.0

cat >"$work/server.py" <<'PY'
import sys

if sys.argv[1] == "fastmcp":
    from fastmcp import FastMCP as Server
else:
    from mcp.server.mcpserver import MCPServer as Server

server = Server("numbers")


@server.tool()
def lines() -> int:
    return "twelve"


server.run()
PY
python_in env "$work/server.py" <<'PY'
import asyncio
import logging
import sys

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

logging.disable(logging.CRITICAL)


async def asked(client: object) -> str:
    async with client:
        try:
            result = await client.call_tool("lines", {})
        except Exception as error:
            return f"raised {type(error).__name__}"
        return f"isError {result.is_error}, text {result.content[0].text!r}"


async def main() -> None:
    for server in ("mcp", "fastmcp"):
        arguments = [sys.argv[1], server]
        started = StdioServerParameters(command=sys.executable, args=arguments)
        print(f"server {server}, client mcp: {await asked(Client(stdio_client(started)))}")
        other = FastClient(StdioTransport(sys.executable, arguments))
        print(f"server {server}, client fastmcp: {await asked(other)}")


asyncio.run(main())
PY

expect <<'TEXT'
server mcp, client mcp: isError True, text 'Error executing tool lines'
server mcp, client fastmcp: raised ToolError
server fastmcp, client mcp: raised RuntimeError
server fastmcp, client fastmcp: raised RuntimeError
TEXT
