"""A complete report lists the files that the agent changed with its tools."""

import json
import re

import pytest

from goop_mcp import Expectations, validate
from goop_mcp.evidence import AgentActivity, ObservedCommand, ObservedFile
from goop_mcp.validation.samples import COMPLETE_REPLY

WITHOUT_FILES = re.sub(r"\s*<files>.*?</files>", "", COMPLETE_REPLY, flags=re.DOTALL)
assert WITHOUT_FILES != COMPLETE_REPLY


def found(
    *files: ObservedFile,
    reply: str = WITHOUT_FILES,
    root: str | None = "/project",
    commands: tuple[ObservedCommand, ...] = (),
    complete: bool = True,
) -> list[str]:
    """Return the messages about files that are not reported."""
    activity = AgentActivity(host="claude-code", complete=complete, files=files, commands=commands)
    verdict = validate(reply, evidence=activity, expected=Expectations(workspace=root))
    return [each.message for each in verdict.findings if each.rule == "evidence/file-not-reported"]


def wrote(path: str, *, ok: bool | None = True, current: bool = True) -> ObservedFile:
    return ObservedFile(position=5, path=path, action="written", ok=ok, current=current)


def test_a_report_without_any_file_names_those_that_the_agent_wrote() -> None:
    assert found(wrote("/project/src/a.py"), wrote("/project/src/b.py")) == [
        "the agent changed 'src/a.py'; expected it in the report",
        "the agent changed 'src/b.py'; expected it in the report",
    ]
    # Relative paths need no known folder, and a folder for tests may hold a project.
    assert len(found(wrote("src/a.py"), root=None)) == 1
    assert len(found(wrote("/var/project/src/a.py"), root="/var/project")) == 1


def test_other_protocols_that_list_files_are_read_as_well() -> None:
    factory = {
        "status": "success",
        "confidence": "high",
        "deliverables": [],
        "summary": "Built it",
        "next_action": "proceed",
    }
    assert len(found(wrote("src/a.py"), reply=json.dumps(factory))) == 1


@pytest.mark.parametrize(
    "file",
    [
        wrote("/var/notes.py"),
        wrote("/elsewhere/a.py"),
        wrote("../other/a.py"),
        wrote("/project/.goopspec/RESEARCH.md"),
        wrote("/project/.claude/plans/a.md"),
        wrote("/project/src/a.py", ok=False),
        wrote("/project/src/a.py", ok=None),
        wrote("/project/src/a.py", current=False),
        ObservedFile(position=5, path="/project/src/a.py", action="deleted"),
    ],
    ids=lambda file: f"{file.action} {file.path} {file.ok} {file.current}",
)
def test_what_is_no_change_of_the_project_is_not_named(file: ObservedFile) -> None:
    assert found(file) == []


@pytest.mark.parametrize("line", ["rm src/a.py", "git checkout -- .", "git stash", "mv src/a.py x"])
def test_what_a_later_line_may_have_taken_back_is_not_named(line: str) -> None:
    later = ObservedCommand(position=9, line=line, status=0)
    assert found(wrote("/project/src/a.py"), commands=(later,)) == []
    before = ObservedCommand(position=1, line=line, status=0)
    assert len(found(wrote("/project/src/a.py"), commands=(before,))) == 1


def test_a_report_that_is_not_complete_or_a_history_with_gaps_names_nothing() -> None:
    partial = WITHOUT_FILES.replace("<status>COMPLETE", "<status>PARTIAL")
    assert found(wrote("/project/src/a.py"), reply=partial) == []
    assert found(wrote("/project/src/a.py"), complete=False) == []
    assert found(wrote("/project/src/a.py"), root=None) == []
    assert found(wrote("/project/src/login.py"), reply=COMPLETE_REPLY) == []
