"""What a runner leaves when it dies or stands still, another one takes over."""

import json
import signal
import sys
import time
from dataclasses import replace
from typing import Literal

import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphRetry, GraphTask
from goop_mcp.store.interface import WriteTransaction
from tests.delegation.agent_program import lives
from tests.delegation.reports import report
from tests.delegation.runners import (
    USUAL,
    Place,
    check_run,
    one_wave,
    stand_still,
    within,
)

# Longer than any of these tests: a task that is taken over earlier was not waited for.
PATIENT = replace(USUAL, lease=300.0)


def program_agent(place: Place, seconds: float) -> GraphAgent:
    """Return an agent that is a program of its own."""
    words = [sys.executable, "-m", "tests.delegation.agent_program", str(place.log), str(seconds)]
    return GraphAgent("program", run="command", command=tuple(words))


def move_away(place: Place, owner: str, *, clock: float = 0.0) -> None:
    """Let a runner seem to be on another machine, whose clock is ahead by `clock` seconds."""

    def write(writing: WriteTransaction) -> None:
        found = writing.graphs.runner(owner)
        assert found is not None
        seen = found.seen_at + clock
        writing.graphs.set(found._replace(host="elsewhere", boot_id="another", seen_at=seen))

    place.store.write(write)


def test_a_runner_on_another_machine_is_waited_for_until_its_lease_ends(place: Place) -> None:
    run = place.ledger.create(one_wave(4, parallel=2), input={})
    hasty = replace(USUAL, lease=2.0, grace=0.5)
    first = place.start(run, replace(hasty, seconds=60.0))
    within(60, lambda: place.count("begin") == 2)
    stand_still(place, first)

    rows = place.store.read(lambda reading: reading.graphs.tasks(run, state="running"))
    [owner] = {row.owner or "" for row in rows}
    move_away(place, owner)
    first.kill()
    place.finish(run, hasty)
    check_run(place.store, run)
    assert place.accepted_times(run) == dict.fromkeys(place.states(run), 1)
    lost = [e for e in place.store.read(lambda r: r.graphs.events(run)) if e.what == "lease_lost"]
    assert len(lost) == 2


def test_late_answers_of_a_runner_that_stood_still_change_nothing(place: Place) -> None:
    run = place.ledger.create(one_wave(3, parallel=3), input={})
    sleeper = place.start(run, replace(PATIENT, lease=1.5, seconds=2.0))
    within(60, lambda: place.count("begin") == 3)
    stand_still(place, sleeper)

    place.finish(run, replace(PATIENT, lease=1.5))
    accepted = place.accepted_times(run)
    assert accepted == dict.fromkeys(place.states(run), 1)
    # It has its answers the moment it goes on, before it may look whose tasks these are.
    begun = max(each["at"] for each in place.entries("begin") if each["pid"] == sleeper.pid)
    within(60, lambda: time.monotonic() > begun + 2.5)
    sleeper.send_signal(signal.SIGCONT)
    assert sleeper.wait(timeout=60) == 0

    check_run(place.store, run)
    assert place.accepted_times(run) == accepted
    events = place.store.read(lambda reading: reading.graphs.events(run))
    assert sorted(each.task or "" for each in events if each.what == "late") == sorted(accepted)
    assert place.count("end") == 6


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
def test_no_program_of_a_dead_runner_lives_when_its_task_is_asked_again(place: Place) -> None:
    graph = Graph(
        name="programs",
        protocol="goop_report",
        agents=(program_agent(place, 1.0),),
        tasks=(GraphTask("a", agent="program", prompt="Do task a"),),
    )
    run = place.ledger.create(graph, input={})
    first = place.start(run, PATIENT)
    within(60, lambda: place.count("program") == 1)
    first.kill()
    first.wait(timeout=60)

    place.finish(run, PATIENT)
    check_run(place.store, run)
    one, two = place.entries("program")
    assert place.states(run) == {"a": "accepted"}
    assert (two["alive"], one["key"]) == ([], two["key"])


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
def test_a_cancelled_task_ends_its_program_and_leaves_out_what_needs_it(place: Place) -> None:
    graph = Graph(
        name="cancelled",
        protocol="goop_report",
        agents=(program_agent(place, 300.0), GraphAgent("worker")),
        tasks=(
            GraphTask("a", agent="program", prompt="Do task a"),
            GraphTask("b", agent="worker", prompt="Do task b", needs=("a",)),
            GraphTask("c", agent="worker", prompt="Do task c"),
        ),
    )
    run = place.ledger.create(graph, input={})
    runner = place.start(run, PATIENT)
    within(60, lambda: place.count("program") == 1)
    [program] = place.entries("program")
    assert all(lives(pid) for pid in program["programs"])
    place.ledger.cancel(run, "a", by="Kim")
    within(2, lambda: not any(lives(pid) for pid in program["programs"]))
    assert runner.wait(timeout=60) == 0

    check_run(place.store, run)
    assert place.states(run) == {"a": "cancelled", "b": "skipped", "c": "accepted"}


