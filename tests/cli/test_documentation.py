"""The examples of docs/cli.md are what the program says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import CASES, PROGRAM, run_command_on_terminal
from tests.repository import ROOT

EXAMPLE = re.compile(r"^(`{3,})console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)\1$", re.MULTILINE)
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
EXAMPLES = [(match["command"], match["output"]) for match in EXAMPLE.finditer(PAGE)]


def said_on_terminal(command: str, folder: Path) -> str:
    """Return what `command` says to a person, run among the cases; files it writes go to `folder`."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / "goop-mcp"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    for case in CASES.iterdir():
        (folder / case.name).symlink_to(case)
    shell = ["/bin/sh", "-c", f'PATH="{programs}:$PATH"; {command}']
    return run_command_on_terminal(shell, cwd=folder, env={"NO_COLOR": "1"}).out


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 5


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_output_of_an_example_is_real(command: str, output: str, tmp_path: Path) -> None:
    assert said_on_terminal(command, tmp_path) == output
