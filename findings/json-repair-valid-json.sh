#!/usr/bin/env bash
# Software: json-repair 0.64.4, Python
# Date: 2026-11-27
# Guess: `skip_json_loads=True` only saves the attempt to parse the text as it is: valid JSON gives the same value.
# Seen: a Markdown fence inside a text is taken away, a text that ends with a backslash ends with a quote instead, and a
#       document that is a single text, number or null becomes the empty text.
# Matters: replies of agents hold fences in their texts all the time; with this switch, which is offered for speed where most
#          input is broken, the content of good replies changes without an error. The same happens to the texts of a
#          reply that is broken somewhere else.
. "$(dirname "$0")/lib/finding.sh"
python_packages env json-repair==0.64.4

python_in env <<'PY'
import json

import json_repair

for text in (
    '{"note": "```json\\n{}\\n```"}',
    '{"path": "C:\\\\"}',
    '"done"',
    "null",
    '{"note": "a, b: {c}", "list": ["]"]}',
):
    value = json_repair.loads(text, skip_json_loads=True)
    print(f"{text} -> {value!r} {'same' if value == json.loads(text) else 'changed'}")
broken = '{"note": "```json\\n{}\\n```", "open": [1, 2}'
print(f"{broken} -> {json_repair.loads(broken)!r}")
PY

expect <<'TEXT'
{"note": "```json\n{}\n```"} -> {'note': 'n{}\n```'} changed
{"path": "C:\\"} -> {'path': 'C:"'} changed
"done" -> '' changed
null -> '' changed
{"note": "a, b: {c}", "list": ["]"]} -> {'note': 'a, b: {c}', 'list': [']']} same
{"note": "```json\n{}\n```", "open": [1, 2} -> {'note': 'n{}\n```', 'open': [1, 2]}
TEXT
