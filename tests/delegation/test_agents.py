"""Agents of a graph are real programs: what they are shown, and how they are ended."""

import json
import os
import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from goop_mcp import ask_until_accepted
from goop_mcp.delegation.agents import (
    GraphAgentError,
    ProgramAgent,
    TaskCall,
    agent_makers,
    commands_of,
    policy_of,
)
from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.delegation.parts import GraphAgent, GraphRetry, GraphTask
from goop_mcp.retry import Agent, Message, Outcome
from goop_mcp.retry.command_line import Answer, CommandLineAgent
from tests.delegation.reports import report
from tests.retry.agents import both_backends, run

SHOWN = ("GOOP_RUN", "GOOP_TASK", "GOOP_ATTEMPT", "GOOP_IDEMPOTENCY_KEY")


def program(folder: Path, code: str) -> tuple[str, ...]:
    """Return the command of a program with this Python code."""
    path = folder / "agent.py"
    path.write_text(f"import json, os, sys, time\n{code}\n")
    return (sys.executable, str(path))


def made(folder: Path, agent: GraphAgent) -> Agent:
    graph = Graph(name="x", agents=(agent,), tasks=(GraphTask("t", agent=agent.name),))
    maker = agent_makers(graph, project=folder)[agent.name]
    started: list[int] = []
    return maker(TaskCall(run="r1", task="t", round=2, folder=folder, on_program=started.append))


async def ask(folder: Path, agent: GraphAgent, prompt: str = "Do it.") -> Outcome:
    task = GraphTask("t", agent=agent.name)
    return await ask_until_accepted(
        made(folder, agent), prompt, protocol="goop_report", policy=policy_of(agent, task)
    )


@both_backends
def test_a_program_is_shown_which_attempt_of_which_task_it_is(backend: str, tmp_path: Path) -> None:
    code = f"""
open("seen.jsonl", "a").write(json.dumps([os.environ[n] for n in {SHOWN}]) + "\\n")
message = sys.stdin.read()
print({report()!r} if os.environ["GOOP_ATTEMPT"] == "2" else "No report: " + message)
"""
    agent = GraphAgent("mine", run="command", command=program(tmp_path, code))
    outcome: Outcome = run(backend, lambda: ask(tmp_path, agent))

    assert outcome.accepted
    seen = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    assert seen == [["r1", "t", "1", "r1/t/2"], ["r1", "t", "2", "r1/t/2"]]


def test_the_message_is_the_last_word_of_a_command_that_does_not_read_its_input(
    tmp_path: Path,
) -> None:
    code = f"print({report()!r} if sys.argv[1:] == ['--go', 'Do it.'] else sys.argv)"
    command = (*program(tmp_path, code), "--go")
    agent = GraphAgent("mine", run="command", command=command, on_stdin=False)
    assert run("asyncio", lambda: ask(tmp_path, agent)).accepted


def test_a_program_that_ends_well_without_a_report_is_asked_again_and_then_failed(
    tmp_path: Path,
) -> None:
    code = "print('all done', os.environ['GOOP_ATTEMPT'])"
    agent = GraphAgent(
        "mine",
        run="command",
        command=program(tmp_path, code),
        retry=GraphRetry(max_attempts=2),
    )
    outcome: Outcome = run("asyncio", lambda: ask(tmp_path, agent))
    assert outcome.stopped_because == "attempts"
    assert len(outcome.attempts) == 2


