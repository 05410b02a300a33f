"""A runner whose database takes nothing: one message, nothing lost, and a signal ends it.

Real disks, limits, permissions and servers, through the command line.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import apsw
import pytest
from psycopg.sql import SQL, Identifier

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.outage import Outage
from goop_mcp.errors import StoreError, StoreFullError
from goop_mcp.store.interface import ReadTransaction
from tests.cli.running import PROGRAM, Ended, environment, run
from tests.delegation.runners import Place, check_run, within
from tests.delegation.test_agents import is_alive
from tests.delegation.test_storage_trouble import END_SESSIONS, fill_up, small_disk
from tests.postgres import Server
from tests.store.postgres.relay import Relay

if sys.platform != "win32":
    import resource

# Far less than the two minutes for which a runner waits, and enough for a busy machine.
SECONDS = 60
AWAY = "the database does not answer"
WORKER = """\
import json, os, sys, time
sys.path.insert(0, {here!r})
from pathlib import Path
from tests.delegation.reports import report
sys.stdin.read()
task = os.environ["GOOP_TASK"]
with open({log!r}, "a") as file:
    file.write(json.dumps([task, os.getpid()]) + "\\n")
while Path({holds!r}, task).exists():
    time.sleep(0.05)
print(report())
"""


class Scene:
    """A project, perhaps on a disk of its own, with a graph of tasks that can be held back."""

    def __init__(self, folder: Path, around: Path, *, tasks: int = 4) -> None:
        self.folder = folder
        self.log, self.holds = around / "asked.jsonl", around / "holds"
        self.holds.mkdir()
        self.state = {"XDG_STATE_HOME": str(around / "state")}
        self.errors = around / "errors"
        worker = around / "worker.py"
        here = str(Path(__file__).parents[2])
        worker.write_text(WORKER.format(here=here, log=str(self.log), holds=str(self.holds)))
        words = json.dumps([sys.executable, str(worker)])
        lines = ['graph = 1\nname = "held"\nprotocol = "goop_report"\n[limits]\nparallel = 2\n']
        lines.append(f'[agents.worker]\nrun = "command"\ncommand = {words}\n')
        lines += [f'[tasks.t{each}]\nagent = "worker"\nprompt = "Do."\n' for each in range(tasks)]
        self.graph = around / "held.toml"
        self.graph.write_text("\n".join(lines))
        for each in range(2, tasks):
            (self.holds / f"t{each}").touch()

    @property
    def asked(self) -> list[str]:
        """The tasks whose agents were asked, in order."""
        return [task for task, _ in self._lines]

    @property
    def programs(self) -> list[int]:
        """The process ids of all agents."""
        return [pid for _, pid in self._lines]

    @property
    def _lines(self) -> list[tuple[str, int]]:
        text = self.log.read_text() if self.log.exists() else ""
        return [tuple(json.loads(line)) for line in text.splitlines()]

    def release(self) -> None:
        """Let all agents answer."""
        for each in self.holds.iterdir():
            each.unlink()

    @contextmanager
    def delegating(self, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Begin, until two tasks are accepted and the agents of two others are at work.

        With `--runner-only` among `words`, a worker takes a run that is there already.
        """
        graph = Graph.load(self.graph)
        named = [str(self.graph)]
        if "--runner-only" in words:
            named = []
            with Place(self.folder, self.state.get("GOOP_DATABASE_URL")) as place:
                place.ledger.create(graph, input={})
        with self.errors.open("wb") as errors:
            process = subprocess.Popen(
                [*PROGRAM, "delegate", *named, "--trust", graph.digest, *words],
                cwd=self.folder,
                env=environment(self.state),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        try:
            within(SECONDS, lambda: {"t2", "t3"} <= set(self.asked))
            yield process
        finally:
            self.release()
            process.kill()
            process.wait(timeout=SECONDS)

    def printed(self) -> str:
        """Return what the runner wrote to standard error."""
        return self.errors.read_text()

    def goop(self, *words: str) -> Ended:
        """Run a command of goop-mcp in the project."""
        return run(*words, cwd=self.folder, env=self.state)


class Trouble(NamedTuple):
    """What keeps a database from taking changes; `relieve` ends that."""

    begin: Callable[["subprocess.Popen[bytes]"], None]
    relieve: Callable[["subprocess.Popen[bytes]"], None]


def grow_no_more(folder: Path) -> Trouble:
    """No file of the process may grow, as on a disk without room."""

    def begin(process: "subprocess.Popen[bytes]") -> None:
        size = max(each.stat().st_size for each in folder.rglob("goop.db*"))
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))

    def relieve(process: "subprocess.Popen[bytes]") -> None:
        # What has ended took its limits along.
        if process.poll() is not None:
            return
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))

    return Trouble(begin, relieve)


