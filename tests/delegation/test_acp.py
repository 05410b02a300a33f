"""Agents that speak the Agent Client Protocol do the tasks of a graph, as programs over stdio.

The agent is made with the library of the protocol's authors, so that two implementations meet.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from goop_mcp.delegation import Graph
from goop_mcp.delegation.agents import ProgramAgent, agent_makers
from goop_mcp.delegation.graph import GraphError
from goop_mcp.delegation.parts import GraphAgent, GraphRetry, GraphTask, Permissions
from goop_mcp.retry import Message, Reply
from goop_mcp.retry.acp import AcpAgent
from goop_mcp.retry.command_line import CommandFailedError
from tests.cli.running import Ended
from tests.cli.running import run as run_goop
from tests.delegation.runners import Place, check_run, within
from tests.delegation.test_agents import is_alive, made, program
from tests.repository import ROOT
from tests.retry.agents import both_backends, run

GRAPH = """\
graph = 1
name = "spoken"
protocol = "goop_report"
[agents.worker]
run = "acp"
command = {command}
[tasks.api]
agent = "worker"
prompt = "Build it"
[tasks.test]
agent = "worker"
needs = ["api"]
prompt = "Test it: ${{api.summary}}"
"""


def command(folder: Path, *traits: str) -> tuple[str, ...]:
    """Return the command of an agent that keeps what it did in `folder`."""
    return (sys.executable, "-m", "tests.delegation.acp_agent", str(folder), *traits)


def noted(folder: Path, what: str | None = None) -> list[dict[str, Any]]:
    """Return what the agent wrote down, in order."""
    lines = (folder / "acp.jsonl").read_text().splitlines()
    return [each for each in map(json.loads, lines) if what is None or each["what"] == what]


@pytest.fixture(autouse=True)
def repository_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    # Agents run in folders of their own, where the tests are not found.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_a_graph_with_an_acp_agent_is_done_and_a_rejected_reply_corrected_in_its_conversation(
    tmp_path: Path,
) -> None:
    graph = tmp_path / "spoken.toml"
    graph.write_text(GRAPH.format(command=json.dumps(command(tmp_path))))

    def goop(*words: str) -> Ended:
        return run_goop(*words, cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "state")})

    plan = goop("delegate", "spoken.toml", "--plan")
    assert "tests.delegation.acp_agent" in plan.out
    digest = Graph.load(graph).digest
    ended = goop("delegate", "spoken.toml", "--trust", digest, "--format", "jsonl")
    assert ended.code == 0, ended

    events = [json.loads(line) for line in ended.out.splitlines()]
    asked = [(each["task"], each["data"]["way"]) for each in events if each["what"] == "asked"]
    assert asked == [
        *(("api", "first"), ("api", "same_conversation")),
        *(("test", "first"), ("test", "same_conversation")),
    ]
    # One process and one session for each conversation.
    prompts = noted(tmp_path, "prompt")
    assert [each["pid"] for each in noted(tmp_path, "new")] == [
        prompts[0]["pid"],
        prompts[2]["pid"],
    ]
    assert prompts[0]["session"] == prompts[1]["session"] != prompts[2]["session"]
    assert "No <goop_report> envelope" in prompts[1]["text"]
    assert "Test it: Heard 2 messages." in prompts[2]["text"]
    assert {each["cwd"] for each in noted(tmp_path, "new")} == {str(tmp_path)}
    assert not any(is_alive(each["pid"]) for each in prompts)

    run_id = events[0]["run"]
    assert "attempt 2/3" in goop("runs", "show", run_id).out


def acp(folder: Path, *traits: str, words: Sequence[str] = ()) -> AcpAgent:
    environment = {**os.environ, "GOOP_IDEMPOTENCY_KEY": "r/t/0"}
    return AcpAgent(words=words or command(folder, *traits), folder=folder, environment=environment)


async def talk(agent: AcpAgent, *messages: Message) -> list[Reply]:
    try:
        return [await agent.ask(each) for each in messages]
    finally:
        await agent.aclose()


FIRST = Message("Do it.")
AGAIN = Message("Correct it.", way="same_conversation", attempt=2)


@both_backends
def test_an_answer_has_its_text_its_session_and_what_it_used(backend: str, tmp_path: Path) -> None:
    agent = acp(tmp_path, "talks")
    first, again = run(backend, lambda: talk(agent, FIRST, AGAIN))

    assert first.text == "It is all done."
    # What it wrote before it called a tool is no part of the answer.
    assert again.text.startswith("Here is my report.")
    assert again.text.endswith("</goop_report>\n")
    [new] = noted(tmp_path, "new")
    assert first.conversation_id == again.conversation_id == new["session"]
    # The tokens are those of a turn, the cost that of the session so far.
    assert [each.usage.tokens for each in (first, again)] == [120, 120]
    assert [each.usage.input_tokens for each in (first, again)] == [90, 90]
    assert [each.usage.cost for each in (first, again)] == [0.25, 0.25]
    assert first.stop_reason == "end_turn"


@both_backends
def test_an_answer_that_was_cut_says_so(backend: str, tmp_path: Path) -> None:
    [first] = run(backend, lambda: talk(acp(tmp_path, "cut"), FIRST))
    assert first.stop_reason == "max_tokens"


@both_backends
@pytest.mark.parametrize(("traits", "how"), [((), "load"), (("resumes",), "resume")])
def test_another_process_goes_on_in_the_session(
    backend: str, traits: tuple[str, ...], how: str, tmp_path: Path
) -> None:
    begun = run(backend, lambda: talk(acp(tmp_path, *traits), FIRST))[0]
    going_on = acp(tmp_path, *traits)
    going_on.session = begun.conversation_id
    [reply] = run(backend, lambda: talk(going_on, AGAIN))

    # What was written before is repeated to us while it is loaded, and is no answer.
    assert "Heard 2 messages." in reply.text
    assert "An old answer" not in reply.text
    [taken_up] = noted(tmp_path, how)
    assert taken_up["session"] == begun.conversation_id == reply.conversation_id
    # Nobody knows what the session cost before.
    assert reply.usage.cost is None


def test_an_agent_that_cannot_continue_begins_again_with_a_first_message_only(
    tmp_path: Path,
) -> None:
    for traits, reason in (
        (("cannot-load",), "does not support session/load"),
        ((), "refused session/load: Resource not found"),
    ):
        agent = acp(tmp_path, *traits)
        agent.session = "s-gone"
        with pytest.raises(CommandFailedError, match=reason) as refused:
            run("asyncio", partial(talk, agent, AGAIN))
        assert refused.value.retryable is False

        agent = acp(tmp_path, *traits)
        agent.session = "s-gone"
        [reply] = run("asyncio", partial(talk, agent, FIRST))
        assert reply.conversation_id not in (None, "s-gone")


def test_a_fresh_message_begins_a_process_and_a_session_of_its_own(tmp_path: Path) -> None:
    fresh = Message("Do it again.", way="fresh", attempt=2)
    first, second = run("asyncio", lambda: talk(acp(tmp_path), FIRST, fresh))
    assert first.conversation_id != second.conversation_id
    assert len({each["pid"] for each in noted(tmp_path, "new")}) == 2


@pytest.mark.parametrize(("permissions", "chosen"), [("reject", "no"), ("allow", "once")])
def test_a_permission_is_answered_as_the_graph_states(
    permissions: Permissions, chosen: str, tmp_path: Path
) -> None:
    agent = acp(tmp_path, "asks")
    agent.permissions = permissions
    [_, again] = run("asyncio", lambda: talk(agent, FIRST, AGAIN))
    assert f"The permission was {chosen}." in again.text


def test_an_agent_that_ends_in_the_middle_goes_on_in_its_session(tmp_path: Path) -> None:
    agent = acp(tmp_path, "dies")

    async def ask() -> Reply:
        await agent.ask(FIRST)
        with pytest.raises(
            CommandFailedError, match="exit code 0 without an answer to session/pro"
        ):
            await agent.ask(AGAIN)
        [reply] = await talk(agent, AGAIN)
        return reply

    reply = run("asyncio", ask)
    assert "Heard 3 messages." in reply.text
    assert len(noted(tmp_path, "load")) == 1
    assert len({each["session"] for each in noted(tmp_path, "prompt")}) == 1


def test_a_call_that_is_cancelled_ends_the_agent_with_all_that_it_started(tmp_path: Path) -> None:
    agent = GraphAgent(
        "mine",
        run="acp",
        command=command(tmp_path, "waits"),
        retry=GraphRetry(attempt_timeout=5.0, call_retries=0),
    )
    spoken = made(tmp_path, agent)
    assert isinstance(spoken, ProgramAgent)

    async def ask() -> None:
        await spoken.ask(FIRST)
        async with anyio.create_task_group() as group:
            group.start_soon(spoken.ask, AGAIN)
            waits = partial(within, 20, lambda: bool(noted(tmp_path, "waits")))
            await anyio.to_thread.run_sync(waits)
            group.cancel_scope.cancel()

    run("asyncio", ask)
    [waits] = noted(tmp_path, "waits")
    assert len(waits["programs"]) == 2
    within(2, lambda: not any(map(is_alive, waits["programs"])))


@both_backends
def test_what_left_the_group_of_an_agent_ends_with_its_conversation(
    backend: str, tmp_path: Path
) -> None:
    # The agent itself ends when its input does, and what it started has another group.
    run(backend, lambda: talk(acp(tmp_path, "leaves"), FIRST))
    [leaves] = noted(tmp_path, "leaves")
    assert not any(map(is_alive, leaves["programs"]))


# What a program writes, and what is reported of it.
VERSION_2 = """
for line in sys.stdin:
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"protocolVersion": 2}}
    print(json.dumps(answer), flush=True)
