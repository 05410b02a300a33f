#!/usr/bin/env bash
# Software: @anthropic-ai/claude-code 2.1.332, opencode-ai 1.18.33, Node
# Date: 2026-11-28
# Guess: if the last message of a subagent has two blocks of text, as models send them with thoughts between, the agent
#        that delegated gets both, joined; so do the hook SubagentStop and the result of `claude -p`.
# Seen: in both hosts everywhere the last block alone is handed on. The first is only in the transcript, and in the events
#       of OpenCode's own session.
# Matters: a report that begins in the first block arrives without its beginning, one that is whole there and followed by
#          "Done." does not arrive at all, and a hook asks for a report that the agent has written.
. "$(dirname "$0")/lib/finding.sh"
node_packages host @anthropic-ai/claude-code@2.1.332 opencode-ai@1.18.33

node_in host <<'JS'
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

async function body(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

// Blocks: a text, a thought, or a call of a tool as an object.
function streamed(model, blocks) {
  const events = [["message_start", { message: { id: "m", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } }]];
  const stop_reason = blocks.some(block => block.name) ? "tool_use" : "end_turn";
  blocks.forEach((block, index) => {
    const [content_block, delta] = block.name
      ? [{ type: "tool_use", id: "call_1", name: block.name, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(block.input) }]
      : block.thinking
        ? [{ type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: block.thinking }]
        : [{ type: "text", text: "" }, { type: "text_delta", text: block }];
    events.push(["content_block_start", { index, content_block }], ["content_block_delta", { index, delta }]);
    if (block.thinking) events.push(["content_block_delta", { index, delta: { type: "signature_delta", signature: "s" } }]);
    events.push(["content_block_stop", { index }]);
  });
  events.push(["message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } }], ["message_stop", {}]);
  return events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`).join("");
}

// The agent delegates to the reporter; `handedBack` is where its answer is in what the host then sends.
async function run(name, thought, tool, start) {
  const reply = ["[one]", ...(thought ? [{ thinking: "hm" }] : []), "[two]"];
  const handedBack = [];
  const server = createServer(async (request, response) => {
    const text = await body(request);
    if (request.method !== "POST" || request.url.split("?")[0] !== "/v1/messages") return response.writeHead(404).end();
    const { model, system, messages, tools } = JSON.parse(text);
    const isReporter = JSON.stringify(system ?? "").includes("You are the reporter.");
    const last = JSON.stringify(messages.at(-1).content);
    if (!isReporter && /\[(one|two)\]/.test(last)) handedBack.push(["[one]", "[two]"].filter(part => last.includes(part)).join(" "));
    const delegates = !isReporter && tools?.length && !JSON.stringify(messages).includes("tool_result");
    const input = { description: "report", prompt: "Report.", subagent_type: "reporter" };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(streamed(model, delegates ? [{ name: tool, input }] : isReporter || tools?.length ? reply : ["title"]));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const home = join(process.env.HOME, `${tool}-${thought}`);
  const project = join(home, "project");
  mkdirSync(project, { recursive: true });
  const { program, words, environment, after } = start({ home, project, port: server.address().port });
  const host = spawn(program, words, {
    cwd: project,
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, ...environment },
  });
  const ended = once(host, "close");
  const output = await body(host.stdout);
  await ended;
  server.close();
  server.closeAllConnections();
  console.log(`${name}${thought ? ", with a thought between" : ""}: handed back ${handedBack}`);
  console.log(after(output));
}

function claude({ home, port }) {
  mkdirSync(join(home, ".claude", "agents"), { recursive: true });
  writeFileSync(join(home, ".claude", "agents", "reporter.md"), "---\nname: reporter\ndescription: Reports.\n---\nYou are the reporter.\n");
  const events = join(home, "events");
  writeFileSync(join(home, "hook.mjs"), `
import { appendFileSync, readFileSync } from "node:fs";
appendFileSync(process.argv[2], JSON.stringify(JSON.parse(readFileSync(0)).last_assistant_message) + "\\n");
`);
  const hooks = [{ hooks: [{ type: "command", command: `node ${join(home, "hook.mjs")} ${events}` }] }];
  writeFileSync(join(home, ".claude", "settings.json"), JSON.stringify({ hooks: { SubagentStop: hooks } }));
  return {
    program: join(process.cwd(), "node_modules/.bin/claude"),
    words: ["-p", "Delegate.", "--output-format", "json"],
    environment: { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: "scripted", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    after: output => `  the hook gets ${readFileSync(events, "utf8").trim()}, the result is ${JSON.parse(output).result}`,
  };
}

function opencode({ project, port }) {
  mkdirSync(join(project, ".opencode", "agents"), { recursive: true });
  writeFileSync(join(project, ".opencode", "agents", "reporter.md"), "---\ndescription: Reports.\nmode: subagent\n---\nYou are the reporter.\n");
  const model = { name: "Scripted", tool_call: true, limit: { context: 100000, output: 8000 } };
  const options = { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "scripted" };
  const provider = { scripted: { npm: "@ai-sdk/anthropic", name: "Scripted", options, models: { model } } };
  writeFileSync(join(project, "opencode.json"), JSON.stringify({
    model: "scripted/model", small_model: "scripted/model", enabled_providers: ["scripted"],
    autoupdate: false, share: "disabled", permission: { "*": "allow" }, provider,
  }));
  const off = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"];
  const texts = output => output.trim().split("\n").map(line => JSON.parse(line)).filter(event => event.type === "text");
  return {
    program: join(process.cwd(), "node_modules/.bin/opencode"),
    words: ["run", "--format", "json", "Delegate."],
    environment: { npm_config_fetch_retries: "0", ...Object.fromEntries(off.map(each => [`OPENCODE_DISABLE_${each}`, "1"])) },
    after: output => `  the events have ${texts(output).map(event => event.part.text).join(", ")}`,
  };
}

for (const thought of [false, true]) {
  await run("Claude Code", thought, "Agent", claude);
  await run("OpenCode", thought, "task", opencode);
}
JS

expect <<'TEXT'
Claude Code: handed back [two]
  the hook gets "[two]", the result is [two]
OpenCode: handed back [two]
  the events have [one], [two]
Claude Code, with a thought between: handed back [two]
  the hook gets "[two]", the result is [two]
OpenCode, with a thought between: handed back [two]
  the events have [one], [two]
TEXT
