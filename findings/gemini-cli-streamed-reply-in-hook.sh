#!/usr/bin/env bash
# Software: @google/gemini-cli 0.61.0, Node
# Date: 2026-11-28
# Guess: the hook AfterAgent gets in `prompt_response` the reply that `--output-format json` has as `response`: its
#        chunks joined, and of a turn with a tool the text after the tool.
# Seen: only a reply that comes in one chunk with one part is the same. Everything after the first part is there twice, the
#       second time at the end, with other spaces; and the text before a tool is there too, which `response` leaves out.
# Matters: real models stream in many chunks, so that a hook that checks the reply finds a report that is torn, or a second
#          one whose beginning is missing, where the agent wrote one good one; the user sees the good one.
. "$(dirname "$0")/lib/finding.sh"
node_packages host @google/gemini-cli@0.61.0

cp "$lib/gemini_host.mjs" "$work/host"
node_in host <<'JS'
import { run } from "./gemini_host.mjs";

const text = words => ({ text: words });
const look = { functionCall: { name: "list_directory", args: { dir_path: "." } } };
const replies = {
  "one chunk": [[[text("one. two. three.")]]],
  "three chunks": [[[text("one. ")], [text("two. ")], [text("three.")]]],
  "one chunk of three parts": [[[text("one. "), text("two. "), text("three.")]]],
  "a tool between": [[[text("one. "), look]], [[text("two.")]]],
};
for (const [name, answers] of Object.entries(replies)) {
  const { output, events } = await run({ answers });
  console.log(`${name}: response ${JSON.stringify(JSON.parse(output).response)}`);
  for (const event of events) console.log(`  the hook gets ${JSON.stringify(event.prompt_response)}`);
}
JS

expect <<'TEXT'
one chunk: response "one. two. three."
  the hook gets "one. two. three."
three chunks: response "one. two. three."
  the hook gets "one. two. three. two.  three."
one chunk of three parts: response "one. two. three."
  the hook gets "one. two. three.two. three."
a tool between: response "two."
  the hook gets "one. \ntwo."
TEXT
