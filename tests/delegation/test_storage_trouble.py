"""The database is away or full for a while, or its answers do not arrive: nothing is lost."""

import itertools
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import apsw
import pytest
from psycopg.sql import SQL, Identifier

from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Claim, Ledger
from goop_mcp.delegation.parts import GraphAgent, GraphRetry
from goop_mcp.delegation.processes import this_process
from goop_mcp.delegation.runner import GraphOutcome, Runner
from goop_mcp.errors import StoreUnavailableError
from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.delegation.agent_program import lives
from tests.delegation.reports import report
from tests.delegation.runners import USUAL, Place, check_run, one_wave, within
from tests.postgres import Database, Server
from tests.store.postgres.relay import CutOff, Relay

if sys.platform != "win32":
    import resource

TASKS = 12
AWAY = 20.0
# The lease outlasts the time that the database is away, as the usual one does.
PATIENT = replace(USUAL, seconds=0.3)
# They keep the setting that they began with.
END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def carry_out(place: Place, trouble: Callable[[int], None], errors: Path) -> None:
    """Carry out a graph, with `trouble` for the process of the runner when a third is done."""
    run = place.ledger.create(one_wave(TASKS, parallel=3), input={})
    runner = place.start(run, PATIENT, errors=errors)
    within(60, lambda: place.count("end") >= TASKS // 3)
    trouble(runner.pid)
    assert runner.wait(timeout=120) == 0

    check_run(place.store, run)
    assert Counter(place.states(run).values()) == {"accepted": TASKS}
    assert place.accepted_times(run) == dict.fromkeys(place.states(run), 1)
    # The answers of that time were kept: nobody was asked again.
    assert place.count("begin") == TASKS


@pytest.mark.delegation
def test_a_file_that_others_lock_for_twenty_seconds(tmp_path: Path) -> None:
    def lock(_pid: int) -> None:
        [file] = tmp_path.rglob("goop.db")
        other = apsw.Connection(str(file))
        other.set_busy_timeout(10_000)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(AWAY)
        other.execute("ROLLBACK")
        other.close()

    with Place(tmp_path, None) as place:
        carry_out(place, lock, tmp_path / "errors")


@pytest.mark.delegation
def test_a_server_that_is_gone_for_twenty_seconds(tmp_path: Path) -> None:
    with Server(durable=True) as server, server.database() as database:

        def restart(_pid: int) -> None:
            server.kill()
            time.sleep(AWAY)
            server.start_again()

        with Place(tmp_path, database.url()) as place:
            carry_out(place, restart, tmp_path / "errors")
    errors = (tmp_path / "errors").read_text()
    # Not by each task at each of its tries.
    assert 1 <= errors.count("the database does not answer") <= 5
    assert "the database answers again" in errors


@pytest.mark.delegation
def test_a_server_that_takes_no_changes_for_a_while(tmp_path: Path) -> None:
    """As servers that are run by others become when their disk is full."""
    errors = tmp_path / "errors"
    with Server() as server, server.database() as database:

        def refuse_changes(_pid: int) -> None:
            with database.connect() as connection:
                name = Identifier(database.name)
                only_reads = SQL("ALTER DATABASE {} SET default_transaction_read_only = on")
                connection.execute(only_reads.format(name))
                connection.execute(END_SESSIONS)
                within(60, lambda: "the database does not answer" in errors.read_text())
                time.sleep(3)
                only_reads = SQL("ALTER DATABASE {} RESET default_transaction_read_only")
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(only_reads.format(name))
                connection.execute(END_SESSIONS)

        with Place(tmp_path, database.url()) as place:
            carry_out(place, refuse_changes, errors)
    assert "read-only" in errors.read_text()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Mount a file system of its own, which can be filled without harm to others."""
    # A short path: that of a socket has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="goop-disk-"))
    try:
        options = f"size={megabytes}m,mode=0755"
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
        except OSError as error:
            pytest.skip(f"no small file system can be mounted here: {error}")
        if mounted.returncode:
            pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
        try:
            yield folder
        finally:
            unmount = ["umount", "-l", str(folder)]
            subprocess.run(unmount, check=True)
    finally:
        folder.rmdir()


def fill_up(file: Path) -> None:
    """Write until there is no room for another page of the database."""
    with suppress(OSError), file.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))


@pytest.mark.delegation
def test_a_server_whose_disk_is_full_for_a_while(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with (
        small_disk(160) as disk,
        Server(durable=True, below=disk) as server,
        server.database() as database,
    ):
        ballast = disk / "ballast"

        def fill(_pid: int) -> None:
            fill_up(ballast)
            within(60, lambda: "the database does not answer" in errors.read_text())
            time.sleep(3)
            ballast.unlink()

        with Place(tmp_path, database.url()) as place:
            carry_out(place, fill, errors)
    # What a person has to do, in the words of the server and in ours.
    assert "no space left" in errors.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process")
def test_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    errors = tmp_path / "errors"

    def fill(pid: int) -> None:
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        size = max(each.stat().st_size for each in tmp_path.rglob("goop.db*"))
        # No file may grow any more, as on a disk without room; the log of the agents is smaller.
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))
        within(60, lambda: "the database does not answer" in errors.read_text())
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

    with Place(tmp_path, None) as place:
        carry_out(place, fill, errors)


async def carry_out_here(place: Place, graph: Graph, store: Store) -> list[str]:
    """Carry out a graph in this process; return what the agent was asked."""
    asked: list[str] = []

    async def agent(message: str) -> str:
        asked.append(message)
        await anyio.lowlevel.checkpoint()
        return report()

    # The lease of what nobody works on has to end within the test.
    ledger = Ledger(store, lease_seconds=1.0, grace_seconds=0.2)
    run = ledger.create(graph, input={})
    makers = agent_makers(graph, project=place.folder, given={"worker": agent})
    with anyio.fail_after(60):
        done = await Runner(ledger, run, makers, project=place.folder).run()

    assert done.state == "finished"
    check_run(place.store, run)
    assert place.accepted_times(run) == dict.fromkeys(done.tasks, 1)
    return asked


@pytest.mark.parametrize("parallel", [1, 5])
@pytest.mark.parametrize("cut_off", ["message", "answer"])
def test_connections_that_break_while_changes_are_committed(
    database: Database, tmp_path: Path, parallel: int, cut_off: CutOff
) -> None:
    """The server says afterwards whether they were, so that nobody is asked a second time."""
    with Place(tmp_path, database.url()) as place, Relay(database) as relay:
        counts = itertools.count()
        store = open_store(relay.url, project=tmp_path, project_id="shop")
        store.write(lambda writing: writing.next_revision())
        # Not the first, which adds the run: that is not repeated by itself.
        relay.cut(lambda data: cut_off if b"; COMMIT" in data and next(counts) % 3 == 1 else None)
        asked = anyio.run(carry_out_here, place, one_wave(TASKS, parallel=parallel), store)
        store.close()
    assert next(counts) > TASKS / parallel
    assert len(asked) == TASKS


@pytest.mark.parametrize("lost", [2, 3, 5])
def test_a_change_of_which_nobody_can_say_whether_it_was_made(place: Place, lost: int) -> None:
    """Tasks that were claimed in it are taken up again when their leases have ended."""
    counts = itertools.count(1)

    def lose(point: Failpoint) -> None:
        if point == Failpoint.COMMIT and next(counts) == lost:
            raise StoreUnavailableError("nobody knows whether it was")

    place.store.write(lambda writing: writing.next_revision())
    # The first change adds the run: that is not repeated by itself.
    install(lose)
    try:
        asked = anyio.run(carry_out_here, place, one_wave(TASKS, parallel=5), place.store)
    finally:
        install(None)
    assert next(counts) > lost
    # Where one was claimed in it, its message may have been sent for all that is known.
    assert {each.rpartition("\n")[2] for each in asked} == {
        f"Do task t{number:02}" for number in range(TASKS)
    }


def test_what_a_runner_works_on_is_not_taken_from_it_by_itself(place: Place) -> None:
    """Its leases may have ended, as after the lid of a laptop was closed."""
    ledger, me = Ledger(place.store, lease_seconds=0.2), this_process()
    ledger.register(me)
    run = ledger.create(one_wave(3, parallel=3), input={})
    first, second = ledger.claim(run, me), ledger.claim(run, me)
    assert isinstance(first, Claim)
    assert isinstance(second, Claim)
    assert ledger.renew(me, [first.row.id]) == [first.row.id]
    time.sleep(0.3)

    third = ledger.claim(run, me, working_on={first.row.id, second.row.id})
    assert isinstance(third, Claim)
    again = ledger.claim(run, me, working_on={first.row.id, third.row.id})
    assert isinstance(again, Claim)
    assert (third.row.id, third.taken_over) == ("t02", False)
    assert (again.row.id, again.taken_over) == (second.row.id, True)
    check_run(place.store, run)


def test_the_leases_of_more_tasks_than_one_statement_takes_are_renewed(place: Place) -> None:
    ledger, me = place.ledger, this_process()
    ledger.register(me)
    run = ledger.create(one_wave(40, parallel=40), input={})
    claims = [ledger.claim(run, me) for _ in range(40)]
    ids = [each.row.id for each in claims if isinstance(each, Claim)]
    assert len(ids) == 40
    assert sorted(ledger.renew(me, [*ids, "another"])) == sorted(ids)
    assert ledger.renew(me, ids[:17]) == ids[:17]
    assert ledger.renew(me, []) == []


def test_programs_are_asked_while_the_database_is_away(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No task fails for it, and everything else in the process goes on."""
    answers = tmp_path / "agent.py"
    # As Claude Code, it waits no longer than a moment for its message.
    answers.write_text(
        "import select, sys\n"
        "if not select.select([sys.stdin], [], [], 1.5)[0]: sys.exit('no message came')\n"
        f"sys.stdin.read()\nprint({report()!r})\n"
    )
    graph = replace(
        one_wave(4, parallel=4),
        agents=(GraphAgent("worker", run="command", command=(sys.executable, str(answers))),),
    )
    commits, away, slowest = itertools.count(), list[float](), 0.0

    async def tick() -> None:
        nonlocal slowest
        while True:
            began = time.monotonic()
            await anyio.sleep(0.01)
            slowest = max(slowest, time.monotonic() - began)

    def go_away(message: bytes) -> CutOff | None:
        """Let the runner join and claim its first task, then answer nothing for a while."""
        if b"; COMMIT" in message and next(commits) == 2:
            away.append(time.monotonic() + 3)
        return "message" if away and time.monotonic() < away[0] else None

    async def play(runner: Runner) -> GraphOutcome:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            with anyio.fail_after(60):
                done = await runner.run()
            group.cancel_scope.cancel()
        return done

    with Place(tmp_path, database.url()) as place, Relay(database) as relay:
        run = place.ledger.create(graph, input={})
        store = open_store(relay.url, project=tmp_path, project_id="shop")
        makers = agent_makers(graph, project=tmp_path)
        store.write(lambda writing: writing.next_revision())
        relay.cut(go_away)
        done = anyio.run(play, Runner(Ledger(store), run, makers, project=tmp_path))
        store.close()

        assert Counter(place.states(run).values()) == {"accepted": 4}, done
        check_run(place.store, run)
    assert away
    assert slowest < 1
    logged = [record.getMessage() for record in caplog.records]
    assert 1 <= sum("the database does not answer" in each for each in logged) <= 3
    assert logged[-1] == "the database answers again"


def test_a_silent_server_keeps_no_program_beyond_its_lease(
    database: Database, tmp_path: Path
) -> None:
    """Also while the start of the program is still being written down."""
    program, began = tmp_path / "agent.py", tmp_path / "began"
    program.write_text(
        "import os, sys, time\n"
        f"open({str(began)!r}, 'w').write(f'{{os.getpid()}} ')\n"
        "time.sleep(60)\n"
    )
    graph = replace(
        one_wave(1, parallel=1),
        agents=(GraphAgent("worker", run="command", command=(sys.executable, str(program))),),
    )
    commits, silent, ended = itertools.count(), list[float](), list[float]()

    def fall_silent(message: bytes) -> None:
        """Let the runner join and claim its task."""
        if b"; COMMIT" in message and next(commits) == 2:
            silent.append(time.monotonic())
            relay.silence()

    def watch() -> None:
        within(20, lambda: began.exists() and began.read_text().endswith(" "))
        within(20, lambda: not lives(int(began.read_text())))
        ended.append(time.monotonic() - silent[0])
        relay.pass_on()

    async def play(runner: Runner) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, watch)
            assert await runner.run_task("t00")

    with Place(tmp_path, database.url()) as place, Relay(database) as relay:
        run = place.ledger.create(graph, input={})
        store = open_store(relay.url, project=tmp_path, project_id="shop")
        store.write(lambda writing: writing.next_revision())
        relay.cut(fall_silent)
        ledger = Ledger(store, lease_seconds=3.0, grace_seconds=1.0)
        anyio.run(
            play, Runner(ledger, run, agent_makers(graph, project=tmp_path), project=tmp_path)
        )
        store.close()
        # Whoever comes next may ask it again.
        assert place.states(run) == {"t00": "ready"}
        check_run(place.store, run)
    assert ended[0] < 3.0


