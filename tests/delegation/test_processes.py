"""A process is known by more than its id, and programs of dead runners are ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from goop_mcp.delegation.processes import end_program, is_gone, start_of, this_process

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


def test_a_living_process_is_not_gone_and_one_that_ended_is() -> None:
    process = begin(SLEEP)
    other = replace(this_process(), pid=process.pid, started=start_of(process.pid) or "")
    assert not is_gone(other)
    assert not is_gone(this_process())

    os.kill(process.pid, signal.SIGKILL)
    # Its parent, this test, has not waited for it: it is still in the list of processes.
    assert within(10, lambda: is_gone(other))
    kill(process)
    assert is_gone(other)


def test_another_process_with_the_same_id_is_another() -> None:
    assert is_gone(replace(this_process(), started="1"))


def test_nothing_is_certain_of_other_machines() -> None:
    ended = replace(this_process(), pid=2**22, started="1")
    assert is_gone(ended)
    assert not is_gone(replace(ended, host="elsewhere"))
    assert not is_gone(replace(ended, boot_id="1"))
    assert not is_gone(replace(ended, boot_id=""))


def test_nothing_is_certain_without_a_start() -> None:
    assert not is_gone(replace(this_process(), pid=2**22, started=""))


def test_a_program_is_ended_with_what_it_started() -> None:
    program = begin(PARENT, "60")
    assert program.stdout is not None
    child = int(program.stdout.readline())
    assert end_program(program.pid, start_of(program.pid) or "", key=KEY)
    assert (start_of(program.pid), start_of(child)) == (None, None)
    kill(program)


def test_what_outlives_the_program_is_ended() -> None:
    program = begin(PARENT, "0")
    started = start_of(program.pid) or "gone"
    assert program.stdout is not None
    child = int(program.stdout.readline())
    assert program.wait(timeout=20) == 0
    assert start_of(child) is not None

    assert end_program(program.pid, started, key=KEY)
    assert start_of(child) is None
    program.stdout.close()


def test_a_session_of_somebody_else_is_left_alone() -> None:
    program = begin(PARENT, "0", key="r-2/other/0")
    assert program.stdout is not None
    child = int(program.stdout.readline())
    program.wait(timeout=20)
    assert end_program(program.pid, "1", key=KEY)
    assert start_of(child) is not None
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
    assert start_of(os.getpid()) is not None
