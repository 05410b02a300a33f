"""The tools for the project as a whole, in both protocol versions and as a program."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters

from goop_mcp.server import create_server
from goop_mcp.server.models import HandoffModel, RecordedModel, StatusModel
from goop_mcp.settings import Settings
from goop_mcp.store.opening import open_store
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    check_against_schema,
    connect,
    text_of,
)
from tests.server.http.serving import environment
from tests.services.reporting import report, working_in
from tests.workspace.projects import copied
from tests.workspace.true_projects import make_project


@pytest.fixture(params=PROTOCOL_MODES)
def todo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """Connect to a server whose project is in the middle of its execution."""
    copied("profile_0x", tmp_path)
    with connect(create_server(Settings(project=tmp_path)), request.param) as opened:
        yield opened


def test_a_report_is_recorded_and_the_answer_says_what_was_written(
    todo: Connection, tmp_path: Path
) -> None:
    result = todo.tool(
        "record_report", text=report("W2.T1"), expected_agent="goop-executor", detail="full"
    )

    check_against_schema(result, todo.tools()["record_report"])
    recorded = RecordedModel.model_validate(result.structured_content)
    assert recorded.status == "recorded"
    assert recorded.written.chronicle is not None
    assert recorded.written.chronicle in (tmp_path / ".goopspec/CHRONICLE.md").read_text(
        encoding="utf-8"
    )
    assert recorded.written.state is not None
    assert text_of(result).splitlines()[:3] == [
        "recorded as report 1 at revision 1",
        "accepted: goop_report 0.1.6, status COMPLETE, agent goop-executor, task_id W2.T1",
        "written: .goopspec/CHRONICLE.md",
    ]
    assert "actions: save_state, continue_next" in text_of(result)

    again = todo.tool("record_report", text=report("W2.T1"), expected_agent="goop-executor")
    assert text_of(again).startswith(
        "duplicate: the same report was recorded as report 1 at revision 1; nothing was written"
    )


def test_a_rejected_report_is_an_answer_with_feedback_and_leaves_nothing(
    todo: Connection, tmp_path: Path
) -> None:
    result = todo.tool("record_report", text="I am done.")

    assert not result.is_error
    assert text_of(result).startswith(
        "rejected: no envelope; nothing was recorded\nactions: request_repair"
    )
    assert [each.name for each in tmp_path.rglob("*.md")].count("CHRONICLE.md") == 1
    with working_in(tmp_path) as project_context:
        assert project_context.store.read(lambda reading: reading.report_count()) == 0


def test_claims_are_verified_with_the_project_unless_that_is_switched_off(
    todo: Connection,
) -> None:
    lie = report().replace(
        "<files/>", '<files><file path="src/nothing.py" action="created">New</file></files>'
    )
    assert "evidence/file-not-found" in text_of(todo.tool("record_report", text=lie))
    assert text_of(todo.tool("record_report", text=lie, check_workspace=False)).startswith(
        "recorded as report 1 at revision 1"
    )


def test_a_reply_is_judged_and_recorded_by_its_file_or_the_number_of_its_report(
    todo: Connection, tmp_path: Path
) -> None:
    (tmp_path / "reply.md").write_text(f"Done.\n\n{report('W2.T1')}", encoding="utf-8")
    assert text_of(todo.tool("validate_report", file="reply.md")).startswith("accepted")
    assert text_of(todo.tool("record_report", file="reply.md")).startswith("recorded as report 1 ")
    assert "continue_next" in text_of(todo.tool("route_next_action", report=1))
    assert text_of(todo.tool("validate_report", report="1")).startswith("accepted")
    again = todo.tool("record_report", report=1)
    check_against_schema(again, todo.tools()["record_report"])
    assert text_of(again).startswith("duplicate: the same report was recorded as report 1 ")

    with closing(open_store(None, project=tmp_path)) as store:
        store.write(lambda writing: writing.retire_reports([1], reason="withdrawn"))

    gone = todo.tool("record_report", report=1)
    assert gone.is_error
    assert "report 1 does not count: it was withdrawn; nothing was recorded" in text_of(gone)
    assert text_of(todo.tool("validate_report", report=1)).startswith("accepted")

    for wrong, problem in (
        ({}, "no reply is named; expected exactly one of text, report, file, and agent"),
        ({"text": "a", "report": 1}, "text and report are given; expected exactly one of"),
        ({"report": 2}, "there is no report 2; goop-mcp reports list and goop://reports"),
        ({"file": "../reply.md"}, "leads out of the workspace"),
        ({"file": "replies.md"}, "there is no file 'replies.md' in the project"),
    ):
        for tool in ("validate_report", "route_next_action", "record_report"):
            refused = todo.tool(tool, **wrong)
            assert refused.is_error
            assert problem in text_of(refused)


def test_status_is_answered_and_fits_its_schema(todo: Connection, tmp_path: Path) -> None:
    todo.tool("record_report", text=report("W1.T1"))
    result = todo.tool("project_status")

    check_against_schema(result, todo.tools()["project_status"])
    status = StatusModel.model_validate(result.structured_content)
    assert (status.phase, status.progress.done_tasks, status.progress.total_tasks) == (
        "execute",
        1,
        6,
    )
    assert [gate.gate for gate in status.gates] == ["Discovery", "Spec", "Execution", "Acceptance"]
    assert text_of(result).startswith("## 🔮 GoopSpec · Status")
    assert str(tmp_path) not in text_of(result) + json.dumps(result.structured_content)


def test_a_session_handoff_is_built_and_with_write_stands_in_the_project(
    todo: Connection, tmp_path: Path
) -> None:
    todo.tool("record_report", text=report("W2.T1"))
    built = todo.tool("build_handoff", kind="session", warnings=["Mind the gap"])
    path = tmp_path / ".goopspec/HANDOFF.md"

    check_against_schema(built, todo.tools()["build_handoff"])
    handoff = HandoffModel.model_validate(built.structured_content)
    assert (handoff.kind, handoff.path, handoff.verdict.verdict) == (
        "session",
        ".goopspec/HANDOFF.md",
        "accepted",
    )
    assert handoff.text is not None
    assert "Mind the gap" in handoff.text
    assert handoff.text in text_of(built)
    assert not path.exists()

    written = todo.tool("build_handoff", kind="session", write=True)
    assert text_of(written).splitlines() == [
        "written: .goopspec/HANDOFF.md (revision 2)",
        "left out (detail=full has it): text",
    ]
    assert path.read_text(encoding="utf-8").startswith("# Session Handoff")


def test_an_error_of_the_database_is_reported_in_one_sentence(
    todo: Connection, tmp_path: Path
) -> None:
    (tmp_path / ".goopspec/goop.db").write_bytes(b"this is no database" * 100)
    result = todo.tool("record_report", text=report())

    assert result.is_error
    assert "goop.db" in text_of(result)
    assert str(tmp_path) not in text_of(result)
    assert (tmp_path / ".goopspec/goop.db").read_bytes() == b"this is no database" * 100


def test_fifty_reports_at_once_are_all_recorded(todo: Connection, tmp_path: Path) -> None:
    async def record_all() -> list[str]:
        answers: list[str] = []

        async def record_one(number: int) -> None:
            arguments = {"text": report(summary=f"Step {number}.")}
            answers.append(text_of(await todo.client.call_tool("record_report", arguments)))

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(record_one, number)

        return answers

    answers = todo.call(record_all)
    assert all(answer.startswith("recorded as report") for answer in answers)
    diary = (tmp_path / ".goopspec/CHRONICLE.md").read_text(encoding="utf-8")
    assert all(f"Step {number}.\n" in diary for number in range(50))


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_what_one_server_recorded_the_next_one_knows(tmp_path: Path, protocol_mode: str) -> None:
    project = make_project(tmp_path)
    project.store.close()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "goop_mcp", "serve", "--project", str(tmp_path)],
        env=environment(),
    )
    with connect(server, protocol_mode) as first:
        first.tool("record_report", text=project.reply)
        first.tool("build_handoff", kind="session", write=True)

    with connect(server, protocol_mode) as second:
        status = StatusModel.model_validate(second.tool("project_status").structured_content)
        again = second.tool("record_report", text=project.reply)

    assert (status.reports, status.progress.done_tasks) == (1, 1)
    assert text_of(again).startswith("duplicate")


def test_a_report_is_built_from_fields_accepted_and_recorded(todo: Connection) -> None:
    built = todo.tool(
        "build_report",
        status="COMPLETE",
        agent="goop-executor",
        phase="execute",
        task_id="W2.T1",
        summary="a < b && c holds now.",
        checks=[{"name": "tests", "passed": True, "evidence": "12 passed"}],
        next_action="Go on",
        fields={"wave": "2/3"},
    )
    check_against_schema(built, todo.tools()["build_report"])
    assert built.structured_content is not None
    text = built.structured_content["text"]
    assert text in text_of(built)
    assert text_of(built).startswith("valid goop_report; end your last message with it, unchanged")
    assert text_of(todo.tool("record_report", text=f"Done.\n\n{text}")).startswith("recorded as")

    for arguments, problem in (
        ({"status": "DONE"}, "status is 'DONE'; expected one of COMPLETE"),
        ({"fields": {"sumary": "x"}}, "no field of goop_report 'sumary'; did you mean 'summary'?"),
        ({"status": "PARTIAL", "fields": {"status": "PARTIAL"}}, "status is given twice"),
        ({"protocol": "factory", "status": "success", "agent": "x"}, "no field of factory 'agent'"),
    ):
        refused = todo.tool("build_report", **arguments)
        assert refused.is_error
        assert problem in text_of(refused)
