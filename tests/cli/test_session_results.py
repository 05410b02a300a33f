"""An orchestrator spawns sessions, gathers their results, and counts who uses requests."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.services.schemas import find_schema
from tests.cli.running import Ended, run
from tests.requirements import requirement

_jsonschema = import_module("jsonschema")

IDS = ["20260114-093000-login", "20260114-093100-logout", "20260114-093200-docs"]
RESULT: dict[str, Any] = {
    "status": "COMPLETE",
    "summary": "Added POST /login.",
    "deliverables": ["src/login.py", {"path": "tests/test_login.py"}],
    "errors": [],
    "recommendations": ["rate limits next"],
    "coverage": 0.93,
}
FIELDS = {
    "original_intent": "Let agents prove who they are",
    "current_task_summary": "Add POST /login",
    "task_details": "Tests first.",
    "deliverables": [{"kind": "file", "path": "src/login.py"}],
}


def spawn(project: Path, id: str, result: object = RESULT) -> Path:
    """Create a session as the command does, and end it as its agent does."""
    fields = json.dumps({**FIELDS, "session_id": id}).encode()
    ended = run("handoff", "agent-request", "--write", stdin=fields, cwd=project)
    assert ended.code == 0, ended.err
    folder = (project / ended.out.strip()).parent
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")

    return folder


def gathered(ended: Ended) -> dict[str, Any]:
    return {each["session"]: each for each in json.loads(ended.out)}


@requirement("H-67", "H-73")
def test_the_results_of_three_sessions_are_one_list(tmp_path: Path) -> None:
    for id in IDS:
        folder = spawn(tmp_path, id)
        assert sorted(path.name for path in folder.iterdir()) == [
            "output.log",
            "prompt.md",
            "result.json",
            "session.log",
            "state.json",
        ]

    ended = run("handoff", "results", cwd=tmp_path)

    assert (ended.code, ended.err) == (0, "")
    assert [each["session"] for each in json.loads(ended.out)] == IDS
    assert gathered(ended)[IDS[0]]["result"] == RESULT
    assert gathered(ended)[IDS[0]]["status"] == "CREATED"


def test_the_sessions_of_a_report_are_gathered(tmp_path: Path) -> None:
    for id in IDS:
        spawn(tmp_path, id)

    report = f"Spawned {IDS[2]} and {IDS[0]}; both ended.".encode()
    ended = run("handoff", "results", "--named-in", "-", stdin=report, cwd=tmp_path)
    assert list(gathered(ended)) == [IDS[2], IDS[0]]
    none = run("handoff", "results", "--named-in", "-", stdin=b"no session", cwd=tmp_path)
    assert (none.code, json.loads(none.out)) == (0, [])


@requirement("H-67")
@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ({**RESULT, "status": ""}, "status is empty"),
        ({**RESULT, "summary": 3}, "summary is a number"),
        ({"status": "COMPLETE"}, "summary is missing"),
        ({**RESULT, "errors": "none"}, "errors is a text; expected a list"),
        ({**RESULT, "deliverables": ["a", 4]}, "entry 2 of deliverables is a number"),
        ({**RESULT, "recommendations": [None]}, "entry 1 of recommendations is null"),
    ],
)
def test_a_result_of_another_form_is_refused_as_by_the_schema(
    tmp_path: Path, result: object, problem: str
) -> None:
    schema = json.loads(run("schema", "result", cwd=tmp_path).out)
    assert schema == json.loads(find_schema("result", "1").text)
    validator = _jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(RESULT)
    assert not validator.is_valid(result)

    spawn(tmp_path, IDS[0])
    spawn(tmp_path, IDS[1], result)
    ended = run("handoff", "results", cwd=tmp_path)
    assert ended.code == 1
    assert problem in ended.err
    assert IDS[0] not in ended.err
    assert gathered(ended)[IDS[1]]["result"] == result


def test_a_missing_result_is_an_error_of_its_session_only(tmp_path: Path) -> None:
    spawn(tmp_path, IDS[0])
    (spawn(tmp_path, IDS[1]) / "result.json").unlink()
    ended = run("handoff", "results", *IDS[:2], cwd=tmp_path)

    assert ended.code == 1
    assert ended.err == f"{IDS[1]}: result.json is missing in session {IDS[1]}\n" or (
        "result.json" in ended.err and IDS[0] not in ended.err
    )
    assert gathered(ended)[IDS[0]]["errors"] == []


@requirement("H-72", "H-55")
def test_adoption_is_counted_from_the_folders(tmp_path: Path) -> None:
    for id in IDS:
        folder = spawn(tmp_path, id)

    (folder / "prompt.md").write_text("Please write the docs.", encoding="utf-8")
    pilot = run("handoff", "adoption", "--phase", "pilot", cwd=tmp_path)
    assert pilot.code == 0
    assert pilot.out.startswith("XML handoff adoption: 66.67% (2 / 3)\n")
    assert "pilot is reached" in pilot.out
    expanded = run("handoff", "adoption", "--phase", "expanded", cwd=tmp_path)
    assert (expanded.code, "expanded is not reached" in expanded.out) == (1, True)


@requirement("H-14")
def test_all_attributes_of_a_session_can_be_written(tmp_path: Path) -> None:
    attributes: dict[str, Any] = {
        "priority": "high",
        "estimated_duration": "1h30m",
        "timeout": "2h",
        "max_retries": 2,
        "notify_on_completion": ["goop-planner", "goop-tester"],
        "depends_on": IDS[:2],
    }
    ended = run(
        "handoff",
        "agent-request",
        stdin=json.dumps({**FIELDS, **attributes}).encode(),
        cwd=tmp_path,
    )
    assert (ended.code, ended.err) == (0, "")
    assert (
        'priority="high" estimated_duration="1h30m" max_retries="2"'
        ' notify_on_completion="goop-planner,goop-tester"'
        f' depends_on="{IDS[0]},{IDS[1]}" timeout="2h"'
    ) in ended.out

    for name, value in {
        "timeout": "soon",
        "estimated_duration": 5,
        "max_retries": -1,
        "depends_on": ["a, b"],
        "notify_on_completion": "goop-planner",
    }.items():
        fields = json.dumps({**FIELDS, name: value}).encode()
        refused = run("handoff", "agent-request", stdin=fields, cwd=tmp_path)
        assert (refused.code, refused.out) == (1, "")
        assert name in refused.err


def test_a_session_that_nobody_created_is_one_line(tmp_path: Path) -> None:
    ended = run("handoff", "results", IDS[0], cwd=tmp_path)
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert f"there is no session {IDS[0]} below docs/.scratch/sessions" in ended.err


def test_a_session_that_nobody_created_is_not_archived(tmp_path: Path) -> None:
    ended = run("handoff", "archive", "nope", cwd=tmp_path)
    assert ended.code == 1
    assert ended.err == "goop-mcp: there is no session nope below docs/.scratch/sessions.\n"


def test_results_are_bounded_together_and_the_newest_are_read(tmp_path: Path) -> None:
    for id in IDS:
        spawn(tmp_path, id, {**RESULT, "summary": "x" * 5_000_000})

    found = gathered(run("handoff", "results", cwd=tmp_path))
    assert [found[id]["result"] is None for id in IDS] == [True, False, False]
    assert "ask for this session by its id" in found[IDS[0]]["errors"][0]
