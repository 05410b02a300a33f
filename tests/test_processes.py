"""A process is known by more than its id; programs are ended with everything that they started.

Real processes that leave their group in each way that programs do.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from goop_mcp import processes
from goop_mcp.delegation.processes import boot_id
from goop_mcp.hosts.doctor import judging
from goop_mcp.hosts.doctor.handshake import HandshakeError, shake_hands
from goop_mcp.processes import (
    MARK,
    end_marked,
    end_program,
    kill_group,
    lives,
    marked,
    new_mark,
    started,
)
from goop_mcp.recording.commands import RunRequest, run_command
from goop_mcp.recording.git_calls import Git, NoTreeError
from goop_mcp.retry.programs import run_program
from goop_mcp.workspace.git import GitTooSlowError, Repository
from tests.rights import ordinary_rights

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="asks the kernel of Linux about other processes"
)

KEY = "r-1/api/0"
SLEEP = "import time; time.sleep(60)"
# Starts another process in its session, writes its id, and waits or ends.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(float(sys.argv[1]))
"""


def begin(code: str, *arguments: str, key: str = KEY) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "GOOP_IDEMPOTENCY_KEY": key},
    )


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


def kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


def test_a_living_process_is_known_by_its_start_and_one_that_ended_is_not() -> None:
    process = begin(SLEEP)
    began = started(process.pid)
    assert lives(process.pid, began)
    assert not lives(process.pid, "1")

    os.kill(process.pid, signal.SIGKILL)
    # Its parent, this test, has not waited for it: it is still in the list of processes.
    assert within(10, lambda: not lives(process.pid, began))
    kill(process)
    assert not lives(process.pid, began)


def test_containers_on_one_kernel_are_different_machines() -> None:
    assert str(Path("/proc/self/ns/pid").readlink()) in boot_id()


def test_a_program_is_ended_with_what_it_started() -> None:
    program = begin(PARENT, "60")
    assert program.stdout is not None
    child = int(program.stdout.readline())
    assert end_program(program.pid, started(program.pid), key=KEY)
    assert (started(program.pid), started(child)) == ("", "")
    kill(program)


def test_what_outlives_the_program_is_ended() -> None:
    program = begin(PARENT, "0")
    began = started(program.pid)
    assert program.stdout is not None
    child = int(program.stdout.readline())
    assert program.wait(timeout=20) == 0
    assert started(child)

    assert end_program(program.pid, began, key=KEY)
    assert not started(child)
    program.stdout.close()


def test_a_session_of_somebody_else_is_left_alone() -> None:
    program = begin(PARENT, "0", key="r-2/other/0")
    assert program.stdout is not None
    child = int(program.stdout.readline())
    program.wait(timeout=20)
    assert end_program(program.pid, "1", key=KEY)
    assert started(child)
    os.kill(child, signal.SIGKILL)
    program.stdout.close()


def test_an_id_that_was_given_away_is_left_alone() -> None:
    program = begin(SLEEP, key="r-2/other/0")
    assert end_program(program.pid, "1", key=KEY)
    assert program.poll() is None
    kill(program)


@pytest.mark.parametrize("pid", [-1, 0, 1])
def test_ids_that_mean_many_processes_are_refused(pid: int) -> None:
    assert end_program(pid, "1", key=KEY)
    assert started(os.getpid()) is not None


# What left the group

# Writes its id and runs on, as what a program leaves does.
STAYS = """
import os, sys, time
with open(sys.argv[1], "a") as file:
    print(os.getpid(), file=file, flush=True)
time.sleep(300)
"""
DAEMON = """
import os, sys
if os.fork():
    os.wait()
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
nothing = os.open(os.devnull, os.O_RDWR)
for each in (0, 1, 2):
    os.dup2(nothing, each)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
PYTHON, QUOTED = sys.executable, f"'{sys.executable}'"
LEAVES = {
    "setsid": f"setsid {QUOTED} stays.py ids &",
    "setsid --fork": f"setsid --fork {QUOTED} stays.py ids",
    "nohup in a session of its own": f"nohup setsid {QUOTED} stays.py ids >log 2>&1 &",
    "a daemon": f"{QUOTED} daemon.py $PWD/stays.py $PWD/ids",
    "a daemon of a daemon": (f"{QUOTED} daemon.py $PWD/daemon.py $PWD/stays.py $PWD/ids"),
    "its parent is gone": f"(setsid sh -c '(exec {PYTHON} stays.py ids) & exec sleep 0' &)",
    "under another name": f"setsid bash -c 'exec -a sshd {PYTHON} stays.py ids' &",
    "with another environment": f"env A=1 setsid {QUOTED} stays.py ids &",
    "by Python": (
        f"{QUOTED} -c \"import subprocess, sys; subprocess.Popen([sys.executable, 'stays.py',"
        " 'ids'], start_new_session=True)\""
    ),
}


class Left:
    """A folder with programs that leave the group, and the ids of those that run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        folder.joinpath("stays.py").write_text(STAYS, encoding="utf-8")
        folder.joinpath("daemon.py").write_text(DAEMON, encoding="utf-8")

    @property
    def ids(self) -> list[int]:
        """The ids that were written so far."""
        file = self.folder / "ids"
        return [int(each) for each in file.read_text().split()] if file.exists() else []

    def wait_for(self, number: int) -> dict[int, str]:
        """Wait until so many run; return their starts by their ids."""
        assert within(300, lambda: len(self.ids) == number)
        return {pid: started(pid) for pid in self.ids}

    def end(self) -> None:
        for pid in self.ids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Left]:
    left = Left(tmp_path / "left")
    yield left
    left.end()


