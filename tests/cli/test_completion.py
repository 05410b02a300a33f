"""The shells complete what they are asked, with the lines that the page says to add."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from goop_mcp.cli import program
from goop_mcp.protocols import RULES
from tests.cli.shells import offered
from tests.documentation.pages import fences

SHELLS = ("bash", "zsh", "fish")
PROTOCOLS = {"goop_report", "agent_request", "speckit", "factory"}
EXPECTED = {
    "goop-mcp inst": {"install"},
    "goop-mcp check --watc": {"--watch"},
    "goop-mcp install ": {"claude-code", "opencode", "cursor", "vscode"},
    "goop-mcp install cursor vs": {"vscode"},
    "goop-mcp uninstall op": {"opencode"},
    "goop-mcp check --protocol ": PROTOCOLS,
    "goop-mcp prompt ": PROTOCOLS,
    "goop-mcp rules goop_report/unknown-st": {"goop_report/unknown-status"},
    "goop-mcp check --ignore goop_report/unknown-st": {"goop_report/unknown-status"},
    "goop-mcp check --select speck": {"speckit"},
    "goop-mcp rules ": set(RULES),
    "goop-mcp check re": {"replies/", "reply.md"},
    "goop-mcp check --transcript re": {"replies/", "reply.md"},
    "goop-mcp check --protocol=factory rep": {"replies/", "reply.md"},
    "goop-mcp run -- pytest re": {"replies/", "reply.md"},
    "goop-mcp backup re": {"replies/", "reply.md"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "replies").mkdir()
    (tmp_path / "reply.md").touch()
    return tmp_path


def lines_for(shell: str) -> str:
    (lines,) = fences("docs/cli.md", shell)
    return lines.text


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_with_the_lines_of_the_page(shell: str, folder: Path) -> None:
    found = offered(shell, lines_for(shell), EXPECTED, folder)
    missing = {typed: words - found[typed] for typed, words in EXPECTED.items()}
    assert {typed: words for typed, words in missing.items() if words} == {}


@pytest.mark.parametrize(
    ("shell", "value"),
    [
        ("bash", "goop_report"),
        ("zsh", "--protocol=goop_report"),
        ("fish", "--protocol=goop_report"),
    ],
)
def test_a_value_after_an_equals_sign_is_offered(shell: str, value: str, folder: Path) -> None:
    typed = "goop-mcp check --protocol=goo"
    assert offered(shell, lines_for(shell), [typed], folder)[typed] == {value}


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_wrong_already_is_offered_nothing_and_prints_nothing(
    shell: str, folder: Path
) -> None:
    typed = ["goop-mcp nosuch ", "goop-mcp memory nosuch "]
    assert offered(shell, lines_for(shell), typed, folder) == {each: set() for each in typed}


@pytest.mark.parametrize("shell", SHELLS)
def test_only_folders_are_offered_for_a_project(shell: str, folder: Path) -> None:
    typed = "goop-mcp check --project re"
    assert offered(shell, lines_for(shell), [typed], folder)[typed] == {"replies/"}


def commands_of(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands_of(command)
        else:
            yield command


def test_each_parameter_that_is_a_file_or_a_folder_is_completed() -> None:
    kinds = {}
    for command in commands_of(program):
        context = click.Context(command)
        for each in command.params:
            words = set((each.metavar or "").replace("…", "|").strip("[]").split("|"))
            if words & {"FILE", "DIR", "PATH", "FOLDER"}:
                (item,) = each.shell_complete(context, "x")
                kinds[command.name, each.name] = item.type
                assert (item.type == "dir") is (words == {"DIR"})

    assert len(kinds) > 60