@pytest.fixture(params=["small disk", "limit"])
def full(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Scene, Trouble]]:
    """Return a project on a disk that can be filled, a real one where that can be mounted."""
    if sys.platform != "linux":
        pytest.skip("limits the files of another process")
    if request.param == "limit":
        scene = made(tmp_path)
        yield scene, grow_no_more(scene.folder)
        return

    with small_disk(6) as disk:
        ballast = disk / "ballast"
        yield (
            Scene(disk, tmp_path),
            Trouble(lambda _: fill_up(ballast), lambda _: ballast.unlink()),
        )


def made(tmp_path: Path, url: str | None = None, *, tasks: int = 4) -> Scene:
    """Return a project, its runs in the database `url` if one is given."""
    folder = tmp_path / "project"
    folder.mkdir()
    scene = Scene(folder, tmp_path, tasks=tasks)
    if url is not None:
        scene.state |= {"GOOP_DATABASE_URL": url, "GOOP_PROJECT_ID": "shop"}
    return scene


def runner_of(place: Place, run: str) -> int:
    """Return the process id of the runner that works on a run."""

    def read(reading: ReadTransaction) -> int:
        [first, *_] = reading.graphs.running_tasks(run)
        owner = reading.graphs.runner(first.owner or "")
        assert owner is not None
        return owner.pid

    return place.store.read(read)


def run_of(scene: Scene) -> str:
    return scene.goop("runs", "--all").out.split()[0]


def test_a_runner_on_a_full_disk_goes_on_when_there_is_room(full: tuple[Scene, Trouble]) -> None:
    scene, trouble = full
    with scene.delegating() as process:
        trouble.begin(process)
        scene.release()
        within(SECONDS, lambda: AWAY in scene.printed())
        # The answers are kept: their agents have ended, and nobody else was asked.
        within(SECONDS, lambda: not any(map(is_alive, scene.programs)))
        trouble.relieve(process)
        assert process.wait(timeout=2 * SECONDS) == 0

    assert sorted(scene.asked) == ["t0", "t1", "t2", "t3"]
    assert scene.printed().count(AWAY) == 1
    assert scene.printed().count("the database answers again") == 1
    with Place(scene.folder, None) as place:
        check_run(place.store, run_of(scene))


@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_ends_a_runner_on_a_full_disk(full: tuple[Scene, Trouble], signals: int) -> None:
    scene, trouble = full
    with scene.delegating() as process:
        # The agent of one task has answered, and that of the other is still at work.
        trouble.begin(process)
        (scene.holds / "t2").unlink()
        within(SECONDS, lambda: AWAY in scene.printed())
        for _ in range(signals):
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=SECONDS) == 130
        trouble.relieve(process)

    within(SECONDS, lambda: not any(map(is_alive, scene.programs)))
    printed = [line for line in scene.printed().splitlines() if line.startswith("goop-mcp: ")]
    id = run_of(scene)
    assert len(printed) == 1, printed
    assert f"interrupted (to go on: goop-mcp runs resume {id}" in printed[0]
    assert "no space is left" in printed[0]
    assert scene.printed().count(AWAY) == 1

    # Nothing is lost: what was accepted stays, and the others are asked again.
    scene.release()
    assert scene.goop("runs", "resume", id).code == 0
    assert scene.asked.count("t0") == scene.asked.count("t1") == 1
    with Place(scene.folder, None) as place:
        check_run(place.store, id)


