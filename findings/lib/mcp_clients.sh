# Sourced by findings about clients of MCP: one program for each, with the same output.

# ask_with_python ENVIRONMENT NAME PAGES CONTENTS TOOL...: list the tools and call each.
ask_with_python() {
    python_in "$1" "$lib/raw_mcp_server.py" "${@:2}" <<'PY'
import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

server, name, pages, contents, *tools = sys.argv[1:]


async def main() -> None:
    started = StdioServerParameters(command=sys.executable, args=[server, pages, contents])
    async with Client(stdio_client(started)) as client:
        listed = (await client.list_tools()).tools
        print(f"{name} lists {' '.join(tool.name for tool in listed)}")
        for tool in tools:
            try:
                result = await client.call_tool(tool, {})
                print(f"{name} {tool}: {result.content[0].text}")
            except Exception as error:
                print(f"{name} {tool}: raised {type(error).__name__}")


asyncio.run(main())
PY
}

# ask_with_typescript FOLDER NAME PAGES CONTENTS TOOL...: the same.
ask_with_typescript() {
    node_in "$1" "$lib/raw_mcp_server.py" "${@:2}" <<'JS'
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [server, name, pages, contents, ...tools] = process.argv.slice(2);
const client = new Client({ name: "finding", version: "1" });
await client.connect(new StdioClientTransport({ command: "python3", args: [server, pages, contents] }));
const listed = (await client.listTools()).tools;
console.log(`${name} lists ${listed.map(tool => tool.name).join(" ")}`);
for (const tool of tools) {
  try {
    const result = await client.callTool({ name: tool, arguments: {} });
    console.log(`${name} ${tool}: ${result.content[0].text}`);
  } catch (error) {
    console.log(`${name} ${tool}: raised ${error.constructor.name}`);
  }
}
await client.close();
JS
}
