"""A run whose runner is gone does not look as if somebody worked on it, on any surface."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from goop_mcp import Job, ask_many
from goop_mcp.delegation import KeptRun
from goop_mcp.delegation.ledger import Claim
from goop_mcp.delegation.liveness import RunWork, work_on
from goop_mcp.delegation.processes import this_process
from goop_mcp.store.graph_rows import CircuitRow
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from tests.cli.running import PROGRAM, Ended, environment, run
from tests.delegation.graphs import chain
from tests.delegation.reports import report
from tests.delegation.runners import USUAL, Place, one_wave, stand_still, within
from tests.delegation.test_many_machines import write_graph
from tests.delegation.test_takeover import move_away
from tests.server.connections import PROTOCOL_MODES, connect, stdio_server, text_of
from tests.workbench.browsing import browse
from tests.workbench.browsing import text_of as shown_on

SLOW = replace(USUAL, seconds=300.0)
GONE = re.compile(r"nobody works on it since [0-9:]{8}")


def work_of(place: Place, id: str) -> RunWork | None:
    return place.store.read(lambda reading: work_on(reading, place.ledger.run(id)))


def state_of(place: Place, id: str) -> str | None:
    found = work_of(place, id)
    return None if found is None else found.state


def goop(place: Place, *words: str) -> Ended:
    """Run a command of goop-mcp in the project of `place`."""
    where = [] if place.url is None else ["--database", place.url, "--project-id", "shop"]
    state = {"XDG_STATE_HOME": str(place.folder / "state")}
    return run(*words, *where, cwd=place.folder, env=state)


def begun(place: Place, tasks: int = 2) -> "tuple[str, subprocess.Popen[bytes]]":
    """Begin a run of which two agents are at work."""
    id = place.ledger.create(one_wave(tasks, parallel=2), input={})
    process = place.start(id, SLOW)
    within(60, lambda: place.count("begin") >= 2)
    return id, process


def killed(place: Place) -> str:
    id, process = begun(place)
    assert state_of(place, id) == "under_way"
    process.kill()
    process.wait(timeout=60)
    return id


def test_a_killed_run_is_named_on_the_terminal_until_it_goes_on(any_place: Place) -> None:
    place = any_place
    id = killed(place)
    line = re.compile(rf"nobody works on it since [0-9:]{{8}}: goop-mcp runs resume {id}")
    for words, code in (
        (("runs",), 0),
        (("runs", "--all"), 0),
        (("runs", "show", id), 3),
        (("runs", "show", id, "--watch"), 3),
        (("status", "--exit-code"), 3),
    ):
        ended = goop(place, *words)
        assert line.search(ended.out), ended
        assert ended.code == code, ended
        # What stands still is not under way as well.
        assert f"{id}  wave  running" not in ended.out
        assert f"{id}: running" not in ended.out

    [asked] = json.loads(goop(place, "status", "--format", "json").out)["waiting"]
    assert asked["action"] == "resume"
    assert asked["command"] == f"goop-mcp runs resume {id}"
    assert GONE.search(asked["summary"])

    place.finish(id)
    assert not GONE.search(goop(place, "runs", "--all").out)
    assert goop(place, "status", "--exit-code").code == 0
    assert goop(place, "runs", "show", id).code == 0


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
def test_clients_of_the_server_see_that_a_run_was_killed(place: Place, mode: str) -> None:
    id = killed(place)
    where = [] if place.url is None else ["--database", place.url, "--project-id", "shop"]
    with connect(stdio_server(place.folder, *where), mode) as client:
        status = client.tool("project_status", run=id)
        listed, shown = client.read("goop://runs").text, client.read(f"goop://runs/{id}").text
    assert status.structured_content is not None
    [asked] = status.structured_content["waiting"]
    assert (asked["action"], asked["command"]) == ("resume", f"goop-mcp runs resume {id}")
    for text in (text_of(status), listed, shown):
        assert re.search(rf"{GONE.pattern}: goop-mcp runs resume {id}", text), text


def test_the_pages_show_that_a_run_was_killed(tmp_path: Path) -> None:
    with Place(tmp_path, None) as place:
        id = killed(place)
        (tmp_path / ".goopspec").mkdir(exist_ok=True)
        with browse(tmp_path) as browser:
            for address in ("/", "/runs", f"/runs/{id}"):
                page = shown_on(browser.get(address))
                assert GONE.search(page), address
                assert f"goop-mcp runs resume {id}" in page
            place.finish(id)
            for address in ("/", "/runs", f"/runs/{id}"):
                assert not GONE.search(shown_on(browser.get(address))), address


def test_an_open_page_learns_that_a_runner_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that is stored changes then."""
    monkeypatch.setattr("goop_mcp.workbench.live._BETWEEN_LOOKS", 0.0)
    with Place(tmp_path, None) as place:
        id, process = begun(place)
        with browse(tmp_path) as browser:
            stamps = re.compile(r'data-stamp="(\w+)"')
            first = stamps.search(browser.get(f"/runs/{id}").text)
            again = stamps.search(browser.get(f"/runs/{id}").text)
            process.kill()
            process.wait(timeout=60)
            last = stamps.search(browser.get(f"/runs/{id}").text)
        assert first is not None
        assert again is not None
        assert last is not None
        assert first[1] == again[1] != last[1]


