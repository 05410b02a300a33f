#!/usr/bin/env bash
# Software: @openai/codex 0.171.0, Node
# Date: 2026-11-28
# Guess: a reply that ends at the token limit is the last message of `codex exec --json`, as the text before the limit was
#        shown; the exit code is 0, and a hook on Stop gets the text, so that it can ask for the rest.
# Seen: the turn fails with an error that names the limit, the exit code is 1, the file of the last message is empty although
#       the text arrived as a whole item, and the hook on Stop does not run. Nothing is asked again, other than by Claude Code.
# Matters: a report that was cut is then no report that was judged and refused: whoever judges replies in a hook never sees
#          it, and the orchestrator gets an error or half of a text instead.
. "$(dirname "$0")/lib/finding.sh"
node_packages host @openai/codex@0.171.0

node_in host <<'JS'
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

async function body(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

function streamed(text, cut) {
  const item = { type: "message", role: "assistant", id: "m", status: cut ? "incomplete" : "completed", content: [{ type: "output_text", text, annotations: [] }] };
  const usage = { input_tokens: 1, output_tokens: 5, total_tokens: 6 };
  const end = cut
    ? ["response.incomplete", { response: { id: "r", status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, usage } }]
    : ["response.completed", { response: { id: "r", status: "completed", output: [item], usage } }];
  return [["response.created", { response: { id: "r" } }], ["response.output_item.done", { output_index: 0, item }], end]
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join("");
}

async function run(name, cut) {
  let requests = 0;
  const server = createServer(async (request, response) => {
    await body(request);
    if (request.method !== "POST" || !request.url.startsWith("/v1/responses")) return response.writeHead(404).end();
    requests += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(streamed("half of a rep", cut));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const home = join(process.env.HOME, name);
  const project = join(home, "project");
  mkdirSync(join(home, ".codex"), { recursive: true });
  mkdirSync(project);
  const seen = join(home, "hook.json");
  writeFileSync(join(home, "hook.mjs"), `import { readFileSync, writeFileSync } from "node:fs"; writeFileSync(process.argv[2], readFileSync(0));`);
  const command = `node ${join(home, "hook.mjs")} ${seen}`;
  writeFileSync(join(home, ".codex", "hooks.json"), JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command }] }] } }));
  writeFileSync(join(home, ".codex", "config.toml"), `
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${server.address().port}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`);
  const last = join(home, "last.txt");
  const words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--output-last-message", last, "hello"];
  const host = spawn("node_modules/.bin/codex", words, {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, CODEX_HOME: join(home, ".codex") },
  });
  const ended = once(host, "close");
  const events = (await body(host.stdout)).trim().split("\n").filter(Boolean).map(line => JSON.parse(line));
  const [code] = await ended;
  server.close();
  server.closeAllConnections();
  const kinds = events.map(each => each.type).filter(each => each.startsWith("turn"));
  const error = events.find(each => each.type === "turn.failed")?.error?.message ?? "none";
  const text = existsSync(last) ? JSON.stringify(readFileSync(last, "utf8")) : "no file";
  console.log(`${name}: ${requests} request, exit ${code}, ${kinds.join(", ")}, error: ${error}`);
  console.log(`  last message ${text}, the hook ${existsSync(seen) ? `gets ${JSON.stringify(JSON.parse(readFileSync(seen)).last_assistant_message)}` : "does not run"}`);
}

await run("whole", false);
await run("cut", true);
JS

expect <<'TEXT'
whole: 1 request, exit 0, turn.started, turn.completed, error: none
  last message "half of a rep", the hook gets "half of a rep"
cut: 1 request, exit 1, turn.started, turn.failed, error: Incomplete response returned, reason: max_output_tokens
  last message "", the hook does not run
TEXT
