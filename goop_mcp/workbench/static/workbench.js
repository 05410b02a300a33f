// Everything works without this script. It shows changes as they come, keeps what is typed, shows
// times in the reader's zone, previews forms while they are edited, and sends the key of the login.
"use strict";
(() => {
  const page = document.documentElement.dataset, root = page.root;
  const stored = (action, storage = "sessionStorage") => { try { return action(window[storage]); } catch { return null; } };

  // Unlike cookies, what is stored for an origin reaches no other port: the first part of the
  // addresses, and the key without which nothing is confirmed.
  const kept = (action) => stored(action, "localStorage");
  const own = kept((s) => s.getItem("goop root"));
  if (page.key !== undefined) {
    const code = document.querySelector("noscript");
    if (kept((s) => { s.setItem("goop root", root); s.setItem("goop key " + root, page.key); return true; })) location.replace(root + "/");
    else if (code) code.insertAdjacentHTML("afterend", code.textContent);
  } else if (page.out !== undefined && own !== null) {
    // A bookmark, or the link of a colleague, leads to the same page of the own login.
    if (own !== root && !page.out) location.replace(own + location.pathname.slice(root.length).replace(/^\/(login|logout)$/, "/") + location.search);
    if (own === root) kept((s) => { s.removeItem("goop root"); s.removeItem("goop key " + root); });
  }
  document.addEventListener("formdata", (event) => {
    const value = kept((s) => s.getItem("goop key " + root));
    if (value && event.target.method === "post") event.formData.set("key", value);
  });

  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const zone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

  function times(root) {
    for (const each of $$("time[datetime]", root)) {
      const moment = new Date(each.dateTime);
      if (isNaN(moment)) continue;
      each.title = each.textContent;
      each.textContent = zone.format(moment);
    }
  }

  // What is typed into a form with data-keep survives a reload, a new login and a lost connection.
  const key = (form) => "goop " + location.pathname.slice(root.length) + " " + form.dataset.keep;
  const inputs = (form) =>
    [...form.elements].filter((e) => e.name && e.type !== "hidden" && e.type !== "file" && e.tagName !== "BUTTON");
  const value = (e) => (e.type === "checkbox" || e.type === "radio" ? e.checked : e.value);
  const initial = (e) =>
    e.type === "checkbox" || e.type === "radio"
      ? e.defaultChecked
      : e.tagName === "SELECT"
        ? ([...e.options].find((o) => o.defaultSelected) || e.options[0] || {}).value
        : e.defaultValue;
  const isDirty = (form) => inputs(form).some((e) => value(e) !== initial(e));

  function keep(form) {
    const kept = inputs(form).map((e) => [e.name, value(e)]);
    stored((s) => (isDirty(form) ? s.setItem(key(form), JSON.stringify(kept)) : s.removeItem(key(form))));
  }

  function restore(root) {
    for (const form of $$("form[data-keep]", root)) {
      const kept = JSON.parse(stored((s) => s.getItem(key(form))) || "null");
      if (!kept) continue;
      inputs(form).forEach((e, i) => {
        if (!kept[i] || kept[i][0] !== e.name) return;
        if (typeof kept[i][1] === "boolean") e.checked = kept[i][1];
        else e.value = kept[i][1];
      });
    }
  }

  for (const note of $$(".note[data-clears]")) {
    const used = note.dataset.clears;
    if (used) stored((s) => Object.keys(s).filter((k) => k.endsWith(" " + used)).forEach((k) => s.removeItem(k)));
  }

  // Parts with data-live are replaced by their newest version, unless somebody is typing in them, or
  // is about to press a button that would become another one.
  const isHeld = (form, next) =>
    isDirty(form) || (form.matches(":hover, :focus-within") && !$$("form", next).some((f) => f.isEqualNode(form)));
  function refresh(fresh) {
    for (const part of $$("[data-live]")) {
      const next = fresh.getElementById(part.id);
      if (!next || next.isEqualNode(part.plain || part)) continue;
      if ($$("form", part).some((form) => isHeld(form, next))) { offer(); continue; }
      const open = $$("details[open][id]", part).map((e) => e.id);
      const focus = part.contains(document.activeElement) && (document.activeElement.id || document.activeElement.getAttribute("href"));
      const shown = document.importNode(next, true);
      part.replaceWith(shown);
      shown.plain = next;
      for (const id of open) { const e = document.getElementById(id); if (e) e.open = true; }
      if (focus) { const e = document.getElementById(focus) || $$("a", shown).find((a) => a.getAttribute("href") === focus); if (e) e.focus(); }
      times(shown);
      restore(shown);
      shown.classList.add("fresh");
    }
  }

  function offer() {
    if (document.getElementById("newer")) return;
    const note = document.createElement("p");
    note.id = "newer";
    note.className = "note waiting";
    note.textContent = "There is something new. What you typed is kept: ";
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "load the page again";
    note.append(link);
    document.getElementById("notes").append(note);
  }

  const offline = document.getElementById("offline");
  function say(text) { offline.textContent = text; offline.hidden = !text; }

  let source = null, busy = false, again = false;
  async function load() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { "X-Live": "1" } });
      if (answer.status === 401) { say("Your login has ended. Reload the page to log in again; what you typed is kept."); stop(); }
      else if (answer.status >= 500) say("The database does not answer at the moment. What you see may be old.");
      else { say(""); refresh(new DOMParser().parseFromString(await answer.text(), "text/html")); }
    } catch { say("The server does not answer. What you see may be old; it is tried again."); }
    busy = false;
    if (again) { again = false; load(); }
  }

  function stop() { if (source) source.close(); source = null; }
  function start() {
    const stamp = document.documentElement.dataset.stamp;
    if (source || !stamp || !$$("[data-live]").length || document.hidden) return;
    source = new EventSource(root + "/live?stamp=" + encodeURIComponent(stamp));
    source.addEventListener("change", (event) => { document.documentElement.dataset.stamp = event.data; load(); });
    source.addEventListener("ended", () => { stop(); load(); });
    source.onerror = () => {
      say("The server does not answer. What you see may be old; it is tried again.");
      // A stream that was refused is not opened again by the browser.
      if (source && source.readyState === EventSource.CLOSED) { stop(); setTimeout(() => { load(); start(); }, 3000); }
    };
    source.onopen = () => say("");
  }
  // A browser allows six connections to one server: only the page in front keeps its own.
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));

  // Forms with data-preview are sent while they are edited, and fill the element that they name.
  const timers = new Map();
  function preview(form) {
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(async () => {
      const target = document.getElementById(form.dataset.target);
      const number = (form.asked = (form.asked || 0) + 1);
      try {
        const answer = await fetch(form.dataset.preview, { method: "POST", credentials: "same-origin", body: new URLSearchParams(new FormData(form)) });
        // Only the newest answer is shown, whichever comes last.
        if (number !== form.asked) return;
        const text = await answer.text();
        const fresh = new DOMParser().parseFromString(text, "text/html");
        if (answer.ok) { target.replaceChildren(...fresh.body.childNodes); times(target); say(""); }
        else say((fresh.querySelector("h1") || {}).textContent || "That did not work.");
      } catch { say("The server does not answer. What you typed is kept."); }
    }, 300));
  }

  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form) return;
    if (form.dataset.keep !== undefined) keep(form);
    if (form.dataset.preview) preview(form);
  });

  // A file that is dropped on a text field, or chosen next to it, becomes its text.
  async function read(file, field) {
    if (!file || file.size > 2 * 1024 * 1024) { say("A reply has at most 2 MiB."); return; }
    field.value = await file.text();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  document.addEventListener("dragover", (event) => { if (event.target.matches("textarea[data-drop]")) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    if (event.target.matches("textarea[data-drop]") && event.dataTransfer.files.length) { event.preventDefault(); read(event.dataTransfer.files[0], event.target); }
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("input[type=file][data-into]")) read(event.target.files[0], document.getElementById(event.target.dataset.into));
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy);
    try { await navigator.clipboard.writeText(text.value !== undefined ? text.value : text.textContent); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(text); }
  });

  for (const part of $$("[data-live]")) part.plain = part.cloneNode(true);
  for (const hidden of $$("[data-script]")) hidden.hidden = false;
  times(document);
  restore(document);
  for (const form of $$("form[data-preview]")) if (isDirty(form)) preview(form);
  start();
})();