def some_live(programs: dict[int, str]) -> list[int]:
    # What ended before it was looked at has no start.
    return [pid for pid, began in programs.items() if began and lives(pid, began)]


def shell(left: Left, line: str, mark: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        ["/bin/sh", "-c", line], cwd=left.folder, start_new_session=True, env=marked(None, mark)
    )


@pytest.mark.parametrize("how", LEAVES)
def test_what_left_the_group_is_ended_with_its_call(left: Left, how: str) -> None:
    mark = new_mark()
    process = shell(left, f"{LEAVES[how]}\nexec sleep 300", mark)
    programs = left.wait_for(1)
    kill_group(process)
    process.wait(timeout=60)
    assert some_live(programs), "it is still in the group"

    assert end_marked(mark)
    assert some_live(programs) == []


def test_calls_within_a_call_end_with_it_and_not_the_other_way_round(left: Left) -> None:
    outer, inner = new_mark(), new_mark()
    line = f"setsid {QUOTED} stays.py ids &"
    ended = [shell(left, line, outer)]
    around = left.wait_for(1)
    environment = marked({**os.environ, MARK: outer}, inner)
    assert environment[MARK] == f"{outer}/{inner}"
    ended.append(subprocess.Popen(["/bin/sh", "-c", line], cwd=left.folder, env=environment))
    nested = {pid: began for pid, began in left.wait_for(2).items() if pid not in around}

    assert end_marked(inner)
    assert (some_live(nested), some_live(around)) == ([], list(around))
    ended.append(subprocess.Popen(["/bin/sh", "-c", line], cwd=left.folder, env=environment))
    assert len(some_live(left.wait_for(3))) == 2
    assert end_marked(outer)
    assert some_live(left.wait_for(3)) == []
    for each in ended:
        each.wait(timeout=60)


def test_a_program_that_calls_itself_for_ever_has_an_environment_of_a_limited_size() -> None:
    environment: dict[str, str] = {}
    for _ in range(1000):
        environment = marked(environment, new_mark())
    last = new_mark()
    value = marked(environment, last)[MARK]
    assert value.endswith(f"/{last}")
    assert len(value) < 1000


MANY = """
import os, subprocess, sys, time
for _ in range(int(sys.argv[1])):
    subprocess.Popen([sys.executable, "-S", "stays.py", "ids"], start_new_session=True)
    if len(sys.argv) > 2:
        time.sleep(0.001)
time.sleep(300)
"""


def test_hundreds_of_programs_are_ended(left: Left) -> None:
    mark = new_mark()
    process = subprocess.Popen(
        [sys.executable, "-c", MANY, "200"], cwd=left.folder, env=marked(None, mark)
    )
    programs = left.wait_for(200)
    assert end_marked(mark)
    assert some_live(programs) == []
    process.wait(timeout=60)


def test_what_is_started_while_the_others_are_ended_is_ended_as_well(left: Left) -> None:
    mark = new_mark()
    process = subprocess.Popen(
        [sys.executable, "-c", MANY, "100000", "slowly"], cwd=left.folder, env=marked(None, mark)
    )
    assert within(300, lambda: len(left.ids) > 10)
    assert end_marked(mark)
    process.wait(timeout=60)
    assert [pid for pid in left.ids if started(pid)] == []


def test_an_id_that_was_given_away_meanwhile_is_left_alone(left: Left) -> None:
    # Looked at twice: before and after the process is held. At the second look it is another one.
    looks: list[int] = []

    def is_wanted(pid: int) -> bool:
        looks.append(pid)
        return pid == process.pid and looks.count(pid) == 1

    process = shell(left, "exec sleep 300", new_mark())
    assert processes._end_all(is_wanted)
    assert looks.count(process.pid) >= 2
    assert process.poll() is None
    kill(process)


