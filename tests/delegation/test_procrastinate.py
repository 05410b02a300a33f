"""Tasks delivered by procrastinate to its real workers, which are killed and stopped meanwhile."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphTask
from tests.delegation.runner_process import Orders
from tests.delegation.runners import (
    USUAL,
    Place,
    check_run,
    one_wave,
    stand_still,
    within,
)
from tests.postgres import Database

HASTY = replace(USUAL, lease=3.0, grace=1.0, seconds=0.05)


class Fleet:
    """Workers of one queue, of which none outlives the test."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, orders: Orders = HASTY) -> "subprocess.Popen[bytes]":
        """Start a worker."""
        place = self.place
        given = replace(orders, folder=str(place.folder), url=place.url, log=str(place.log))
        words = given.words()
        words[2] = "tests.delegation.queue_process"
        process = subprocess.Popen(words)
        self.processes.append(process)
        return process

    def finish(self, run: str, seconds: float = 60) -> float:
        """Wait until a run has ended; return for how long."""
        began = time.monotonic()
        within(seconds, lambda: self.place.ledger.run(run).state == "finished")
        check_run(self.place.store, run)
        accepted = self.place.accepted_times(run)
        assert accepted == dict.fromkeys(self.place.states(run), 1)
        return time.monotonic() - began


@pytest.fixture
def fleet(database: Database, tmp_path: Path) -> Iterator[Fleet]:
    with Place(tmp_path, database.url()) as place:
        made = Fleet(place)
        yield made
        for process in made.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(timeout=60)


def jobs(fleet: Fleet) -> int:
    with psycopg.connect(fleet.place.url or "") as connection:
        row = connection.execute("SELECT count(*) FROM goop_queue.procrastinate_jobs").fetchone()
    assert row is not None
    return int(row[0])


def has_begun(place: Place, count: int) -> bool:
    return place.count("begin") > count


def kill_twice(fleet: Fleet, tasks: int, parallel: int, seed: int) -> tuple[float, int]:
    """Play one run in which a worker is killed twice; return its seconds, and calls again."""
    place, chance = fleet.place, random.Random(seed)
    before = place.count("begin")
    run = place.ledger.create(one_wave(tasks, parallel=parallel), input={})
    for cut in sorted(chance.sample(range(1, tasks - parallel), 2)):
        worker = fleet.start()
        within(60, partial(has_begun, place, before + cut))
        worker.kill()
        worker.wait(timeout=60)
        check_run(place.store, run)

    last = fleet.start()
    seconds = fleet.finish(run)
    last.send_signal(signal.SIGTERM)
    assert last.wait(timeout=60) == 0
    again = place.count("begin") - before - tasks
    assert again <= 2 * parallel
    return seconds, again


def test_two_workers_share_runs_and_one_is_killed(fleet: Fleet) -> None:
    place = fleet.place
    chain = Graph(
        name="chain",
        protocol="goop_report",
        agents=(GraphAgent("worker"),),
        tasks=tuple(
            GraphTask(f"c{each}", agent="worker", prompt=f"Do task c{each}", needs=needs)
            for each, needs in enumerate(((), ("c0",), ("c1",)))
        ),
    )
    runs = [place.ledger.create(one_wave(12, parallel=4), input={})]
    runs.append(place.ledger.create(chain, input={}))
    # On a busy machine a short lease ends while its worker lives, and calls are made again.
    patient = replace(HASTY, lease=300.0)
    killed, other = fleet.start(replace(patient, seconds=0.3)), fleet.start(patient)
    within(60, lambda: killed.pid in {each["pid"] for each in place.entries("begin")})
    killed.kill()
    for run in runs:
        fleet.finish(run)

    other.send_signal(signal.SIGTERM)
    assert other.wait(timeout=60) == 0
    assert place.count("begin") - 15 <= 8


@pytest.mark.delegation
def test_twenty_runs_in_which_workers_are_killed_twice(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = [kill_twice(fleet, tasks=50, parallel=10, seed=seed) for seed in range(20)]
    with capsys.disabled():
        sys.stderr.write(
            f"\nprocrastinate: 20 runs, 40 kills; 0 lost, 0 accepted twice; begun again"
            f" {sum(again for _, again in metrics)}; last worker to the end of the run at most"
            f" {max(seconds for seconds, _ in metrics):.1f} s\n"
        )


@pytest.mark.delegation
def test_late_answers_of_a_worker_that_stood_still_change_nothing(fleet: Fleet) -> None:
    place = fleet.place
    run = place.ledger.create(one_wave(3, parallel=3), input={})
    sleeper = fleet.start(replace(HASTY, lease=1.5, seconds=2.0))
    within(60, lambda: place.count("begin") == 3)
    stand_still(place, sleeper)
    fleet.start(replace(HASTY, lease=1.5))
    fleet.finish(run)
    accepted = place.accepted_times(run)
    sleeper.send_signal(signal.SIGCONT)
    time.sleep(4)
    sleeper.send_signal(signal.SIGTERM)
    assert sleeper.wait(timeout=60) == 0
    check_run(place.store, run)
    assert place.accepted_times(run) == accepted


@pytest.mark.delegation
def test_jobs_that_are_lost_are_delivered_again_and_none_stay(fleet: Fleet) -> None:
    place = fleet.place
    run = place.ledger.create(one_wave(30, parallel=2), input={})
    worker = fleet.start(replace(HASTY, seconds=0.2))
    within(60, lambda: place.count("begin") > 3)
    with psycopg.connect(place.url or "", options="-c search_path=goop_queue") as connection:
        connection.execute("DELETE FROM goop_queue.procrastinate_jobs WHERE status = 'todo'")
    fleet.finish(run)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=60) == 0
    assert jobs(fleet) == 0
