#!/usr/bin/env bash
# Software: mcp-proxy 6.7.19 and supergateway 4.0.0 (npm), mcp-proxy 0.13.0 (PyPI), with @modelcontextprotocol/sdk 1.32.2
# Date: 2026-11-28
# Guess: a proxy that offers a stdio server over HTTP starts one process for each client that connects, as the client would,
#        and passes on who the client is and that it can be asked (elicitation); only supergateway without `--stateful`
#        has one process for all, because it has no sessions.
# Seen: both of the name mcp-proxy have one process for all clients. supergateway has one for each request; with
#       `--stateful` one for each client, the only one as guessed. Only there does the server learn the client's
#       name, and that it can be asked; the others name themselves and offer nothing.
# Matters: a server that keeps a current task mixes up agents or forgets it between two calls, and one that lets a person
#          confirm finds nobody to ask, though the client would have asked.
. "$(dirname "$0")/lib/finding.sh"
node_packages node mcp-proxy@6.7.19 supergateway@4.0.0 @modelcontextprotocol/sdk@1.32.2
python_packages env mcp-proxy==0.13.0

cat >"$work/server.py" <<'PY'
"""An MCP server with a tool that counts its calls, and names the client and what it can do."""

import json
import os
import sys

count, client = 0, {}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    parameters, result = request.get("params") or {}, {}
    if request["method"] == "initialize":
        client = parameters
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "counting", "version": "1"}}
        result = {"protocolVersion": parameters["protocolVersion"], **about}
    elif request["method"] == "tools/list":
        result = {"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}
    elif request["method"] == "tools/call":
        count += 1
        facts = [os.getpid(), count, client["clientInfo"]["name"], "elicitation" in client["capabilities"]]
        result = {"content": [{"type": "text", "text": json.dumps(facts)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
PY

node_in node "$work/server.py" "$work/env/bin/mcp-proxy" <<'JS'
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [server, python] = process.argv.slice(2);
const gateway = ["node_modules/.bin/supergateway", "--stdio", `python3 ${server}`, "--outputTransport", "streamableHttp"];
const proxies = {
  "mcp-proxy (npm)": ["node_modules/.bin/mcp-proxy", "--host", "127.0.0.1", "--", "python3", server],
  "mcp-proxy (PyPI)": [python, "--", "python3", server],
  supergateway: gateway,
  "supergateway --stateful": [...gateway, "--stateful"],
};

async function connected(name, url) {
  for (let tries = 0; ; tries += 1) {
    const client = new Client({ name, version: "1" }, { capabilities: { elicitation: {} } });
    try {
      await client.connect(new StreamableHTTPClientTransport(url));
      return client;
    } catch (error) {
      if (tries > 300) throw error;
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }
}

for (const [name, [program, ...options]] of Object.entries(proxies)) {
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address();
  free.close();
  const proxy = spawn(program, ["--port", String(port), ...options], { stdio: "ignore" });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const clients = [await connected("one", url), await connected("two", url)];
  const calls = [];
  for (const client of [...clients, ...clients]) {
    const result = await client.callTool({ name: "count", arguments: {} });
    calls.push(JSON.parse(result.content[0].text));
  }
  const processes = new Set(calls.map(call => call[0])).size;
  const seen = [...new Set(calls.map(call => `${call[2]} ${call[3]}`))].join(", ");
  console.log(`${name}: ${processes} processes for two clients, counts ${calls.map(call => call[1])}`);
  console.log(`  client and elicitation as the server sees them: ${seen}`);
  const ended = once(proxy, "close");
  proxy.kill();
  await ended;
}
process.exit(0);
JS

expect <<'TEXT'
mcp-proxy (npm): 1 processes for two clients, counts 1,2,3,4
  client and elicitation as the server sees them: mcp-proxy false
mcp-proxy (PyPI): 1 processes for two clients, counts 1,2,3,4
  client and elicitation as the server sees them: mcp false
supergateway: 4 processes for two clients, counts 1,1,1,1
  client and elicitation as the server sees them: supergateway false
supergateway --stateful: 2 processes for two clients, counts 1,1,2,2
  client and elicitation as the server sees them: one true, two true
TEXT