def test_a_signal_ends_a_runner_whose_file_others_lock(tmp_path: Path) -> None:
    """A thread waits for the lock, and no error has come by then."""
    scene = made(tmp_path)
    with scene.delegating() as process:
        [file] = scene.folder.rglob("goop.db")
        other = apsw.Connection(str(file))
        other.set_busy_timeout(10_000)
        other.execute("BEGIN IMMEDIATE")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=SECONDS) == 130
        other.execute("ROLLBACK")
        other.close()
    assert f"to go on: goop-mcp runs resume {run_of(scene)}" in scene.printed()
    assert scene.goop("runs", "resume", run_of(scene)).code == 0


def test_a_worker_on_a_full_disk_waits_as_long_as_it_takes_and_a_signal_ends_it(
    full: tuple[Scene, Trouble],
) -> None:
    scene, trouble = full
    with scene.delegating("--runner-only") as process:
        trouble.begin(process)
        (scene.holds / "t2").unlink()
        within(SECONDS, lambda: AWAY in scene.printed())
        assert "trying again:" in scene.printed()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=SECONDS) == 0
        trouble.relieve(process)
    printed = scene.printed()
    assert (
        printed.count(AWAY)
        == printed.count("stopped, and the database cannot be used: no space")
        == 1
    )


@pytest.mark.delegation
@pytest.mark.parametrize("dispatcher", ["leases", "procrastinate"])
def test_a_worker_whose_server_is_gone_goes_on_and_a_signal_ends_it(
    tmp_path: Path, dispatcher: str
) -> None:
    with Server(durable=True) as server, server.database() as database:
        scene = made(tmp_path, database.url())
        with scene.delegating("--runner-only", "--dispatcher", dispatcher) as process:
            server.kill()
            (scene.holds / "t2").unlink()
            within(SECONDS, lambda: AWAY in scene.printed())
            server.start_again()
            within(SECONDS, lambda: "the database answers again" in scene.printed())
            # The answer was kept: its agent is not asked again.
            with Place(scene.folder, database.url()) as place:
                id = run_of(scene)
                within(SECONDS, lambda: place.states(id)["t2"] == "accepted")
            assert scene.asked.count("t2") == 1
            assert process.poll() is None

            server.kill()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=SECONDS) == 0
        server.start_again()


@pytest.mark.delegation
def test_a_signal_ends_a_runner_whose_server_takes_no_changes(tmp_path: Path) -> None:
    with Server() as server, server.database() as database:
        scene = made(tmp_path, database.url())

        def let_write(mode: str) -> None:
            with database.connect() as connection:
                connection.execute("SET default_transaction_read_only = off")
                words = "ALTER DATABASE {} SET default_transaction_read_only = {}"
                only_reads = SQL(words).format(Identifier(database.name), SQL(mode))
                connection.execute(only_reads)
                connection.execute(END_SESSIONS)

        with scene.delegating() as process:
            let_write("on")
            scene.release()
            within(SECONDS, lambda: AWAY in scene.printed())
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=SECONDS) == 130
        assert "read-only" in scene.printed()
        let_write("off")
        assert scene.goop("runs", "resume", run_of(scene)).code == 0


