"""An agent program ends with the runner that was killed, also where nobody goes on with the run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from goop_mcp import processes
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.orphans import ProgramWatch
from goop_mcp.delegation.parts import GraphAgent, GraphTask
from goop_mcp.processes import lives, started
from tests.cli.running import environment
from tests.delegation.reports import report
from tests.delegation.runners import USUAL, Place, within

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="asks the kernel of Linux about other processes"
)

# No lease ends within a test: nobody but the watch can end a program.
PATIENT = replace(USUAL, lease=300.0)
# Starts another process, as agents do, writes down both, and then that it works.
WORKS = """
import json, os, subprocess, sys, time
sys.stdin.read()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
with open(sys.argv[1], "a") as file:
    print(json.dumps({"what": "works", "programs": [os.getpid(), child.pid]}), file=file)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    time.sleep(0.05)
    with open(sys.argv[1], "a") as file:
        print(json.dumps({"what": "beat"}), file=file)
print(sys.argv[3])
"""


@pytest.fixture
def beginnings(place: Place) -> Iterator[dict[int, str]]:
    """Return the start of each program by its id; those that are left are ended after the test."""
    known: dict[int, str] = {}
    yield known
    for entry in place.entries("works"):
        for pid in entry["programs"]:
            # An id that was given away since belongs to somebody else.
            if lives(pid, known.get(pid, "unknown")):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def works(place: Place, name: str, seconds: float) -> GraphAgent:
    words = (sys.executable, "-c", WORKS, str(place.log), str(seconds), report())
    return GraphAgent(name, run="command", command=words)


def programs_of(place: Place, known: dict[int, str], *, tasks: int) -> list[list[int]]:
    """Wait for the programs of so many tasks, and return their ids and those of their children."""
    within(60, lambda: place.count("works") == tasks)
    found = [entry["programs"] for entry in place.entries("works")]
    known.update({pid: started(pid) for pids in found for pid in pids})
    return found


def test_an_agent_program_ends_with_the_command_that_was_killed(
    place: Place, beginnings: dict[int, str]
) -> None:
    agent = works(place, "program", 300)
    folder = place.folder
    folder.joinpath("graph.json").write_text(
        json.dumps(
            {
                "graph": 1,
                "name": "killed",
                "protocol": "goop_report",
                "agents": {"program": {"run": "command", "command": list(agent.command)}},
                "tasks": {"a": {"agent": "program", "prompt": "Do it."}},
            }
        ),
        encoding="utf-8",
    )
    digest = Graph.load(folder / "graph.json").digest
    goop = [sys.executable, "-m", "goop_mcp", "delegate", "graph.json", "--trust", digest]
    running = subprocess.Popen(goop, cwd=folder, env=environment())
    [programs] = programs_of(place, beginnings, tasks=1)

    running.kill()
    running.wait(timeout=60)
    # The program and what it started, although nobody goes on with the run.
    within(5, lambda: not any(lives(pid, beginnings[pid]) for pid in programs))


def test_what_left_the_session_of_a_program_ends_with_the_runner_that_was_killed(
    place: Place, beginnings: dict[int, str]
) -> None:
    agent = works(place, "program", 300)
    left = WORKS.replace('(300)"])', '(300)"], start_new_session=True)')
    assert left != WORKS
    agent = replace(agent, command=(*agent.command[:2], left, *agent.command[3:]))
    graph = Graph(
        name="left",
        protocol="goop_report",
        agents=(agent,),
        tasks=(GraphTask("a", agent="program", prompt="Do it."),),
    )
    runner = place.start(place.ledger.create(graph, input={}), PATIENT)
    [programs] = programs_of(place, beginnings, tasks=1)
    runner.kill()
    within(5, lambda: not any(lives(pid, beginnings[pid]) for pid in programs))


def test_a_runner_that_stands_still_keeps_its_programs(
    place: Place, beginnings: dict[int, str]
) -> None:
    graph = Graph(
        name="still",
        protocol="goop_report",
        agents=(works(place, "program", 300),),
        tasks=(GraphTask("a", agent="program", prompt="Do it."),),
    )
    runner = place.start(place.ledger.create(graph, input={}), PATIENT)
    [programs] = programs_of(place, beginnings, tasks=1)
    runner.send_signal(signal.SIGSTOP)
    before = place.count("beat")
    # It works on for a second while its runner does not.
    within(20, lambda: place.count("beat") > before + 20)
    assert all(lives(pid, beginnings[pid]) for pid in programs)

    runner.kill()
    within(5, lambda: not any(lives(pid, beginnings[pid]) for pid in programs))


def test_what_an_agent_left_running_is_not_ended_with_its_runner(
    place: Place, beginnings: dict[int, str]
) -> None:
    graph = Graph(
        name="server",
        protocol="goop_report",
        agents=(works(place, "short", 0.1), works(place, "long", 300)),
        tasks=(
            GraphTask("a", agent="short", prompt="Start a server."),
            GraphTask("b", agent="long", prompt="Use it.", needs=("a",)),
        ),
    )
    run = place.ledger.create(graph, input={})
    runner = place.start(run, PATIENT)
    [(_, server), at_work] = programs_of(place, beginnings, tasks=2)
    runner.kill()
    within(5, lambda: not any(lives(pid, beginnings[pid]) for pid in at_work))
    # Of a task that has ended, as after an end in order.
    assert lives(server, beginnings[server])
    assert place.states(run)["a"] == "accepted"


ENDED_WATCH = """
import os, signal, subprocess, sys, time
from goop_mcp.delegation.orphans import ProgramWatch
from goop_mcp.processes import lives, started
watch, programs = ProgramWatch(), []
for name in "ab":
    command = [sys.executable, "-c", "import time; time.sleep(300)"]
    program = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    watch.add(f"run/{name}/0", program.pid, started(program.pid))
    programs.append(program.pid)
    if name == "a":
        began = started(watch.pid)
        os.kill(watch.pid, int(sys.argv[1]))
        while lives(watch.pid, began) and int(sys.argv[1]) == signal.SIGKILL:
            time.sleep(0.01)
