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
from tests.workspace.true_projects import make_project


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


NOTE = (
    "nothing was verified in the workspace: 1 file, 1 commit, 1 memory; expected"
    " check_workspace=true before the work counts as done"
)


@requirement("F-15")
@pytest.mark.parametrize("tool", ["validate_report", "route_next_action"])
def test_an_answer_says_once_in_text_and_structure_that_nothing_was_verified(
    tmp_path: Path, tool: str
) -> None:
    settings = Settings(project=tmp_path)
    with connect(create_server(settings), "auto") as connection:
        outside = connection.tool(tool, text=COMPLETE_REPLY)
        (tmp_path / ".goopspec").mkdir()
        inside = connection.tool(tool, text=COMPLETE_REPLY)
        of_factory = connection.tool(tool, text=FACTORY_REPLY)
        rejected = connection.tool(tool, text=COMPLETE_REPLY.replace("COMPLETE", "FINISHED"))

    assert "not checked" not in text_of(outside)
    assert "evidence/not-checked" not in json.dumps(outside.structured_content)
    lines = [line for line in text_of(inside).splitlines() if line.startswith("not checked: ")]
    assert lines == [f"not checked: {NOTE}"]
    content = json.dumps(inside.structured_content)
    assert (content.count("evidence/not-checked"), content.count(NOTE)) == (1, 1)
    assert json.dumps(of_factory.structured_content).count("evidence/not-checked") == 1
    assert "not checked" not in text_of(rejected)


@requirement("F-15")
@pytest.mark.parametrize("tool", ["validate_report", "route_next_action"])
def test_a_reply_without_claims_gets_no_such_line(tmp_path: Path, tool: str) -> None:
    (tmp_path / ".goopspec").mkdir()
    with connect(create_server(Settings(project=tmp_path)), "auto") as connection:
        answer = connection.tool(tool, text=NO_CLAIMS)

    assert "not checked" not in text_of(answer)
    assert "not-checked" not in json.dumps(answer.structured_content)


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
