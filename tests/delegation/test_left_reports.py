"""A worker ends between the acceptance of a report and its record: another one records it.

Also where its task goes on: after feedback, or with what a person decides.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from goop_mcp.cli.display import event_line
from goop_mcp.delegation import Graph, RunError, resume
from goop_mcp.delegation.expand import Expansion
from goop_mcp.delegation.ledger import AcceptedReport, Claim
from goop_mcp.delegation.parts import GraphAgent
from goop_mcp.delegation.processes import this_process
from goop_mcp.errors import GoopError
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.recorded_reports import list_reports
from goop_mcp.services.runs import read_view, record_task
from goop_mcp.store.graph_rows import GraphReportRow
from goop_mcp.workspace.files import ProjectFiles
from tests.cli.running import PROGRAM, Ended, answer_on_terminal, environment
from tests.cli.running import run as run_program
from tests.delegation.reports import report
from tests.delegation.runners import Place, check_run, one_wave, stand_still, within
from tests.delegation.test_many_machines import write_graph
from tests.repository import ROOT
from tests.server.test_asking import NOW

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
    words = ("--runner-only", "--dispatcher", dispatcher, "--trust", graph.digest)
    run = place.ledger.create(graph, input={})
    killed = start([*DYING, moment, "t0", "1"], *words)
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
    assert not place.store.read(lambda reading: reading.graphs.left_reports(limit=9))


@EVERYWHERE
def test_reports_of_graphs_that_nobody_trusts_here_are_left_to_others(
    place: Place, dispatcher: str, start: Start, tmp_path: Path
) -> None:
    graph = write_graph(tmp_path, "one", 1, seconds=0)
    words = ("--runner-only", "--dispatcher", dispatcher)
    run = place.ledger.create(graph, input={})
    killed = start([*DYING, "before", "t0", "1"], *words, "--trust", graph.digest)
    assert killed.wait(timeout=60) == -signal.SIGKILL

    # A second run shows that this worker has looked: it works on that one alone.
    other = write_graph(tmp_path, "other", 2, seconds=0)
    later = place.ledger.create(other, input={})
    worker = start([*PROGRAM], *words, "--trust", other.digest)
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
        assert not place.store.read(lambda reading: reading.graphs.left_reports(limit=9))


REVIEWED = """\
graph = 1
name = "reviewed"
protocol = "goop_report"
[agents.worker]
run = "command"
command = [{python}, "worker.py"]
retry = {{ max_attempts = 1 }}
[tasks.build]
agent = "worker"
prompt = "Build it."
[tasks.review]
agent = "worker"
needs = ["build"]
prompt = "Review ${{build.summary}}"
feedback_to = ["build"]
"""
# The review sends the first work back, and the second one is blocked until somebody decides.
TEAM = """\
import os, sys
sys.path.insert(0, {here!r})
from tests.delegation.reports import report
task = os.environ["GOOP_TASK"]
round = int(os.environ["GOOP_IDEMPOTENCY_KEY"].rpartition("/")[2])
if task == "build":
    print(report(summary=["First work.", "Second work."][round]))
elif round == 0:
    print(report("PARTIAL", agent="goop-verifier", summary="No limits.", next_action="Add limits"))
elif round == 1:
    blockers = "RULE 4: which limit?"
    print(report("BLOCKED", agent="goop-verifier", summary="Which limit?", blockers=blockers))
else:
    print(report(agent="goop-verifier", summary="It is good."))
"""
BEGUN = ["First work.", "No limits.", "Second work.", "Which limit?"]


def write_reviewed(folder: Path) -> Graph:
    (folder / "worker.py").write_text(TEAM.format(here=str(ROOT)))
    path = folder / "reviewed.toml"
    path.write_text(REVIEWED.format(python=f'"{sys.executable}"'))
    return Graph.load(path, project=folder)


def in_round(place: Place) -> list[str]:
    """Return the summaries of the reports in the project's round, the oldest first."""
    found = place.store.read(lambda reading: reading.reports())
    return [json.loads(each.envelope)["summary"] for each in reversed(found)]


