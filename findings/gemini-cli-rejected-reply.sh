#!/usr/bin/env bash
# Software: @google/gemini-cli 0.61.0, Node
# Date: 2026-11-28
# Guess: when the hook AfterAgent denies a reply and the model gives another, the second event has the second reply, and so
#        has `response` in the output of `-p --output-format json`.
# Seen: the second event has both replies, joined by a line break; `response` has both, joined by nothing. In stream-json
#       only a warning stands between them, and the result is "success".
# Matters: a hook that counts or reads reports in the reply finds the rejected one again and denies a corrected one for it;
#          who takes `response` for the answer acts on the rejected report too.
. "$(dirname "$0")/lib/finding.sh"
node_packages host @google/gemini-cli@0.61.0

cp "$lib/gemini_host.mjs" "$work/host"
node_in host <<'JS'
import { run } from "./gemini_host.mjs";

const answers = [[[{ text: "<report>bad</report>" }]], [[{ text: "<report>good</report>" }]]];
const whole = await run({ answers, wanted: "good" });
for (const { stop_hook_active, prompt_response } of whole.events) {
  console.log(`the hook gets ${JSON.stringify(prompt_response)}, stop_hook_active ${stop_hook_active}`);
}
const { response, warnings } = JSON.parse(whole.output);
console.log(`json: exit code ${whole.code}, ${whole.requests} requests, response ${JSON.stringify(response)}`);
console.log(`  warnings ${JSON.stringify(warnings)}`);

const streamed = await run({ answers, wanted: "good", format: "stream-json" });
for (const line of streamed.output.trim().split("\n").map(line => JSON.parse(line)).slice(2)) {
  console.log(`stream-json: ${line.type} ${line.content ?? line.message ?? line.status}`);
}
JS

expect <<'TEXT'
the hook gets "<report>bad</report>", stop_hook_active false
the hook gets "<report>bad</report>\n<report>good</report>", stop_hook_active true
json: exit code 0, 2 requests, response "<report>bad</report><report>good</report>"
  warnings ["Agent execution blocked: Correct it."]
stream-json: message <report>bad</report>
stream-json: error Agent execution blocked: Correct it.
stream-json: message <report>good</report>
stream-json: result success
TEXT
