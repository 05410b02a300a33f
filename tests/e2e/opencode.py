"""OpenCode in a sandbox: its model, an agent, and how it is started."""

import base64
import json
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.clients import OPENCODE, Client, Ended, Sandbox
from tests.e2e.screen import ProgramOnScreen, on_screen
from tests.e2e.scripted_model import ScriptedModel

__all__ = [
    "HELPER",
    "Served",
    "delegate",
    "handed_back",
    "install",
    "opencode_environment",
    "opencode_on_screen",
    "run_opencode",
    "served",
    "write_project",
]

_PASSWORD = "only-for-this-run"  # noqa: S105 - of a server that lives for one test
_TIMEOUT = 300
_AGENTS = {
    "goop-executor": (
        "---\ndescription: Builds one task of the plan.\nmode: subagent\n---\nYou build one task.\n"
    ),
    "helper": "---\ndescription: Helps.\nmode: subagent\n---\nYou help.\n",
}
HELPER = "helper"
"""An agent that need not report."""
_PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "name": "Fake",
    "options": {"baseURL": "http://127.0.0.1:{env:FAKE_PORT}/v1", "apiKey": "test-key"},
    "models": {
        "fake-model": {
            "name": "Fake",
            "tool_call": True,
            "limit": {"context": 100000, "output": 8000},
        }
    },
}
_SETTINGS = {
    # OpenCode adds it where it is missing, which changes a file of the project.
    "$schema": "https://opencode.ai/config.json",
    "model": "fake/fake-model",
    "small_model": "fake/fake-model",
    "enabled_providers": ["fake"],
    "autoupdate": False,
    "share": "disabled",
    "permission": {"*": "allow"},
    "provider": {"fake": _PROVIDER},
}


def write_project(sandbox: Sandbox) -> None:
    """Write the model and two agents; goop-mcp is not registered yet."""
    (sandbox.project / "opencode.json").write_text(
        json.dumps(_SETTINGS, indent=2), encoding="utf-8"
    )
    agents = sandbox.project / ".opencode" / "agents"
    agents.mkdir(parents=True)
    for name, text in _AGENTS.items():
        (agents / f"{name}.md").write_text(text, encoding="utf-8")


def install(sandbox: Sandbox, host: str = "opencode") -> None:
    """Register goop-mcp as a user would."""
    ended = sandbox.run(
        [sandbox.programs / "goop-mcp", "install", host, "--command", "goop-mcp"], environment={}
    )
    assert ended.code == 0, ended.err


def opencode_environment(model: ScriptedModel) -> dict[str, str]:
    """Return the variables for OpenCode; with npm's retries an offline start takes a minute."""
    switches = (
        "AUTOUPDATE",
        "MODELS_FETCH",
        "LSP_DOWNLOAD",
        "DEFAULT_PLUGINS",
        "SHARE",
        "CLAUDE_CODE",
    )
    return {
        "FAKE_PORT": str(model.port),
        "npm_config_fetch_retries": "0",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in switches},
    }


def run_opencode(
    sandbox: Sandbox, model: ScriptedModel, *words: str, client: Client = OPENCODE
) -> Ended:
    """Run OpenCode with the arguments `words` until it ends."""
    # Without a network OpenCode ends while it still tries to install its dependencies, and leaves
    # their lock. The next run would wait for a minute until that is stale.
    shutil.rmtree(sandbox.home / ".local" / "state" / "opencode" / "locks", ignore_errors=True)

    return sandbox.run([client.path, *words], environment=opencode_environment(model))


@contextmanager
def opencode_on_screen(
    sandbox: Sandbox, model: ScriptedModel, prompt: str, *, rows: int = 50
) -> Iterator[ProgramOnScreen]:
    """Run OpenCode with `prompt` as a person does."""
    environment = sandbox.environment({**opencode_environment(model), "TERM": "xterm-256color"})
    command = [str(OPENCODE.path), "--prompt", prompt]
    with on_screen(command, cwd=sandbox.project, environment=environment, rows=rows) as program:
        yield program


def delegate(sandbox: Sandbox, model: ScriptedModel, prompt: str) -> Ended:
    """Send `prompt` to the main agent."""
    return run_opencode(sandbox, model, "run", "--format", "json", prompt)


def handed_back(model: ScriptedModel) -> str:
    """Return the result of the task tool as the main agent received it."""
    main = [
        each
        for each in model.conversations
        if "GOOP-MAIN" in each.first_text and each.has_called("task")
    ]
    return main[-1].text_of("tool")


@contextmanager
def served(sandbox: Sandbox, model: ScriptedModel) -> Iterator["Served"]:
    """Run `opencode serve` on a free port until the end of the context."""
    command = [str(OPENCODE.path), "serve", "--port", "0", "--hostname", "127.0.0.1"]
    environment = sandbox.environment(
        {**opencode_environment(model), "OPENCODE_SERVER_PASSWORD": _PASSWORD}
    )

    with subprocess.Popen(
        command,
        cwd=sandbox.project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Served(_address(process))
        finally:
            process.terminate()
            try:
                process.wait(_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()


@dataclass(frozen=True, slots=True)
class Served:
    """A running OpenCode server, spoken to over HTTP."""

    address: str

    def delegate(self, prompt: str) -> Ended:
        """Send `prompt` in a new session and wait for the answer, which is in `out`."""
        began = time.monotonic()
        session = self._ask("POST", "/session", {})["id"]
        words = {"agent": "build", "parts": [{"type": "text", "text": prompt}]}
        answer = self._ask("POST", f"/session/{session}/message", words)
        return Ended(0, json.dumps(answer), "", time.monotonic() - began)

    def run_command(self, name: str, words: str) -> Mapping[str, object]:
        """Run a command with `words` after it in a new session, and return the answer."""
        session = self._ask("POST", "/session", {})["id"]
        return self._ask(
            "POST", f"/session/{session}/command", {"command": name, "arguments": words}
        )

    def _ask(self, method: str, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        key = base64.b64encode(f"opencode:{_PASSWORD}".encode()).decode()
        # The address is that of the server started above.
        request = urllib.request.Request(  # noqa: S310
            f"{self.address}{path}",
            data=json.dumps(body).encode(),
            method=method,
            headers={"authorization": f"Basic {key}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
            value = json.load(response)

        assert isinstance(value, dict)

        return value


def _address(process: subprocess.Popen[str]) -> str:
    """Return where the server listens, which it prints when it does."""
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found:
            return found[0]

    raise AssertionError("opencode serve ended before it listened")
