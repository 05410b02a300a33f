"""After the deadline of a run nothing begins, until a person gives it more time."""

import json
import re
import sys
import time
from pathlib import Path

import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Claim, Ledger, Nothing, RunError
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphLimits, GraphTask
from goop_mcp.delegation.processes import this_process
from tests.cli.running import Ended
from tests.cli.running import run as run_program
from tests.delegation.runners import Place, check_run

TOO_LATE = r"the deadline of {run} was 20\d\d-.*; .*--deadline 1h"


def short(deadline: float | None = 0.2) -> Graph:
    return Graph(
        name="short",
        protocol="goop_report",
        agents=(GraphAgent("worker"), GraphAgent("kim", run="person")),
        tasks=(
            GraphTask("a", agent="worker", prompt="Do task a"),
            GraphTask("b", agent="worker", prompt="Do task b", needs=("a",)),
            GraphTask("c", agent="kim", prompt="Do task c"),
            GraphTask("d", agent="worker", prompt="Do task d", needs=("go",)),
        ),
        gates=(GraphGate("go", question="Go on?", answers=("yes", "no")),),
        limits=GraphLimits(deadline=deadline),
    )


def ended(ledger: Ledger) -> str:
    """Return a run that its deadline has ended."""
    run = ledger.create(short(), input={})
    time.sleep(0.3)
    assert ledger.claim(run, this_process()) == Nothing("failed")
    return run


def test_a_task_that_is_run_again_after_the_deadline_needs_more_time(any_place: Place) -> None:
    ledger = any_place.ledger
    run = ended(ledger)
    with pytest.raises(RunError, match=TOO_LATE.format(run=run)):
        ledger.retry(run, "a", by="Kim")
    assert set(any_place.states(run).values()) == {"cancelled"}

    assert ledger.retry(run, "a", by="Kim", downstream=True, deadline=60.0) == ["a", "b"]
    claim = ledger.claim(run, this_process())
    assert isinstance(claim, Claim)
    assert claim.row.id == "a"
    states = {"a": "running", "b": "waiting", "c": "cancelled", "d": "cancelled", "go": "cancelled"}
    assert any_place.states(run) == states
    events = any_place.store.read(lambda reading: reading.graphs.events(run))
    assert [json.loads(e.data)["by"] for e in events if e.what == "deadline"] == ["Kim"]
    check_run(any_place.store, run)


def test_an_answer_after_the_deadline_lets_nothing_begin(any_place: Place) -> None:
    ledger = any_place.ledger
    run = ledger.create(short(), input={})
    time.sleep(0.3)
    for task, answer in (("go", "yes"), ("c", "retry")):
        with pytest.raises(RunError, match=TOO_LATE.format(run=run)):
            ledger.answer(run, task, answer, by="Kim")

    # What begins nothing is taken, and more time lets the rest begin.
    ledger.answer(run, "c", "fail", by="Kim")
    ledger.set_deadline(run, 60.0, by="Kim")
    ledger.answer(run, "go", "yes", by="Kim")
    assert isinstance(ledger.claim(run, this_process()), Claim)
    check_run(any_place.store, run)


def test_a_changed_graph_changes_the_deadline_of_its_run(any_place: Place) -> None:
    ledger = any_place.ledger
    run = ended(ledger)
    ledger.change_graph(run, short(600))
    assert isinstance(ledger.claim(run, this_process()), Claim)

    later = ended(ledger)
    ledger.change_graph(later, short(None))
    assert ledger.run(later).deadline_at is None

    # One that says nothing new about it leaves what a person has decided.
    third = ended(ledger)
    ledger.set_deadline(third, 60.0, by="Kim")
    ledger.change_graph(third, short())
    assert isinstance(ledger.claim(third, this_process()), Claim)


GRAPH = """\
graph = 1
name = "slow"
protocol = "goop_report"
[limits]
deadline = "1s"
[agents.worker]
run = "command"
command = {words}
[tasks.a]
agent = "worker"
prompt = "Do task a"
"""
WORKER = """\
import pathlib, sys, time
sys.path.insert(0, {here!r})
from tests.delegation.reports import report
if not pathlib.Path("fast").exists():
    time.sleep(600)
print(report())
"""


def test_the_command_line_says_how_and_does_it(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER.format(here=str(Path(__file__).parents[2])))
    graph = tmp_path / "slow.toml"
    graph.write_text(GRAPH.format(words=json.dumps([sys.executable, str(worker)])))

    def played(*words: str) -> Ended:
        env = {"XDG_STATE_HOME": str(tmp_path / "state")}
        return run_program(*words, cwd=tmp_path, env=env)

    digest = Graph.load(graph, project=tmp_path).digest
    first = played("delegate", "slow.toml", "--trust", digest, "--format", "jsonl")
    assert first.code == 1, first
    run = json.loads(first.out.splitlines()[0])["run"]

    (tmp_path / "fast").touch()
    refused = played("runs", "retry", run, "a")
    assert refused.code == 1
    assert f"goop-mcp runs retry {run} a --deadline 1h" in refused.err

    assert played("runs", "retry", run, "a", "--deadline", "soon").code == 2
    assert played("runs", "retry", run, "a", "--deadline", "5m").code == 0
    assert played("runs", "resume", run).code == 0
    again = played("runs", "resume", run, "--deadline", "1h")
    assert (again.code, re.search(r"deadline.*20\d\d", again.err) is not None) == (0, True)
