"""The command that a host's configuration receives."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp import __version__
from goop_mcp.hosts.launch import PythonEnvironment, find_launch, is_ours
from tests.cli.running import environment


def python_environment(
    prefix: Path, *, base: Path | None = None, on_path: Mapping[str, str] | None = None
) -> PythonEnvironment:
    """Return the environment of an interpreter; `base` is that of a virtual environment."""
    return PythonEnvironment(
        executable=prefix / "bin" / "python",
        prefix=prefix,
        base_prefix=base or prefix,
        which=(on_path or {}).get,
    )


def make_program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "goop-mcp"
    program.touch()
    return program


def test_a_temporary_environment_of_uvx_is_not_written_down(tmp_path: Path) -> None:
    prefix = tmp_path / "uv" / "archive-v0" / "x1"
    make_program(prefix / "bin")
    launch = find_launch(
        python_environment(prefix, base=tmp_path, on_path={"uvx": "/bin/uvx"}), portable=True
    )
    assert launch.words == ("uvx", "goop-mcp")
    assert "run by uvx" in launch.why


def test_a_temporary_environment_of_pipx_run_is_not_written_down(tmp_path: Path) -> None:
    prefix = tmp_path / "pipx" / ".cache" / "x1"
    launch = find_launch(
        python_environment(prefix, base=tmp_path, on_path={"pipx": "/bin/pipx"}), portable=True
    )
    assert launch.words == ("pipx", "run", "goop-mcp")


@pytest.mark.parametrize(("portable", "command"), [(True, "goop-mcp"), (False, "{link}")])
def test_a_permanent_program_is_named_for_a_team_and_given_by_path_for_a_user(
    tmp_path: Path, portable: bool, command: str
) -> None:
    program = make_program(tmp_path / "pipx" / "venvs" / "goop-mcp" / "bin")
    link = tmp_path / "bin" / "goop-mcp"
    link.parent.mkdir()
    link.symlink_to(program)
    python = python_environment(
        program.parent.parent, base=tmp_path, on_path={"goop-mcp": str(link)}
    )
    assert find_launch(python, portable=portable).words == (command.format(link=link),)


def test_the_program_of_an_active_environment_is_given_by_path(tmp_path: Path) -> None:
    program = make_program(tmp_path / "a project" / ".venv" / "bin")
    python = python_environment(
        program.parent.parent, base=tmp_path, on_path={"goop-mcp": str(program)}
    )
    launch = find_launch(python, portable=True)
    assert launch.words == (str(program),)
    assert "virtual environment" in launch.why


def test_a_program_of_another_installation_is_not_chosen(tmp_path: Path) -> None:
    other = make_program(tmp_path / "other" / "bin")
    mine = make_program(tmp_path / "mine" / "bin")
    python = python_environment(tmp_path / "mine", base=tmp_path, on_path={"goop-mcp": str(other)})
    assert find_launch(python, portable=True).words == (str(mine),)


def test_without_a_program_the_module_is_run(tmp_path: Path) -> None:
    launch = find_launch(python_environment(tmp_path), portable=True)
    assert launch.words == (str(tmp_path / "bin" / "python"), "-P", "-m", "goop_mcp")


def test_a_folder_of_our_name_in_the_project_is_not_run(tmp_path: Path) -> None:
    impostor = tmp_path / "goop_mcp" / "__main__.py"
    impostor.parent.mkdir()
    impostor.write_text("print('the impostor runs')", encoding="utf-8")
    python = replace(python_environment(tmp_path), executable=Path(sys.executable))
    launch = find_launch(python, portable=True)

    command = [*launch.words, "--version"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (0, f"goop-mcp {__version__}\n")


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("goop-mcp", True),
        ("/opt/x/bin/goop-mcp serve", True),
        ("C:\\tools\\goop-mcp.exe", True),
        ("uvx goop-mcp", True),
        ("uvx goop-mcp@0.1.0 serve", True),
        ("uvx --from goop-mcp[postgres] goop-mcp", True),
        ("pipx run goop-mcp", True),
        ("/usr/bin/python3 -m goop_mcp serve", True),
        ("/usr/bin/python3 -P -m goop_mcp serve", True),
        ("node goop-mcp", False),
        ("uvx other", False),
        ("python -m other", False),
        ("", False),
    ],
)
def test_commands_that_start_goop_mcp_are_recognised(command: str, ours: bool) -> None:
    assert is_ours(command.split()) is ours
