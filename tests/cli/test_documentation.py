"""The examples of docs/cli.md are the real output of the program."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import CASES, PROGRAM, run_command_on_terminal
from tests.repository import ROOT

EXAMPLE = re.compile(
    r"^(`{3,})console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)\1$", re.MULTILINE
)
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
# A reader types the examples of a section one after the other, in one project.
SECTIONS = {
    section.partition("\n")[0]: [
        (match["command"], match["output"]) for match in EXAMPLE.finditer(section)
    ]
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)
}


def output_on_terminal(command: str, folder: Path) -> str:
    """Return the output of `command` on a terminal, run among the cases in `folder`."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    program = programs / "goop-mcp"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    for case in CASES.iterdir():
        if not (folder / case.name).is_symlink():
            (folder / case.name).symlink_to(case)

    shell = ["/bin/sh", "-c", f'PATH="{programs}:$PATH"; {command}']

    return run_command_on_terminal(shell, cwd=folder, env={"NO_COLOR": "1"}).out


def test_there_are_examples() -> None:
    assert len(list(EXAMPLE.finditer(PAGE))) > 5


@pytest.mark.parametrize("section", [section for section, examples in SECTIONS.items() if examples])
def test_the_output_of_the_examples_is_real(section: str, tmp_path: Path) -> None:
    for command, output in SECTIONS[section]:
        assert output_on_terminal(command, tmp_path) == output, command


def test_the_example_of_a_search_finds_what_the_example_before_it_saved() -> None:
    (search,) = [output for command, output in SECTIONS["memory"] if "memory search" in command]

    assert "Use jose for tokens" in search
