"""The commands of the workflow: each that a text names exists, and drives tools that exist."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from goop_mcp.context import AppContext
from goop_mcp.server.tools.registry import offered_tools
from goop_mcp.services.commands import COMMAND_MARK, command_file
from goop_mcp.services.prompts import command_names, render_prompt
from goop_mcp.settings import Settings
from goop_mcp.workflow.commands import KNOWN_COMMANDS
from tests.repository import ROOT
from tests.requirements import requirement

PLUGIN = ROOT / "packaging" / "plugins" / "claude-code" / "goop-mcp" / "commands"
NAMED = re.compile(r"(?<![\w./}-])/(?:goop-mcp:)?(goop-(?!mcp\b)[a-z]+(?:-[a-z]+)*)(?![\w-]*[/\[])")
CALL = re.compile(r"`([a-z]+_[a-z]+)\((\{[^`]*\})\)`")
WORDS = re.compile(r"`([a-z]+_[a-z_]+)[`(]")
MOST_WORDS = 240
NO_COMMAND = {"goop-deploy", "goop-command"}
"""The bad example of the rule about unknown commands, and a slot for one in templates."""


def texts() -> Iterator[tuple[Path, str]]:
    """Yield every text of ours that people or agents read, with its file."""
    for path in sorted((ROOT / "goop_mcp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value

    for folder in ("docs", "prompts", "packaging"):
        for path in sorted((ROOT / folder).rglob("*.md")):
            if path.name != "requirements.md":  # the words of the requirements, not ours
                yield path, path.read_text(encoding="utf-8")

    yield ROOT / "README.md", (ROOT / "README.md").read_text(encoding="utf-8")


@requirement("P-19")
def test_every_command_that_a_text_of_ours_names_exists() -> None:
    unknown = [
        f"{path.relative_to(ROOT)}: /{name}"
        for path, text in texts()
        for name in NAMED.findall(text)
        if name not in command_names() and name not in NO_COMMAND
    ]
    assert unknown == []


def test_every_command_of_the_packages_exists_as_reports_may_name_each() -> None:
    assert {f"/{name}" for name in command_names()} >= KNOWN_COMMANDS


@pytest.mark.parametrize("name", command_names())
def test_the_plugin_has_the_text_of_the_command(name: str) -> None:
    assert (PLUGIN / f"{name}.md").read_text(encoding="utf-8") == command_file(name, "plugin"), (
        "run make docs"
    )


def test_the_plugin_has_no_other_command() -> None:
    assert {path.stem for path in PLUGIN.glob("*.md")} == set(command_names())


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, object]]:
    """Return the arguments of each tool."""
    with AppContext(Settings(project=tmp_path_factory.mktemp("project"))) as application:
        tools = [each.tool for each in offered_tools(application)]

    return {tool.name: tool.parameters["properties"] for tool in tools}


@pytest.mark.parametrize("name", command_names())
def test_a_command_is_short_and_drives_tools_with_arguments_that_they_have(
    name: str, tools: Mapping[str, Mapping[str, object]]
) -> None:
    text = render_prompt(name, {})
    assert len(text.split()) <= MOST_WORDS

    calls = CALL.findall(text)
    assert calls or "`validate_report`" in text
    for tool, arguments in calls:
        assert json.loads(arguments).keys() <= tools[tool].keys(), f"{tool}({arguments})"
    for word in WORDS.findall(text):
        assert word in tools or word == "accept_with_issues", word


def test_the_forms_of_the_hosts_differ_only_around_the_text() -> None:
    claude, opencode, plugin = (
        command_file("goop-research", form) for form in ("claude-code", "opencode", "plugin")
    )
    text = render_prompt("goop-research", {"question": "$ARGUMENTS"})
    assert claude.endswith(f"---\n{text}")
    assert opencode.endswith(f"---\n{text}")
    assert plugin.endswith("---\n" + text.replace("/goop-plan", "/goop-mcp:goop-plan"))
    assert claude.splitlines()[1] == opencode.splitlines()[1] == COMMAND_MARK


def test_what_a_person_writes_after_a_command_is_data() -> None:
    text = render_prompt("goop-plan", {"wishes": "{{ 7 * 7 }} $ARGUMENTS"})
    assert "{{ 7 * 7 }} $ARGUMENTS" in text