def test_a_program_that_prints_100_mb_is_ended_and_named(tmp_path: Path) -> None:
    code = "\n".join(
        ["open('pid', 'w').write(str(os.getpid()))", "for n in range(100): print('x' * 1_000_000)"]
    )
    agent = GraphAgent(
        "mine",
        run="command",
        command=program(tmp_path, code),
        retry=GraphRetry(call_retries=0),
    )
    outcome: Outcome = run("asyncio", lambda: ask(tmp_path, agent))
    assert outcome.stopped_because == "agent_error"
    assert "wrote more than 32 MiB" in str(outcome.failure)
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_program_that_never_ends_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    code = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""
    agent = GraphAgent(
        "mine",
        run="command",
        command=program(tmp_path, code),
        retry=GraphRetry(attempt_timeout=1.5, call_retries=0),
    )
    outcome: Outcome = run("asyncio", lambda: ask(tmp_path, agent))
    assert isinstance(outcome.failure, TimeoutError)
    pids = [int(each) for each in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    # Both are killed by now; the system takes a moment to end them.
    ends = time.monotonic() + 30
    while any(map(is_alive, pids)):
        assert time.monotonic() < ends
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_program_that_is_not_installed_is_refused_before_anything_runs(tmp_path: Path) -> None:
    agents = (
        GraphAgent("mine", run="command", command=("no-such-program-here",)),
        GraphAgent("unused", run="command", command=("no-such-program-either",)),
    )
    graph = Graph(name="x", agents=agents, tasks=(GraphTask("t", agent="mine"),))
    with pytest.raises(GraphError, match="there is no program 'no-such-program-here'; install it"):
        agent_makers(graph, project=tmp_path)


def test_an_agent_that_nobody_gave_is_refused_and_an_unknown_one_too(tmp_path: Path) -> None:
    graph = Graph(name="x", tasks=(GraphTask("t", agent="mine"),))
    with pytest.raises(GraphError, match=r"agents\.mine: nobody gave it"):
        agent_makers(graph, project=tmp_path)
    with pytest.raises(GraphAgentError, match="no agent 'mime'; did you mean 'mine'"):
        agent_makers(graph, project=tmp_path, given={"mime": str})


def test_a_function_of_the_project_is_an_agent(tmp_path: Path) -> None:
    (tmp_path / "my_team_of_agents.py").write_text(
        "print('importing')\nclass Echo:\n    def __init__(self): self.count = 0\n"
        "    def __call__(self, message):\n        self.count += 1\n"
        "        return f'{message} {self.count}'\nbroken = 3\n"
    )
    agent = GraphAgent("mine", run="python", call="my_team_of_agents:Echo")
    graph = Graph(name="x", agents=(agent,), tasks=(GraphTask("t", agent="mine"),))
    try:
        maker = agent_makers(graph, project=tmp_path)["mine"]
        call = TaskCall(run="r", task="t", folder=tmp_path)
        first, second = maker(call), maker(call)
        # A class is one agent for each task.
        assert callable(first)
        assert callable(second)
        assert (first("a"), first("b"), second("c")) == ("a 1", "b 2", "c 1")

        for call_text, message in (
            ("my_team_of_agents:broken", "has no function 'broken'"),
            ("my_team_of_agents:none", "has no function 'none'"),
            ("no_such_module_here:f", "cannot be imported"),
        ):
            wrong = Graph(
                name="x",
                agents=(GraphAgent("mine", run="python", call=call_text),),
                tasks=(GraphTask("t", agent="mine"),),
            )
            with pytest.raises(GraphAgentError, match=message):
                agent_makers(wrong, project=tmp_path)
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("my_team_of_agents", None)


def test_a_person_is_shown_the_commands_that_a_graph_runs() -> None:
    assert commands_of(GraphAgent("a", run="claude-code", options=("--agent", "x"))) == (
        "claude",
        "--agent",
        "x",
    )
    assert commands_of(GraphAgent("a", run="codex", program="codex-2")) == ("codex-2",)
    assert commands_of(GraphAgent("a", run="command", command=("mine", "-p"))) == ("mine", "-p")
    assert commands_of(GraphAgent("a", call="m:f")) == ("python", "m:f")
    assert commands_of(GraphAgent("a", run="person")) == ()


def test_the_policy_is_that_of_the_agent_and_the_task() -> None:
    retry = GraphRetry(
        max_attempts=5, attempt_timeout=60, call_retries=0, strategies=("fresh", "minimal")
    )
    policy = policy_of(GraphAgent("a", retry=retry), GraphTask("t", agent="a", timeout=90))
    assert (policy.max_attempts, policy.attempt_timeout, policy.call_retries) == (5, 60, 0)
    assert (policy.strategies, policy.deadline) == (("fresh", "minimal"), 90)
    assert policy_of(GraphAgent("a"), GraphTask("t", agent="a")).max_attempts == 3


def test_programs_are_known_while_they_run(tmp_path: Path) -> None:
    code = "open('pid', 'w').write(str(os.getpid())); print('x')"
    agent = GraphAgent("mine", run="command", command=program(tmp_path, code))
    graph = Graph(name="x", agents=(agent,), tasks=(GraphTask("t", agent="mine"),))
    started: list[int] = []
    one = agent_makers(graph, project=tmp_path)["mine"](
        TaskCall(run="r", task="t", folder=tmp_path, on_program=started.append)
    )
    policy = policy_of(GraphAgent("m", retry=GraphRetry(max_attempts=1)), graph.tasks[0])
    anyio.run(lambda: ask_until_accepted(one, "x", policy=policy))
    assert started == [int((tmp_path / "pid").read_text())]
    assert os.environ.get("GOOP_RUN") is None


@both_backends
def test_a_program_ends_with_its_call_while_its_start_is_still_written_down(
    backend: str, tmp_path: Path
) -> None:
    """A thread that writes is waited for, and the program is not what waits."""
    started: list[int] = []
    alive: list[bool] = []

    def write() -> None:
        time.sleep(2)
        alive.append(is_alive(started[0]))

    async def on_start(pid: int) -> None:
        started.append(pid)
        await anyio.to_thread.run_sync(write)

    async def talk() -> None:
        words = program(tmp_path, "time.sleep(60)")
        agent = CommandLineAgent(command=lambda *_: words, read=Answer, folder=tmp_path)
        agent.on_start = on_start
        with anyio.move_on_after(0.5):
            await agent.ask(Message("Begin."))

    run(backend, talk)
    assert alive == [False]


def test_the_first_message_of_another_round_goes_on_in_the_conversation(tmp_path: Path) -> None:
    code = "print(json.dumps([sys.argv[1], sys.argv[2]]))"

    def command(text: str, session: str | None) -> list[str]:
        return [*program(tmp_path, code), str(session), text]

    def read(output: str) -> Answer:
        session, text = json.loads(output)
        return Answer(f"{session}: {text}", session="s2")

    async def talk() -> list[str]:
        made_of = CommandLineAgent(command=command, read=read, folder=tmp_path)
        call = TaskCall(run="r", task="t", folder=tmp_path, session="s1")
        agent = ProgramAgent(made_of, call, GraphAgent("mine", run="claude-code"))
        assert agent.session is not None
        assert (agent.session.id, agent.session.program) == ("s1", "claude")
        texts = [await agent.ask(Message("Correct it.")), await agent.ask(Message("And now?"))]
        texts.append(await agent.ask(Message("Again", way="fresh", attempt=3)))
        return [each.text for each in texts]

    assert anyio.run(talk) == ["s1: Correct it.", "s2: And now?", "None: Again"]
