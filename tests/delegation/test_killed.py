"""Runners are killed at any moment: nothing is lost, and nothing is accepted twice."""

import json
import random
import signal
import sys
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from tests.delegation.runners import USUAL, Place, check_run, one_wave, within

# Longer than any of these tests: a task that is taken over earlier was not waited for.
PATIENT = replace(USUAL, lease=300.0)
AT_ONCE = replace(PATIENT, seconds=0.0)


def has_ended(place: Place, count: int) -> bool:
    return place.count("end") >= count


def play(place: Place, tasks: int, parallel: int, seed: int) -> dict[str, float]:
    """Let two runners be killed in the middle and a third one finish; return metrics."""
    chance = random.Random(seed)
    run = place.ledger.create(one_wave(tasks, parallel=parallel), input={})
    before = place.count("begin")
    cuts = sorted(chance.sample(range(1, tasks - parallel), 2))
    for cut in cuts:
        done = sum(state == "accepted" for state in place.states(run).values())
        wanted = place.count("end") + max(1, cut - done)
        runner = place.start(run, PATIENT)
        # The kill hits in the middle of calls: more were begun than have ended.
        within(60, partial(has_ended, place, wanted))
        runner.kill()
        runner.wait(timeout=60)
        check_run(place.store, run)

    place.finish(run, PATIENT)
    check_run(place.store, run)

    states = place.states(run)
    assert Counter(states.values()) == {"accepted": tasks}
    assert place.accepted_times(run) == dict.fromkeys(states, 1)
    again = place.count("begin") - before - tasks
    # Of each killed runner at most the calls that were under way.
    assert again <= 2 * parallel
    starts = place.entries("start")[-2:]
    begins = place.entries("begin")
    waits = [
        min(each["at"] for each in begins if each["pid"] == start["pid"]) - start["at"]
        for start in starts
    ]
    return {"begun again": again, "restart to first task": max(waits)}


def test_two_kills_in_mid_flight_lose_nothing(any_place: Place) -> None:
    play(any_place, tasks=12, parallel=4, seed=1)


@pytest.mark.delegation
def test_twenty_runs_with_two_kills_each(
    place: Place, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    metrics = [play(place, tasks=50, parallel=10, seed=seed) for seed in range(20)]
    waits = sorted(each["restart to first task"] for each in metrics)
    with capsys.disabled():
        sys.stderr.write(
            f"\n{request.node.name}: 20 runs, 40 kills; begun again"
            f" {sum(each['begun again'] for each in metrics):.0f}; restart to first task"
            f" {waits[10] * 1000:.0f} ms (max {waits[-1] * 1000:.0f})\n"
        )


def three_steps() -> Graph:
    """Return a graph with everything that a transaction of the runner may do."""
    return Graph(
        name="steps",
        protocol="goop_report",
        agents=(GraphAgent("worker", parallel=2),),
        tasks=(
            GraphTask("a", agent="worker", prompt="Do task a"),
            GraphTask("b", agent="worker", prompt="Do task b", needs=("a",)),
            GraphTask("c", agent="worker", prompt="Do task c", needs=("a", "b")),
        ),
        limits=GraphLimits(parallel=2, max_tokens=1000),
    )


def kill_at(place: Place, point: int) -> bool:
    """Kill a runner at a point and let another one finish; return whether it got there."""
    run = place.ledger.create(three_steps(), input={})
    ended = place.start(run, replace(AT_ONCE, kill_at=point)).wait(timeout=120)
    check_run(place.store, run)
    assert ended in (0, -signal.SIGKILL)

    place.finish(run, AT_ONCE)
    check_run(place.store, run)
    assert place.states(run) == {"a": "accepted", "b": "accepted", "c": "accepted"}
    assert place.accepted_times(run) == {"a": 1, "b": 1, "c": 1}

    return ended != 0


def kill_beginner_at(place: Place, point: int) -> tuple[bool, bool]:
    """Kill a program at a point of its own run, and let another one finish what is there.

    Return whether it got there, and whether there was a run.
    """
    known = runs_of(place)
    graph = json.dumps(three_steps().to_dict())
    ended = place.start("", replace(AT_ONCE, kill_at=point, graph=graph)).wait(timeout=120)
    assert ended in (0, -signal.SIGKILL)

    new = runs_of(place) - known
    for run in new:
        check_run(place.store, run)
        place.finish(run, AT_ONCE)
        check_run(place.store, run)
        assert place.accepted_times(run) == {"a": 1, "b": 1, "c": 1}
    return ended != 0, bool(new)


def runs_of(place: Place) -> set[str]:
    rows = place.store.read(lambda reading: reading.graphs.runs(include_ended=True))
    return {row.id for row in rows}


@pytest.mark.parametrize(("point", "is_there"), [(6, False), (14, True)])
def test_a_kill_as_a_run_begins_leaves_nothing_or_a_run_to_go_on_with(
    any_place: Place, point: int, is_there: bool
) -> None:
    assert kill_beginner_at(any_place, point) == (True, is_there)


@pytest.mark.delegation
def test_a_kill_at_every_statement_of_a_program_that_begins_a_run(place: Place) -> None:
    found, point = [], 1
    while (killed := kill_beginner_at(place, point))[0]:
        found.append(killed[1])
        point += 1
    # Nothing at first, and from the first commit on a run.
    assert found == sorted(found)
    assert 5 < found.index(True) < 15
    assert point > 25


@pytest.mark.parametrize("point", [17, 34])
def test_a_kill_between_two_statements_leaves_the_old_or_the_new(place: Place, point: int) -> None:
    assert kill_at(place, point), f"no runner gets to point {point}: choose an earlier one"


@pytest.mark.delegation
def test_a_kill_between_every_two_statements(
    place: Place, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    point = 1
    while kill_at(place, point):
        point += 1
    # A runner that is not killed passes all of them: far more than its eight transactions.
    assert point > 30
    with capsys.disabled():
        sys.stderr.write(f"\n{request.node.name}: killed at each of {point - 1} points\n")
