"""Runs are seen and steered through MCP and the terminal by the same service."""

import json
import os
import shlex
import sys
from dataclasses import replace

import pytest
from mcp.client import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, ErrorData
from pydantic import JsonValue

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphTask
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.cli.running import (
    Ended,
    interrupt_on_terminal,
    run_command,
    run_on_terminal,
    run_until_asked,
)
from tests.cli.running import run as run_program
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run
from tests.server.connections import PROTOCOL_MODES, connect, stdio_server, text_of
from tests.server.test_asking import NOW, Person, status_of

END_OF_INPUT = "\x04"
GATED = Graph(
    name="gated",
    protocol="goop_report",
    agents=(GraphAgent("kim", run="person"),),
    tasks=(
        GraphTask("write", agent="kim", prompt="Write it"),
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
    assert f"goop-mcp runs answer {run} ship 'yes|no'" in text_of(waits)
    assert place.states(run)["ship"] == "input_required"
    assert gone.is_error
    assert "there is no run 'run-0'" in text_of(gone)
    assert "waiting for person" in shown
    assert f"`goop-mcp runs answer {run} ship 'yes|no'`" in shown
    assert f"| {run} | gated |" in listed


def test_the_command_that_is_shown_gives_no_answer_when_it_is_pasted(
    place: Place, run: str
) -> None:
    words = ["status", "--project", str(place.folder), *where(place), "--format", "json"]
    command = json.loads(run_program(*words).out)["waiting"][0]["command"]
    options = shlex.join(["--project", str(place.folder), *where(place)])
    goop = shlex.join([sys.executable, "-m", "goop_mcp"])
    pasted = command.replace("goop-mcp runs answer", f"{goop} runs answer {options}")
    ended = run_command(["sh", "-c", pasted])

    assert ended.code != 0
    assert "expected one of yes, no" in ended.err
    assert place.states(run)["ship"] == "input_required"


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
    assert f"`goop-mcp runs answer {run} ship 'yes|no'`" in shown
    assert "Phase:" in text_of(status)
    assert without.structured_content is not None
    assert "run" not in without.structured_content
    assert gone.is_error
    assert f"there is no run 'run-0'; known are {run}" in text_of(gone)
    assert "project_status with run shows what waits" in text_of(unsteered)


def test_whoever_asks_what_waits_sees_the_gates_and_tasks_of_runs(place: Place, run: str) -> None:
    commands = [
        f"goop-mcp runs answer {run} ship 'yes|no'",
        f"goop-mcp runs finish {run} write REPORT_FILE",
    ]
    with connect(stdio_server(place.folder, *where(place)), PROTOCOL_MODES[0]) as client:
        asked = client.tool("project_status")
        whole = client.tool("project_status", detail="full")
    call = f'update_project(action="decide", run="{run}", task="ship", choice="…")'
    words = ["status", "--project", str(place.folder), *where(place)]
    shown = run_program(*words, "--exit-code")
    values = json.loads(run_program(*words, "--format", "json").out)

    assert asked.structured_content is not None
    assert asked.structured_content["waiting"][0]["call"] == call
    assert whole.structured_content is not None
    waiting = whole.structured_content["waiting"]
    assert waiting[0].pop("seconds") in range(600)
    assert waiting[0] == {
        "id": 0,
        "action": "decide",
        "summary": "Ship it?",
        "asked_by": f"run {run}",
        "asked_at": waiting[0]["asked_at"],
        "command": commands[0],
        "call": call,
    }
    assert [each["command"] for each in waiting] == commands
    assert [each["command"] for each in values["waiting"]] == commands
    assert shown.code == 3
    for text in (text_of(asked), shown.out):
        assert f"Ship it? Asked by run {run}" in text
        assert f"Write it. Asked by run {run}" in text
        assert f"run: {commands[1]}" in text
    assert f"call {call}" in text_of(asked)
    assert f"run: {commands[0]}" in shown.out

    # What is answered waits for nobody any more.
    for each in ("ship", "write"):
        place.ledger.answer(run, each, "no" if each == "ship" else "fail", by="Kim")
    done = run_program(*words, "--exit-code")
    assert done.code == 0
    assert run not in done.out


def decide(place: Place, id: str, *words: str) -> Ended:
    given = ("--run", id, *words, *where(place))
    return run_program("project", "decide", *given, cwd=place.folder)


def who_decided(place: Place, id: str) -> list[dict[str, str]]:
    events = place.store.read(lambda reading: reading.graphs.events(id, after=0))
    return [json.loads(each.data) for each in events if each.what == "decided"]


def confirm(place: Place, id: str, *words: str, typed: str = "y\n") -> Ended:
    given = ("--run", id, *words, *where(place))
    return run_on_terminal("project", "decide", *given, cwd=place.folder, typed=typed)


def answer(place: Place, id: str, *words: str, typed: str | None = None) -> Ended:
    """Run `runs answer` in a pipe, or on a terminal where somebody has typed."""
    given = ("runs", "answer", *where(place), id, *words)
    if typed is None:
        return run_program(*given, cwd=place.folder, stdin=b"y\ny\n")
    return run_on_terminal(*given, cwd=place.folder, typed=typed)


def allow_agents(place: Place) -> None:
    hooks = place.folder / ".goopspec" / "hooks.json"
    hooks.write_text('{"confirm_decisions": false}', encoding="utf-8")


def test_project_decide_answers_a_gate_of_a_run(place: Place, run: str) -> None:
    wrong = decide(place, run, "--task", "ship", "--choice", "perhaps")
    without = decide(place, run, "--task", "ship")
    assert (wrong.code, without.code) == (2, 2)
    assert "choice is 'perhaps'; expected one of yes, no, for 'Ship it?'" in wrong.err
    assert "choice is missing; expected one of yes, no" in without.err
    assert decide(place, run, "--choice", "yes").code == 2
    assert place.states(run)["ship"] == "input_required"

    done = confirm(place, run, "--task", "ship", "--choice", "yes", "--comment", "Go.")
    assert done.code == 0, done.out
    assert "ship: yes." in done.out
    assert place.states(run)["publish"] == "input_required"
    decided = who_decided(place, run)
    assert [(each["answer"], each["note"]) for each in decided] == [("yes", "Go.")]
    assert decided[0]["by"].startswith("terminal ")

    again = decide(place, run, "--task", "ship", "--choice", "no")
    assert again.code == 1
    assert "ship does not wait for an answer: it is accepted, decided as 'yes'" in again.err
    gone = decide(place, "run-0", "--task", "ship", "--choice", "no")
    assert (gone.code, f"there is no run 'run-0'; known are {run}" in gone.err) == (1, True)
    check_run(place.store, run)


def test_project_decide_decides_about_a_task_that_waits(place: Place, run: str) -> None:
    refused = decide(place, run, "--task", "write", "--choice", "accept")
    assert refused.code == 2
    assert "expected one of retry, fail" in refused.err

    failed = confirm(place, run, "--task", "write", "--choice", "fail")
    assert failed.code == 0, failed.out
    assert place.states(run)["write"] == "failed"


@pytest.mark.parametrize(
    ("typed", "code", "state"),
    [
        ("n\n", 1, "input_required"),
        ("\n", 1, "input_required"),
        (END_OF_INPUT, 3, "input_required"),
        ("no idea\n" * 3, 3, "input_required"),
        ("y\n", 0, "skipped"),
    ],
    ids=["no", "return", "end", "nonsense", "yes"],
)
@pytest.mark.parametrize("command", ["project decide", "runs answer"])
def test_only_an_explicit_yes_on_a_terminal_answers_a_gate(
    place: Place, run: str, command: str, *, typed: str, code: int, state: str
) -> None:
    if command == "runs answer":
        ended = answer(place, run, "ship", "no", typed=typed)
    else:
        ended = confirm(place, run, "--task", "ship", "--choice", "no", typed=typed)
    assert "Ship it?" in ended.out
    assert "Decide no? [y/N]" in ended.out
    assert (ended.code, place.states(run)["ship"]) == (code, state), ended.out
    assert "onfirmed" not in ended.out
    for each in who_decided(place, run):
        assert each["by"].startswith("terminal ")


def test_an_interrupted_question_answers_no_gate(place: Place, run: str) -> None:
    words = ("runs", "answer", *where(place), run, "ship", "yes")
    ended = interrupt_on_terminal(*words, cwd=place.folder, at="[y/N]")
    assert ended.code not in {0, 1}
    assert place.states(run)["ship"] == "input_required"
    assert who_decided(place, run) == []


def test_a_pipe_answers_no_gate_and_decides_about_no_task(place: Place, run: str) -> None:
    piped = (
        decide(place, run, "--task", "ship", "--choice", "yes"),
        answer(place, run, "ship", "yes"),
        answer(place, run, "write", "fail"),
        answer(place, run, "write", "retry", "--note", "They want green."),
    )
    for ended in piped:
        assert ended.code == 3, ended.err
        assert 'Waiting for a person: run "goop-mcp ' in ended.out
        assert "onfirmed" not in ended.out + ended.err
    assert f"goop-mcp project decide --run {run} --task ship --choice yes" in piped[0].out
    assert f"goop-mcp runs answer {run} ship yes" in piped[1].out
    assert who_decided(place, run) == []
    assert place.states(run)["ship"] == "input_required"
    assert answer(place, run, "ship", "perhaps").code == 1


def test_a_project_that_allows_it_records_an_answer_in_a_pipe_as_reported(
    place: Place, run: str
) -> None:
    allow_agents(place)
    done = decide(place, run, "--task", "ship", "--choice", "yes", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["status"] == "done"
    assert answer(place, run, "write", "fail").code == 0
    with connect(stdio_server(place.folder, *where(place)), PROTOCOL_MODES[0]) as client:
        tool = client.tool(
            "update_project", action="decide", run=run, task="publish", choice="fail"
        )

    assert status_of(tool) == "done"
    assert [each["by"].split()[:3] for each in who_decided(place, run)] == [
        ["reported", "by", "terminal"],
        ["reported", "by", "terminal"],
        ["reported", "by", "mcp"],
    ]
    row = place.store.read(lambda reading: reading.graphs.task(run, "ship"))
    assert row is not None
    assert row.message is not None
    assert row.message.startswith("yes, reported by terminal ")


def test_whoever_answers_learns_who_reads_the_answer_and_the_note(place: Place) -> None:
    publish = replace(GATED.tasks[1], prompt="Publish it, ${ship.note}.")
    noted = place.ledger.create(replace(GATED, tasks=(GATED.tasks[0], publish)), input={})
    silent = place.ledger.create(GATED, input={})
    shown = [
        answer(place, id, "ship", "yes", "--note", "on Monday", typed="y\n").out
        for id in (noted, silent)
    ]
    assert "The note is put into the prompt of publish." in shown[0]
    assert "No agent reads the note, as no prompt names ${ship.note}; it is kept." in shown[1]
    again = answer(place, noted, "write", "retry", "--note", "use jose", typed="y\n").out
    assert "The note is added to the prompt of write." in again
    ended = answer(place, silent, "write", "fail", "--note", "no time", typed="y\n").out
    assert "The note is kept as the reason; no agent reads it." in ended


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
@pytest.mark.parametrize("task", ["ship", "write"])
@pytest.mark.parametrize(
    "reply",
    [
        ElicitResult(action="cancel"),
        ElicitResult(action="decline"),
        ElicitResult(action="accept", content=None),
        ElicitResult(action="accept", content={"choice": ""}),
        ElicitResult(action="accept", content={"choice": "perhaps"}),
        ElicitResult(action="accept", content={"choice": "YES"}),
        ElicitResult(action="accept", content={"other": "yes"}),
    ],
    ids=["cancel", "decline", "none", "empty", "unknown", "other case", "another field"],
)
def test_a_dialog_without_a_choice_decides_nothing_in_a_run(
    place: Place, run: str, mode: str, task: str, reply: ElicitResult
) -> None:
    person = Person(reply)
    choice = "yes" if task == "ship" else "fail"
    with connect(stdio_server(place.folder, *where(place)), mode, elicitation=person) as client:
        given = {"action": "decide", "run": run, "task": task}
        waits = client.tool("update_project", **given, choice=choice)
        wrong = client.tool("update_project", **given, choice="perhaps")

    assert len(person.asked) == 1
    (asked,) = person.asked[0].requested_schema["properties"].values()
    assert asked["enum"] == (["yes", "no"] if task == "ship" else ["retry", "fail"])
    assert status_of(waits) == "waiting"
    assert "onfirmed" not in text_of(waits)
    assert ("declined to decide" in text_of(waits)) is (reply.action == "decline")
    assert wrong.is_error
    assert "choice is 'perhaps'; expected one of" in text_of(wrong)
    assert place.states(run)[task] == "input_required"
    assert who_decided(place, run) == []


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


class LatePerson(Person):
    """Replies once somebody else has had the task `write` done again, which asks again."""

    def __init__(self, reply: ElicitResult, place: Place, run: str) -> None:
        super().__init__(reply)
        self.place, self.run = place, run

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        ask_again(self.place, self.run)
        return await super().__call__(context, params)


def ask_again(place: Place, run: str) -> None:
    """Give the task `write` up, and let it wait for a person once more."""
    place.ledger.answer(run, "write", "fail", by="Kim")
    place.ledger.retry(run, "write", by="Kim")


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
def test_a_reply_to_an_earlier_question_of_a_run_decides_nothing(
    place: Place, run: str, mode: str
) -> None:
    person = LatePerson(ElicitResult(action="accept", content={"choice": "fail"}), place, run)
    with connect(stdio_server(place.folder, *where(place)), mode, elicitation=person) as client:
        late = client.tool("update_project", action="decide", run=run, task="write")

    assert late.is_error
    assert "write asks something else by now" in text_of(late)
    assert place.states(run)["write"] == "input_required"
    assert [each["by"] for each in who_decided(place, run)] == ["Kim"]


def test_a_yes_on_a_terminal_to_an_earlier_question_decides_nothing(place: Place, run: str) -> None:
    def answer_late(_process: object, terminal: int) -> None:
        ask_again(place, run)
        os.write(terminal, b"y\n")

    words = ("runs", "answer", *where(place), run, "write", "fail")
    ended = run_until_asked(*words, at="[y/N]", does=answer_late, cwd=place.folder)
    assert ended.code == 1
    assert "write asks something else by now" in ended.out
    assert place.states(run)["write"] == "input_required"


OURS = "Lock the specification of Shop?"
HOSTILE = f"Write it.\n\n{OURS}\r\x1b[2J\u202e\u2028{OURS} [y/N] "


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
def test_no_line_of_a_question_about_a_run_is_an_agents(place: Place, mode: str) -> None:
    create_project(ProjectFiles(place.folder), name="Shop", now=NOW)
    task = GraphTask("write", agent="kim", prompt=HOSTILE)
    graph = Graph(name="hostile", agents=(GraphAgent("kim", run="person"),), tasks=(task,))
    id = place.ledger.create(graph, input={})
    person = Person(ElicitResult(action="cancel"))
    given: dict[str, JsonValue] = {"action": "decide", "run": id, "task": "write"}
    with connect(stdio_server(place.folder, *where(place)), mode, elicitation=person) as client:
        asked = client.tool("update_project", **given, comment=f"Quick.\n{OURS}\x1b[2J")
        unasked = client.tool("update_project", **given, comment="Quick. " * 20 + "Publish it.")
    shown = answer(place, id, "write", "fail", "--note", "Quick.", typed="n\n")

    (question,) = person.asked
    first, second, third = question.message.split("\n")
    assert first == f"Run {id}, write:"
    assert second.startswith(f"Write it. {OURS} \\x1b[2J\\u202e {OURS}")
    assert third == f"Note: Quick. {OURS}\\x1b[2J"
    assert question.message.replace("\n", "").isprintable()
    assert (status_of(asked), status_of(unasked)) == ("waiting", "waiting")
    assert "No dialog was shown" in text_of(unasked)
    assert "\x1b" not in text_of(asked)
    for line in shown.out.splitlines():
        assert OURS not in line or line.startswith("  "), line
    assert "  Note: Quick." in shown.out.splitlines()
