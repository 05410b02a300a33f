"""`hook_check`: what a hook of type mcp_tool asks the server that runs anyway."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.context import AppContext
from goop_mcp.server import create_server
from goop_mcp.services.project_context import Change
from goop_mcp.settings import Settings
from goop_mcp.store.statistics import StatisticsFilter
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.evidence.corrections import report
from tests.requirements import requirement
from tests.server.connections import PROTOCOL_MODES, Connection, connect, text_of
from tests.workspace.true_projects import make_project, write

BAD = "I did the work but forgot the envelope."


@pytest.fixture(params=PROTOCOL_MODES)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    with connect(
        create_server(Settings(project=tmp_path, hook_tool=True)), request.param
    ) as opened:
        yield opened


def answer_of(host: Connection, text: str, **values: str) -> dict[str, object]:
    arguments = {
        "event": "SubagentStop",
        "agent_id": "a",
        "agent_type": "goop-executor",
        "active": "false",
        **values,
    }
    result = host.tool("hook_check", text=text, **arguments)
    output = json.loads(text_of(result))
    assert isinstance(output, dict)

    return output


def test_a_bad_report_is_sent_back_once_and_then_passes_when_nothing_changes(
    host: Connection,
) -> None:
    assert answer_of(host, BAD)["decision"] == "block"
    again = answer_of(host, BAD, active="true")
    assert "sent the same reply again" in str(again["systemMessage"])


def test_an_agent_without_a_required_report_passes(host: Connection) -> None:
    assert answer_of(host, BAD, agent_type="Explore") == {}
    assert answer_of(host, "All done.", event="Stop", agent_type="", agent_id="") == {}


def test_the_tool_is_offered_only_on_request(tmp_path: Path) -> None:
    with connect(create_server(Settings(project=tmp_path)), "auto") as opened:
        assert "hook_check" not in opened.tools()


def test_the_tool_describes_all_it_takes_and_gives_and_owns_that_it_counts(
    host: Connection,
) -> None:
    tool = host.tools()["hook_check"]
    assert tool.annotations is not None
    assert tool.annotations.idempotent_hint is False
    answer = json.loads(host.read("goop://schemas/answers/hook_check").text)
    fields = [*tool.input_schema["properties"].items(), *answer["properties"].items()]
    assert [name for name, field in fields if not field.get("description")] == []


@requirement("F-15")
def test_a_false_claim_is_sent_back_in_a_project(host: Connection, tmp_path: Path) -> None:
    unverified = str(answer_of(host, COMPLETE_REPLY)["systemMessage"])
    assert "not verified: 4 of 4 claims, because there is neither a git repository" in unverified
    assert answer_of(host, COMPLETE_REPLY) == {}
    project = make_project(tmp_path)

    assert answer_of(host, project.reply) == {}
    ghost = project.reply.replace("src/login.py", "src/ghost.py")
    assert "'src/ghost.py' does not exist" in str(answer_of(host, ghost)["reason"])

    # It counts for a server that begins with it.
    write(tmp_path, ".goopspec/hooks.json", '{"check_workspace": false}')
    with connect(create_server(Settings(project=tmp_path, hook_tool=True)), "auto") as later:
        assert answer_of(later, ghost, prompt_id="b") == {}


def test_a_refused_report_is_counted_where_the_project_has_a_database(
    host: Connection, tmp_path: Path
) -> None:
    make_project(tmp_path)
    with AppContext(Settings(project=tmp_path)) as application:
        application.writing_context().write(lambda _: Change(answer=None), now="2026-01-20T09:00Z")
        write(tmp_path, ".goopspec/hooks.json", '{"record": true}')

        assert answer_of(host, BAD)["decision"] == "block"
        judged = application.store.read(lambda reading: reading.statistics(StatisticsFilter()))
    assert judged.replies.rejected == 1


def test_a_correction_is_compared_with_the_reply_that_was_sent_back(host: Connection) -> None:
    failed = report(status="FAILED", blockers="the key is missing")
    assert answer_of(host, failed)["decision"] == "block"
    answer = answer_of(host, report(), active="true")
    assert "decision" not in answer
    assert "the blocker 'the key is missing' of the first reply is gone" in str(
        answer["systemMessage"]
    )
    assert answer_of(host, report(), active="true") == {}