"""
NO_SESSION = VERSION_2.replace('"protocolVersion": 2', '"protocolVersion": 1')
CLOSED = "os.close(1); sys.stdin.read()"
WRONG = {
    "no program": (("no-such-program-here",), "cannot be run .*; install it or name its place"),
    "ends with 0": ("print('hello')", r"exit code 0 without an answer to initialize \(it wrote"),
    "fails": ("sys.exit('no key')", "exit code 1 without an answer to initialize: no key; expect"),
    "closes its output": (CLOSED, "closed its output without an answer to initialize"),
    "never answers": ("time.sleep(600)", "began no session within 1 s; expected an agent that"),
    "echoes": (("cat",), "refused initialize: Method not found"),
    "100 MB": ("for n in range(100): print('x' * 10**6)", "wrote more than 32 MiB for one answer"),
    "one endless line": ("while True: sys.stdout.write('x' * 10**6)", "wrote more than 32 MiB"),
    "other version": (VERSION_2, "speaks version 2 of ACP, and not 1; use another version"),
    "no session": (NO_SESSION, "began a session without an id"),
    "needs login": (("needs-login",), r"is not logged in \(Authentication required\); log in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_agent_is_ended_and_named(case: str, tmp_path: Path) -> None:
    what, message = WRONG[case]
    pids: list[int] = []
    words = program(tmp_path, what) if isinstance(what, str) else what
    if case == "needs login":
        words = command(tmp_path, "needs-login")
    seconds = 1.0 if case == "never answers" else 60.0
    agent = acp(tmp_path, words=words)
    agent.on_start, agent.start_seconds = pids.append, seconds
    with pytest.raises(CommandFailedError, match=message):
        run("asyncio", lambda: talk(agent, FIRST))
    assert len(pids) == (case != "no program")
    assert not any(map(is_alive, pids))


def test_messages_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    code = r"""
def write(value):
    print(value if isinstance(value, str) else json.dumps(value), flush=True)

