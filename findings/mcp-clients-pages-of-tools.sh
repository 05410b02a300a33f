#!/usr/bin/env bash
# Software: the clients of mcp 2.3.0 (Python) and @modelcontextprotocol/client 2.4.0 (TypeScript)
# Date: 2026-11-27
# Guess: listing tools returns the first page in both, with a cursor for the next; the schema of a result is checked for
#        every tool that the server has, as the Python client looks up one that it does not know.
# Seen: the TypeScript client returns the tools of all pages from one call, the Python client the first page. A result that
#       its output schema excludes raises in TypeScript; in Python only if the tool is on the first page.
# Matters: the same code in two languages offers a model different tools of one server, and whether a wrong result is
#          noticed depends on where the server's list was split.
. "$(dirname "$0")/lib/finding.sh"
. "$lib/mcp_clients.sh"
python_packages env mcp==2.3.0
node_packages node @modelcontextprotocol/client@2.4.0

schema='{"type":"object","properties":{"lines":{"type":"integer"}},"required":["lines"]}'
tool() { echo "{\"name\":\"$1\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":$schema}"; }
pages="[[$(tool near)],[$(tool far)]]"
contents='{"near":{"lines":"twelve"},"far":{"lines":"twelve"}}'
ask_with_python env python "$pages" "$contents" near far
ask_with_typescript node typescript "$pages" "$contents" near far

expect <<'TEXT'
python lists near
python near: raised RuntimeError
python far: {"lines": "twelve"}
typescript lists near far
typescript near: raised ProtocolError
typescript far: raised ProtocolError
TEXT
