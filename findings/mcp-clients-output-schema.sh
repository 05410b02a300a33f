#!/usr/bin/env bash
# Software: the clients of mcp 2.3.0 (Python) and @modelcontextprotocol/client 2.4.0 (TypeScript)
# Date: 2026-11-27
# Guess: both judge the structured content of a tool alike: the schemas are the same, and of a standard draft.
# Seen: `"format": "date-time"` refuses a text that is no time in TypeScript and is ignored in Python. A pattern with
#       \p{Lu}, which is valid in a schema, makes every call of its tool raise in Python, whatever it returns; TypeScript
#       applies it.
# Matters: a tool that works in one client fails in the other, and the failure is an exception of the client after the
#          tool has done its work. A server cannot find out by testing with one of them.
. "$(dirname "$0")/lib/finding.sh"
. "$lib/mcp_clients.sh"
python_packages env mcp==2.3.0
node_packages node @modelcontextprotocol/client@2.4.0

tool() { echo "{\"name\":\"$1\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\",\"properties\":{\"value\":$2}}}"; }
text='{"type":"string"}'
time='{"type":"string","format":"date-time"}'
capitals='{"type":"string","pattern":"^\\p{Lu}+$"}'
pages="[[$(tool plain "$text"),$(tool time "$time"),$(tool capitals "$capitals")]]"
contents='{"plain":{"value":"x"},"time":{"value":"tomorrow"},"capitals":{"value":"ABC"}}'
ask_with_python env python "$pages" "$contents" plain time capitals
ask_with_typescript node typescript "$pages" "$contents" plain time capitals

expect <<'TEXT'
python lists plain time capitals
python plain: {"value": "x"}
python time: {"value": "tomorrow"}
python capitals: raised RuntimeError
typescript lists plain time capitals
typescript plain: {"value": "x"}
typescript time: raised ProtocolError
typescript capitals: {"value": "ABC"}
TEXT
