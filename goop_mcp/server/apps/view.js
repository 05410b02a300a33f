"use strict";
// The messages between a view and its host (MCP Apps, io.modelcontextprotocol/ui): JSON-RPC by postMessage.
const host = (() => {
  const waiting = new Map(), heard = {};
  let last = 0;
  const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const ask = (method, params) => new Promise((resolve, reject) => {
    const id = ++last;
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
  const notify = (method, params = {}) => send({ method, params });
  function theme(context) {
    if (context && context.theme) document.documentElement.dataset.theme = context.theme;
  }
  addEventListener("message", (event) => {
    const message = event.data;
    if (event.source !== parent || !message || message.jsonrpc !== "2.0") return;
    if (message.method === undefined) {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (asked) message.error ? asked.reject(new Error(message.error.message)) : asked.resolve(message.result);
    } else if (message.method === "ui/notifications/host-context-changed") theme(message.params);
    else if (heard[message.method]) heard[message.method](message.params || {});
    else if (message.method === "ping" || message.method === "ui/resource-teardown") send({ id: message.id, result: {} });
  });
  async function start() {
    const answer = await ask("ui/initialize", {
      appInfo: { name: "goop-mcp", version: "1" }, appCapabilities: {}, protocolVersion: "2026-01-26",
    });
    theme(answer && answer.hostContext);
    notify("ui/notifications/initialized");
    const size = () => notify("ui/notifications/size-changed", { height: Math.ceil(document.documentElement.getBoundingClientRect().height) });
    new ResizeObserver(size).observe(document.body);
    size();
  }
  return { ask, start, on: (method, action) => { heard["ui/notifications/" + method] = action; } };
})();
// Everything that agents wrote becomes text, never markup. Invisible characters are shown as symbols.
const shown = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
  (mark) => "\u27e6U+" + mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e7");
function make(tag, text = "", kind = "", ...children) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(shown(text), ...children);
  return element;
}
const structure = (result) => result.structuredContent || {};
const plain = (result) => (result.content || []).filter((each) => each.type === "text").map((each) => each.text).join("\n");
