import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.openspec import OPENSPEC
from tests.repository import ROOT
from tests.services.reporting import report

PAGE = ROOT / "docs" / "gates.md"
LONGEST = 120
SPEC = """\
## ADDED Requirements

### Requirement: Login

The system SHALL let a person log in.

#### Scenario: Right password

- **WHEN** the password is right
- **THEN** the person is logged in
"""


def recipe(heading: str) -> str:
    """Return the script below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


class Machine:
    """A home with goop-mcp and OpenSpec on the path, and a project."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.home = folder / "programs", folder / "home"
        self.project = folder / "project"
        for each in (self.home, self.project):
            each.mkdir()

        start = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m goop_mcp "$@"'
        write_program(self.programs / "goop-mcp", f"#!/bin/sh\n{start}\n")
        openspec = OPENSPEC.file("@fission-ai/openspec", "bin/openspec.js")
        start = f'exec "{OPENSPEC.node}" "{openspec}" "$@"'
        write_program(self.programs / "openspec", f"#!/bin/sh\n{start}\n")

        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "config", "user.name", "A")
        self.run("git", "config", "user.email", "a@example.com")
        self.run("goop-mcp", "init")

    def run(self, *words: str | Path, code: int = 0) -> str:
        """Run a command in the project, and return what it printed."""
        ended = subprocess.run(
            [str(word) for word in words],
            cwd=self.project,
            env={
                "PATH": os.pathsep.join([str(self.programs), "/usr/bin", "/bin"]),
                "HOME": str(self.home),
                "LANG": "C.UTF-8",
                "OPENSPEC_TELEMETRY": "0",
                "CI": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
        shown = ended.stdout + ended.stderr
        assert ended.returncode == code, shown
        return shown

    def report(self, task: str, **parts: str) -> None:
        """Have the report of a task recorded, as a person does without a host."""
        file = self.home / "reply.md"
        file.write_text(report(task, phase="plan", **parts), encoding="utf-8")
        self.run("goop-mcp", "reports", "record", file)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_push_waits_for_the_reports_of_its_tasks(machine: Machine, tmp_path: Path) -> None:
    machine.run("git", "init", "-q", "--bare", tmp_path / "remote.git")
    machine.run("git", "remote", "add", "origin", tmp_path / "remote.git")
    hook = machine.project / ".git" / "hooks" / "pre-push"
    write_program(hook, recipe("git"))

    # Commits without a trailer are nobody's task.
    machine.run("git", "commit", "-q", "--allow-empty", "-m", "Start")
    machine.run("git", "push", "-q", "origin", "main")

    message = ("-m", "Add login", "-m", "Task: W1.T2")
    machine.run("git", "commit", "-q", "--allow-empty", *message)
    refused = machine.run("git", "push", "-q", "origin", "main", code=1)
    assert "W1.T2 has no accepted report in this round" in refused
    assert "goop-mcp reports record" in refused

    machine.report("W1.T2", status="PARTIAL")
    assert "is PARTIAL" in machine.run("git", "push", "-q", "origin", "main", code=1)
    machine.report("W1.T2")
    assert "W1.T2 is done" in machine.run("git", "push", "-q", "origin", "main")

    # A new branch holds the same commits, and one of another task.
    machine.run("git", "checkout", "-q", "-b", "next")
    machine.run("git", "commit", "-q", "--allow-empty", "-m", "Check", "-m", "Task: W1.T3")
    refused = machine.run("git", "push", "-q", "origin", "next", code=1)
    assert "W1.T3 has no" in refused
    assert "W1.T2" not in refused
    # To delete a branch pushes no commit.
    machine.report("W1.T3")
    machine.run("git", "push", "-q", "origin", "next")
    machine.run("git", "push", "-q", "origin", ":next")


def test_a_trailer_is_no_option_and_no_pattern(machine: Machine, tmp_path: Path) -> None:
    machine.run("git", "init", "-q", "--bare", tmp_path / "remote.git")
    machine.run("git", "remote", "add", "origin", tmp_path / "remote.git")
    write_program(machine.project / ".git" / "hooks" / "pre-push", recipe("git"))
    message = ("-m", "Add", "-m", "Task: --help\nTask: *\nTask: $(touch made)")
    machine.run("git", "commit", "-q", "--allow-empty", *message)

    refused = machine.run("git", "push", "-q", "origin", "main", code=1)
    for task in ("--help", "*", "$(touch"):
        assert f"{task} has no accepted report" in refused
    assert not machine.project.joinpath("made").exists()


def test_a_change_of_openspec_is_archived_with_its_report(machine: Machine) -> None:
    machine.run("openspec", "init", "--tools", "none", ".")
    change = machine.project / "openspec" / "changes" / "add-login"
    for name, text in {
        "proposal.md": "## Why\nPeople have to log in to see their own lists, and cannot yet.\n\n"
        "## What Changes\n- Add a login\n",
        "tasks.md": "## 1. Login\n- [x] 1.1 Add the endpoint\n",
        "specs/auth/spec.md": SPEC,
    }.items():
        (change / name).parent.mkdir(parents=True, exist_ok=True)
        (change / name).write_text(text, encoding="utf-8")

    archive = write_program(machine.programs / "archive-change", recipe("OpenSpec"))
    refused = machine.run(archive, "add-login", code=1)
    assert "add-login has no accepted report in this round" in refused
    assert change.is_dir()

    machine.report("add-login")
    machine.run(archive, "add-login")
    assert not change.exists()
    kept = list(machine.project.glob("openspec/changes/archive/*-add-login/proposal.md"))
    assert len(kept) == 1
    assert "log in" in machine.project.joinpath("openspec/specs/auth/spec.md").read_text("utf-8")

    # An agent chose the name.
    machine.report("--version")
    assert "not found" in machine.run(archive, "--version", code=1)
