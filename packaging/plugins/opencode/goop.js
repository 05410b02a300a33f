// goop-mcp plugin for OpenCode: an invalid report goes back to the agent that wrote it, before anybody acts on it.
// `goop-mcp install opencode` adds this file, `goop-mcp uninstall opencode` removes it. As for the other hosts,
// .goopspec/hooks.json names the agents that must report, and how often a report is sent back.

import { spawn } from "node:child_process"

const MILLISECONDS = 30000
const MOST_REQUESTS = 8 // more than a project can configure, so that an error of ours cannot keep an agent busy forever
const MOST_PARENTS = 20
const MOST_CHARACTERS = 8_000_000 // of a session that is sent to goop-mcp; of a longer one its beginning is left out
const MOST_OF_A_TEXT = 20_000
const RESULT = /<task_result>\n?([\s\S]*)<\/task_result>/ // up to the last end: agents write about such marks

export const GoopPlugin = async ({ client, directory }, options = {}) => {
  let command = options.command ?? ["goop-mcp"]
  const agents = new Map() // session -> the agent that works in it
  const briefs = new Map() // session and agent -> what the agent receives before it works
  const requests = new Map() // main session -> our requests since the last message of the user
  const logged = new Set()

  const log = (message) => {
    if (logged.has(message)) return
    logged.add(message)
    client.app.log({ body: { service: "goop-mcp", level: "warn", message } }).catch(() => {})
  }

  // For the person: in the log, and where the terminal interface runs, on the screen.
  const showPerson = (message) => {
    if (!message || logged.has(message)) return
    log(message)
    client.tui?.showToast({ body: { message, variant: "warning" } }).catch(() => {})
  }

  // If anything fails here, the session continues as without the plugin.
  const answerTo = async (event) => {
    try {
      const root_session_id = await rootOf(event.agent_id ?? event.session_id)
      const { output, errors } = await run([...command, "hook", "opencode"], JSON.stringify({ cwd: directory, root_session_id, ...event }), directory)
      if (errors) log(errors)
      const answer = output.trim() ? JSON.parse(output) : {}
      showPerson(answer.systemMessage)
      return answer
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

  // Returns the last message of a subagent, and for the orchestrator a note or what the report led to.
  const settle = async (event, agent, sessionID, reply) => {
    const notes = [] // for the person, also those that came while the agent was asked again
    const ended = (more, next) => ({ reply, note: [...notes, more].filter(Boolean).join("\n"), next })
    for (let asked = 0; asked < MOST_REQUESTS; asked++) {
      const session = await workIn(sessionID)
      const answer = await answerTo({ ...event, stop_hook_active: asked > 0, last_assistant_message: reply, session })
      if (answer.decision !== "block") return ended(answer.systemMessage, answer.hookSpecificOutput?.additionalContext)
      notes.push(answer.systemMessage)
      const next = await ask(sessionID, agent, answer.reason)
      if (!next) return ended("goop-mcp: the report is not accepted, and the agent did not answer any more.")
      reply = next
    }
    return ended()
  }

  // What the agent did in its session, for goop-mcp to compare with its report; without it the report is judged alone.
  const workIn = async (sessionID) => {
    try {
      const info = (await client.session.get({ path: { id: sessionID } })).data
      const messages = (await client.session.messages({ path: { id: sessionID } })).data ?? []
      return workOf(info?.version, messages)
    } catch (error) {
      log(`the work of an agent cannot be read: ${error.message}`)
      return undefined
    }
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
      session: await workIn(sessionID),
    })
    if (answer.decision !== "block") return
    requests.set(sessionID, sent.add(answer.reason))
    await ask(sessionID, agent, answer.reason)
  }

  const parentOf = async (sessionID) => (await client.session.get({ path: { id: sessionID } })).data?.parentID

  // The session that a person began: a subagent has a session of its own, and so have those that it starts.
  const rootOf = async (sessionID) => {
    try {
      for (let left = MOST_PARENTS; left > 0; left--) {
        const parent = await parentOf(sessionID)
        if (!parent) return sessionID
        sessionID = parent
      }
    } catch (error) {
      log(`the session of an agent cannot be read: ${error.message}`)
    }
    return undefined
  }

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
      const { reply, note, next } = await settle(event, agent, sessionID, found[1].replace(/\n$/, ""))
      const lines = [`<task_result>\n${reply}\n</task_result>`, note && `<goop_check>${note}</goop_check>`, next]
      const result = lines.filter(Boolean).join("\n")
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

// The messages of a session with what shows the work of the agent: its commands, files and texts.
const workOf = (version, messages) => {
  const kept = []
  let left = MOST_CHARACTERS
  for (const message of messages.toReversed()) {
    const { role, finish, error } = message.info // what shows why the model stopped
    const shown = { info: { role, finish, error: error && { name: error.name } }, parts: message.parts.map(shorten).filter(Boolean) }
    left -= JSON.stringify(shown).length
    if (left < 0) break
    kept.unshift(shown)
  }
  return { info: { version }, messages: kept, cut: kept.length < messages.length }
}

const shorten = (part) => {
  // A report is compared with the last message, so that the text of messages stays whole.
  if (part.type === "text") return { type: "text", text: part.text, synthetic: part.synthetic }
  if (part.type === "patch") return { type: "patch", id: part.id, files: part.files.slice(0, 1000) }
  if (part.type === "compaction") return { type: "compaction" }
  if (part.type !== "tool") return undefined
  const { status, input = {}, output = "", error, metadata = {} } = part.state
  const whole = typeof output === "string" && output.length <= MOST_OF_A_TEXT
  return {
    type: "tool",
    tool: part.tool,
    callID: part.callID,
    state: {
      status,
      input: { command: start(input.command), filePath: start(input.filePath), title: start(input.title) },
      output: typeof output === "string" ? output.slice(-MOST_OF_A_TEXT) : "", // runners print their summary last
      error: start(error),
      metadata: { exit: metadata.exit, truncated: whole ? metadata.truncated : true },
    },
  }
}

const start = (text) => (typeof text === "string" ? text.slice(0, MOST_OF_A_TEXT) : undefined)

// The registered command may end with `serve` and its options, which the hook does not have.
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
