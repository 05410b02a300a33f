#!/usr/bin/env bash
# Software: @qwen-code/qwen-code 0.15.10, the newest that Node 20 runs
# Date: 2026-11-28
# Guess: the events Stop and SubagentStop are those of Claude Code, whose names and fields they have: `stop_hook_active` is
#        false until a hook has blocked, `agent_transcript_path` is a file of the subagent, and after a block `result` in the
#        output of `-p --output-format json` is the last reply.
# Seen: `stop_hook_active` of Stop is true in the first event already, in SubagentStop as guessed. The agent's transcript is
#       the file of the session. `result`, and the one assistant message before it, hold both replies without a space.
# Matters: a hook that follows the usual advice to leave when `stop_hook_active` is true never checks a reply here; who
#          reads `result` reads the blocked report first.
. "$(dirname "$0")/lib/finding.sh"
node_packages host @qwen-code/qwen-code@0.15.10

node_in host <<'JS'
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const home = process.env.HOME;
const [hook, events, project] = ["hook.mjs", "events", "project"].map(name => join(home, name));
mkdirSync(join(home, ".qwen", "agents"), { recursive: true });
mkdirSync(project);
writeFileSync(hook, `
import { appendFileSync, readFileSync } from "node:fs";
const event = JSON.parse(readFileSync(0));
appendFileSync(process.argv[2], JSON.stringify(event) + "\\n");
const blocked = event.last_assistant_message.includes("bad");
console.log(JSON.stringify(blocked ? { decision: "block", reason: "Correct it." } : {}));
`);
const hooks = [{ hooks: [{ type: "command", command: `node ${hook} ${events}` }] }];
writeFileSync(join(home, ".qwen", "settings.json"), JSON.stringify({
  security: { auth: { selectedType: "openai" } },
  hooks: { Stop: hooks, SubagentStop: hooks },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
}));
writeFileSync(join(home, ".qwen", "agents", "reporter.md"), "---\nname: reporter\ndescription: Reports.\n---\nYou are the reporter.\n");

// The agent delegates; each of both reports badly first.
const delegate = { index: 0, id: "call_1", type: "function", function: { name: "agent", arguments: JSON.stringify({ description: "report", prompt: "Report.", subagent_type: "reporter" }) } };
const answers = {
  reporter: [{ content: "[sub bad]" }, { content: "[sub good]" }],
  main: [{ tool_calls: [delegate] }, { content: "[main bad]" }, { content: "[main good]" }],
};
const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const { messages } = JSON.parse(body || "{}");
  const who = JSON.stringify(messages?.[0] ?? "").includes("You are the reporter.") ? "reporter" : "main";
  const delta = answers[who].shift() ?? { content: "[more]" };
  const chunk = choice => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, ...choice }] })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk({ delta: { role: "assistant", ...delta }, finish_reason: null }));
  response.end(chunk({ delta: {}, finish_reason: delta.tool_calls ? "tool_calls" : "stop" }) + "data: [DONE]\n\n");
}).listen(0, "127.0.0.1");
await once(server, "listening");

const host = spawn("node_modules/.bin/qwen", ["-p", "Delegate.", "-y", "--output-format", "json"], {
  stdio: ["ignore", "pipe", "ignore"],
  env: {
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: home,
    OPENAI_API_KEY: "scripted",
    OPENAI_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
    OPENAI_MODEL: "scripted",
  },
});
const ended = once(host, "close");
let output = "";
for await (const part of host.stdout) output += part;
const [code] = await ended;
server.close();
server.closeAllConnections();

for (const line of readFileSync(events, "utf8").trim().split("\n")) {
  const event = JSON.parse(line);
  console.log(`${event.hook_event_name}: ${event.last_assistant_message}, stop_hook_active ${event.stop_hook_active}`);
  if (event.agent_transcript_path) {
    const file = existsSync(event.agent_transcript_path) ? readFileSync(event.agent_transcript_path, "utf8") : "";
    console.log(`  file of the session ${event.agent_transcript_path === event.transcript_path}, holds the reply ${file.includes(event.last_assistant_message)}`);
  }
}
const messages = JSON.parse(output);
const texts = messages.filter(each => each.type === "assistant" && !each.parent_tool_use_id)
  .flatMap(each => each.message.content).filter(part => part.type === "text").map(part => part.text);
const { result, subtype } = messages.at(-1);
console.log(`exit code ${code}, ${subtype}: ${result}; messages ${JSON.stringify(texts)}`);
JS

expect <<'TEXT'
SubagentStop: [sub bad], stop_hook_active false
  file of the session true, holds the reply true
SubagentStop: [sub good], stop_hook_active true
  file of the session true, holds the reply true
Stop: [main bad], stop_hook_active true
Stop: [main good], stop_hook_active true
exit code 0, success: [main bad][main good]; messages ["[main bad][main good]"]
TEXT
