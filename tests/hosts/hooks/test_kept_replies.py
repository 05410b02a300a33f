"""Hooks keep the last reply of each agent, so that it is recorded by the name of the agent."""

import json
import sys

import pytest
from mcp.client.stdio import StdioServerParameters

from goop_mcp.context import AppContext
from goop_mcp.server import create_server
from goop_mcp.services.kept_replies import ReplyNotKeptError, last_reply
from goop_mcp.settings import Settings
from tests.hosts.hooks.hooks import BAD, Host
from tests.server.connections import PROTOCOL_MODES, connect, text_of
from tests.services.reporting import NOW, record, report, working_in

EVENT = "SubagentStop"
TIGER = "tiger-4711-xyz-tiger-4711"


def kept(host: Host, agent: str = "goop-executor") -> str | None:
    with AppContext(Settings(project=host.project)) as application:
        try:
            return last_reply(application.store, agent).text
        except ReplyNotKeptError:
            return None


@pytest.fixture
def project(host: Host) -> Host:
    """Return the host of a project that has a database and a report."""
    host.configure()
    with working_in(host.project) as context:
        record(context, report("W1.T1"))

    return host


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_kept_reply_is_recorded_by_the_name_of_its_agent(
    project: Host, protocol_mode: str
) -> None:
    text = f"Done as asked.\n\n{report('W1.T2', summary=f'Found it. api_key={TIGER}')}"
    assert project.send(
        EVENT, agent_type="goop-mcp:goop-executor", last_assistant_message=text
    ).passed

    with connect(create_server(Settings(project=project.project)), protocol_mode) as server:
        recorded = server.tool("record_report", agent="goop-executor", last=True)
        assert text_of(recorded).startswith("recorded as report 2 at revision 2\n")
        assert "This is the last reply of goop-executor, kept at 20" in text_of(recorded)
        assert TIGER not in text_of(recorded) + json.dumps(recorded.structured_content)
        again = server.tool("record_report", agent="goop-mcp:goop-executor", last=True)
        assert text_of(again).startswith("duplicate: the same report was recorded as report 2 ")

        for wrong, problem in (
            ({"agent": "goop-executor"}, "agent and last=true go together"),
            ({"last": True}, "agent and last=true go together"),
            ({"agent": "goop-executor", "last": True, "report": 1}, "report and agent are given"),
            (
                {"agent": "goop-tester", "last": True},
                "no reply of goop-tester is kept, only those of goop-executor: the hooks",
            ),
        ):
            for tool in ("record_report", "validate_report", "route_next_action"):
                refused = server.tool(tool, **wrong)
                assert refused.is_error
                assert problem in text_of(refused)

    assert TIGER.encode() not in (project.project / ".goopspec" / "goop.db").read_bytes()


def test_a_kept_reply_is_judged_and_routed_by_the_name_of_its_agent_over_stdio(
    project: Host,
) -> None:
    answers = {}
    for agent, text in (
        ("goop-executor", f"Done as asked.\n\n{report('W1.T2', summary='Found it.')}"),
        ("goop-tester", BAD),
    ):
        project.configure(ask_again=0)
        project.send(EVENT, agent_type=f"goop-mcp:{agent}", last_assistant_message=text)
        answers[agent] = text

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "goop_mcp", "serve"], cwd=project.project
    )
    with connect(command, "auto") as server:
        for tool in ("validate_report", "route_next_action"):
            for agent, text in answers.items():
                kept_one = server.tool(tool, agent=agent, last=True)
                assert not kept_one.is_error, text_of(kept_one)
                # As if the orchestrator had written the whole reply out again.
                retyped = server.tool(tool, text=text)
                assert text_of(kept_one) == text_of(retyped)
                assert kept_one.structured_content == retyped.structured_content

            # As models send them: a text for a boolean.
            assert server.tool(tool, agent="goop-executor", last="true").structured_content
        assert text_of(server.tool("validate_report", agent="goop-executor", last=True)).startswith(
            "accepted: goop_report 0.1.6, status COMPLETE, agent goop-executor, task_id W1.T2"
        )
        assert text_of(server.tool("validate_report", agent="goop-tester", last=True)).startswith(
            "rejected: "
        )


def test_what_a_hook_has_recorded_is_a_duplicate_with_its_number(host: Host) -> None:
    host.configure(record=True)
    text = f"Done.\n\n{report('W1.T1')}"
    assert host.send(EVENT, last_assistant_message=text).json == {}

    with connect(create_server(Settings(project=host.project)), "auto") as server:
        for given in ({"text": text}, {"agent": "goop-executor", "last": True}, {"report": 1}):
            again = server.tool("record_report", **given)
            assert text_of(again).startswith("duplicate: the same report was recorded as report 1 ")
            assert again.structured_content is not None
            assert again.structured_content["status"] == "duplicate"
            assert again.structured_content["written"]["report"] == 1


def test_the_last_reply_is_kept_also_when_it_is_sent_back_or_never_accepted(project: Host) -> None:
    project.configure(ask_again=1)
    assert not project.send(EVENT, last_assistant_message=BAD).passed
    assert kept(project) == BAD
    assert project.send(EVENT, last_assistant_message=f"{BAD}!", stop_hook_active=True).passed
    assert kept(project) == f"{BAD}!"

    first, second = report("W1.T2"), report("W1.T3")
    project.send(EVENT, last_assistant_message=second, agent_id="b")
    project.send(EVENT, last_assistant_message=first, agent_id="a")
    assert kept(project) == first
    project.send(EVENT, last_assistant_message=second, agent_id="b", prompt_id="another")
    assert kept(project) == second


def test_a_reply_is_kept_only_where_the_project_wants_it(host: Host) -> None:
    # No folder of ours, and one without a database of somebody else's checkout: none is created.
    host.send(EVENT, last_assistant_message=report())
    host.configure()
    host.send(EVENT, last_assistant_message=report())
    assert not (host.project / ".goopspec" / "goop.db").exists()

    with working_in(host.project) as context:
        record(context, report("W1.T1"), now=NOW)
    host.configure(keep_replies=False)
    host.send(EVENT, last_assistant_message=report())
    assert kept(host) is None
    host.configure(keep_replies="no")
    answer = host.send(EVENT, last_assistant_message=report())
    assert 'keep_replies is "no"; expected true or false' in answer.ended.err
    assert kept(host) == report()


def test_a_reply_that_cannot_be_kept_stops_no_agent(project: Host) -> None:
    text = f"{'x' * (2 * 1024 * 1024)}\n{report()}"
    answer = project.send(EVENT, last_assistant_message=text)
    assert kept(project) is None
    assert "the reply of the agent is not kept" in answer.ended.err

    assert project.send(EVENT, last_assistant_message=f"NUL \0, half \ud83d: {report()}").passed
    assert kept(project) == f"NUL \ufffd, half ?: {report()}"

    (project.project / ".goopspec" / "goop.db").write_bytes(b"this is no database" * 100)
    answer = project.send(EVENT, last_assistant_message=report())
    assert answer.passed
    assert "the reply of the agent is not kept" in answer.ended.err
