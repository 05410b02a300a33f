"""Hooks count rejected replies where the server counts them, if the project has a database."""

from collections.abc import Iterator

import pytest

from goop_mcp.services.project_context import ProjectContext
from tests.hosts.hooks.hooks import BAD, Host
from tests.services.reporting import record, report, working_in

EVENT = "SubagentStop"
WRONG = report(status="FINISHED")
WRONG_AGAIN = report(status="READY")
LIE = report().replace(
    "<files/>", '<files><file path="src/ghost.py" action="created">x</file></files>'
)


@pytest.fixture
def project(host: Host) -> Iterator[ProjectContext]:
    """Return the project of the host, which has a database."""
    (host.project / ".goopspec").mkdir()
    with working_in(host.project) as project_context:
        record(project_context, report("W1.T1"))
        yield project_context


def rule(project: ProjectContext, text: str) -> str:
    return record(project, text, expected_agent="goop-executor").decision.rule


@pytest.mark.parametrize("recording", [False, True])
def test_what_a_hook_sent_back_is_not_sent_back_again(
    host: Host, project: ProjectContext, recording: bool
) -> None:
    host.configure(record=recording)
    assert not host.send(EVENT, last_assistant_message=WRONG).passed
    assert not host.send(EVENT, last_assistant_message=WRONG_AGAIN, stop_hook_active=True).passed
    assert host.send(EVENT, last_assistant_message=WRONG_AGAIN, stop_hook_active=True).passed

    assert rule(project, WRONG_AGAIN) == "R3"


def test_a_reply_is_one_event_for_the_hook_and_the_server(
    host: Host, project: ProjectContext
) -> None:
    for text, first in ((BAD, "R2"), (LIE, "R4")):
        assert not host.send(EVENT, last_assistant_message=text, prompt_id=first).passed
        assert rule(project, text) == first


def test_a_second_false_claim_after_the_first_one_in_a_hook_is_for_the_user(
    host: Host, project: ProjectContext
) -> None:
    assert not host.send(EVENT, last_assistant_message=LIE).passed
    assert rule(project, LIE.replace("ghost", "another")) == "R4b"


def test_partials_that_a_hook_records_are_counted(host: Host, project: ProjectContext) -> None:
    host.configure(record=True)
    for number in range(3):
        text = report(status="PARTIAL", summary=f"Part {number}.")
        assert host.send(EVENT, last_assistant_message=text, prompt_id=str(number)).passed

    assert rule(project, report(status="PARTIAL", summary="Part 4.")) == "G7c"


@pytest.mark.parametrize("recording", [False, True])
def test_a_hook_creates_no_database_to_count(host: Host, recording: bool) -> None:
    host.configure(record=recording)
    assert not host.send(EVENT).passed
    assert not (host.project / ".goopspec" / "goop.db").exists()
