"""Requirements of the seeds as a user meets them: by the tools of a server on a real project."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.server import create_server
from goop_mcp.settings import Settings
from tests.cli.running import run
from tests.repository import ROOT
from tests.requirements import requirement
from tests.server.connections import Connection, connect, text_of
from tests.services.reporting import report
from tests.workspace.projects import copied
from tests.workspace.true_projects import write

CASES = ROOT / "tests" / "cases" / "goop_report"
TASKS = ("W1.T1", "W1.T2", "W2.T1", "W2.T2", "W3.T1", "W3.T2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project in the middle of its execution, with three waves of two tasks."""
    copied("profile_0x", tmp_path)
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Iterator[Connection]:
    """Return a client of a server on the project."""
    with connect(create_server(Settings(project=folder)), "auto") as connection:
        yield connection


def structure(connection: Connection, tool: str, **arguments: str | bool) -> dict[str, object]:
    values = connection.tool(tool, **arguments).structured_content
    assert values is not None
    return dict(values)


def rule(answer: dict[str, object]) -> object:
    decision = answer.get("decision", answer)
    assert isinstance(decision, dict)
    return decision["rule"]


def planned(task: str) -> str:
    """Return the report of a finished task at its place in the plan."""
    wave, number = re.findall(r"\d", task)
    text = report(task, wave=wave)
    return text.replace('<task current="1"', f'<task current="{number}"')


@requirement("G-43")
def test_a_phase_other_than_that_of_the_project_is_reported_and_an_error_in_strict_mode(
    project: Connection, folder: Path
) -> None:
    other = report(phase="plan")
    recorded = project.tool("record_report", text=other)
    assert "state.json says phase execute, the last report plan" in text_of(recorded)

    for tool in ("validate_report", "route_next_action"):
        answer = json.dumps(structure(project, tool, text=other, check_workspace=True))
        assert "phase is 'plan'; expected 'execute', as phase of state.json says" in answer

    strict = structure(project, "record_report", text=report("W2.T2", phase="plan"), mode="strict")
    assert (strict["status"], rule(strict)) == ("rejected", "R4")
    reply = folder / "reply.md"
    reply.write_text(report("W2.T2", phase="plan"), encoding="utf-8")
    assert run("check", reply, "--workspace", "--strict", "--project", folder).code == 1
    assert run("check", reply, "--workspace", "--project", folder).code == 0


@requirement("G-47")
@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_complete_with_a_failed_check_goes_back_to_the_agent_and_is_no_finished_task(
    project: Connection, mode: str
) -> None:
    failed = report(passed="false")
    assert rule(structure(project, "route_next_action", text=failed, mode=mode)) == "G2"
    assert rule(structure(project, "record_report", text=failed, mode=mode)) == "G2"

    progress = structure(project, "project_status")["progress"]
    assert isinstance(progress, dict)
    assert progress["done_tasks"] == 0


@requirement("G-44", "G-47")
@pytest.mark.parametrize(("mode", "row"), [("lenient", "G2c"), ("strict", "R2")])
def test_a_check_without_a_result_goes_back_to_the_agent_and_is_no_finished_task(
    project: Connection, mode: str, row: str
) -> None:
    text = report(evidence="0 tests collected")
    assert rule(structure(project, "route_next_action", text=text, mode=mode)) == row
    assert rule(structure(project, "record_report", text=text, mode=mode)) == row

    progress = structure(project, "project_status")["progress"]
    assert isinstance(progress, dict)
    assert progress["done_tasks"] == 0


@requirement("G-50")
def test_the_planners_example_leaves_a_handoff_that_the_next_session_reads(
    tmp_path: Path,
) -> None:
    for name in ("SPEC.md", "BLUEPRINT.md"):
        write(tmp_path, f".goopspec/{name}", f"# {name}\n")
    text = (CASES / "016_planner_complete.xml").read_text(encoding="utf-8")

    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        answer = connection.tool("record_report", text=text)
        shown = connection.read("goop://project/HANDOFF.md").text
        resumed = connection.prompt("resume_session")

    assert text_of(answer).startswith("recorded as report 1")
    assert "actions: save_state, new_session" in text_of(answer)
    assert "written: .goopspec/HANDOFF.md" in text_of(answer)
    handoff = (tmp_path / ".goopspec" / "HANDOFF.md").read_text(encoding="utf-8")
    assert shown == handoff
    assert "/goop-specify" in handoff
    assert "/goop-specify" in resumed


