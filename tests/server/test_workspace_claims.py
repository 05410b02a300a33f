"""A client that asks whether a report is true gets an answer from the project of the server."""

import json
import sys
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from goop_mcp.server import create_server
from goop_mcp.server.models import VerdictModel
from goop_mcp.settings import Settings
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.requirements import requirement
from tests.server.connections import PROTOCOL_MODES, connect, text_of
from tests.server.http.serving import environment
from tests.workspace.true_projects import git, make_project, write


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_true_report_is_accepted_and_each_false_claim_is_reported_by_its_line(
    tmp_path: Path, protocol_mode: str
) -> None:
    project = make_project(tmp_path)
    project.store.close()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "goop_mcp", "serve", "--project", str(tmp_path)],
        env=environment(),
    )
    lies = project.reply.replace(project.sha[:7], "deadbee").replace(
        ">Sessions are kept", ">Nothing is kept"
    )

    with connect(server, protocol_mode) as connection:
        accepted = connection.tool("validate_report", text=project.reply, check_workspace=True)
        rejected = connection.tool(
            "validate_report", text=lies, check_workspace=True, detail="full"
        )

    assert VerdictModel.model_validate(accepted.structured_content).findings == []
    found = VerdictModel.model_validate(rejected.structured_content).findings
    assert [(finding.rule, finding.line) for finding in found] == [
        ("evidence/commit-not-found", 21),
        ("evidence/memory-not-found", 25),
    ]
    assert str(tmp_path) not in text_of(rejected)


NOTE = "not verified: 4 of 4 claims, because nothing was compared with the project"


@requirement("F-15")
@pytest.mark.parametrize("tool", ["validate_report", "route_next_action"])
def test_an_answer_says_once_that_nothing_was_verified_and_not_as_a_finding(
    tmp_path: Path, tool: str
) -> None:
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        accepted = connection.tool(tool, text=COMPLETE_REPLY)
        of_factory = connection.tool(tool, text=FACTORY_REPLY)
        rejected = connection.tool(tool, text=COMPLETE_REPLY.replace("COMPLETE", "FINISHED"))

    assert text_of(accepted).count(f"{NOTE}; check_workspace=true verifies them") == 1
    content = accepted.structured_content or {}
    verdict = content if tool == "validate_report" else content["verdict"]
    why = "nothing was compared with the project"
    assert verdict["unverified"] == {"claims": 4, "of": 4, "why": why}
    assert verdict["findings"] == []
    assert "not verified: 1 of 1 claims" in text_of(of_factory)
    assert "not verified" not in text_of(rejected)


@requirement("F-15")
@pytest.mark.parametrize("tool", ["validate_report", "route_next_action"])
def test_a_reply_without_claims_gets_no_such_line(tmp_path: Path, tool: str) -> None:
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        answer = connection.tool(tool, text=NO_CLAIMS)

    assert "not verified" not in text_of(answer)
    assert "unverified" not in json.dumps(answer.structured_content)


@requirement("F-15")
def test_record_report_verifies_in_a_repository_without_our_folder_and_creates_none_before(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "--quiet")
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        lied = connection.tool("record_report", text=COMPLETE_REPLY)
        assert not (tmp_path / ".goopspec").exists()
        unverified = connection.tool("record_report", text=COMPLETE_REPLY, check_workspace=False)

    assert "evidence/file-not-found" in json.dumps(lied.structured_content)
    assert f"{NOTE}; check_workspace=true verifies them" in text_of(unverified)


@requirement("F-15")
def test_a_project_turns_record_report_off_and_the_answer_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write(tmp_path, "goop-mcp.toml", "[hooks]\ncheck_workspace = false\n")
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        recorded = connection.tool("record_report", text=COMPLETE_REPLY)

    assert "recorded as report 1" in text_of(recorded)
    assert "because check_workspace is false in the settings of the project" in text_of(recorded)
    assert "check_workspace=true verifies" not in text_of(recorded)


@requirement("F-15")
def test_an_agent_cannot_turn_record_report_off(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        write(tmp_path, "goop-mcp.toml", "[hooks]\ncheck_workspace = false\n")
        lied = connection.tool("record_report", text=COMPLETE_REPLY)

    assert "evidence/file-not-found" in json.dumps(lied.structured_content)
    assert "until a person trusts them: check_workspace = false" in text_of(lied)


NO_CLAIMS = """\
I cannot go on.

<goop_report version="0.1.6">
  <status>BLOCKED</status>
  <agent>goop-executor</agent>
  <state><phase>execute</phase></state>
  <summary>The key of the payment service is missing.</summary>
  <handoff>
    <ready>false</ready>
    <next_action agent="goop-orchestrator">Ask for the key</next_action>
    <blockers>The key of the payment service is missing</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""
