"""Runs are seen and steered through MCP and the terminal by the same service."""

import pytest
from mcp.types import ElicitResult

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphTask
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.cli.running import Ended
from tests.cli.running import run as run_program
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run
from tests.server.connections import PROTOCOL_MODES, connect, stdio_server, text_of
from tests.server.test_asking import NOW, Person, status_of

GATED = Graph(
    name="gated",
    protocol="goop_report",
    agents=(GraphAgent("kim", run="person"),),
    tasks=(
        GraphTask("write", agent="kim", prompt="Write it."),
        GraphTask("publish", agent="kim", prompt="Publish it.", needs=("ship",)),
    ),
    gates=(GraphGate("ship", question="Ship it?", answers=("yes", "no")),),
)


@pytest.fixture
def run(place: Place) -> str:
    create_project(ProjectFiles(place.folder), name="Shop", now=NOW)
    return place.ledger.create(GATED, input={})


def where(place: Place) -> list[str]:
    """Return the options that name the database of `place`."""
    return [] if place.url is None else ["--database", place.url, "--project-id", "shop"]


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
@pytest.mark.parametrize(("choice", "follows"), [("yes", "input_required"), ("no", "skipped")])
def test_a_person_answers_a_gate_at_the_client(
    place: Place, run: str, mode: str, choice: str, follows: str
) -> None:
    person = Person(ElicitResult(action="accept", content={"choice": choice}))
    server = stdio_server(place.folder, *where(place))
    with connect(server, mode, elicitation=person) as client:
        done = client.tool("update_project", action="decide", run=run, task="ship", choice="yes")
        again = client.tool("update_project", action="decide", run=run, task="ship", choice="yes")

    # What the agent chose for the person does not count: the person was asked.
    assert person.asked[0].message == f"Run {run}, ship:\nShip it?"
    assert status_of(done) == "done"
    assert place.states(run)["publish"] == follows
    assert again.is_error
    assert "does not wait for an answer" in text_of(again)
    check_run(place.store, run)


def test_an_agent_alone_answers_no_gate(place: Place, run: str) -> None:
    server = stdio_server(place.folder, *where(place))
    with connect(server, PROTOCOL_MODES[0]) as client:
        waits = client.tool("update_project", action="decide", run=run, task="ship", choice="yes")
        gone = client.tool("update_project", action="decide", run="run-0", task="ship")
        shown = client.read(f"goop://runs/{run}").text
        listed = client.read("goop://runs").text

    assert status_of(waits) == "waiting"
    assert f"goop-mcp runs answer {run} ship yes|no" in text_of(waits)
    assert place.states(run)["ship"] == "input_required"
    assert gone.is_error
    assert "there is no run 'run-0'" in text_of(gone)
    assert "waiting for person" in shown
    assert f"`goop-mcp runs answer {run} ship yes|no`" in shown
    assert f"| {run} | gated |" in listed


@pytest.mark.parametrize("detail", ["short", "full"])
def test_the_status_shows_a_run_that_is_asked_for(place: Place, run: str, detail: str) -> None:
    server = stdio_server(place.folder, *where(place))
    with connect(server, PROTOCOL_MODES[0]) as client:
        status = client.tool("project_status", run=run, detail=detail)
        without = client.tool("project_status", detail=detail)
        gone = client.tool("project_status", run="run-0")
        unsteered = client.tool("update_project", action="decide", run=run)

    assert status.structured_content is not None
    shown = status.structured_content["run"]
    assert shown.strip() in text_of(status)
    assert f"`goop-mcp runs answer {run} ship yes|no`" in shown
    assert "Phase:" in text_of(status)
    assert run not in text_of(without)
    assert gone.is_error
    assert f"there is no run 'run-0'; known are {run}" in text_of(gone)
    assert "project_status with run shows what waits" in text_of(unsteered)


def finish(place: Place, id: str, reply: str) -> Ended:
    file = place.folder / "reply.md"
    file.write_text(reply, encoding="utf-8")
    return run_program("runs", "finish", id, "write", file, *where(place), cwd=place.folder)


def test_a_task_of_a_person_is_finished_with_a_report_that_is_judged(
    place: Place, run: str
) -> None:
    rejected = finish(place, run, report("DONE-ISH"))
    assert (rejected.code, place.states(run)["write"]) == (1, "input_required")
    assert "DONE-ISH" in rejected.err

    # Recorded at once: of a last task, no runner would do so later.
    accepted = finish(place, run, report())
    assert (accepted.code, accepted.out) == (0, "write: accepted\nrecorded as report 1\n")
    assert place.states(run)["write"] == "accepted"
    row = place.store.read(lambda reading: reading.graphs.task(run, "write"))
    assert row is not None
    assert row.report == 1
    check_run(place.store, run)

    again = finish(place, run, report())
    assert again.code != 0
    assert "nobody waits for its report" in again.err