def test_an_older_kernel_ends_them_as_well(left: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    mark = new_mark()
    process = shell(left, LEAVES["setsid"], mark)
    programs = left.wait_for(1)
    assert end_marked(mark)
    assert some_live(programs) == []
    process.wait(timeout=60)
    # Nor does this one end what is another process at the second look.
    other = shell(left, "exec sleep 300", mark)
    processes._kill(other.pid, lambda _: False)
    assert other.poll() is None
    kill(other)


def test_where_there_is_no_proc_only_the_group_is_ended(
    left: Left, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = new_mark()
    process = shell(left, f"{LEAVES['setsid']}\nexec sleep 300", mark)
    programs = left.wait_for(1)
    with monkeypatch.context() as without:
        without.setattr(processes, "_PROC", str(tmp_path / "proc"))
        kill_group(process)
        assert process.wait(timeout=60) == -signal.SIGKILL
        assert end_marked(mark)
    assert some_live(programs) == list(programs)


def test_what_removed_its_environment_runs_on(left: Left) -> None:
    # As the pages say: nothing shows who started it.
    mark = new_mark()
    process = shell(left, f"env -i setsid --fork {QUOTED} stays.py ids", mark)
    programs = left.wait_for(1)
    assert end_marked(mark)
    assert some_live(programs) == list(programs)
    process.wait(timeout=60)


HIDES = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
with open("ids", "a") as file:
    print(os.getpid(), file=file, flush=True)
time.sleep(300)
"""


def test_an_environment_that_may_not_be_read_is_no_obstacle(left: Left) -> None:
    mark = new_mark()
    with ordinary_rights():
        hidden = subprocess.Popen(
            [sys.executable, "-c", HIDES], cwd=left.folder, env=marked(None, mark)
        )
        left.wait_for(1)
        process = shell(left, LEAVES["setsid"], mark)
        programs = left.wait_for(2)
        assert end_marked(mark)
        assert some_live(programs) == [hidden.pid]
        process.wait(timeout=60)
    kill(hidden)


# Who ends programs


def in_parallel(left: Left, line: str) -> "subprocess.Popen[bytes]":
    """Start what neither this call nor any other one has started."""
    return subprocess.Popen(["/bin/sh", "-c", line], cwd=left.folder)


def test_a_child_that_has_nothing_to_do_with_the_command_is_left_alone(left: Left) -> None:
    ours = in_parallel(left, "exec sleep 300")
    request = RunRequest(("sleep", "300"), left.folder, left.folder, timeout=0.1)
    ended = run_command(request, os.environ, passes_on=True, meanwhile=lambda _: None)
    assert ended.timed_out
    assert ours.poll() is None
    # Nor does this process take in what others leave.
    held = ctypes.c_int(-1)
    assert ctypes.CDLL(None).prctl(37, ctypes.byref(held), 0, 0, 0) == 0
    assert held.value == 0
    kill(ours)


@pytest.mark.parametrize("passes_on", [True, False])
def test_the_time_limit_of_a_command_ends_what_left_its_group(
    left: Left, *, passes_on: bool
) -> None:
    mark = new_mark()
    environment = {**os.environ, "OF_THIS_TEST": mark}
    line = f"{LEAVES['setsid']}\n{LEAVES['a daemon']}\nexec sleep 300"
    request = RunRequest(("/bin/sh", "-c", line), left.folder, left.folder, timeout=3)
    ended = run_command(request, environment, passes_on=passes_on, meanwhile=lambda _: None)
    assert ended.timed_out
    # Also those that did not come so far as to write their id.
    variable = f"OF_THIS_TEST={mark}".encode()
    running = [pid for pid in processes._processes() if variable in processes._environment_of(pid)]
    assert running == []


def run_goop(left: Left, *words: str, before: str = "") -> "subprocess.Popen[bytes]":
    """Start goop-mcp; `before` is what its shell starts, which is then a child of goop-mcp."""
    environment = {**os.environ, "XDG_STATE_HOME": str(left.folder / "state")}
    return subprocess.Popen(
        ["/bin/sh", "-c", f'{before} exec "$@"', "sh", sys.executable, "-m", "goop_mcp", *words],
        cwd=left.folder,
        env=environment,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("how", ["setsid", "a daemon"])
def test_an_interrupted_run_ends_what_left_its_group_and_nothing_else(left: Left, how: str) -> None:
    before = f"{QUOTED} stays.py ids >/dev/null 2>&1 &"
    command = f"{LEAVES[how]}\nexec sleep 300"
    goop = run_goop(left, "run", "--name", "tests", "--", "sh", "-c", command, before=before)
    programs = left.wait_for(2)
    # The one that the shell started is a child of goop-mcp, which has its process.
    children = Path(f"/proc/{goop.pid}/task/{goop.pid}/children").read_text(encoding="ascii")
    [mine] = [pid for pid in programs if str(pid) in children.split()]
    goop.terminate()
    _, errors = goop.communicate(timeout=300)
    assert b"did not finish (it was interrupted)" in errors
    assert some_live(programs) == [mine]


async def cancelled(words: list[str], left: Left, number: int) -> dict[int, str]:
    """Run a program and cancel it as soon as so many others of it run; return those."""
    found: dict[int, str] = {}

    async def wait(scope: anyio.CancelScope) -> None:
        found.update(await anyio.to_thread.run_sync(left.wait_for, number))
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(wait, group.cancel_scope)
        await run_program(words, folder=left.folder)
    return found


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("how", ["setsid", "a daemon", "nohup in a session of its own"])
def test_a_cancelled_program_ends_with_what_left_its_group(
    left: Left, tmp_path: Path, how: str, backend: str
) -> None:
    other = Left(tmp_path / "other")
    alike = shell(other, f"{LEAVES[how]}\nexec sleep 300", new_mark())
    of_another_call = other.wait_for(1)
    words = ["/bin/sh", "-c", f"{LEAVES[how]}\nexec sleep 300"]
    programs = anyio.run(cancelled, words, left, 1, backend=backend)
    assert some_live(programs) == []
    # Two calls of one server at once: each ends its own.
    assert some_live(of_another_call) == list(of_another_call)
    kill_group(alike)
    alike.wait(timeout=60)
    other.end()


def test_a_run_within_an_agent_ends_with_the_agent(left: Left) -> None:
    # The command of the run is in a session of its own, and the run itself cannot end it any more.
    inner = f"{LEAVES['a daemon']}\nexec {QUOTED} stays.py ids"
    line = f'{QUOTED} -m goop_mcp run -- sh -c "$INNER"'
    words = ["env", f"INNER={inner}", "sh", "-c", line]
    assert some_live(anyio.run(cancelled, words, left, 2)) == []


def test_what_a_program_left_that_ended_by_itself_runs_on(left: Left) -> None:
    words = ["/bin/sh", "-c", f"{LEAVES['a daemon']}\necho done"]
    ended = anyio.run(lambda: run_program(words, folder=left.folder))
    assert ended.output == b"done\n"
    programs = left.wait_for(1)
    assert some_live(programs) == list(programs)


def test_the_programs_of_a_dead_runner_end_with_what_left_their_session(left: Left) -> None:
    mark = new_mark()
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"{LEAVES['a daemon']}\nexec sleep 300"],
        cwd=left.folder,
        start_new_session=True,
        env={**marked(None, mark), "GOOP_IDEMPOTENCY_KEY": KEY},
    )
    programs = left.wait_for(1)
    assert end_program(process.pid, started(process.pid), key=KEY)
    assert some_live(programs) == []
    process.wait(timeout=60)


@pytest.fixture
def slow_git(left: Left, monkeypatch: pytest.MonkeyPatch) -> Left:
    """Have a git that never answers, and that what left its group keeps its output open."""
    folder = left.folder / "bin"
    folder.mkdir()
    git = folder / "git"
    line = f"cd {left.folder}; setsid {QUOTED} stays.py ids & exec sleep 300"
    git.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return left


def test_git_that_is_too_slow_ends_with_what_left_its_group(slow_git: Left) -> None:
    def ask() -> None:
        with pytest.raises(GitTooSlowError):
            Repository(slow_git.folder, until=time.monotonic() + 3).head()

    anyio.run(anyio.to_thread.run_sync, ask)
    assert [pid for pid in slow_git.ids if started(pid)] == []

    with Git(str(slow_git.folder)) as git:
        git.may_take(3)
        with pytest.raises(NoTreeError, match="did not answer in time"):
            git.run("version")
    assert [pid for pid in slow_git.ids if started(pid)] == []


def test_what_the_doctor_starts_ends_with_what_left_its_group(
    left: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = left.folder / "server"
    line = f"cd {left.folder}\n{LEAVES['setsid']}\nexec sleep 300"
    program.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(HandshakeError, match="does not answer in time"):
        shake_hands([str(program)], environment=os.environ, folder=left.folder, timeout=3)
    assert [pid for pid in left.ids if started(pid)] == []

    monkeypatch.setattr(judging, "_VERSION_SECONDS", 3)
    assert anyio.run(judging._printed_version, str(program), os.environ) == ""
    assert [pid for pid in left.ids if started(pid)] == []