@pytest.mark.delegation
@pytest.mark.parametrize("words", [(), ("--detach",)], ids=["here", "in the background"])
def test_a_signal_ends_a_runner_whose_server_is_gone(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with Server(durable=True) as server, server.database() as database:
        scene = made(tmp_path, database.url())
        with scene.delegating(*words) as process:
            log = scene.errors
            pid = process.pid
            if words:
                [log] = tmp_path.rglob("runs/run-*.log")
                with Place(scene.folder, database.url()) as place:
                    pid = runner_of(place, log.stem)
            server.kill()
            scene.release()
            within(SECONDS, lambda: AWAY in log.read_text())
            os.kill(pid, signal.SIGTERM)
            within(SECONDS, lambda: not is_alive(pid))
        assert "interrupted (to go on: goop-mcp runs resume run-" in log.read_text()
        server.start_again()
        assert scene.goop("runs", "resume", run_of(scene)).code == 0


def test_a_signal_ends_a_runner_whose_server_is_silent(tmp_path: Path) -> None:
    """A thread waits for its answer, and no error says that there will be none."""
    with Server() as server, server.database() as database, Relay(database) as relay:
        scene = made(tmp_path, relay.url)
        with scene.delegating() as process:
            relay.silence()
            process.send_signal(signal.SIGTERM)
            # The calls under way do not end: what ends the runner is that nobody answers it.
            assert process.wait(timeout=SECONDS) == 130
            relay.pass_on()
        assert "interrupted (to go on: goop-mcp runs resume run-" in scene.printed()
        within(SECONDS, lambda: not any(map(is_alive, scene.programs)))
        assert scene.goop("runs", "resume", run_of(scene)).code == 0


def test_an_output_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    scene = made(tmp_path, tasks=2)
    trust = ("--trust", Graph.load(scene.graph).digest)
    for form in ("text", "jsonl"):
        with Path("/dev/full").open("wb") as nothing:
            ended = subprocess.run(
                [*PROGRAM, "delegate", str(scene.graph), "--new", *trust, "--format", form],
                cwd=scene.folder,
                env=environment(scene.state),
                stdin=subprocess.DEVNULL,
                stdout=nothing,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count("the output cannot be written") == 1
    states = [line.split()[2] for line in scene.goop("runs", "--all").out.splitlines()]
    assert states == ["finished", "finished"]


async def test_an_outage_is_counted_from_its_first_failure_and_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """However many steps fail, and however many others succeed that write nothing."""
    outage, tries = Outage(), 0
    is_full = True

    def write() -> str:
        nonlocal tries, is_full
        tries += 1
        # Each is tried several times before there is room.
        is_full = tries < 9
        if is_full:
            raise StoreFullError("no space is left")
        return "written"

    results: list[str] = []

    async def step() -> None:
        results.append(await outage.outlast(write))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(step)
        while tries < 4:
            assert await outage.outlast(lambda: "read") == "read"
    assert results == ["written"] * 3
    assert outage.seconds == 0
    logged = [record.getMessage() for record in caplog.records]
    assert [AWAY in each for each in logged] == [True, False]
    assert logged[1] == "the database answers again"


async def test_an_outage_that_lasts_too_long_is_the_error_of_all_that_waits() -> None:
    outage = Outage(patience=1.0)
    tries: list[int] = []

    def write(number: int) -> None:
        tries.append(number)
        raise StoreFullError("no space is left")

    async def fails(number: int) -> None:
        with pytest.raises(StoreFullError):
            await outage.outlast(write, number)

    async with anyio.create_task_group() as group:
        group.start_soon(fails, 1)
        await anyio.to_thread.run_sync(lambda: within(SECONDS, lambda: len(tries) >= 2))
        # It begins later, and waits no longer than the first.
        group.start_soon(fails, 2)
    assert tries.count(2) <= tries.count(1)


async def test_what_is_wrong_with_a_step_itself_is_not_tried_for_ever() -> None:
    outage = Outage(patience=None)

    def write() -> None:
        raise StoreError("the row is not there")

    async with anyio.create_task_group() as group:

        async def fails() -> None:
            with pytest.raises(StoreError):
                await outage.outlast(write)

        group.start_soon(fails)
        await anyio.to_thread.run_sync(
            lambda: within(SECONDS, lambda: outage.reason == "the row is not there")
        )
        outage.end()