def goop(place: Place, *words: str) -> Ended:
    where = () if place.url is None else ("--database", place.url)
    state = {"XDG_STATE_HOME": str(place.folder / "state")}
    command = answer_on_terminal if words[:2] == ("runs", "answer") else run_program
    return command(*words, *where, "--project-id", "shop", cwd=place.folder, env=state)


@pytest.mark.parametrize("moment", ["before", "after"])
@EVERYWHERE
def test_what_a_killed_worker_sent_back_is_recorded_once_before_what_follows(
    place: Place, dispatcher: str, moment: str, start: Start, tmp_path: Path
) -> None:
    graph = write_reviewed(tmp_path)
    words = ("--runner-only", "--dispatcher", dispatcher, "--trust", graph.digest)
    run = place.ledger.create(graph, input={})
    killed = start([*DYING, moment, "review", "1"], *words)
    assert killed.wait(timeout=60) == -signal.SIGKILL
    assert place.states(run)["review"] == "waiting"
    assert in_round(place) == (BEGUN[:1] if moment == "before" else BEGUN[:2])
    [left] = place.store.read(lambda reading: reading.graphs.unrecorded(run))
    assert (left.task, left.round) == ("review", 0)
    check_run(place.store, run)

    others = [start([*PROGRAM], *words) for _ in range(2)]
    within(60, lambda: place.states(run)["review"] == "input_required")
    within(60, lambda: len(in_round(place)) == len(BEGUN))
    # Nobody takes tasks while a person decides.
    assert goop(place, "runs", "answer", run, "review", "retry", "--note", "Ten.").code == 0
    within(60, lambda: place.ledger.run(run).state == "finished")
    within(60, lambda: recorded(place, run) == {"build": 3, "review": 5})
    for other in others:
        other.send_signal(signal.SIGTERM)
        assert other.wait(timeout=60) in (0, -signal.SIGTERM)

    assert in_round(place) == [*BEGUN, "It is good."]
    assert not place.store.read(lambda reading: reading.graphs.unrecorded(run))
    assert not place.store.read(lambda reading: reading.graphs.left_reports(limit=9))
    check_run(place.store, run)


@EVERYWHERE
def test_a_worker_that_stands_still_does_not_put_what_was_sent_back_after_the_next_report(
    place: Place, dispatcher: str, start: Start, tmp_path: Path
) -> None:
    graph = write_reviewed(tmp_path)
    words = ("--runner-only", "--dispatcher", dispatcher, "--trust", graph.digest)
    run = place.ledger.create(graph, input={})
    paused = start([*DYING, "pause", "review", "1"], *words)
    within(60, (tmp_path / "paused").exists)
    stand_still(place, paused)

    # Whoever records the next report of the task records this one first, whose it ever was.
    other = start([*PROGRAM], *words)
    within(90, lambda: place.states(run)["review"] == "input_required")
    within(60, lambda: len(in_round(place)) == len(BEGUN))
    (tmp_path / "go").touch()
    paused.send_signal(signal.SIGCONT)
    for each in (paused, other):
        each.send_signal(signal.SIGTERM)
        assert each.wait(timeout=60) == 0
    found = in_round(place)
    assert sorted(found) == sorted(BEGUN)
    assert found.index("No limits.") < found.index("Which limit?")
    assert recorded(place, run)["review"] == 4
    check_run(place.store, run)


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("words", [("answer", "fail"), ("cancel",), ("changed",)])
def test_a_person_decides_before_what_a_killed_worker_left_is_recorded(
    place: Place, words: tuple[str, ...], start: Start, tmp_path: Path
) -> None:
    graph = write_reviewed(tmp_path)
    # The first answer waits for a person.
    worker = tmp_path / "worker.py"
    worker.write_text(worker.read_text().replace("round == 0", "round == 9").replace("== 1", "< 9"))
    trust = ("--trust", graph.digest)
    killed = start([*DYING, "before", "review", "1"], "reviewed.toml", *trust)
    assert killed.wait(timeout=60) == -signal.SIGKILL
    [row] = place.store.read(lambda reading: reading.graphs.runs())
    run = row.id
    assert place.states(run)["review"] == "input_required"
    assert in_round(place) == ["First work."]

    if words == ("changed",):
        path = tmp_path / "reviewed.toml"
        path.write_text(path.read_text().replace("Review $", "Review well $"))
        trust = ("--trust", Graph.load(path).digest)
        resumed = goop(place, "runs", "resume", run, "--graph", "reviewed.toml", *trust)
        assert resumed.code == 3, resumed
    else:
        decided = goop(place, "runs", words[0], run, "review", *words[1:])
        assert decided.code == 0, decided
        assert goop(place, "runs", "resume", run).code in (0, 1, 4)
    # The same words again are the same report.
    assert in_round(place) == ["First work.", "Which limit?"]
    assert not place.store.read(lambda reading: reading.graphs.unrecorded(run))
    check_run(place.store, run)


