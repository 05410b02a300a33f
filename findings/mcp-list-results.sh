#!/usr/bin/env bash
# Software: mcp 2.3.0 (server and client) and fastmcp 4.1.6 (server), Python
# Date: 2026-11-27
# Guess: a tool that returns a list answers with one text block, the JSON of the list, in both, as it does for a dict; an
#        empty list is "[]".
# Seen: mcp makes one block for each item, without brackets, and none for an item that is None; where the list is not
#       typed, no structured content has it either, so that items are lost. fastmcp sends the JSON. An empty list has no
#       block in either.
# Matters: a host that shows only text gives the model "a" "b" instead of a list, nothing for an empty one, and a list of
#          three with a None in it as one of two.
. "$(dirname "$0")/lib/finding.sh"
python_packages mcp mcp==2.3.0
python_packages fastmcp fastmcp==4.1.6 mcp==2.3.0

cat >"$work/server.py" <<'PY'
import sys

if sys.argv[1] == "fastmcp":
    from fastmcp import FastMCP as Server
else:
    from mcp.server.mcpserver import MCPServer as Server

server = Server("lists")


@server.tool()
def typed() -> list[str]:
    return ["a", "b"]


@server.tool()
def empty() -> list[str]:
    return []


@server.tool()
def untyped():
    return ["a", None, 3]


server.run()
PY
for name in mcp fastmcp; do
    python_in "$name" "$name" "$work/server.py" <<'PY'
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

name, server = sys.argv[1:]


async def main() -> None:
    started = StdioServerParameters(command=sys.executable, args=[server, name])
    async with Client(stdio_client(started)) as client:
        for tool in ("typed", "empty", "untyped"):
            result = await client.call_tool(tool, {})
            texts = [block.text for block in result.content]
            print(f"{name} {tool}: text {json.dumps(texts)}, structure {json.dumps(result.structured_content)}")


asyncio.run(main())
PY
done

expect <<'TEXT'
mcp typed: text ["a", "b"], structure {"result": ["a", "b"]}
mcp empty: text [], structure {"result": []}
mcp untyped: text ["a", "3"], structure null
fastmcp typed: text ["[\"a\",\"b\"]"], structure {"result": ["a", "b"]}
fastmcp empty: text [], structure {"result": []}
fastmcp untyped: text ["[\"a\",null,3]"], structure null
TEXT