@requirement("G-58")
def test_the_last_task_of_the_last_wave_leads_to_accept_and_all_counters_agree(
    project: Connection, folder: Path
) -> None:
    answers = [structure(project, "record_report", text=planned(task)) for task in TASKS]

    assert [rule(answer) for answer in answers] == ["G6"] * 5 + ["G5"]
    decision = answers[-1]["decision"]
    assert isinstance(decision, dict)
    assert (decision["next_agent"], decision["next_command"]) == ("goop-verifier", "/goop-accept")

    workflow = json.loads((folder / ".goopspec" / "state.json").read_text())["workflow"]
    assert (workflow["phase"], workflow["currentWave"], workflow["totalWaves"]) == ("accept", 3, 3)
    status = structure(project, "project_status")
    progress = status["progress"]
    assert isinstance(progress, dict)
    assert (status["phase"], progress["done_tasks"], progress["total_tasks"]) == ("accept", 6, 6)
    assert (progress["current_wave"], progress["total_waves"]) == (3, 3)
    # The plan of this project has a task without a must-have; all else agrees.
    assert set(re.findall(r"workflow/drift-\w+", json.dumps(status))) == {"workflow/drift-coverage"}


@requirement("G-58")
def test_a_last_task_with_others_open_does_not_leave_the_execution(
    project: Connection, folder: Path
) -> None:
    assert rule(structure(project, "record_report", text=planned("W3.T2"))) == "R9"
    workflow = json.loads((folder / ".goopspec" / "state.json").read_text())["workflow"]
    assert workflow["phase"] == "execute"


@requirement("P-05", "P-17")
def test_an_agent_reads_the_documents_in_their_order_by_prompt_and_command(
    project: Connection, folder: Path
) -> None:
    steps = (
        "state.json",
        "PROJECT_KNOWLEDGE_BASE.md",
        "search_memory",
        "SPEC.md",
        "CHRONICLE.md",
        "BLUEPRINT.md",
    )
    command = run("prompt", "start_task", "--project", folder)
    assert command.code == 0
    for text in (project.prompt("start_task"), command.out):
        assert sorted(steps, key=text.index) == list(steps)
        assert text.count("read-only for you") == 2


@requirement("P-17")
def test_findings_of_research_have_their_document(project: Connection) -> None:
    for given in ({"phase": "research"}, {"agent": "goop-researcher"}):
        assert "`.goopspec/RESEARCH.md`" in project.prompt("start_task", **given)

    assert "RESEARCH.md" not in project.prompt("start_task", phase="execute")
    # The planner writes the contract and the plan.
    assert "read-only" not in project.prompt("start_task", agent="goop-planner", phase="plan")


@requirement("P-15")
def test_the_seven_forms_of_documents_are_listed_and_can_be_read(project: Connection) -> None:
    names = ("blueprint", "chronicle", "handoff", "project", "requirements", "spec", "state")
    listed = {str(each.uri) for each in project.call(project.client.list_resources).resources}
    for name in names:
        assert f'name = "{name}"' in project.read(f"goop://templates/{name}").text
        assert f"goop://templates/{name}" in listed


@requirement("V-15")
def test_the_status_is_built_from_the_state(project: Connection, folder: Path) -> None:
    rows = (
        "**Project:** Todo API",
        "| Gate | Status |",
        "| Interview | ✓ Complete |",
        "| Spec Lock | 🔒 Locked |",
        "| Acceptance | ⏳ Pending |",
        "### Next Step",
    )
    command = run("status", "--project", folder)
    for text in (text_of(project.tool("project_status")), command.out):
        assert sorted(rows, key=text.index) == list(rows)