def build_and_review(message: str) -> str:
    if "Build" in message:
        return report(summary="Second work." if "Add limits" in message else "First work.")
    if "First work." in message:
        return report(
            "PARTIAL", agent="goop-verifier", summary="No limits.", next_action="Add limits"
        )
    return report(agent="goop-verifier", summary="It is good.")


@pytest.mark.parametrize("is_full", [True, False])
async def test_what_was_sent_back_and_refused_is_tried_again_before_the_next_report_and_not_after(
    any_place: Place, tmp_path: Path, *, is_full: bool
) -> None:
    tried: list[str] = []

    def record(left: GraphReportRow) -> int:
        summary = str(json.loads(left.result)["envelope"]["summary"])
        tried.append(summary)
        if summary == "No limits." and (is_full or tried.count(summary) == 1):
            raise GoopError("the disk is full")
        return len(tried)

    graph = replace(write_reviewed(tmp_path), agents=(GraphAgent("worker"),))
    store, run = any_place.store, any_place.ledger.create(graph, input={})
    go_on = partial(resume, agents={"worker": build_and_review}, project=tmp_path, record=record)
    done = await go_on(store, run)
    assert done.state == "finished"
    assert tried == ["First work.", "No limits.", "Second work.", "No limits.", "It is good."]

    view = read_view(store, run)
    assert view.tasks["build"].reports == (1, 3)
    assert view.tasks["review"].reports == ((5,) if is_full else (4, 5))
    events = store.read(lambda reading: reading.graphs.events(run))
    refused = [json.loads(each.data) for each in events if each.what == "not_recorded"]
    assert refused == [{"message": "the disk is full", "round": 0}] * (1 + is_full)
    shown = [event_line(each) for each in events if each.what == "not_recorded"]
    assert set(shown) == {"review: report of round 1 not recorded (the disk is full)"}
    # The report of the next round is what counts, and the newest that is recorded is that.
    assert not store.read(lambda reading: reading.graphs.unrecorded(run))
    await go_on(store, run)
    assert len(tried) == 5
    check_run(store, run)


BY_HAND = """\
graph = 1
name = "by-hand"
protocol = "goop_report"
[agents.worker]
run = "command"
command = [{python}, "worker.py"]
retry = {{ max_attempts = 1 }}
[agents.ann]
run = "person"
[tasks.build]
agent = "worker"
prompt = "Build it."
[tasks.review]
agent = "ann"
needs = ["build"]
prompt = "Review ${{build.summary}}"
feedback_to = ["build"]
"""


