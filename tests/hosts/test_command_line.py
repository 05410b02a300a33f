"""Programs are asked again in their session; what they write is read as their makers document it."""

import json
import os
import signal
import stat
import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from goop_mcp import RetryPolicy, ask_until_accepted
from goop_mcp.hosts.frameworks.command_line import Answer, CommandFailedError, CommandLineAgent, claude_code, opencode
from goop_mcp.retry import Message, Outcome, Way
from tests.retry.agents import BAD_STATUS, GOOD, both_backends, run

WAYS: tuple[Way, ...] = ("first", "same_conversation", "minimal", "same_conversation", "fresh")
ONE_ATTEMPT = RetryPolicy(max_attempts=1, call_retries=0)
# Writes down how it was called, then answers: badly the first time, well the second.
CLAUDE = """
words, text = sys.argv[1:], sys.stdin.read()
number = note({"words": words, "text": text})
json.dump({"type": "result", "subtype": "success", "is_error": False, "result": REPLIES[number], "session_id": "s1",
           "total_cost_usd": 0.5, "usage": {"input_tokens": 10, "output_tokens": 5}}, sys.stdout)
"""
OPENCODE = """
number = note({"words": sys.argv[1:], "text": sys.stdin.read()})
tokens = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 0, "write": 0}}
for kind, part in [
    ("step_start", {}), ("text", {"text": "I look at it."}), ("tool_use", {"tool": "read"}),
    ("step_finish", {"tokens": tokens, "cost": 0.25}),
    ("step_start", {}), ("text", {"text": REPLIES[number]}), ("step_finish", {"tokens": tokens, "cost": 0.25}),
]:
    print(json.dumps({"type": kind, "sessionID": "ses_1", "part": part}))
"""


def program(folder: Path, body: str) -> str:
    """Write a program that keeps notes of its calls in `calls.jsonl` beside it."""
    file = folder / "agent"
    file.write_text(
        f"#!{sys.executable}\nimport json, os, sys, time\nREPLIES = {[BAD_STATUS, GOOD]!r}\n"
        f"NOTES = {str(folder / 'calls.jsonl')!r}\n"
        "def note(call):\n"
        "    with open(NOTES, 'a+') as notes:\n"
        "        notes.write(json.dumps(call) + '\\n')\n"
        "        notes.seek(0)\n"
        "        return min(len(notes.readlines()), 2) - 1\n" + body,
        encoding="utf-8",
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def calls(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()]


def asked(backend: str, agent: CommandLineAgent, policy: RetryPolicy | None = None) -> Outcome:
    outcome = run(backend, lambda: ask_until_accepted(agent, "Implement it.", policy=policy or RetryPolicy()))
    assert isinstance(outcome, Outcome)
    return outcome


@both_backends
def test_claude_is_asked_again_with_resume(backend: str, tmp_path: Path) -> None:
    outcome = asked(backend, claude_code("--model", "opus", program=program(tmp_path, CLAUDE)))
    assert outcome.accepted
    assert (outcome.usage.tokens, outcome.usage.cost) == (30, 1.0)
    first, second = calls(tmp_path)
    assert first == {"words": ["-p", "--output-format", "json", "--model", "opus"], "text": "Implement it."}
    assert second["words"] == ["-p", "--output-format", "json", "--resume", "s1", "--model", "opus"]
    assert second["text"] == outcome.attempts[1].message


@both_backends
def test_opencode_is_asked_again_in_its_session(backend: str, tmp_path: Path) -> None:
    outcome = asked(backend, opencode("--agent", "build", program=program(tmp_path, OPENCODE)))
    assert outcome.accepted
    assert outcome.text == GOOD
    assert (outcome.usage.tokens, outcome.usage.cost) == (64, 1.0)
    first, second = (call["words"] for call in calls(tmp_path))
    assert first == ["run", "--format", "json", "--agent", "build", "Implement it."]
    assert second == ["run", "--format", "json", "-s", "ses_1", "--agent", "build", outcome.attempts[1].message]


def test_a_message_that_begins_anew_begins_a_new_session(tmp_path: Path) -> None:
    agent = claude_code(program=program(tmp_path, CLAUDE))

    async def talk() -> None:
        for way in WAYS:
            await agent.ask(Message("Go on.", way))

    run("asyncio", talk)
    assert ["--resume" in str(call["words"]) for call in calls(tmp_path)] == [False, True, False, True, False]


def test_a_message_that_begins_with_a_dash_is_no_option_of_opencode(tmp_path: Path) -> None:
    agent = opencode(program=program(tmp_path, OPENCODE))
    run("asyncio", lambda: agent.ask(Message("--help me")))
    assert calls(tmp_path)[0]["words"] == ["run", "--format", "json", " --help me"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('no key', file=sys.stderr); sys.exit(3)", "ended with exit code 3: no key"),
        ("print('hello')", "claude wrote 'hello"),
        ("print('[1]')", "expected a JSON object"),
        (
            "print(json.dumps({'is_error': True, 'subtype': 'error_max_turns'}))",
            "claude gave no result (error_max_turns)",
        ),
    ],
)
def test_a_program_that_fails_is_a_failed_call_that_says_why(tmp_path: Path, body: str, said: str) -> None:
    outcome = asked("asyncio", claude_code(program=program(tmp_path, body)), ONE_ATTEMPT)
    assert outcome.stopped_because == "agent_error"
    assert isinstance(outcome.failure, CommandFailedError)
    assert said in str(outcome.failure)
    assert "Implement it." not in str(outcome.failure)