def test_a_runner_that_only_waits_works_on_its_run(any_place: Place) -> None:
    """Its agent is left alone for a while, so that no task is under way."""
    place = any_place

    def open_circuit(writing: WriteTransaction) -> None:
        until = time.time() + 3600
        row = CircuitRow(
            agent="worker", failures=9, open_until=until, next_call_at=0.0, usages="[]"
        )
        writing.graphs.add(row)

    id = place.ledger.create(one_wave(2, parallel=2), input={})
    place.store.write(open_circuit)
    assert state_of(place, id) == "not_started"
    process = place.start(id)
    within(60, lambda: state_of(place, id) == "under_way")
    assert set(place.states(id).values()) == {"ready"}
    process.kill()
    process.wait(timeout=60)
    assert state_of(place, id) == "left"
    # It is known without any task that was ever claimed.
    assert place.store.read(lambda reading: reading.graphs.newest_work(id)) is None


def test_a_runner_that_stands_still_is_not_gone_before_its_lease(place: Place) -> None:
    id, process = begun(place)
    stand_still(place, process)
    assert state_of(place, id) == "under_way"
    assert re.search(rf"{id}  wave  running  ", goop(place, "runs").out)


def test_a_runner_on_another_machine_is_gone_when_its_lease_and_grace_are_over(
    any_place: Place,
) -> None:
    place = any_place
    id, process = begun(place)
    [row] = place.store.read(lambda reading: reading.graphs.runners(id, limit=9))
    stand_still(place, process)
    move_away(place, row.owner)
    process.kill()
    # Nobody can look at its process from here.
    assert state_of(place, id) == "under_way"
    move_away(place, row.owner, clock=-39.0 - (time.time() - row.seen_at))
    assert state_of(place, id) == "under_way"
    move_away(place, row.owner, clock=-10.0)
    found = work_of(place, id)
    assert found is not None
    assert found.state == "left"


def test_a_run_that_waits_for_a_person_or_never_began_is_not_gone(place: Place) -> None:
    id = place.ledger.create(chain(), input={})
    assert re.search(rf"{id}  chain  not started  ", goop(place, "runs").out)
    assert goop(place, "status", "--exit-code").code == 0
    assert goop(place, "runs", "show", id).code == 0
    assert f"{id}: not started" in goop(place, "runs", "show", id).out

    me = this_process()
    place.ledger.register(me, id)
    claim = place.ledger.claim(id, me)
    assert isinstance(claim, Claim)
    place.ledger.give_up(claim, reason="crash", message="Again?", person=True)
    assert place.ledger.run(id).state == "waiting_for_person"
    assert work_of(place, id) is None
    assert f"{id}: waiting for person" in goop(place, "runs", "show", id).out

    # What a person decides about it is for a runner, and there is none.
    forget_runners(place, id)
    place.ledger.answer(id, "a", "retry", by="Kim")
    assert state_of(place, id) == "left"


def test_what_is_cancelled_in_a_run_without_runners_says_what_ends_it(place: Place) -> None:
    id = killed(place)
    ended = goop(place, "runs", "cancel", id)
    assert ended.code == 0
    assert f"goop-mcp runs resume {id} ends what was running" in ended.err
    assert state_of(place, id) == "left"


def forget_runners(place: Place, id: str) -> None:
    """Remove the rows of runners, as those that were not seen for a week are."""

    def write(writing: WriteTransaction) -> None:
        assert writing.graphs.runners(id, limit=9)
        writing.graphs.remove_runners(before=time.time() + 3600)

    place.store.write(write)


def test_of_a_runner_that_is_forgotten_the_last_work_is_known(any_place: Place) -> None:
    id = killed(any_place)
    forget_runners(any_place, id)
    events = any_place.store.read(lambda reading: reading.graphs.events(id))
    found = work_of(any_place, id)
    assert found is not None
    assert found.since == max(each.at for each in events if each.what == "asked")
    assert GONE.fullmatch(found.words)