def test_a_kill_in_the_third_attempt_asks_the_third_again_and_no_other(place: Place) -> None:
    graph = Graph(
        name="attempts",
        protocol="goop_report",
        agents=(GraphAgent("worker", retry=GraphRetry(max_attempts=3)),),
        tasks=(GraphTask("a", agent="worker", prompt="Do task a"),),
    )
    run = place.ledger.create(graph, input={})
    statuses = ["DONE-ISH", "NEARLY", "COMPLETE"]
    first = place.start(run, replace(PATIENT, statuses=statuses, seconds=0.5))
    within(60, lambda: place.count("begin") == 3)
    first.kill()
    first.wait(timeout=60)
    check_run(place.store, run)

    place.finish(run, replace(PATIENT, statuses=statuses))
    check_run(place.store, run)
    begins = place.entries("begin")
    assert [each["attempt"] for each in begins] == [1, 2, 3, 3]
    assert begins[3]["text"] == (
        "You were interrupted at attempt 3. Look at what is done before you do it again.\n\n"
        + begins[2]["text"]
    )
    assert place.states(run) == {"a": "accepted"}
    attempts = place.store.read(lambda reading: reading.graphs.attempts(run, "a"))
    assert [each.number for each in attempts] == [1, 2, 3, 4]
    # What was sent is kept, also where nobody knows what came of it.
    assert attempts[2].message == begins[2]["text"]


@pytest.mark.parametrize(("on_crash", "text"), [("restart", "Do task a"), ("person", "")])
def test_the_graph_says_what_a_crash_means(place: Place, on_crash: str, text: str) -> None:
    task = GraphTask("a", agent="worker", prompt="Do task a")
    graph = Graph(
        name="crash",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=(replace(task, on_crash="restart" if on_crash == "restart" else "person"),),
    )
    run = place.ledger.create(graph, input={})
    first = place.start(run, replace(PATIENT, seconds=60.0))
    within(60, lambda: place.count("begin") == 1)
    first.kill()
    first.wait(timeout=60)

    place.finish(run, PATIENT)
    if on_crash == "person":
        assert place.states(run) == {"a": "input_required"}
        assert place.count("begin") == 1
        place.ledger.answer(run, "a", "retry", by="Kim")
        place.finish(run, PATIENT)

    check_run(place.store, run)
    assert place.states(run) == {"a": "accepted"}
    assert place.entries("begin")[1]["text"].startswith(text)


