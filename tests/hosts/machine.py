"""A user's home folder and a project on one machine, and `goop-mcp` as that user runs it."""

import io
import os
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from goop_mcp.cli import main
from tests.cli.running import Ended, run

__all__ = ["Machine", "make_machine"]

_UNSET = (
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "GOOP_PROJECT_DIR",
    "CLAUDE_PROJECT_DIR",
)
_UNSET_DATABASE = ("GOOP_DATABASE_URL", "GOOP_PROJECT_ID")


@dataclass(frozen=True, slots=True)
class Machine:
    """`home` and `project` are folders with blanks and letters beyond ASCII in their names."""

    home: Path
    project: Path

    def run(self, *arguments: str, path: str | None = None) -> Ended:
        """Run `goop-mcp` in the project; `path` replaces the PATH."""
        return run(*arguments, cwd=self.project, env=self.environment(path))

    def run_here(self, *arguments: str) -> Ended:
        """Do what `run` does, in this process, which is ten times faster."""
        out, err = (
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)
        )
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.project)
            for name, value in self.environment().items():
                patch.setenv(name, value)

            code = main(arguments)

        return Ended(code, *(stream.detach().getvalue().decode() for stream in (out, err)))

    def environment(self, path: str | None = None) -> Mapping[str, str]:
        """Return the variables that differ from the environment of the tests."""
        unset = dict.fromkeys([*_UNSET, *_UNSET_DATABASE], "")
        return {
            **unset,
            "HOME": str(self.home),
            "PATH": os.environ["PATH"] if path is None else path,
        }

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the project and create its folder; line ends are kept."""
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def files(self) -> dict[str, bytes]:
        """Return every file of project and home that a host may read, by its relative path."""
        found: dict[str, bytes] = {}
        for root in (self.project, self.home):
            for file in sorted(root.rglob("*")):
                if file.is_file() and ".local" not in file.parts:
                    found[file.relative_to(root.parent).as_posix()] = file.read_bytes()

        return found

    def folders(self) -> set[Path]:
        """Return every folder of the project."""
        return {folder for folder in self.project.rglob("*") if folder.is_dir()}


def make_machine(folder: Path) -> Machine:
    """Create an empty home and an empty project."""
    machine = Machine(folder / "home of Zoë", folder / "a project — проект")
    machine.home.mkdir()
    machine.project.mkdir()
    return machine