def test_opencode_without_events_is_a_failed_call(tmp_path: Path) -> None:
    outcome = asked("asyncio", opencode(program=program(tmp_path, "print('starting')")), ONE_ATTEMPT)
    assert "wrote no events" in str(outcome.failure)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    outcome = asked("asyncio", claude_code(program="no-such-agent", folder=tmp_path), ONE_ATTEMPT)
    assert "no-such-agent cannot be run (no such file or directory)" in str(outcome.failure)


@both_backends
def test_a_cancelled_call_ends_the_program(backend: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    agent = claude_code(program=program(tmp_path, f"open({str(pipe)!r}, 'w').write(str(os.getpid())); time.sleep(60)"))

    async def give_up() -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(agent.ask, Message("Implement it."))
            number = int(await anyio.to_thread.run_sync(pipe.read_text, abandon_on_cancel=True))
            group.cancel_scope.cancel()
        return number

    with pytest.raises(ProcessLookupError):
        os.kill(run(backend, give_up), 0)


def script(words: str, *, on_stdin: bool = False) -> CommandLineAgent:
    """Return an agent that is a line of the shell; its first argument is the message."""
    command = ["sh", "-c", words, "sh"]
    return CommandLineAgent(
        command=lambda text, _session: command if on_stdin else [*command, text],
        read=lambda output: Answer(text=output),
        on_stdin=on_stdin,
    )


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the process where Linux shows it")
@both_backends
def test_what_a_program_has_started_ends_with_it_when_the_call_is_cancelled(backend: str, tmp_path: Path) -> None:
    place, words = tmp_path / "pid", "sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait"

    async def ask_and_cancel() -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(script(words.format(place)).ask, Message("Do it."))
            await anyio.to_thread.run_sync(appears, place)
            group.cancel_scope.cancel()
        return int(place.read_text(encoding="utf-8"))

    ended(run(backend, ask_and_cancel))


def appears(place: Path) -> None:
    """Wait, at most half a minute, until there is such a file."""
    for _ in range(3000):
        if place.exists():
            return
        time.sleep(0.01)


def ended(process: int) -> None:
    """Wait, at most half a minute, until there is no such process, or only its remains."""
    for _ in range(3000):
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail(f"process {process} still runs")


@both_backends
def test_what_a_program_leaves_in_the_background_is_not_waited_for(backend: str, tmp_path: Path) -> None:
    place = tmp_path / "pid"
    reply = run(backend, lambda: script(f"sleep 600 & echo $! > {place}; echo done").ask(Message("Do it.")))
    try:
        assert reply.text == "done\n"
    finally:
        os.kill(int(place.read_text(encoding="utf-8")), signal.SIGKILL)


@both_backends
def test_a_program_that_reads_nothing_may_answer_all_the_same(backend: str) -> None:
    reply = run(backend, lambda: script("exec 0<&-; echo done", on_stdin=True).ask(Message("x" * 1_000_000)))
    assert reply.text == "done\n"


def test_a_program_without_sessions_is_told_what_it_was_asked_and_answered() -> None:
    agent = CommandLineAgent(
        command=lambda _text, _session: ["cat"], read=lambda text: Answer(text=text), on_stdin=True
    )

    async def talk() -> list[str]:
        ways: tuple[Way, ...] = ("first", "same_conversation", "first")
        return [(await agent.ask(Message(f"Message {number}.", way))).text for number, way in enumerate(ways)]

    first, second, third = run("asyncio", talk)
    assert second == f"{first}\n\nYou answered:\n\n{first}\n\nMessage 1."
    assert third == "Message 2."


@pytest.mark.parametrize("on_stdin", [False, True])
def test_what_no_program_can_be_given_is_marked(on_stdin: bool) -> None:
    agent = script("cat" if on_stdin else 'printf %s "$1"', on_stdin=on_stdin)
    assert run("asyncio", lambda: agent.ask(Message("a\0b\ud800c"))).text == "a\ufffdb?c"


@pytest.mark.parametrize(
    ("agent", "message", "said"),
    [
        (script("true"), "x" * 3_000_000, "the message is too long for the words of a command (sh)"),
        (claude_code(program="cat", folder="/nowhere"), "x", "cat cannot be run in /nowhere"),
        (
            CommandLineAgent(command=lambda _t, _s: "echo", read=lambda text: Answer(text=text)),
            "x",
            "command returned 'e",
        ),
        (CommandLineAgent(command=lambda _t, _s: [], read=lambda text: Answer(text=text)), "x", "command returned []"),
        (CommandLineAgent(command=lambda _t, _s: ["echo"], read=str), "x", "the answer that read made is str"),  # type: ignore[arg-type]  # wrong on purpose
    ],
    ids=["too long", "no folder", "a text", "no words", "no answer"],
)
def test_mistakes_about_a_program_are_named(agent: CommandLineAgent, message: str, said: str) -> None:
    with pytest.raises((CommandFailedError, TypeError)) as caught:
        run("asyncio", lambda: agent.ask(Message(message)))
    assert said in str(caught.value)