def finish(place: Place, run: str, task: str, text: str) -> Ended:
    (place.folder / "report.xml").write_text(text)
    return goop(place, "runs", "finish", run, task, "report.xml")


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_each_report_that_a_person_writes_is_recorded(place: Place, tmp_path: Path) -> None:
    write_reviewed(tmp_path)
    path = tmp_path / "by-hand.toml"
    path.write_text(BY_HAND.format(python=f'"{sys.executable}"'))
    graph = Graph.load(path, project=tmp_path)
    begun = goop(place, "delegate", "by-hand.toml", "--trust", graph.digest)
    assert begun.code == 3, begun
    [row] = place.store.read(lambda reading: reading.graphs.runs())
    run = row.id

    # One that sends work back, one that waits again, and the one that ends the task.
    no_limits = report("PARTIAL", agent="goop-verifier", summary="No limits.", next_action="Add")
    ended = finish(place, run, "review", no_limits)
    assert "recorded as report 2" in ended.out, ended
    assert goop(place, "runs", "resume", run).code == 3
    blocked = report("BLOCKED", agent="goop-verifier", summary="Which?", blockers="RULE 4: which?")
    assert "recorded as report 4" in finish(place, run, "review", blocked).out
    assert place.states(run)["review"] == "input_required"
    assert blockers_in(place) == ["RULE 4: which?"]
    good = report(agent="goop-verifier", summary="It is good.")
    assert "recorded as report 5" in finish(place, run, "review", good).out
    expected = ["First work.", "No limits.", "Second work.", "Which?", "It is good."]
    assert in_round(place) == expected
    # Its reports name no task of the project, and are about the same work.
    assert blockers_in(place) == []
    assert recorded(place, run) == {"build": 3, "review": 5}
    assert read_view(place.store, run).tasks["review"].reports == (2, 4, 5)
    assert not place.store.read(lambda reading: reading.graphs.unrecorded(run))
    check_run(place.store, run)


def blockers_in(place: Place) -> list[str]:
    """Return what blocks the project, as its status says."""
    found: list[str] = json.loads(goop(place, "status", "--format", "json").out)["blockers"]
    return found


@pytest.mark.parametrize("moment", ["before", "after", None])
@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_a_person_finishes_a_task_of_an_agent_that_waits(
    place: Place, moment: str | None, start: Start, tmp_path: Path
) -> None:
    """The report of the agent is recorded as well, before that of the person."""
    graph = write_reviewed(tmp_path)
    worker = tmp_path / "worker.py"
    worker.write_text(worker.read_text().replace("round == 0", "round == 9").replace("== 1", "< 9"))
    trust = ("--trust", graph.digest)
    if moment is None:
        assert goop(place, "delegate", "reviewed.toml", *trust).code == 3
    else:
        killed = start([*DYING, moment, "review", "1"], "reviewed.toml", *trust)
        assert killed.wait(timeout=60) == -signal.SIGKILL
    [row] = place.store.read(lambda reading: reading.graphs.runs())
    run = row.id
    assert finish(place, run, "review", report(summary="I did it.")).code == 0
    assert in_round(place) == ["First work.", "Which limit?", "I did it."]
    assert blockers_in(place) == []
    assert recorded(place, run) == {"build": 1, "review": 3}
    assert not place.store.read(lambda reading: reading.graphs.unrecorded(run))
    check_run(place.store, run)


async def test_what_was_refused_as_its_task_waited_is_tried_again_before_the_next_report(
    any_place: Place, tmp_path: Path
) -> None:
    def worker(message: str) -> str:
        if "Build" in message:
            return report(summary="First work.")
        if "Ten." in message:
            return report(agent="goop-verifier", summary="It is good.")
        blockers = "RULE 4: which limit?"
        return report("BLOCKED", agent="goop-verifier", summary="Which limit?", blockers=blockers)

    tried: list[str] = []

    def record(left: GraphReportRow) -> int:
        tried.append(str(json.loads(left.result)["envelope"]["summary"]))
        if tried[-1] == "Which limit?" and tried.count(tried[-1]) == 1:
            raise GoopError("the disk is full")
        return len(tried)

    graph = replace(write_reviewed(tmp_path), agents=(GraphAgent("worker"),))
    store, run = any_place.store, any_place.ledger.create(graph, input={})
    go_on = partial(resume, agents={"worker": worker}, project=tmp_path, record=record)
    assert (await go_on(store, run)).state == "waiting_for_person"
    # No runner tries it by itself.
    assert not store.read(lambda reading: reading.graphs.left_reports(limit=9))
    any_place.ledger.answer(run, "review", "retry", by="Kim", note="Ten.")
    assert (await go_on(store, run)).state == "finished"
    assert tried == ["First work.", "Which limit?", "Which limit?", "It is good."]
    assert read_view(store, run).tasks["review"].reports == (3, 4)
    check_run(store, run)