def update(session="s1", **values):
    write({"method": "session/update", "params": {"sessionId": session, "update": values}})

def text(text, session="s1", **values):
    content = {"type": "text", "text": text}
    update(session, sessionUpdate="agent_message_chunk", content=content, **values)

write("A banner\n\n[]\n" + "[" * 100_000 + "\n" + "9" * 10_000)
for line in sys.stdin:
    asked = json.loads(line)
    results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s1"}}
    if asked["method"] == "session/prompt":
        write({"id": True, "result": {}})
        write({"id": 99, "result": {}})
        write({"method": "fs/read_text_file", "id": "mine", "params": {"path": "/etc/passwd"}})
        refused = json.loads(sys.stdin.readline())
        write({"method": ["session/update"], "params": 3})
        write({"method": "session/request_permission", "id": [7], "params": {"options": 3}})
        cancelled = json.loads(sys.stdin.readline())
        text("of another session", session="s2")
        update(sessionUpdate="agent_message_chunk", content=[1])
        update(sessionUpdate="usage_update", cost={"amount": 10**400})
        update(sessionUpdate="usage_update", cost={"amount": float("inf")})
        text("before")
        update(sessionUpdate="tool_call")
        update(sessionUpdate="tool_call")
        text("\ud83d")
        text("\ude00 " + json.dumps([refused, cancelled]))
        update(sessionUpdate="tool_call")
    usage = {"inputTokens": 10**400, "outputTokens": -1}
    write({"id": asked["id"], "result": results.get(asked["method"], {"usage": usage})})
