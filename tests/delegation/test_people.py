"""Persons answer and cancel while others do so too, and while runners work: one decision counts."""

import json
import random
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation import Graph, run_graph
from goop_mcp.delegation.ledger import RunError
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphTask
from goop_mcp.delegation.processes import this_process
from goop_mcp.delegation.runner import GraphOutcome, resume
from goop_mcp.delegation.states import ENDED
from goop_mcp.store.graph_rows import GraphTaskRow
from goop_mcp.store.opening import open_store
from tests.delegation.reports import report
from tests.delegation.runners import USUAL, Place, check_run, one_wave, within
from tests.delegation.test_doors import GATED
from tests.retry.agents import Scripted
from tests.validation.replies import changed, read_case

TASKS = 12


def gate(place: Place, run: str) -> GraphTaskRow:
    row = place.store.read(lambda reading: reading.graphs.task(run, "ship"))
    assert row is not None
    return row


def answer_at_once(place: Place, run: str, people: int) -> list[str | None]:
    """Answer the gate of a run in as many threads; return each refusal, None for a success."""
    ready = threading.Barrier(people)
    heard: list[str | None] = []

    def answer(number: int) -> None:
        ready.wait(timeout=60)
        try:
            place.ledger.answer(run, "ship", ("yes", "no")[number % 2], by=f"p{number}")
            heard.append(None)
        except RunError as error:
            heard.append(str(error))

    threads = [threading.Thread(target=answer, args=(each,)) for each in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    return heard


def test_of_many_who_answer_one_gate_at_once_one_decides(any_place: Place) -> None:
    for _ in range(5):
        run = any_place.ledger.create(GATED, input={})
        heard = answer_at_once(any_place, run, people=8)
        ship = gate(any_place, run)
        assert (ship.state, ship.decision) in (("accepted", "yes"), ("skipped", "no"))
        # Each of the others learns what was decided.
        refused = (
            f"ship does not wait for an answer: it is {ship.state}, decided as {ship.decision!r}"
        )
        assert Counter(heard) == {None: 1, refused: 7}
        check_run(any_place.store, run)


def test_a_gate_that_nobody_answers_in_time_lets_nothing_begin(any_place: Place) -> None:
    late = partial(GraphGate, question="Ship it?", answers=("yes", "no"), timeout=0.01)
    gates = (late("ship", default="yes"), late("drop", default="no"))
    tasks = (GraphTask("publish", agent="kim", prompt="Publish it.", needs=("ship",)),)
    run = any_place.ledger.create(Graph(name="late", tasks=tasks, gates=gates), input={})

    def has_dropped() -> bool:
        any_place.ledger.claim(run, this_process())
        return any_place.states(run)["drop"] == "skipped"

    within(60, has_dropped)
    # The same time was over for both: a no is taken, and a yes is for a person.
    assert any_place.states(run)["ship"] == "input_required"
    any_place.ledger.answer(run, "ship", "yes", by="Kim")
    assert any_place.states(run)["ship"] == "accepted"
    check_run(any_place.store, run)


def cancel_after(place: Place, begun: int) -> str:
    """Cancel a run when so many of its calls have begun; return its state."""
    run = place.ledger.create(one_wave(TASKS, parallel=3), input={})
    before = place.count("begin")
    runner = place.start(run, replace(USUAL, seconds=0.05))
    within(60, lambda: place.count("begin") >= before + begun)
    place.ledger.cancel(run, by="Kim")
    assert runner.wait(timeout=60) == 0

    check_run(place.store, run)
    assert set(place.states(run).values()) <= ENDED
    events = place.store.read(lambda reading: reading.graphs.events(run))
    cancelled = next(each.seq for each in events if each.what == "cancel")
    # Nobody is asked anything afterwards, and what was accepted was so once.
    assert not [each for each in events if each.what == "asked" and each.seq > cancelled]
    accepted = [each for each in events if json.loads(each.data).get("to") == "accepted"]
    assert len(accepted) == Counter(place.states(run).values())["accepted"]
    # Another runner finds nothing to do.
    asked = place.count("begin")
    place.finish(run)
    assert place.count("begin") == asked

    return place.ledger.run(run).state


@pytest.mark.parametrize("begun", [0, 2, 7])
def test_a_run_is_cancelled_at_any_moment(any_place: Place, begun: int) -> None:
    assert cancel_after(any_place, begun) == "cancelled"


@pytest.mark.delegation
def test_runs_are_cancelled_at_many_moments(any_place: Place) -> None:
    chance = random.Random(21)
    states = [cancel_after(any_place, chance.randrange(TASKS + 1)) for _ in range(20)]
    assert set(states) <= {"cancelled", "finished"}


@pytest.mark.parametrize("by_deadline", [False, True])
def test_a_run_is_cancelled_between_two_messages_of_a_task(
    place: Place, *, by_deadline: bool
) -> None:
    """Before the second one is sent its runner learns of it, and has to end the task."""
    asked: list[str] = []
    graph = one_wave(1, parallel=1)
    id = place.ledger.create(graph, input={})

    async def answer(message: str) -> str:
        asked.append(message)
        if by_deadline:
            place.ledger.set_deadline(id, -1.0, by="Kim")
            # As another runner of this run does when it looks for a task.
            place.ledger.claim(id, this_process())
        else:
            place.ledger.cancel(id, by="Kim")
        return "no report"

    async def play() -> GraphOutcome:
        with anyio.fail_after(20):
            return await resume(place.store, id, agents={"worker": answer}, project=place.folder)

    done = anyio.run(play)
    expected = ("failed", "deadline") if by_deadline else ("cancelled", "cancelled")
    assert (done.tasks["t00"].state, done.tasks["t00"].reason) == expected
    assert len(asked) == 1
    check_run(place.store, id)


@pytest.mark.parametrize("asks", [False, True])
def test_no_secret_in_what_a_person_is_asked_is_kept(tmp_path: Path, asks: bool) -> None:
    secret = "ghp_" + "a1B2" * 9
    blocked = report("BLOCKED", blockers=f"The token {secret} has expired")
    questions = changed(
        read_case("factory/concrete_questions.json"),
        ("multiple concurrent sessions", f"the token {secret}"),
    )
    graph = Graph(name="one", tasks=(GraphTask("build", agent="builder", prompt="Build it."),))
    agents = {"builder": Scripted(questions if asks else blocked)}

    with closing(open_store(None, project=tmp_path)) as store:
        done = anyio.run(partial(run_graph, graph, store=store, agents=agents))
    assert done.waiting_for == ("build",)
    assert done.tasks["build"].message
    files = [*(tmp_path / ".goopspec").glob("goop.db*")]
    assert files
    assert not [each for each in files if secret.encode() in each.read_bytes()]


def test_no_secret_that_an_agent_hands_on_is_kept(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    plan = report(agent="goop-planner", next_agent="tester", next_action=f"Try {secret}")
    graph = Graph(
        name="handed-on",
        protocol="goop_report",
        agents=tuple(map(GraphAgent, ("planner", "builder", "reviewer", "tester"))),
        tasks=(
            GraphTask("plan", agent="planner", prompt="Plan it.", expands=True),
            GraphTask("build", agent="builder", prompt="Build it.", needs=("plan",)),
            GraphTask(
                "review",
                agent="reviewer",
                prompt="Read it.",
                needs=("build",),
                feedback_to=("build",),
            ),
        ),
    )
    builder, tester = Scripted(report()), Scripted(report())
    rejected = report("PARTIAL", next_action=f"Never write {secret}", next_agent="builder")
    agents = {
        "planner": Scripted(plan),
        "builder": builder,
        "reviewer": Scripted(rejected, report()),
        "tester": tester,
    }

    with closing(open_store(None, project=tmp_path)) as store:
        done = anyio.run(partial(run_graph, graph, store=store, agents=agents))
    assert done.state == "finished"
    # What is kept is what the next agent is sent, also by another runner.
    assert any("Try [REDACTED]" in each for each in tester.heard)
    assert any("Never write [REDACTED]" in each for each in builder.heard)
    files = [*(tmp_path / ".goopspec").glob("goop.db*")]
    assert files
    assert not [each for each in files if secret.encode() in each.read_bytes()]
