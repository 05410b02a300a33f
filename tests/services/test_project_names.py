"""Names that a project lists for its agents are legal in its reports, on every surface."""

import json
from pathlib import Path

import pytest

from goop_mcp import Expectations, Severity, validate
from goop_mcp.server import create_server
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.settings import Settings
from goop_mcp.workflow.agents import may_report_as
from tests.cli.running import run
from tests.requirements import requirement
from tests.server.connections import PROTOCOL_MODES, connect
from tests.services.reporting import record, report, working_in
from tests.validation.replies import rules_of

OWN = report().replace("<agent>goop-executor<", "<agent>code-reviewer<")
BAD_NAME = "goop_report/bad-agent-name"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that lists an agent of its own."""
    folder = tmp_path / ".goopspec"
    folder.mkdir()
    wishes = {"agents": ["goop-*", "code-reviewer", "qa-?"]}
    (folder / "hooks.json").write_text(json.dumps(wishes), encoding="utf-8")
    return tmp_path


@requirement("G-10")
def test_the_command_line_knows_the_names_of_the_project(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    reply = OWN.encode()

    assert BAD_NAME in run("check", stdin=reply, cwd=elsewhere).out
    assert run("check", "--project", str(project), stdin=reply, cwd=elsewhere).code == 0
    assert run("check", stdin=reply, cwd=project).code == 0
    assert run("check", "--workspace", stdin=reply, cwd=project).code == 0
    assert run("route", "-", "--project", str(project), stdin=reply, cwd=elsewhere).code == 0

    other = run(
        "check",
        "--project",
        str(project),
        "--agent",
        "code-reviewer",
        stdin=report().encode(),
        cwd=elsewhere,
    )
    assert "expected 'code-reviewer', which was invoked" in " ".join(other.out.split())


@requirement("G-10", "G-42")
def test_the_server_knows_the_names_of_the_project(project: Path) -> None:
    with connect(
        create_server(Settings(project=project, hook_tool=True)), PROTOCOL_MODES[0]
    ) as connection:
        for tool in ("validate_report", "route_next_action", "record_report"):
            arguments = {"text": OWN, "expected_agent": "code-reviewer"}
            result = connection.tool(tool, **arguments)
            content = result.structured_content
            assert content is not None
            assert (content if tool == "validate_report" else content["verdict"])[
                "verdict"
            ] == "accepted", tool

        event = {
            "event": "SubagentStop",
            "agent_id": "a",
            "active": "false",
            "agent_type": "code-reviewer",
        }
        assert connection.tool("hook_check", text=OWN, **event).structured_content == {}
        sent_back = connection.tool("hook_check", text=report(), **event).structured_content
        assert sent_back is not None
        assert "expected 'code-reviewer'" in sent_back["reason"]


def test_a_report_of_an_own_agent_is_recorded(project: Path) -> None:
    with working_in(project) as project_context:
        assert record(project_context, OWN, expected_agent="code-reviewer").status == "recorded"
        assert (
            record(project_context, report(), expected_agent="code-reviewer").status == "rejected"
        )


def test_names_count_in_their_project_only(project: Path) -> None:
    assert BAD_NAME in rules_of(validate(OWN), Severity.ERROR)
    assert check_workspace(OWN, project).accepted

    for stranger in ("reviewer", "code-reviewer-2", "qa-12", "my code-reviewer"):
        reply = OWN.replace("code-reviewer", stranger)
        assert BAD_NAME in rules_of(check_workspace(reply, project), Severity.ERROR), stranger

    assert check_workspace(OWN.replace("code-reviewer", "qa-1"), project).accepted


@pytest.mark.parametrize(
    "name", ["<your name>", "goop [type]", "two words", "", "a" * 300, "{agent}", "*"]
)
def test_a_pattern_for_everybody_makes_no_name_of_other_text(name: str) -> None:
    assert not may_report_as(name, ("*",))


def test_a_pattern_for_names_of_goopspec_makes_no_slip_a_name() -> None:
    for slip in ("goop-executor_high", "goop-Executor.low", "goop-", "goop-a--b"):
        assert not may_report_as(slip, ("goop-*", "*"))
    assert may_report_as("goop-executor_high", ("goop-executor_high",))
    assert may_report_as("goop-baker", ())


def test_what_the_caller_knows_is_kept(project: Path) -> None:
    known = expect_of_project(project, Expectations(agents=("baker",), profile="v1", agent="baker"))

    assert known.agents == ("baker", "goop-*", "code-reviewer", "qa-?")
    assert (known.profile, known.agent) == ("v1", "baker")


def test_patterns_are_a_tuple() -> None:
    with pytest.raises(TypeError, match="expected agents is list; expected tuple"):
        Expectations(agents=["baker"])  # type: ignore[arg-type]
