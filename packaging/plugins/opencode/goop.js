// goop-mcp plugin for OpenCode: an invalid report goes back to the agent that wrote it, before anybody acts on it.
// `goop-mcp install opencode` puts this file in place, `goop-mcp uninstall opencode` takes it away. Who owes a report
// and how often it is sent back stands in .goopspec/hooks.json, as for the other hosts.

import { spawn } from "node:child_process"

const MILLISECONDS = 30000
const MOST_REQUESTS = 8 // far above what a project may ask for: a fault of ours must not keep an agent busy for ever
const RESULT = /<task_result>\n?([\s\S]*?)\n?<\/task_result>/

export const GoopPlugin = async ({ client, directory }, options = {}) => {
  let command = options.command ?? ["goop-mcp"]
  const agents = new Map() // session -> the agent that works in it
  const briefs = new Map() // session and agent -> what the agent is told before it works
  const requests = new Map() // main session -> what it was asked since the person spoke last
  const told = new Set()

  const log = (message) => {
    if (told.has(message)) return
    told.add(message)
    client.app.log({ body: { service: "goop-mcp", level: "warn", message } }).catch(() => {})
  }

  // Whatever goes wrong here, the session goes on as if the plugin were not there.
  const answerTo = async (event) => {
    try {
      const { output, errors } = await run([...command, "hook", "opencode"], JSON.stringify({ cwd: directory, ...event }), directory)
      if (errors) log(errors)
      return output.trim() ? JSON.parse(output) : {}
    } catch (error) {
      log(`reports are not judged: ${error.message}`)
      return {}
    }
  }

  const ask = async (sessionID, agent, text) => {
    try {
      const parts = [{ type: "text", text }]
      const answer = await client.session.prompt({ path: { id: sessionID }, body: agent ? { agent, parts } : { parts } })
      return answer.data ? textOf(answer.data.parts) : ""
    } catch (error) {
      log(`a report could not be sent back: ${error.message}`)
      return ""
    }
  }

  // Returns the last words of a subagent, and what the orchestrator should know about them.
  const settle = async (event, agent, sessionID, reply) => {
    for (let asked = 0; asked < MOST_REQUESTS; asked++) {
      const answer = await answerTo({ ...event, stop_hook_active: asked > 0, last_assistant_message: reply })
      if (answer.decision !== "block") return { reply, note: answer.systemMessage }
      const next = await ask(sessionID, agent, answer.reason)
      if (!next) return { reply, note: "goop-mcp: the report is not accepted, and the agent did not answer any more." }
      reply = next
    }
    return { reply }
  }

  const settleMain = async (sessionID) => {
    if (await parentOf(sessionID)) return
    const messages = (await client.session.messages({ path: { id: sessionID } })).data ?? []
    const last = messages.at(-1)
    if (last?.info.role !== "assistant") return
    const sent = requests.get(sessionID) ?? new Set()
    const question = messages.filter((each) => each.info.role === "user" && !sent.has(textOf(each.parts))).at(-1)
    const agent = agents.get(sessionID)
    const answer = await answerTo({
      hook_event_name: "Stop",
      session_id: sessionID,
      prompt_id: question?.info.id,
      agent_type: agent,
      stop_hook_active: sent.has(textOf(messages.findLast((each) => each.info.role === "user")?.parts ?? [])),
      last_assistant_message: textOf(last.parts),
    })
    if (answer.systemMessage) log(answer.systemMessage)
    if (answer.decision !== "block") return
    requests.set(sessionID, sent.add(answer.reason))
    await ask(sessionID, agent, answer.reason)
  }

  const parentOf = async (sessionID) => (await client.session.get({ path: { id: sessionID } })).data?.parentID

  const briefFor = async (sessionID, agent) => {
    const name = (await parentOf(sessionID)) ? "SubagentStart" : "SessionStart"
    const answer = await answerTo({ hook_event_name: name, session_id: sessionID, agent_type: agent })
    return answer.hookSpecificOutput?.additionalContext
  }

  return {
    config: async (config) => {
      const server = config.mcp?.goop?.command
      if (!options.command && Array.isArray(server) && server.length) command = withoutServe(server)
    },

    "chat.message": async ({ sessionID, agent }) => {
      if (agent) agents.set(sessionID, agent)
    },

    "experimental.chat.system.transform": async ({ sessionID }, out) => {
      const agent = agents.get(sessionID)
      if (!agent) return
      const key = `${sessionID} ${agent}`
      if (!briefs.has(key)) briefs.set(key, await briefFor(sessionID, agent).catch(() => undefined))
      if (briefs.get(key)) out.system.push(briefs.get(key))
    },

    "tool.execute.after": async (call, out) => {
      const sessionID = out?.metadata?.sessionId
      const found = call.tool === "task" && typeof out.output === "string" ? RESULT.exec(out.output) : null
      if (!found || !sessionID) return
      const agent = call.args?.subagent_type
      const event = {
        hook_event_name: "SubagentStop",
        session_id: call.sessionID,
        prompt_id: call.callID,
        agent_id: sessionID,
        agent_type: agent,
      }
      const { reply, note } = await settle(event, agent, sessionID, found[1])
      const result = `<task_result>\n${reply}\n</task_result>${note ? `\n<goop_check>${note}</goop_check>` : ""}`
      out.output = out.output.replace(RESULT, () => result) // a function, because a reply may hold $&
    },

    event: async ({ event }) => {
      // Not awaited: OpenCode delivers its events one after the other, and the agent's answer consists of events.
      if (event.type === "session.idle") settleMain(event.properties.sessionID).catch((error) => log(error.message))
    },
  }
}

const textOf = (parts) => {
  const texts = parts.filter((part) => part.type === "text" && !part.synthetic)
  return texts.map((part) => part.text).join("\n")
}

// The server may be registered with arguments of its own; the hook has others.
const withoutServe = (command) => {
  const at = command.indexOf("serve")
  return at < 0 ? command : command.slice(0, at)
}

const run = ([program, ...args], input, directory) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: directory, stdio: ["pipe", "pipe", "pipe"], timeout: MILLISECONDS })
    let output = ""
    let errors = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (output += piece))
    child.stderr.setEncoding("utf8").on("data", (piece) => (errors += piece))
    child.stdin.on("error", () => {}) // a program that ends early is judged by its exit code
    child.on("error", reject)
    child.on("close", (code) => {
      if (code === 0) resolve({ output, errors: errors.trim() })
      else reject(new Error(`${program} ended with ${code ?? "a signal"}: ${errors.trim().slice(0, 500)}`))
    })
    child.stdin.end(input)
  })
