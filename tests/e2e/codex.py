"""Codex in a sandbox: its model, an agent, our hooks, and how it is started."""

import json

from tests.e2e.clients import CODEX, Ended, Sandbox
from tests.e2e.scripted_model import ScriptedModel

__all__ = ["final_text", "handed_back", "hooks", "run_codex", "write_home"]

_EVENTS = ("SubagentStop", "Stop", "SubagentStart", "SessionStart")
_AGENT = """\
name = "goop-executor"
description = "Builds one task of the plan."
developer_instructions = "You build one task."
"""
_CONFIGURATION = """\
model = "fake"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[features]
enable_request_compression = false

[model_providers.fake]
name = "Fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
"""


def hooks(command: str = "goop-mcp hook codex") -> dict[str, object]:
    """Return the hooks as in the documentation."""
    group = {"hooks": [{"type": "command", "command": command, "timeout": 30}]}
    return {"hooks": {event: [group] for event in _EVENTS}}


def write_home(
    sandbox: Sandbox, model: ScriptedModel, *, command: str = "goop-mcp hook codex"
) -> None:
    """Write the model, an agent and the hooks to the user's folder of Codex."""
    folder = sandbox.home / ".codex"
    (folder / "agents").mkdir(parents=True)
    (folder / "config.toml").write_text(_CONFIGURATION.format(url=model.url), encoding="utf-8")
    (folder / "agents" / "goop-executor.toml").write_text(_AGENT, encoding="utf-8")
    (folder / "hooks.json").write_text(json.dumps(hooks(command)), encoding="utf-8")


def run_codex(sandbox: Sandbox, prompt: str) -> Ended:
    """Run Codex with `prompt` until it ends, with the hooks that a user would have to allow."""
    switches = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--json"]
    return sandbox.run(
        [CODEX.path, "exec", *switches, prompt], environment={"FAKE_KEY": "test-key"}
    )


def final_text(ended: Ended) -> str:
    """Return the final message to the user."""
    items = [item for line in ended.lines if isinstance(item := line.get("item"), dict)]
    return [str(item["text"]) for item in items if item.get("type") == "agent_message"][-1]


def handed_back(model: ScriptedModel) -> str:
    """Return the last messages of the subagents as the main agent received them."""
    main = [each for each in model.conversations if "GOOP-MAIN" in each.first_text]
    answer = json.loads(main[-1].text_of("tool").splitlines()[-1])
    return "\n".join(str(each.get("completed")) for each in answer["status"].values())