def test_a_gate_is_answered_while_nobody_runs_the_graph(place: Place) -> None:
    graph = Graph(
        name="gated",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=(
            GraphTask("a", agent="worker", prompt="Do task a"),
            GraphTask("b", agent="worker", prompt="Do task b", needs=("ship",)),
        ),
        gates=(GraphGate("ship", question="Ship it?", answers=("yes", "no"), needs=("a",)),),
    )
    run = place.ledger.create(graph, input={})
    place.finish(run, PATIENT)
    assert place.ledger.run(run).state == "waiting_for_person"
    assert place.states(run) == {"a": "accepted", "ship": "input_required", "b": "waiting"}

    place.ledger.answer(run, "ship", "yes", by="Kim")
    place.finish(run, PATIENT)
    check_run(place.store, run)
    assert place.ledger.run(run).state == "finished"
    assert [each["task"] for each in place.entries("begin")] == ["a", "b"]


def test_a_lease_is_never_longer_than_a_lease(place: Place) -> None:
    """As after a clock that was set back by an hour: the lease of the dead seems to last."""
    run = place.ledger.create(one_wave(2, parallel=1), input={})
    first = place.start(run, replace(PATIENT, seconds=60.0, lease=2.0))
    within(60, lambda: place.count("begin") == 1)
    stand_still(place, first)

    [row] = place.store.read(lambda reading: reading.graphs.tasks(run, state="running"))
    assert row.owner is not None
    assert row.lease_until is not None
    move_away(place, row.owner, clock=3600)
    later = row._replace(lease_until=row.lease_until + 3600)
    place.store.write(lambda writing: writing.graphs.move_task(later, was=row))
    first.kill()
    place.finish(run, replace(PATIENT, lease=2.0, grace=0.5))
    check_run(place.store, run)
    assert place.accepted_times(run) == {"t00": 1, "t01": 1}


def test_fifty_at_once_spend_what_the_budget_holds(place: Place) -> None:
    run = place.ledger.create(one_wave(50, parallel=50, max_tokens=1000), input={})
    orders = replace(PATIENT, tokens=100, seconds=0.01)
    runners = [place.start(run, orders) for _ in range(2)]
    assert [each.wait(timeout=120) for each in runners] == [0, 0]

    check_run(place.store, run)
    row = place.ledger.run(run)
    # One call may go beyond the limit, whichever of the two runners made it.
    assert 900 <= row.spent_tokens <= 1100
    assert row.reserved_tokens == 0
    assert place.count("end") == row.spent_tokens // 100
    failed = place.store.read(lambda reading: reading.graphs.tasks(run, state="failed"))
    assert {each.reason for each in failed} == {"budget"}
    assert (
        json.loads(place.store.read(lambda r: r.graphs.events(run))[-1].data)["state"] == "failed"
    )


KILLS = """
import json, os, signal, sys
text = sys.stdin.read()
with open(sys.argv[1], "a+", encoding="utf-8") as file:
    file.write(json.dumps({"what": "asked", "text": text}) + "\\n")
    file.seek(0)
    count = sum('"asked"' in line for line in file)
if count == 2:
    os.kill(os.getppid(), signal.SIGKILL)
print(sys.argv[2] if count == 3 else "I will report later.")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
@pytest.mark.parametrize("on_crash", ["resume", "restart"])
def test_a_program_without_a_session_reads_its_task_again_after_a_crash(
    any_place: Place, on_crash: Literal["resume", "restart"]
) -> None:
    words = (sys.executable, "-c", KILLS, str(any_place.log), report())
    graph = Graph(
        name="forgets",
        protocol="goop_report",
        agents=(GraphAgent("program", run="command", command=words),),
        tasks=(GraphTask("a", agent="program", prompt="Count the lines.", on_crash=on_crash),),
    )
    run = any_place.ledger.create(graph, input={})
    assert any_place.start(run, PATIENT).wait(timeout=60) == -signal.SIGKILL
    any_place.finish(run, PATIENT)

    check_run(any_place.store, run)
    assert any_place.states(run) == {"a": "accepted"}
    *_, lost, again = (each["text"] for each in any_place.entries("asked"))
    assert ("You were interrupted" in again) == (on_crash == "resume")
    assert "Count the lines." in again
    # What was wrong with the first reply, as well.
    assert "<goop_report" in lost
    assert "<goop_report" in again