def test_a_run_that_was_stopped_waits_for_somebody(place: Place) -> None:
    write_graph(place.folder, "endless", 2, seconds=600)
    where = [] if place.url is None else ["--database", place.url, "--project-id", "shop"]
    trust = ("--trust", trusted(place, "endless"))
    errors = place.folder / "errors"
    with errors.open("wb") as stream:
        process = subprocess.Popen(
            [*PROGRAM, "delegate", "endless.toml", *trust, *where],
            cwd=place.folder,
            env=environment({"XDG_STATE_HOME": str(place.folder / "state")}),
            stdin=subprocess.DEVNULL,
            stderr=stream,
            stdout=subprocess.DEVNULL,
        )
    within(60, (place.folder / "asked.jsonl").exists)
    process.send_signal(signal.SIGINT)
    within(60, lambda: "stopping when the calls" in errors.read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    [id] = [line.split()[0] for line in goop(place, "runs").out.splitlines()]
    assert set(place.states(id).values()) == {"ready", "waiting"}
    assert f"goop-mcp runs resume {id}" in goop(place, "runs").out


def trusted(place: Place, name: str) -> str:
    shown = run("delegate", f"{name}.toml", "--check", cwd=place.folder).out
    return shown.split()[-1]


@contextmanager
def working(place: Place, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a runner of all runs; it ends with the block."""
    where = [] if place.url is None else ["--database", place.url, "--project-id", "shop"]
    with (place.folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            [*PROGRAM, "delegate", "--runner-only", *where, *words],
            cwd=place.folder,
            env=environment({"XDG_STATE_HOME": str(place.folder / "state")}),
            stderr=log,
            stdout=log,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=60)


def test_a_runner_of_all_runs_works_on_those_that_it_may_run(any_place: Place) -> None:
    place = any_place
    graph = write_graph(place.folder, "slow", 2, seconds=600)
    id = place.ledger.create(graph, input={})
    with working(place):
        within(60, lambda: "does not run here" in (place.folder / "worker.log").read_text())
        assert state_of(place, id) == "not_started"
    with working(place, "--trust", graph.digest):
        within(60, lambda: state_of(place, id) == "under_way")
    assert state_of(place, id) == "left"


def test_a_worker_of_a_queue_takes_a_run_though_none_of_its_tasks_is_under_way(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with Place(tmp_path, request.getfixturevalue("database").url()) as place:
        graph = write_graph(tmp_path, "slow", 2, seconds=600)
        other = write_graph(tmp_path, "strange", 2, seconds=600)
        first = place.ledger.create(graph, input={})
        words = ("--dispatcher", "procrastinate", "--trust", graph.digest, "--parallel", "1")
        with working(place, *words):
            within(60, lambda: state_of(place, first) == "under_way")
            second = place.ledger.create(graph, input={})
            untrusted = place.ledger.create(other, input={})
            within(60, lambda: state_of(place, second) == "queued")
            line = re.compile(rf"{second}  slow  a worker takes the next task  ")
            assert line.search(goop(place, "runs").out)
            assert goop(place, "status", "--exit-code").code == 0
            # It leaves this one alone.
            assert state_of(place, untrusted) == "not_started"
        assert (state_of(place, first), state_of(place, second)) == ("left", "not_started")


def test_a_run_of_a_program_goes_on_with_that_program(tmp_path: Path) -> None:
    program = (
        "import anyio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from goop_mcp import Job, ask_many\n"
        "from goop_mcp.delegation import KeptRun\n"
        "from goop_mcp.store.opening import open_store\n"
        "async def ask(_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "store = open_store(None, project=Path.cwd())\n"
        "anyio.run(lambda: ask_many([Job(ask, 'Do it')], store=KeptRun(store, 'mine')))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), check=False
    )
    assert ended.returncode == -signal.SIGKILL
    with Place(tmp_path, None) as place:
        [row] = place.store.read(lambda reading: reading.graphs.runs())
        line = re.compile(rf"{row.id}  mine  {GONE.pattern}: goop-mcp runs resume {row.id}  ")
        assert line.search(goop(place, "runs").out)
        # Only that program has its agents.
        assert "give it in agents=" in goop(place, "runs", "resume", row.id).err

    async def go_on(store: Store) -> None:
        async def ask(_: str) -> str:
            return report()

        [done] = await ask_many([Job(ask, "Do it")], store=KeptRun(store, "mine", run=row.id))
        assert done.accepted

    with closing(open_store(None, project=tmp_path)) as store:
        anyio.run(go_on, store)
    with Place(tmp_path, None) as place:
        assert not GONE.search(goop(place, "runs", "--all").out)


def test_a_time_of_another_day_has_its_date() -> None:
    left = RunWork(
        run="run-1", state="left", since="2026-03-01T20:30:57+00:00", now="2026-03-01T21:00:00"
    )
    assert left.sentence == "nobody works on it since 20:30:57: goop-mcp runs resume run-1"
    later = replace(left, now="2026-03-02T01:00:00")
    assert later.words == "nobody works on it since 2026-03-01 20:30:57"