"""
    [reply] = run("asyncio", lambda: talk(acp(tmp_path, words=program(tmp_path, code)), FIRST))
    icon, _, answers = reply.text.partition(" ")
    assert icon == "😀"
    refused, cancelled = json.loads(answers)
    assert (refused["id"], refused["error"]["code"]) == ("mine", -32601)
    assert (cancelled["id"], cancelled["result"]) == ([7], {"outcome": {"outcome": "cancelled"}})
    # None of what it says it used can be counted.
    assert reply.usage is None


def test_a_long_prompt_reaches_an_agent_that_writes_before_it_reads(tmp_path: Path) -> None:
    code = r"""
for line in sys.stdin:
    asked = json.loads(line)
    results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s1"}}
    if asked["method"] == "session/prompt":
        size = str(len(asked["params"]["prompt"][0]["text"]))
        content = {"type": "text", "text": size}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        write = {"method": "session/update", "params": {"sessionId": "s1", "update": update}}
        print(json.dumps(write), flush=True)
    result = results.get(asked["method"], {})
    print(json.dumps({"id": asked["id"], "result": result}), flush=True)
    # More than a pipe holds, before it reads the next line.
    print("\n".join(["#" * 999] * 1000), flush=True)
"""
    long = Message("x" * 3_000_000)
    [reply] = run("asyncio", lambda: talk(acp(tmp_path, words=program(tmp_path, code)), long))
    assert reply.text == "3000000"


def test_a_program_that_is_not_there_and_keys_of_other_kinds_are_refused_before(
    tmp_path: Path,
) -> None:
    def graph(agent: GraphAgent) -> Graph:
        return Graph(name="x", agents=(agent,), tasks=(GraphTask("t", agent="a"),))

    missing = graph(GraphAgent("a", run="acp", command=("no-such-program-here", "acp")))
    with pytest.raises(GraphError, match="there is no program 'no-such-program-here'"):
        agent_makers(missing, project=tmp_path)
    with pytest.raises(GraphError, match=r"agents\.a\.command: is missing"):
        graph(GraphAgent("a", run="acp"))
    with pytest.raises(GraphError, match="permissions is for acp, and run is opencode"):
        graph(GraphAgent("a", run="opencode", permissions="allow"))
    with pytest.raises(GraphError, match=r"options is for .*, and run is acp"):
        graph(GraphAgent("a", run="acp", command=("a",), options=("-v",)))


def test_another_answer_to_permissions_is_another_task() -> None:
    def keyed(agent: GraphAgent) -> str:
        task = GraphTask("t", agent="a")
        return Graph(name="x", agents=(agent,), tasks=(task,)).key_of(task, "Do it.", ())

    rejects = keyed(GraphAgent("a", run="acp", command=("x",)))
    assert keyed(GraphAgent("a", run="acp", command=("x",), permissions="allow")) != rejects
    assert keyed(GraphAgent("a", run="command", command=("x",))) != rejects


def test_the_agent_of_a_killed_runner_is_ended_before_its_task_is_asked_again(
    tmp_path: Path,
) -> None:
    with Place(tmp_path, None) as place:
        agent = GraphAgent("mine", run="acp", command=command(tmp_path, "waits"))
        task = GraphTask("t", agent="mine", prompt="Do it.")
        graph = Graph(name="spoken", protocol="goop_report", agents=(agent,), tasks=(task,))
        run_id = place.ledger.create(graph, input={})
        runner = place.start(run_id)
        within(60, lambda: (tmp_path / "acp.jsonl").exists() and bool(noted(tmp_path, "waits")))
        runner.send_signal(signal.SIGKILL)
        runner.wait(timeout=60)

        # The agent of the next runner has a third message to answer, and this one it answers.
        second = place.start(run_id)
        within(60, lambda: len(noted(tmp_path, "prompt")) == 3)
        [loaded] = noted(tmp_path, "load")
        [first, *_] = noted(tmp_path, "waits")
        assert not any(map(is_alive, first["programs"]))
        assert loaded["session"] == noted(tmp_path, "new")[0]["session"]
        assert "You were interrupted at attempt 2" in noted(tmp_path, "prompt")[2]["text"]
        second.kill()
        second.wait(timeout=60)
        check_run(place.store, run_id)
        for pid in noted(tmp_path, "waits")[-1]["programs"]:
            # Whoever watches the runners may have been faster.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
