"""A worker is killed between the acceptance of a report and its record: another one records it."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goop_mcp.services.recorded_reports import list_reports
from tests.cli.running import PROGRAM, environment
from tests.delegation.runners import Place, check_run, within
from tests.delegation.test_many_machines import write_graph

Start = Callable[..., "subprocess.Popen[bytes]"]

DYING = [sys.executable, "-m", "tests.delegation.dying_program"]
EVERYWHERE = pytest.mark.parametrize(
    ("place", "dispatcher"),
    [("sqlite", "leases"), ("postgres", "leases"), ("postgres", "procrastinate")],
    indirect=["place"],
)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    url = None if request.param == "sqlite" else request.getfixturevalue("database").url()
    # A folder in which reports are recorded.
    (tmp_path / ".goopspec").mkdir()
    with Place(tmp_path, url) as made:
        yield made


@pytest.fixture
def start(place: Place, tmp_path: Path) -> Iterator[Start]:
    """Return what starts the program in the project; none outlives the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def begin(program: list[str], *words: str) -> "subprocess.Popen[bytes]":
        command = [*program, "delegate", "--project-id", "shop", *words]
        if place.url is not None:
            command += ["--database", place.url]
        with (tmp_path / f"worker-{len(processes)}.log").open("wb") as log:
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


def recorded(place: Place, run: str) -> dict[str, int | None]:
    """Return the number under which the report of each task is recorded, None for none."""
    return {row.id: row.report for row in place.store.read(lambda r: r.graphs.tasks(run))}


@pytest.mark.parametrize("moment", ["before", "after"])
@EVERYWHERE
def test_the_report_of_a_killed_worker_is_recorded_once_by_another(
    place: Place, dispatcher: str, moment: str, start: Start, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, "one", 1, seconds=0)
    words = ("--runner-only", "--dispatcher", dispatcher, "--trust", graph.digest[:12])
    run = place.ledger.create(graph, input={})
    killed = start([*DYING, moment], *words)
    assert killed.wait(timeout=60) == -signal.SIGKILL
    # It was the last task, so that nothing leads a worker back to this run.
    assert place.ledger.run(run).state == "finished"
    assert recorded(place, run) == {"t0": None}

    # Both find it: whoever is first, it is one report.
    others = [start([*PROGRAM], *words) for _ in range(2)]
    logs = [tmp_path / f"worker-{each}.log" for each in (1, 2)]
    within(60, lambda: all("takes tasks" in log.read_text() for log in logs))
    within(60, lambda: recorded(place, run)["t0"] is not None)
    for other in others:
        other.send_signal(signal.SIGTERM)
        # The one that did not record it may have just been started.
        assert other.wait(timeout=60) in (0, -signal.SIGTERM)
    assert [each.report for each in list_reports(place.store).reports] == [1]
    assert recorded(place, run) == {"t0": 1}
    events = place.store.read(lambda reading: reading.graphs.events(run))
    assert [each.what for each in events if "record" in each.what] == ["recorded"]
    assert not place.store.read(lambda reading: reading.graphs.tasks_to_record(limit=9))


@EVERYWHERE
def test_reports_of_graphs_that_nobody_trusts_here_are_left_to_others(
    place: Place, dispatcher: str, start: Start, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, "one", 1, seconds=0)
    words = ("--runner-only", "--dispatcher", dispatcher)
    run = place.ledger.create(graph, input={})
    killed = start([*DYING, "before"], *words, "--trust", graph.digest[:12])
    assert killed.wait(timeout=60) == -signal.SIGKILL

    # A second run shows that this worker has looked: it works on that one alone.
    other = write_graph(tmp_path, "other", 2, seconds=0)
    later = place.ledger.create(other, input={})
    worker = start([*PROGRAM], *words, "--trust", other.digest[:12])
    within(60, lambda: None not in recorded(place, later).values())
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=60) == 0
    assert recorded(place, run) == {"t0": None}
    check_run(place.store, later)


def test_runs_without_a_project_leave_nothing_to_record(tmp_path: Path) -> None:
    with Place(tmp_path, None) as place:
        graph = write_graph(tmp_path, "one", 1, seconds=0)
        run = place.ledger.create(graph, input={})
        place.finish(run)
        assert place.states(run) == {"t0": "accepted"}
        assert not place.store.read(lambda reading: reading.graphs.tasks_to_record(limit=9))
