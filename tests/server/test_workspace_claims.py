"""A client that asks whether a report is true gets an answer from the project of the server."""

import sys
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from goop_mcp.server.models import VerdictModel
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
        rejected = connection.tool("validate_report", text=lies, check_workspace=True)

    assert VerdictModel.model_validate(accepted.structured_content).findings == []
    found = VerdictModel.model_validate(rejected.structured_content).findings
    assert [(finding.rule, finding.line) for finding in found] == [
        ("evidence/commit-not-found", 21),
        ("evidence/memory-not-found", 25),
    ]
    assert str(tmp_path) not in text_of(rejected)
