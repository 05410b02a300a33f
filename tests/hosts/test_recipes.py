"""The recipes of docs/frameworks.md that need no framework; tests/frameworks has the others."""

import asyncio
import re
from pathlib import Path

import pytest

from goop_mcp.hosts.frameworks.command_line import claude_code
from tests.frameworks.__main__ import ENVIRONMENTS
from tests.frameworks.recipes import PAGE, names_of
from tests.hosts.test_command_line import CLAUDE, calls, program
from tests.repository import ROOT
from tests.retry.agents import BAD_STATUS, GOOD


def test_the_recipe_for_a_loop_of_your_own_asks_until_the_report_is_accepted() -> None:
    heard: list[str] = []

    def conversation(message: str) -> str:
        heard.append(message)
        return BAD_STATUS if len(heard) == 1 else GOOD

    assert names_of("Your own loop")["work"](conversation, "Implement it.").accepted
    assert heard[0] == "Implement it."


def test_the_recipe_for_a_program_asks_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(program(tmp_path, CLAUDE)).rename(tmp_path / "claude")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert asyncio.run(names_of("A program")["work"](tmp_path)).accepted
    assert calls(tmp_path)[1]["words"] == [
        "-p",
        "--output-format",
        "json",
        "--resume",
        "s1",
        "--allowedTools",
        "Edit",
    ]
    assert claude_code().session is None


def test_every_recipe_is_run_by_a_test() -> None:
    headings = set(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) - {
        "A program",
        "Your own loop",
    }
    files = [
        file.read_text(encoding="utf-8")
        for file in (ROOT / "tests" / "frameworks").glob("test_*.py")
    ]
    assert {
        heading for heading in headings if any(f'names_of("{heading}"' in text for text in files)
    } == headings


def test_every_test_of_a_framework_has_its_environment() -> None:
    files = {
        file.stem.removeprefix("test_")
        for file in (ROOT / "tests" / "frameworks").glob("test_*.py")
    }
    assert {name for each in ENVIRONMENTS for name in each.tests} == files
