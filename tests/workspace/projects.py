"""Whole project folders of tests/cases/workspace, copied to where a test may write."""

import shutil
from pathlib import Path

from goop_mcp.workspace.files import ProjectFiles
from tests.repository import ROOT

CASES = ROOT / "tests" / "cases" / "workspace"
NOW = "2026-01-20T08:00:00Z"


def copied(case: str, folder: Path) -> ProjectFiles:
    """Return the files of a copy of `case` in `folder`."""
    shutil.copytree(CASES / case, folder, dirs_exist_ok=True)
    return ProjectFiles(folder)


def text_of(case: str, name: str) -> str:
    """Return the text of a document of `case` with the line ends that it has."""
    return (CASES / case / ".goopspec" / name).read_bytes().decode()


def put_in_phase(folder: Path, phase: str) -> None:
    """Write the phase into the state.json of a new project, as if its work had led there."""
    state = folder / ".goopspec" / "state.json"
    before = state.read_text(encoding="utf-8")
    state.write_text(before.replace('"phase": "idle"', f'"phase": "{phase}"'), encoding="utf-8")


def as_it_is(text: str) -> str:
    """Redact nothing."""
    return text
