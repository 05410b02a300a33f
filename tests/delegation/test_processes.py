"""A process is known by more than its id, and programs of dead runners are ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from goop_mcp.delegation.processes import boot_id, end_program, lives, started

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
