#!/usr/bin/env bash
# Software: @modelcontextprotocol/client 2.4.0, @modelcontextprotocol/sdk 1.32.2, Node; mcp 2.3.0, Python
# Date: 2026-11-28
# Guess: each progress notification that a server sends before the result reaches `onprogress` of the call, as it reaches
#        `progress_callback` in Python; at least in version 2 of the TypeScript client, after version 1 had lost some.
# Seen: those that arrive in one piece with the result are lost in both versions: they are handled after the result, and then
#       are an error about an unknown token, which only `onerror` sees. In Python all arrive.
# Matters: of a quick tool, and at the end of any tool, a client in TypeScript shows nothing, so that the last step, which
#          often holds the verdict, is never seen; a test with pauses, or with the Python client, does not find it.
. "$(dirname "$0")/lib/finding.sh"
node_packages one @modelcontextprotocol/sdk@1.32.2
node_packages two @modelcontextprotocol/client@2.4.0
python_packages env mcp==2.3.0

cat >"$work/server.py" <<'PY'
"""An MCP server with a tool that sends three notifications and its result, with a pause or in one piece."""

import json
import sys
import time

pause = float(sys.argv[1])


def send(*messages: dict) -> None:
    texts = [json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages]
    for piece in texts if pause else ["".join(texts)]:
        sys.stdout.write(piece)
        sys.stdout.flush()
        time.sleep(pause)


for line in sys.stdin:
    request = json.loads(line)
    method, parameters = request["method"], request.get("params") or {}
    if "id" not in request:
        continue
    if method == "tools/call":
        token = parameters["_meta"]["progressToken"]
        steps = [{"progressToken": token, "progress": step, "total": 3} for step in (1, 2, 3)]
        notifications = [{"method": "notifications/progress", "params": step} for step in steps]
        result = {"content": [{"type": "text", "text": "done"}]}
        send(*notifications, {"id": request["id"], "result": result})
    elif method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "steps", "version": "1"}}
        send({"id": request["id"], "result": {"protocolVersion": "2025-06-18", **about}})
    elif method == "tools/list":
        send({"id": request["id"], "result": {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}})
    else:
        send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})
PY

typescript() {
    sed -e "s#CLIENT#$3#; s#STDIO#$4#; s#OPTIONS#$5#" <<'JS' | node_in "$1" "$2" "$work/server.py"
import { Client } from "CLIENT";
import { StdioClientTransport } from "STDIO";

const [name, server] = process.argv.slice(2);
for (const pause of ["0.2", "0"]) {
  const client = new Client({ name: "finding", version: "1" });
  const errors = [];
  client.onerror = error => errors.push(/unknown token/.test(error.message) ? "unknown token" : error.message);
  await client.connect(new StdioClientTransport({ command: "python3", args: [server, pause] }));
  const steps = [];
  const onprogress = each => steps.push(each.progress);
  await client.callTool({ name: "work", arguments: {} }, OPTIONS);
  await new Promise(resolve => setTimeout(resolve, 500));
  console.log(`${name}, pause ${pause}: steps [${steps}], errors ${JSON.stringify(errors)}`);
  await client.close();
}
JS
}
typescript one "sdk 1" @modelcontextprotocol/sdk/client/index.js @modelcontextprotocol/sdk/client/stdio.js "undefined, { onprogress }"
typescript two "client 2" @modelcontextprotocol/client @modelcontextprotocol/client/stdio "{ onprogress }"
python_in env "$work/server.py" <<'PY'
import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    for pause in ("0.2", "0"):
        steps = []

        async def keep(progress: float, total: float | None, message: str | None) -> None:
            steps.append(int(progress))

        started = StdioServerParameters(command=sys.executable, args=[sys.argv[1], pause])
        async with Client(stdio_client(started)) as client:
            await client.call_tool("work", {}, progress_callback=keep)
        print(f"Python, pause {pause}: steps {steps}")


asyncio.run(main())
PY

expect <<'TEXT'
sdk 1, pause 0.2: steps [1,2,3], errors []
sdk 1, pause 0: steps [], errors ["unknown token","unknown token","unknown token"]
client 2, pause 0.2: steps [1,2,3], errors []
client 2, pause 0: steps [], errors ["unknown token","unknown token","unknown token"]
Python, pause 0.2: steps [1, 2, 3]
Python, pause 0: steps [1, 2, 3]
TEXT