def test_an_answer_is_kept_while_the_start_of_its_program_cannot_be_written(
    tmp_path: Path,
) -> None:
    """Its time limit passes meanwhile, which is no reason to ask again."""
    program, asked = tmp_path / "agent.py", tmp_path / "asked"
    program.write_text(
        f"import sys\nopen({str(asked)!r}, 'a').write('x')\nsys.stdin.read()\nprint({report()!r})\n"
    )
    worker = GraphAgent(
        "worker",
        run="command",
        command=(sys.executable, str(program)),
        retry=GraphRetry(attempt_timeout=4.0),
    )
    graph = replace(one_wave(1, parallel=1), agents=(worker,))
    changes = itertools.count()

    def stand_still(point: Failpoint) -> None:
        # The runner has joined and claimed its task.
        if point == Failpoint.COMMIT and next(changes) == 2:
            time.sleep(6)

    with Place(tmp_path, None) as place:
        run = place.ledger.create(graph, input={})
        install(stand_still)
        try:
            makers = agent_makers(graph, project=tmp_path)
            done = anyio.run(Runner(place.ledger, run, makers, project=tmp_path).run)
        finally:
            install(None)
        assert done, done
        check_run(place.store, run)
    assert asked.read_text() == "x"


def test_a_server_that_falls_silent_ends_calls_before_their_leases_end(
    database: Database, tmp_path: Path
) -> None:
    """It keeps the connection, and no error says that the leases were not renewed."""
    ended: list[float] = []

    async def agent(_: str) -> str:
        relay.silence()
        began = time.monotonic()
        try:
            await anyio.sleep(60)
        finally:
            ended.append(time.monotonic() - began)
            relay.pass_on()
        return report()

    with Place(tmp_path, database.url()) as place, Relay(database) as relay:
        run = place.ledger.create(one_wave(1, parallel=1), input={})
        store = open_store(relay.url, project=tmp_path, project_id="shop")
        ledger = Ledger(store, lease_seconds=3.0, grace_seconds=1.0)
        makers = agent_makers(
            ledger.graph(ledger.run(run)), project=tmp_path, given={"worker": agent}
        )
        assert anyio.run(Runner(ledger, run, makers, project=tmp_path).run_task, "t00")
        store.close()
        # Whoever comes next may ask it again.
        assert place.states(run) == {"t00": "ready"}
        check_run(place.store, run)
    assert 2.0 < ended[0] < 3.0
