"""The version of the program that ran: from its installer, without starting it."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from goop_mcp.recording.program_versions import version_of_program
from tests.recording.played import PYTEST, Player
from tests.recording.repositories import Work

PATH = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])}


@pytest.mark.parametrize(
    ("argv", "distribution"),
    [
        (("pytest", "-q"), "pytest"),
        ((sys.executable, "-m", "pytest"), "pytest"),
        ((sys.executable, "-m", "mypy.build"), "mypy"),
        (("lint-imports",), None),
        (("git", "status"), None),
        ((sys.executable, "-c", "pass"), None),
        ((sys.executable, "-m"), None),
        (("no-such-program",), None),
        (("",), None),
        ((), None),
    ],
)
def test_commands_of_python(
    argv: tuple[str, ...], distribution: str | None, tmp_path: Path
) -> None:
    expected = version(distribution) if distribution else ""
    assert version_of_program(argv, tmp_path, PATH) == expected


@pytest.mark.parametrize(
    ("package", "content", "expected"),
    [
        ("vitest", '{"version": "3.2.4"}', "3.2.4"),
        ("@scope/tool", '{"version": "1.0.0-rc.1"}', "1.0.0-rc.1"),
        ("vitest", '{"version": ["3"]}', ""),
        ("vitest", '["3.2.4"]', ""),
        ("vitest", "{", ""),
        ("vitest", '{"version": "\\u001b[31m3"}', ""),
        ("vitest", json.dumps({"version": "9" * 100}), ""),
        ("vitest", "[" * 100_000, ""),
    ],
)
def test_commands_of_npm(tmp_path: Path, package: str, content: str, expected: str) -> None:
    folder = tmp_path / "node_modules" / package
    (folder / "bin").mkdir(parents=True)
    (folder / "package.json").write_text(content, encoding="utf-8")
    program = folder / "bin" / "tool.mjs"
    program.write_text("#!/usr/bin/env node\n", encoding="utf-8")
    program.chmod(0o755)
    command = tmp_path / "node_modules" / ".bin" / "tool"
    command.parent.mkdir()
    command.symlink_to(program)
    assert version_of_program(("node_modules/.bin/tool",), tmp_path, PATH) == expected


def test_the_version_is_kept_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    player = Player(Work(tmp_path / "work"), tmp_path / "state")
    player.work.write("test_one.py", "def test_one():\n    pass\n")
    run, _ = player.record(*PYTEST)
    shown = json.loads(player.goop("evidence", "show", run, "--format", "json").stdout)
    assert (shown["program"], shown["program_version"]) == ("pytest", version("pytest"))
