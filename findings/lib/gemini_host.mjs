// Runs Gemini CLI with a model on the loopback, and a hook AfterAgent that keeps what it gets.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

// Denies a text of the agent as long as it does not hold the word that is its argument.
const HOOK = `
import { appendFileSync, readFileSync } from "node:fs";
const event = JSON.parse(readFileSync(0));
appendFileSync(process.argv[2], JSON.stringify(event) + "\\n");
const denied = !event.prompt_response.includes(process.argv[3] ?? "");
console.log(JSON.stringify(denied ? { decision: "deny", reason: "Correct it." } : {}));
`;

// Each answer of the model is a list of chunks of its stream, each a list of parts.
export async function run({ answers, wanted = "", format = "json" }) {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (!request.url.includes(":streamGenerateContent")) return response.writeHead(404).end();
    const chunks = answers[Math.min(requests++, answers.length - 1)];
    response.writeHead(200, { "content-type": "text/event-stream" });
    chunks.forEach((parts, index) => {
      const last = index === chunks.length - 1 ? { finishReason: "STOP" } : {};
      const data = { candidates: [{ index: 0, content: { role: "model", parts }, ...last }] };
      response.write(`data: ${JSON.stringify(data)}\r\n\r\n`);
    });
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  const home = mkdtempSync(join(process.env.HOME, "gemini-"));
  const [hook, events, project] = ["hook.mjs", "events", "project"].map(name => join(home, name));
  mkdirSync(join(home, ".gemini"));
  mkdirSync(project);
  writeFileSync(hook, HOOK);
  const command = ["node", hook, events, wanted].join(" ");
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" } },
    hooks: { AfterAgent: [{ hooks: [{ name: "keep", type: "command", command }] }] },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false },
  };
  writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(settings));

  const host = spawn("node_modules/.bin/gemini", ["-m", "gemini-2.5-flash", "-p", "Report.", "--output-format", format], {
    stdio: ["ignore", "pipe", "ignore"],
    env: {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: home,
      GEMINI_API_KEY: "scripted",
      GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${server.address().port}`,
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    },
  });
  const ended = once(host, "close");
  let output = "";
  for await (const part of host.stdout) output += part;
  const [code] = await ended;
  server.close();
  server.closeAllConnections();
  const lines = existsSync(events) ? readFileSync(events, "utf8").trim().split("\n") : [];
  return { code, requests, output, events: lines.map(line => JSON.parse(line)) };
}
