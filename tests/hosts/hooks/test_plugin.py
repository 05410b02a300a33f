"""The plugin: every part is there, names agree everywhere, and it starts what is installed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from goop_mcp import __version__
from goop_mcp.hosts.hooks.answers import EVENTS
from goop_mcp.workflow.agents import KNOWN_AGENTS, PHASE_AGENTS
from tests.repository import ROOT

MARKETPLACE = ROOT / "packaging" / "plugins" / "claude-code"
PLUGIN = MARKETPLACE / "goop-mcp"
START = PLUGIN / "scripts" / "goop-mcp"
FRONT_MATTER = re.compile(
    r"---\nname: (?P<name>.+)\ndescription: .+\n---\n\n(?P<text>.+)", re.DOTALL
)
AGENTS = sorted((PLUGIN / "agents").glob("*.md"))
COMMANDS = sorted((PLUGIN / "commands").glob("*.md"))
# In YAML a colon or a number sign ends a text without quotation marks, and some characters have a
# meaning at its start.
YAML_LINE = re.compile(r"""[a-z-]+: ("[^"\\]+"|[^\s"'\[\]{},#&*!|>%@`?:-]((?!: | #).)*)""")
SHELL = shutil.which("sh") or "/bin/sh"


def read(path: Path) -> dict[str, object]:
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def test_the_version_is_that_of_the_package() -> None:
    assert read(PLUGIN / ".claude-plugin" / "plugin.json")["version"] == __version__


def test_every_event_that_the_hook_answers_is_sent_to_it() -> None:
    hooks = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert isinstance(hooks, dict)
    # That of tasks is off by default, and each event that is sent starts a process.
    assert set(hooks) == set(EVENTS) - {"TaskCompleted"}


def test_there_is_an_agent_for_each_role() -> None:
    assert {path.stem for path in AGENTS} == {
        agent for agents in PHASE_AGENTS.values() for agent in agents
    }


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_an_agent_has_the_name_of_its_file_and_knows_what_to_report(path: Path) -> None:
    agent = FRONT_MATTER.fullmatch(path.read_text(encoding="utf-8"))
    assert agent is not None
    assert agent["name"] == path.stem
    assert agent["name"] in KNOWN_AGENTS
    assert f"<agent>{path.stem}</agent>" in agent["text"]


@pytest.mark.parametrize("path", [*AGENTS, *COMMANDS], ids=lambda path: path.stem)
def test_front_matter_is_yaml_to_every_reader(path: Path) -> None:
    front_matter = path.read_text(encoding="utf-8").split("---\n")[1]
    assert [line for line in front_matter.splitlines() if not YAML_LINE.fullmatch(line)] == []


def start(*words: str, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run the plugin's script where only `programs` are on the path."""
    environment = {**os.environ, "PATH": str(programs)}
    command = [SHELL, str(START), *words]
    return subprocess.run(
        command, env=environment, check=False, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (["goop-mcp", "uvx", "pipx"], "goop-mcp: hook claude-code"),
        (["uvx", "pipx"], "uvx: goop-mcp=={version} hook claude-code"),
        (["pipx"], "pipx: run --spec goop-mcp=={version} goop-mcp hook claude-code"),
    ],
)
def test_the_script_starts_what_is_installed(
    there: list[str], expected: str, tmp_path: Path
) -> None:
    for name in there:
        (tmp_path / name).write_text(f'#!{SHELL}\necho "{name}: $*"\n', encoding="utf-8")
        (tmp_path / name).chmod(0o755)

    # What is fetched must have the version of the plugin.
    version = read(PLUGIN / ".claude-plugin" / "plugin.json")["version"]
    assert start("hook", "claude-code", programs=tmp_path).stdout.strip() == expected.format(
        version=version
    )


def test_without_any_program_a_hook_passes_and_the_server_fails(tmp_path: Path) -> None:
    hook, server = (
        start("hook", "claude-code", programs=tmp_path),
        start("serve", programs=tmp_path),
    )
    assert (hook.returncode, hook.stdout) == (0, "")
    assert server.returncode == 127
    assert "pip install goop-mcp" in hook.stderr
