"""Hooks count rejected replies where the server counts them, if the project has a database."""

import json
import sys
from collections.abc import Iterator

import pytest

from goop_mcp.services.open_questions import open_questions
from goop_mcp.services.project_context import ProjectContext
from tests.cli.running import run_command
from tests.hosts.hooks.hooks import BAD, CASES, Host
from tests.services.reporting import record, report, working_in

EVENT = "SubagentStop"
WRONG = report(status="FINISHED")
WRONG_AGAIN = report(status="READY")
LIE = report().replace(
    "<files/>", '<files><file path="src/ghost.py" action="created">x</file></files>'
)

WRITERS = {
    "goop_mcp.services.project_context",
    "goop_mcp.services.project_snapshot",
    "goop_mcp.services.state_block",
    "goop_mcp.workspace.projections",
}


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


@pytest.mark.parametrize("recording", [False, True])
def test_what_a_hook_leaves_to_a_person_is_shown_at_once_and_other_refusals_write_no_file(
    host: Host, project: ProjectContext, recording: bool
) -> None:
    host.configure(record=recording)
    folder = host.project / ".goopspec"

    def shown() -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in folder.glob("*.md")}

    before = shown()
    assert not host.send(EVENT, last_assistant_message=LIE, prompt_id="1").passed
    assert shown() == before

    assert not host.send(EVENT, last_assistant_message=LIE, prompt_id="2").passed
    [question] = project.store.read(open_questions)
    assert question.key == "W2.T1"
    waiting = shown()["CHRONICLE.md"].decode().partition("**Waiting for a Person:**")[2]
    assert "goop-mcp project decide --task W2.T1" in waiting


@pytest.mark.usefixtures("project")
def test_a_hook_loads_nothing_that_writes_documents_where_nothing_is_asked(host: Host) -> None:
    event = json.loads((CASES / "SubagentStop.json").read_text(encoding="utf-8"))
    script = (
        "import sys; from goop_mcp.hosts.hooks.hook import main; main(['claude-code']);"
        " print(*sys.modules, file=sys.stderr)"
    )

    def loaded(number: int) -> set[str]:
        changes = {"cwd": str(host.project), "last_assistant_message": LIE}
        ended = run_command(
            [sys.executable, "-c", script],
            stdin=json.dumps({**event, **changes, "prompt_id": str(number)}).encode(),
            cwd=host.project,
            env={"CLAUDE_PROJECT_DIR": str(host.project), "CLAUDE_PLUGIN_DATA": str(host.data)},
        )
        assert ended.code == 0, ended.err
        return {each for each in ended.err.split() if each in WRITERS}

    assert loaded(1) == set()
    # The second false claim asks a person, and the document shows that.
    assert loaded(2) == WRITERS
