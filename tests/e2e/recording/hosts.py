"""Run one scene in a real client, and return the files that the client kept of the subagent."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.claude_code import claude_environment, hook_settings, write_json, write_project
from tests.e2e.clients import CLAUDE_CODE, CODEX, OPENCODE, Sandbox
from tests.e2e.codex import write_home
from tests.e2e.opencode import install, opencode_environment
from tests.e2e.opencode import write_project as write_opencode_project
from tests.e2e.recording.playing import play
from tests.e2e.recording.scenes import FILES
from tests.e2e.recording.steps import Scene
from tests.e2e.scripted_model import scripted_model

__all__ = ["prepare", "record"]

_LONGEST_RUN = 120
_TOOLS = ("Agent", "SendMessage", "Bash", "Write", "Edit", "Read", "mcp__goop__save_memory")
_SERVER_OF_CODEX = """\
[mcp_servers.goop]
command = "goop-mcp"
args = ["serve"]
startup_timeout_sec = 60
"""
_KEEP_SESSION = """\
import { writeFileSync } from "node:fs"
export const Keeper = async ({ client }) => ({
  "chat.message": async ({ sessionID }) => {
    const session = (await client.session.get({ path: { id: sessionID } })).data
    if (session?.parentID) writeFileSync(process.env.KEPT_SESSION, sessionID)
  },
})
"""


def record(scene: Scene, host: str, sandbox: Sandbox) -> tuple[str, str]:
    """Play `scene` in `host`, and return the transcript and the last message the host gave."""
    prepare(sandbox, scene)
    # The script decides what the agent reports, whatever is known about its work.
    write_json(sandbox.project / ".goopspec" / "hooks.json", {"evidence": "off"})

    recorders = {
        "claude-code": _record_claude_code,
        "codex": _record_codex,
        "opencode": _record_opencode,
    }
    return recorders[host](scene, sandbox)


def prepare(sandbox: Sandbox, scene: Scene) -> None:
    """Write the files of the scene, and a repository with a commit."""
    for name, text in {**FILES, **scene.files}.items():
        (sandbox.project / name).write_text(text, encoding="utf-8")

    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@example.com"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Start"],
    ):
        sandbox.run(["git", *words], environment={})


def _record_claude_code(scene: Scene, sandbox: Sandbox) -> tuple[str, str]:
    settings = hook_settings()
    event = sandbox.scratch / "event.json"
    keeper = sandbox.programs / "keep-event"
    keeper.write_text('#!/bin/sh\ncat > "$KEPT_EVENT"\n', encoding="utf-8")
    keeper.chmod(0o755)

    hooks = settings["hooks"]
    assert isinstance(hooks, dict)
    if not scene.hooks:
        hooks.clear()
    kept = {"matcher": "goop-.*", "hooks": [{"type": "command", "command": "keep-event"}]}
    hooks.setdefault("SubagentStop", []).append(kept)

    write_project(sandbox, settings=settings)
    started = sandbox.run([sandbox.programs / "goop-mcp", "init"], environment={})
    assert started.code == 0, started.err

    tools = [tool for tool in _TOOLS if tool not in scene.denied]
    command: list[str | Path] = [
        CLAUDE_CODE.path,
        "-p",
        "GOOP-MAIN delegate",
        "--output-format",
        "stream-json",
    ]
    command += ["--verbose", "--allowedTools", *tools]
    _run(scene, sandbox, command, host="claude-code", event=event)

    found = sorted(sandbox.home.glob(".claude/projects/*/*/subagents/agent-*.jsonl"))
    assert len(found) == 1, found
    values = json.loads(event.read_text(encoding="utf-8")) if event.exists() else {}

    return found[0].read_text(encoding="utf-8"), values.get("last_assistant_message") or ""


def _record_opencode(scene: Scene, sandbox: Sandbox) -> tuple[str, str]:
    write_opencode_project(sandbox)
    settings = json.loads((sandbox.project / "opencode.json").read_text(encoding="utf-8"))
    settings["mcp"] = {"goop": {"type": "local", "command": ["goop-mcp", "serve"]}}
    write_json(sandbox.project / "opencode.json", settings)
    if scene.hooks:
        install(sandbox)
    plugins = sandbox.project / ".opencode" / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "keeper.js").write_text(_KEEP_SESSION, encoding="utf-8")
    started = sandbox.run([sandbox.programs / "goop-mcp", "init"], environment={})
    assert started.code == 0, started.err

    session = sandbox.scratch / "session"
    command: list[str | Path] = [OPENCODE.path, "run", "--format", "json", "GOOP-MAIN delegate"]
    _run(scene, sandbox, command, host="opencode", event=session)

    # The client ends before a pipe has taken a long session, so that it writes to a file.
    exported = sandbox.scratch / "exported.json"
    shell = f'exec "$0" export "$1" > "{exported}"'
    with scripted_model() as model:
        ended = sandbox.run(
            ["sh", "-c", shell, OPENCODE.path, session.read_text(encoding="utf-8")],
            environment={**opencode_environment(model), "KEPT_SESSION": str(session)},
        )

    assert ended.code == 0, ended.err
    text = exported.read_text(encoding="utf-8")
    value = json.loads(text[text.index("{") :])
    texts = [
        part["text"]
        for part in value["messages"][-1]["parts"]
        if part["type"] == "text" and value["messages"][-1]["info"]["role"] == "assistant"
    ]

    return json.dumps(value, ensure_ascii=False), "\n".join(texts)


def _record_codex(scene: Scene, sandbox: Sandbox) -> tuple[str, str]:
    started = sandbox.run([sandbox.programs / "goop-mcp", "init"], environment={})
    assert started.code == 0, started.err

    command: list[str | Path] = [CODEX.path, "exec", "--skip-git-repo-check", "--json"]
    command += ["--dangerously-bypass-hook-trust", "GOOP-MAIN delegate"]
    _run(scene, sandbox, command, host="codex", event=sandbox.scratch / "unused")

    rollouts = [
        file.read_text(encoding="utf-8")
        for file in sandbox.home.glob(".codex/sessions/**/rollout-*.jsonl")
    ]
    (text,) = [each for each in rollouts if '"thread_source":"subagent"' in each]
    ended = [line for line in text.splitlines() if '"task_complete"' in line]
    last = json.loads(ended[-1])["payload"].get("last_agent_message") if ended else ""

    return text, last or ""


def _run(
    scene: Scene, sandbox: Sandbox, command: Sequence[str | Path], *, host: str, event: Path
) -> None:
    """Run the client until it ends, or until the scene has it killed."""
    reached = threading.Event()

    def killed() -> None:
        reached.set()
        time.sleep(_LONGEST_RUN)

    script = play(scene, project=str(sandbox.project), killed=killed)
    with scripted_model(script) as model:
        own: Mapping[str, str]
        if host == "claude-code":
            own = {**claude_environment(sandbox, model), "KEPT_EVENT": str(event)}
            if scene.compacted_at is not None:
                own = {**own, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
            if not scene.background:
                own = {**own, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
        elif host == "codex":
            # Its configuration names the address of the model.
            write_home(sandbox, model, command="goop-mcp hook codex" if scene.hooks else "true")
            with (sandbox.home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
                file.write(_SERVER_OF_CODEX)
            own = {"FAKE_KEY": "test-key"}
        else:
            own = {**opencode_environment(model), "KEPT_SESSION": str(event)}

        log = sandbox.scratch / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=sandbox.project,
                env=sandbox.environment(own),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            give_up = time.monotonic() + _LONGEST_RUN
            while process.poll() is None and not reached.wait(0.1):
                if time.monotonic() > give_up:
                    break

            if process.poll() is None:
                # Its whole group: the client starts helpers of its own.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

        if not reached.is_set() and process.returncode:
            raise AssertionError(log.read_text(encoding="utf-8")[-3000:])
