#!/usr/bin/env bash
# Software: mcp 2.3.0, Python
# Date: 2026-11-28
# Guess: a server over streamable HTTP that ends in the middle of a call makes that call raise MCPError, as one over stdio does;
#        the session stays, so that the caller can ask it again or close it.
# Seen: over stdio that holds. Over HTTP the call raises CancelledError, which a caller does not handle, as it is not meant for
#       it; the session ends, and leaving it raises a group of RemoteProtocolError. MCPError is raised nowhere.
# Matters: whoever catches MCPError around a call, to repeat it at a server that has started again, does not see this one.
. "$(dirname "$0")/lib/finding.sh"
python_packages env mcp==2.3.0

cat >"$work/server.py" <<'PY'
"""A server with a tool that answers and one in which the process ends."""

import os
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("ends")


@server.tool()
def work() -> str:
    return "done"


@server.tool()
def end() -> str:
    os._exit(1)


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
PY

python_in env "$work" <<'PY'
import asyncio
import socket
import subprocess
import sys
import time
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters

server = str(Path(sys.argv[1], "server.py"))


def leaves(error: BaseException) -> list[BaseException]:
    return [leaf for each in error.exceptions for leaf in leaves(each)] if isinstance(error, BaseExceptionGroup) else [error]


def named(error: BaseException) -> str:
    group = "a group of " if isinstance(error, BaseExceptionGroup) else ""
    return group + ", ".join(sorted({type(each).__name__ for each in leaves(error)}))


async def play(name: str, target: object) -> None:
    seen: list[str] = []
    try:
        async with Client(target, read_timeout_seconds=10) as client:
            seen.append((await client.call_tool("work", {})).content[0].text)
            try:
                await client.call_tool("end", {})
            except MCPError as error:
                seen.append("the call raises MCPError")
            except BaseException as error:
                seen.append(f"the call raises {named(error)}")
                raise
            seen.append("the caller goes on")
    except BaseException as error:
        seen.append(f"leaving the session raises {named(error)}")
    print(f"{name}: {'; '.join(seen)}")


async def main() -> None:
    await play("stdio", StdioServerParameters(command=sys.executable, args=[server, "stdio"]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, server, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    await play("streamable HTTP", f"http://127.0.0.1:{port}/mcp")
    process.wait()


asyncio.run(main())
PY

expect <<'TEXT'
stdio: done; the call raises MCPError; the caller goes on
streamable HTTP: done; the call raises CancelledError; leaving the session raises a group of RemoteProtocolError
TEXT