print(*(word for pid in programs for word in (pid, started(pid))), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_watch_saves_no_program(by: signal.Signals) -> None:
    words = [sys.executable, "-c", ENDED_WATCH, str(int(by))]
    ended = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    assert ended.returncode == -signal.SIGKILL
    one, its_start, two, other_start = ended.stdout.decode().split()
    within(5, lambda: not lives(int(one), its_start) and not lives(int(two), other_start))


TWO_OF_ONE_TASK = """
import os, signal, subprocess, sys
from goop_mcp.delegation.orphans import watch_program
from goop_mcp.processes import started
for _ in range(2):
    command = [sys.executable, "-c", "import time; time.sleep(300)"]
    program = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    watch_program("run/a/0", program.pid, started(program.pid))
    print(program.pid, started(program.pid), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_all_programs_of_a_task_end() -> None:
    # One that speaks ACP stays while the agent is asked that the graph names as its fallback.
    words = [sys.executable, "-c", TWO_OF_ONE_TASK]
    ended = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    programs = [line.split() for line in ended.stdout.decode().splitlines()]
    assert len(programs) == 2
    try:
        within(5, lambda: not any(lives(int(pid), began) for pid, began in programs))
    finally:
        for pid, began in programs:
            if lives(int(pid), began):
                os.kill(int(pid), signal.SIGKILL)


# As Python is where it was built for an older kernel.
WITHOUT_PIDFD = """
import os, runpy, sys
if hasattr(os, "pidfd_open"):
    del os.pidfd_open
program, *sys.argv = sys.argv[1], *sys.argv[1:]
runpy.run_path(program, run_name="__main__")
"""


def test_the_watch_needs_no_descriptor_of_its_parent() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True
    )
    try:
        watching = subprocess.Popen(
            [sys.executable, "-c", WITHOUT_PIDFD, processes.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
        )
        line = json.dumps(["run/a/0", program.pid, started(program.pid)]).encode() + b"\n"
        watching.communicate(line, timeout=60)
        assert watching.returncode == 0
        assert program.wait(timeout=5) == -signal.SIGKILL
    finally:
        program.kill()
        program.wait()


FORKS = """
import os, signal, subprocess, sys, time
from goop_mcp.delegation.orphans import watch_program
from goop_mcp.processes import started
command = [sys.executable, "-c", "import time; time.sleep(300)"]
program = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
watch_program("run/a/0", program.pid, started(program.pid))
child = os.fork()
if not child:
    os.close(1)
    time.sleep(60)
print(program.pid, started(program.pid), child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_that_was_forked_keeps_no_program_alive() -> None:
    ended = subprocess.run([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, check=False)
    pid, began, child = ended.stdout.decode().split()
    try:
        within(5, lambda: not lives(int(pid), began))
    finally:
        os.kill(int(child), signal.SIGKILL)


def test_a_watch_adds_next_to_nothing_to_the_start_of_a_program() -> None:
    watch = ProgramWatch()
    began = time.process_time()
    for number in range(1000):
        watch.add(f"run/{number}/0", os.getpid(), "1")
        watch.forget(f"run/{number}/0")
    seconds = time.process_time() - began
    watch.close()
    # Of 1,000 programs, with the start of the watch.
    assert seconds < 0.5, seconds
