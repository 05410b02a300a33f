#!/usr/bin/env bash
# Software: mcp 2.3.0 (server and client) and fastmcp 4.1.6 (server), Python
# Date: 2026-11-27
# Guess: a text given for an argument `str | None` arrives as it is, as it does for `str`, whatever is in it.
# Seen: in a server of mcp a text that is a JSON object or list is refused with "Input should be a valid string", and the
#       text "null" arrives as None, although the schema that the server lists allows each of them. `str` and
#       `str = "default"` take the same texts, and so does fastmcp for all three.
# Matters: a tool for notes, prompts or replies, where the text is optional, fails for exactly those that hold JSON, and
#          loses "null"; declared without None it works.
. "$(dirname "$0")/lib/finding.sh"
python_packages mcp mcp==2.3.0
python_packages fastmcp fastmcp==4.1.6 mcp==2.3.0

cat >"$work/server.py" <<'PY'
import sys

if sys.argv[1] == "fastmcp":
    from fastmcp import FastMCP as Server
else:
    from mcp.server.mcpserver import MCPServer as Server

server = Server("texts")


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


@server.tool()
def required(text: str) -> str:
    return repr(text)


@server.tool()
def with_default(text: str = "") -> str:
    return repr(text)


server.run()
PY
for name in mcp fastmcp; do
    python_in "$name" "$name" "$work/server.py" <<'PY'
import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

name, server = sys.argv[1:]


async def main() -> None:
    started = StdioServerParameters(command=sys.executable, args=[server, name])
    async with Client(stdio_client(started)) as client:
        for tool in ("optional", "required", "with_default"):
            answers = []
            for text in ('{"a": 1}', "[1]", "null", "5", "words"):
                result = await client.call_tool(tool, {"text": text})
                answers.append("refused" if result.is_error else result.content[0].text)
            print(f"{name} {tool}: {' '.join(answers)}")


asyncio.run(main())
PY
done

expect <<'TEXT'
mcp optional: refused refused None '5' 'words'
mcp required: '{"a": 1}' '[1]' 'null' '5' 'words'
mcp with_default: '{"a": 1}' '[1]' 'null' '5' 'words'
fastmcp optional: '{"a": 1}' '[1]' 'null' '5' 'words'
fastmcp required: '{"a": 1}' '[1]' 'null' '5' 'words'
fastmcp with_default: '{"a": 1}' '[1]' 'null' '5' 'words'
TEXT
