#!/usr/bin/env bash
# Software: @anthropic-ai/claude-code 2.1.332, Node
# Date: 2026-11-28
# Guess: a reply that ends at the token limit is the result of `claude -p --output-format json`, with the stop reason
#        `max_tokens`, after one request.
# Seen: the host asks the model itself to go on where it was cut, up to three times. If the model then ends, the result is
#       the last part alone, with `end_turn` and without a word of the limit. If it never ends, the result is a text of the
#       host, `is_error` stands next to the subtype `success`, the stop reason is `stop_sequence`, and nothing of the four
#       parts is in it.
# Matters: a report that begins in one part and ends in the next arrives as its second half, which looks like a broken
#          report of an agent that was never cut; who reads the subtype takes the other case for a success.
. "$(dirname "$0")/lib/finding.sh"
node_packages host @anthropic-ai/claude-code@2.1.332

node_in host <<'JS'
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";

const streamed = (model, text, stop) =>
  [
    ["message_start", { message: { id: "m", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } }],
    ["content_block_start", { index: 0, content_block: { type: "text", text: "" } }],
    ["content_block_delta", { index: 0, delta: { type: "text_delta", text } }],
    ["content_block_stop", { index: 0 }],
    ["message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 5 } }],
    ["message_stop", {}],
  ]
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join("");

async function body(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

// The answers before number `ends` are cut at the token limit.
async function run(ends) {
  let requests = 0;
  const server = createServer(async (request, response) => {
    const text = await body(request);
    const path = request.url.split("?")[0];
    if (request.method !== "POST" || path !== "/v1/messages") return response.writeHead(404).end();
    requests += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(streamed(JSON.parse(text).model, `part ${requests}`, requests < ends ? "max_tokens" : "end_turn"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  const host = spawn("node_modules/.bin/claude", ["-p", "hello", "--output-format", "json"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TMPDIR: process.env.HOME,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
      ANTHROPIC_API_KEY: "scripted",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  });
  const ended = once(host, "close");
  const result = JSON.parse(await body(host.stdout));
  const [code] = await ended;
  server.close();
  server.closeAllConnections();

  const parts = [1, 2, 3, 4].filter((number) => result.result.includes(`part ${number}`));
  console.log(`the answer ${ends} is whole: ${requests} requests, exit code ${code}`);
  console.log(`  subtype ${result.subtype}, is_error ${result.is_error}, stop_reason ${result.stop_reason}, parts [${parts}]`);
}

await run(1);
await run(2);
await run(9);
JS

expect <<'TEXT'
the answer 1 is whole: 1 requests, exit code 0
  subtype success, is_error false, stop_reason end_turn, parts [1]
the answer 2 is whole: 2 requests, exit code 0
  subtype success, is_error false, stop_reason end_turn, parts [2]
the answer 9 is whole: 4 requests, exit code 1
  subtype success, is_error true, stop_reason stop_sequence, parts []
TEXT
