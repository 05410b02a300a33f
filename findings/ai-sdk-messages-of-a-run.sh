#!/usr/bin/env bash
# Software: ai 6.0.326 and 7.0.173 with @ai-sdk/openai-compatible of each, Node
# Date: 2026-11-27
# Guess: `response.messages` of generateText are the messages of all steps in both versions, and `toolCalls` those of the
#        last step; each call has its result in `toolResults`.
# Seen: version 7 has it the other way around: `response.messages` are those of the last step, `toolCalls` those of all.
#       All messages are now in `responseMessages`. A tool that threw has a call and no result in either version.
# Matters: a program that keeps histories with `response.messages`, as the guides of version 6 do, loses every call of a
#          tool when it updates, without an error; one that counts calls against results takes a failed one for open.
. "$(dirname "$0")/lib/finding.sh"
node_packages six ai@6.0.326 @ai-sdk/openai-compatible@2 zod@4
node_packages seven ai@7.0.173 @ai-sdk/openai-compatible@3 zod@4

for version in six seven; do
    node_in "$version" "$version" <<'JS'
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const call = (id, name) => ({ id, type: "function", function: { name, arguments: "{}" } });
const answers = [
  { role: "assistant", content: null, tool_calls: [call("1", "write"), call("2", "check")] },
  { role: "assistant", content: "Done." },
];
const fetch = async () => {
  const message = answers.shift();
  const choice = { index: 0, message, finish_reason: message.tool_calls ? "tool_calls" : "stop" };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return Response.json({ id: "c", object: "chat.completion", created: 1, model: "scripted", choices: [choice], usage });
};
const model = createOpenAICompatible({ name: "scripted", baseURL: "http://127.0.0.1/v1", fetch })("scripted");
const result = await generateText({
  model,
  prompt: "Write and check.",
  stopWhen: stepCountIs(5),
  tools: {
    write: tool({ inputSchema: z.object({}), execute: async () => "written" }),
    check: tool({ inputSchema: z.object({}), execute: async () => { throw new Error("1 failed"); } }),
  },
});
const roles = result.response.messages.map(each => each.role);
console.log(`${process.argv[2]}: steps ${result.steps.length}, response.messages ${JSON.stringify(roles)}`);
console.log(`  toolCalls ${result.toolCalls.length}, toolResults ${result.toolResults.length}`);
console.log(`  of the first step: toolCalls ${result.steps[0].toolCalls.length}, toolResults ${result.steps[0].toolResults.length}`);
JS
done

expect <<'TEXT'
six: steps 2, response.messages ["assistant","tool","assistant"]
  toolCalls 0, toolResults 0
  of the first step: toolCalls 2, toolResults 1
seven: steps 2, response.messages ["assistant"]
  toolCalls 2, toolResults 1
  of the first step: toolCalls 2, toolResults 1
TEXT
