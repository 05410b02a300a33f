"""Processes that were started for no run take the tasks of all runs, and each other's when killed.

Everything goes through the command line and one real database.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goop_mcp.delegation import Graph
from tests.cli.running import PROGRAM, environment, run
from tests.delegation.runners import Place, check_run, within
from tests.delegation.test_agents import is_alive

WORKER = """\
import json, os, sys, time
sys.path.insert(0, {here!r})
from tests.delegation.reports import report
sys.stdin.read()
with open("asked.jsonl", "a") as file:
    file.write(json.dumps([os.environ["GOOP_RUN"], os.environ["GOOP_TASK"]]) + "\\n")
time.sleep({seconds})
print(report())
"""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(any_place: Place, tmp_path: Path) -> Iterator[Start]:
    """Return what starts a runner of every run; none outlives the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def begin(*words: str) -> "subprocess.Popen[bytes]":
        command = [*PROGRAM, "delegate", "--runner-only", "--project-id", "shop", *words]
        if any_place.url is not None:
            command += ["--database", any_place.url]
        log = (tmp_path / f"runner-{len(processes)}.log").open("wb")
        with log:
            process = subprocess.Popen(
                command,
                cwd=tmp_path,
                env=environment({"XDG_STATE_HOME": str(tmp_path / "state")}),
                stdout=log,
                stderr=log,
            )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.wait(timeout=60)


def write_graph(folder: Path, name: str, tasks: int, *, seconds: float) -> Graph:
    """Return a graph of programs: half of the tasks begin at once, each other one follows one."""
    worker = folder / "worker.py"
    worker.write_text(WORKER.format(here=str(Path(__file__).parents[2]), seconds=seconds))
    lines = [f'graph = 1\nname = "{name}"\nprotocol = "goop_report"\n[limits]\nparallel = 4\n']
    words = json.dumps([sys.executable, str(worker)])
    lines.append(f'[agents.worker]\nrun = "command"\non_stdin = true\ncommand = {words}\n')
    for number in range(tasks):
        needs = f'needs = ["t{number - 1}"]' if number % 2 else ""
        lines.append(f'[tasks.t{number}]\nagent = "worker"\nprompt = "Do it."\n{needs}\n')
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines))

    return Graph.load(path, project=folder)


def asked(folder: Path) -> list[tuple[str, str]]:
    log = folder / "asked.jsonl"
    return (
        [tuple(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []
    )


def state_of(place: Place, run_id: str) -> str:
    return place.ledger.run(run_id).state


def test_two_runners_take_all_runs_and_one_is_killed(
    any_place: Place, start: Start, tmp_path: Path
) -> None:
    graphs = [write_graph(tmp_path, name, 6, seconds=0.4) for name in ("one", "two")]
    trusted = [word for each in graphs for word in ("--trust", each.digest)]
    runs = [any_place.ledger.create(graph, input={}) for graph in graphs]
    killed, other = start(*trusted, "--parallel", "3"), start(*trusted)
    within(60, lambda: len(asked(tmp_path)) >= 4)
    killed.send_signal(signal.SIGKILL)

    # The tasks of the killed one go on at once: it was on this machine.
    within(60, lambda: all(state_of(any_place, each) == "finished" for each in runs))
    for each in runs:
        check_run(any_place.store, each)
        assert any_place.accepted_times(each) == dict.fromkeys(any_place.states(each), 1)
    again = sum(Counter(asked(tmp_path)).values()) - 12
    assert 0 <= again <= 3

    # A run that comes later is taken too, and the one that was not asked to end goes on.
    late = any_place.ledger.create(graphs[0], input={})
    within(60, lambda: state_of(any_place, late) == "finished")
    assert other.poll() is None


@pytest.mark.delegation
def test_a_runner_ends_after_its_calls_and_leaves_the_rest_to_others(
    any_place: Place, start: Start, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, "slow", 8, seconds=1.0)
    run_id = any_place.ledger.create(graph, input={})
    runner = start("--trust", graph.digest, "--parallel", "2")
    within(60, lambda: len(asked(tmp_path)) == 2)
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(timeout=60) == 0

    states = Counter(any_place.states(run_id).values())
    assert states["accepted"] == 2
    assert states["running"] == 0
    assert len(asked(tmp_path)) == 2
    start("--trust", graph.digest)
    within(60, lambda: state_of(any_place, run_id) == "finished")
    assert len(asked(tmp_path)) == 8


def test_a_second_signal_gives_the_tasks_back_at_once_and_ends_their_programs(
    any_place: Place, start: Start, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, "endless", 4, seconds=600)
    run_id = any_place.ledger.create(graph, input={})
    runner = start("--trust", graph.digest, "--parallel", "2")
    within(60, lambda: len(asked(tmp_path)) == 2)
    programs = [
        row.program_pid
        for row in any_place.store.read(lambda reading: reading.graphs.tasks(run_id))
        if row.program_pid is not None
    ]
    assert len(programs) == 2

    runner.send_signal(signal.SIGTERM)
    # The first lets the calls under way end, and these never do.
    within(60, lambda: "stopping when the calls" in (tmp_path / "runner-0.log").read_text())
    time.sleep(1)
    assert runner.poll() is None
    assert Counter(any_place.states(run_id).values())["running"] == 2

    runner.send_signal(signal.SIGTERM)
    assert runner.wait(timeout=30) == 0
    assert not any(map(is_alive, programs))
    # They are ready for anybody, and nothing more was asked.
    assert Counter(any_place.states(run_id).values()) == {"ready": 2, "waiting": 2}
    assert len(asked(tmp_path)) == 2
    check_run(any_place.store, run_id)


def test_a_run_that_nobody_trusts_here_is_left_alone(
    any_place: Place, start: Start, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, "strange", 1, seconds=0)
    run_id = any_place.ledger.create(graph, input={})
    start()
    log = tmp_path / "runner-0.log"
    within(60, lambda: graph.digest[:12] in log.read_text())
    time.sleep(1.5)
    assert asked(tmp_path) == []
    assert state_of(any_place, run_id) == "running"
    assert log.read_text().count("does not run here") == 1


@pytest.mark.parametrize(
    "words", [("g.toml",), ("--plan",), ("--input", "a=b"), ("--new",), ("--detach",)]
)
def test_a_runner_of_all_runs_takes_nothing_for_one(words: tuple[str, ...], tmp_path: Path) -> None:
    ended = run("delegate", "--runner-only", *words, cwd=tmp_path, env=dict(os.environ))
    assert ended.code == 2
    assert f"leave {'GRAPH' if words == ('g.toml',) else words[0]} out" in ended.err
