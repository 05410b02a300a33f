"""Claude Code in a sandbox: its settings, an agent, and how it is started."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.clients import CLAUDE_CODE, Client, Ended, Sandbox
from tests.e2e.screen import ProgramOnScreen, on_screen
from tests.e2e.scripted_model import ScriptedModel
from tests.repository import ROOT

__all__ = [
    "AGENT",
    "PLUGIN",
    "UPDATE_PROJECT",
    "claude_environment",
    "claude_on_screen",
    "converse",
    "final_text",
    "handed_back",
    "hook_settings",
    "run_claude",
    "run_plugin_command",
    "write_json",
    "write_project",
]

AGENT = (
    "---\nname: goop-executor\ndescription: Builds one task of the plan.\n---\nYou build one"
    " task.\n"
)
PLUGIN = ROOT / "packaging" / "plugins" / "claude-code" / "goop-mcp"
UPDATE_PROJECT = "mcp__goop__update_project"
_EVENTS = (
    "SubagentStop",
    "Stop",
    "SubagentStart",
    "SessionStart",
    "PostToolUse",
    "UserPromptSubmit",
)


def hook_settings(command: str = "goop-mcp", *, options: str = "") -> dict[str, object]:
    """Return project settings with our hook on every event that it answers."""
    line = f"{command} hook claude-code{options}"
    hook = {"type": "command", "command": line, "timeout": 30}
    return {
        "hooks": {event: [{"hooks": [hook]}] for event in _EVENTS},
        "enabledMcpjsonServers": ["goop"],
    }


def write_project(sandbox: Sandbox, *, settings: Mapping[str, object] | None) -> None:
    """Write the agent, the server's registration, and the settings if there are any."""
    agents = sandbox.project / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "goop-executor.md").write_text(AGENT, encoding="utf-8")
    write_json(
        sandbox.project / ".mcp.json",
        {"mcpServers": {"goop": {"command": "goop-mcp", "args": ["serve"]}}},
    )
    if settings is not None:
        write_json(sandbox.project / ".claude" / "settings.json", settings)


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write a JSON file and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")


def claude_environment(sandbox: Sandbox, model: ScriptedModel) -> dict[str, str]:
    """Return the variables with which Claude Code in the sandbox talks to `model` only."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "test-key",
        "CLAUDE_CODE_TMPDIR": str(sandbox.scratch),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def run_claude(
    sandbox: Sandbox,
    model: ScriptedModel,
    prompt: str,
    *,
    arguments: Sequence[str | Path] = (),
    background: bool = False,
    client: Client = CLAUDE_CODE,
) -> Ended:
    """Run Claude Code with `prompt` until it ends, with subagents in the foreground by default."""
    environment = claude_environment(sandbox, model)
    if not background:
        environment["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"

    tools = ["Agent", "mcp__goop__validate_report", "mcp__plugin_goop-mcp_goop__validate_report"]
    tools += [UPDATE_PROJECT, "mcp__goop__build_report", "mcp__goop__record_report"]
    tools += ["Bash", "Edit", "Read", "Write"]
    command: list[str | Path] = [
        client.path,
        "-p",
        prompt,
        "--output-format",
        "stream-json",
        "--verbose",
    ]

    return sandbox.run([*command, *arguments, "--allowedTools", *tools], environment=environment)


def converse(
    sandbox: Sandbox,
    model: ScriptedModel,
    prompts: Sequence[str],
    *,
    arguments: Sequence[str | Path] = (),
) -> Ended:
    """Send `prompts` one after the other in one session, in which our server may be used.

    Subagents run in the foreground.
    """
    messages = [{"type": "user", "message": {"role": "user", "content": each}} for each in prompts]
    forms = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    allowed = ["--allowedTools", "Agent", "Bash", "mcp__goop", "mcp__plugin_goop-mcp_goop"]

    return sandbox.run(
        [CLAUDE_CODE.path, "-p", *forms, *arguments, *allowed],
        environment={
            **claude_environment(sandbox, model),
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        },
        written="".join(json.dumps(each) + "\n" for each in messages),
    )


@contextmanager
def claude_on_screen(
    sandbox: Sandbox, model: ScriptedModel, prompt: str, *, rows: int = 50
) -> Iterator[ProgramOnScreen]:
    """Run Claude Code with `prompt` as a person does, in a project that the person trusts."""
    key = {"approved": ["test-key"], "rejected": []}
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    write_json(
        sandbox.home / ".claude.json",
        {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": key,
            "projects": {str(sandbox.project): trusted},
        },
    )
    environment = sandbox.environment(
        {**claude_environment(sandbox, model), "TERM": "xterm-256color"}
    )
    # Commands are allowed: the newest versions ask a service whether one is safe, older ones ask.
    rights = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(pytest:*)"]
    command = [str(CLAUDE_CODE.path), prompt, *rights]
    with on_screen(command, cwd=sandbox.project, environment=environment, rows=rows) as program:
        yield program


def run_plugin_command(sandbox: Sandbox, *words: str | Path) -> Ended:
    """Run `claude plugin` with `words`."""
    return sandbox.run([CLAUDE_CODE.path, "plugin", *words], environment={})


def final_text(ended: Ended) -> str:
    """Return the final message to the user."""
    results = [line for line in ended.lines if line.get("type") == "result"]
    assert results, ended.err or ended.out[-2000:]
    return str(results[-1].get("result"))


def handed_back(model: ScriptedModel) -> str:
    """Return all that the main agent received, with the report of its subagent."""
    main = [each for each in model.conversations if "GOOP-MAIN" in each.first_text]
    return main[-1].text_of("user", "system")