def test_a_dead_runner_leaves_a_report_after_that_of_one_that_is_about_to_record_its_own(
    any_place: Place,
) -> None:
    ledger, run = any_place.ledger, any_place.ledger.create(one_wave(1, parallel=1), input={})
    waits = Expansion(state="input_required", reason="blocked", message="Which limit?")
    alive = this_process()
    # No process has this id: the largest that a kernel gives is one less.
    dead = replace(this_process(), pid=2**22)
    for runner, expansion in ((alive, waits), (dead, Expansion())):
        ledger.register(runner)
        claim = ledger.claim(run, runner)
        assert isinstance(claim, Claim)
        decide = partial(lambda expansion, _: expansion, expansion)
        accepted = AcceptedReport(claim=claim, result={"text": "…"}, decide=decide, records=True)
        ledger.accept([accepted], None)
        if runner is alive:
            assert ledger.left_unrecorded() == []
            ledger.answer(run, "t00", "retry", by="Kim")

    assert [each.round for each in ledger.left_unrecorded()] == [0, 1]


@pytest.mark.parametrize("moment", ["never", "before", "after"])
@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_a_task_that_comes_back_to_what_it_reported_counts_with_that(
    place: Place, moment: str, start: Start, tmp_path: Path
) -> None:
    graph = write_reviewed(tmp_path)
    worker = tmp_path / "worker.py"
    # Blocked, done, and after the review blocked in the same words.
    worker.write_text(
        worker.read_text().replace(
            'print(report(summary=["First work.", "Second work."][round]))',
            'print(report(summary="Some work.") if round == 1 else'
            ' report("BLOCKED", summary="No key.", blockers="RULE 4: which key?"))',
        )
    )
    trust = ("--trust", graph.digest)
    assert goop(place, "delegate", "reviewed.toml", *trust).code == 3
    [row] = place.store.read(lambda reading: reading.graphs.runs())
    run = row.id
    assert goop(place, "runs", "answer", run, "build", "retry").code == 0
    if moment == "never":
        assert goop(place, "runs", "resume", run).code == 3
    else:
        words = ("--runner-only", *trust)
        # The worker records two reports of the task: that of the second round, and this one.
        killed = start([*DYING, moment, "build", "2"], *words)
        assert killed.wait(timeout=60) == -signal.SIGKILL
        assert place.states(run)["build"] == "input_required"
        assert goop(place, "runs", "resume", run).code == 3

    assert in_round(place) == ["No key.", "Some work.", "No limits.", "No key."]
    assert recorded(place, run)["build"] == 4
    assert "which key?" in json.dumps(blockers_in(place))
    assert goop(place, "runs", "resume", run).code == 3
    assert len(in_round(place)) == 4
    check_run(place.store, run)


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_a_report_that_was_refused_elsewhere_is_not_recorded_after_the_next_one(
    place: Place, tmp_path: Path
) -> None:
    files, refused = ProjectFiles(tmp_path), list[GraphReportRow]()
    context = ProjectContext(files=files, store=place.store)

    def record_late() -> None:
        """Go on as a worker that stood still with the report that was sent back."""
        with pytest.raises(RunError, match="a later report of review is"):
            record_task(context, refused[0], now=NOW)

    # As on a machine that does not have a file which the report names.
    def record(left: GraphReportRow) -> int:
        if "No limits." in left.result:
            refused.append(left)
            raise GoopError("there is no such file here")
        number = record_task(context, left, now=NOW)
        if "It is good." in left.result:
            # Before the run knows that this one is recorded.
            record_late()
        return number

    graph = replace(write_reviewed(tmp_path), agents=(GraphAgent("worker"),))
    run = place.ledger.create(graph, input={})
    done = await resume(
        place.store, run, agents={"worker": build_and_review}, project=tmp_path, record=record
    )
    assert done.state == "finished"
    assert in_round(place) == ["First work.", "Second work.", "It is good."]
    record_late()
    assert in_round(place) == ["First work.", "Second work.", "It is good."]
