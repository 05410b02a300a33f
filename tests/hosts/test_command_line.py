"""Agents that are programs: asked again in their session, their output read as documented."""

import json
import os
import signal
import stat
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from goop_mcp import RetryPolicy, ask_until_accepted
from goop_mcp.hosts.frameworks.command_line import (
    Answer,
    CommandFailedError,
    CommandLineAgent,
    claude_code,
    codex,
    opencode,
)
from goop_mcp.retry import Message, Outcome, Usage, Way
from tests.retry.agents import BAD_STATUS, GOOD, both_backends, run

WAYS: tuple[Way, ...] = ("first", "same_conversation", "minimal", "same_conversation", "fresh")
ONE_ATTEMPT = RetryPolicy(max_attempts=1, call_retries=0)
# Logs how it was called, then answers: badly the first time, well the second.
CLAUDE = """
words, text = sys.argv[1:], sys.stdin.read()
number = note({"words": words, "text": text})
json.dump({"type": "result", "subtype": "success", "is_error": False, "session_id": "s1",
           "result": REPLIES[number], "total_cost_usd": 0.5,
           "usage": {"input_tokens": 10, "output_tokens": 5}}, sys.stdout)
"""
OPENCODE = """
number = note({"words": sys.argv[1:], "text": sys.stdin.read()})
tokens = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 0, "write": 0}}
for kind, part in [
    ("step_start", {}), ("text", {"text": "I look at it."}), ("tool_use", {"tool": "read"}),
    ("step_finish", {"tokens": tokens, "cost": 0.25}),
    ("step_start", {}), ("text", {"text": REPLIES[number]}),
    ("step_finish", {"tokens": tokens, "cost": 0.25}),
]:
    print(json.dumps({"type": kind, "sessionID": "ses_1", "part": part}))
"""


def program(folder: Path, body: str) -> str:
    """Write a program that logs its calls in `calls.jsonl` in its folder."""
    file = folder / "agent"
    file.write_text(
        f"#!{sys.executable}\nimport json, os, sys, time\nREPLIES = {[BAD_STATUS, GOOD]!r}\n"
        f"NOTES = {str(folder / 'calls.jsonl')!r}\n"
        "def note(call, most=2):\n"
        "    with open(NOTES, 'a+') as notes:\n"
        "        notes.write(json.dumps(call) + '\\n')\n"
        "        notes.seek(0)\n"
        "        return min(len(notes.readlines()), most) - 1\n" + body,
        encoding="utf-8",
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)

    return str(file)


def calls(folder: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for line in (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def asked(backend: str, agent: CommandLineAgent, policy: RetryPolicy | None = None) -> Outcome:
    outcome = run(
        backend, lambda: ask_until_accepted(agent, "Implement it.", policy=policy or RetryPolicy())
    )
    assert isinstance(outcome, Outcome)
    return outcome


@both_backends
def test_claude_is_asked_again_with_resume(backend: str, tmp_path: Path) -> None:
    outcome = asked(backend, claude_code("--model", "opus", program=program(tmp_path, CLAUDE)))
    assert outcome.accepted
    assert (outcome.usage.tokens, outcome.usage.cost) == (30, 1.0)
    first, second = calls(tmp_path)
    assert first == {
        "words": ["-p", "--output-format", "json", "--model", "opus"],
        "text": "Implement it.",
    }
    assert second["words"] == ["-p", "--output-format", "json", "--resume", "s1", "--model", "opus"]
    assert second["text"] == outcome.attempts[1].message


# What Claude Code 2.1.329 prints when the provider refuses a request, without irrelevant fields.
REFUSED = """
number = note({"words": sys.argv[1:], "text": sys.stdin.read()})
result = {"stop_reason": "stop_sequence", "session_id": "s1", "total_cost_usd": 0.25,
          "permission_denials": [],
          "usage": {"input_tokens": 4, "cache_creation_input_tokens": 3,
                    "cache_read_input_tokens": 2, "output_tokens": 1, "service_tier": "standard"},
          "terminal_reason": "api_error", "is_error": True, "num_turns": 1, "subtype": "success",
          "api_error_status": STATUS, "api_error_type": "rate_limit_error", "result": TEXT,
          "type": "result"}
if number == 0:
    print(json.dumps(result))
    sys.exit(1)
json.dump({"type": "result", "subtype": "success", "is_error": False, "session_id": "s1",
           "result": REPLIES[1], "total_cost_usd": 0.5,
           "usage": {"input_tokens": 10, "output_tokens": 5}}, sys.stdout)
"""
RATE_LIMITED = (
    "API Error: Request rejected (429) · This request would exceed your account's rate limit."
    " Please try again later."
)
AT_ONCE = RetryPolicy(backoff=lambda _: 0.0)


def refusing(status: int | None, expected: str) -> str:
    return REFUSED.replace("STATUS", repr(status)).replace("TEXT", repr(expected))


@both_backends
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (429, RATE_LIMITED),
        (
            529,
            (
                "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try"
                " again in a moment."
            ),
        ),
        (None, RATE_LIMITED),
        (None, "API Error: 529 Overloaded."),
        (None, "Claude AI usage limit reached|1753077600"),
    ],
)
def test_a_rate_limit_of_claude_is_repeated_in_its_session_with_its_cost(
    backend: str, tmp_path: Path, status: int | None, expected: str
) -> None:
    outcome = asked(
        backend, claude_code(program=program(tmp_path, refusing(status, expected))), AT_ONCE
    )
    assert outcome.accepted
    failed, answered = outcome.attempts
    assert failed.usage == Usage(input_tokens=9, output_tokens=1, cost=0.25)
    assert (outcome.usage.tokens, outcome.usage.cost) == (25, 0.75)
    assert (failed.error or "").startswith(f"claude gave no result ({expected[:40]}")
    assert answered.conversation_id == "s1"
    assert calls(tmp_path)[1]["words"] == ["-p", "--output-format", "json", "--resume", "s1"]
    assert calls(tmp_path)[1]["text"] == "Implement it."


# What Claude Code 2.1.329 prints each time it continues a session: cost and modelUsage are those
# of the whole session.
SUMMED = """
number = note({"words": sys.argv[1:], "text": sys.stdin.read()}, most=9)
refused = number == 1
expected = REPLIES[number == 3].replace("DONE-ISH", f"OVER {number}")
calls = (1, 1, 2, 3)[number]
used = {"input_tokens": 0 if refused else 10, "output_tokens": 0 if refused else 5}
print(json.dumps({"type": "result", "subtype": "success", "is_error": refused, "session_id": "s1",
    "api_error_status": 429 if refused else None, "result": "slow down" if refused else expected,
    "total_cost_usd": 0.25 * calls, "usage": used,
    "modelUsage": {"m": {"inputTokens": 10 * calls, "outputTokens": 5 * calls,
                         "costUSD": 0.25 * calls}}}))
sys.exit(refused)
"""


def test_the_cost_of_a_session_is_counted_once(tmp_path: Path) -> None:
    agent = claude_code(program=program(tmp_path, SUMMED))
    policy = RetryPolicy(max_attempts=4, backoff=lambda _: 0.0)
    outcome = asked("asyncio", agent, policy)
    assert outcome.accepted
    assert [each.usage.cost for each in outcome.attempts if each.usage is not None] == [
        0.25,
        0.0,
        0.25,
        0.25,
    ]
    assert (outcome.usage.tokens, outcome.usage.cost) == (45, 0.75)


def test_the_time_that_claude_names_is_waited_for(tmp_path: Path) -> None:
    text = f"Claude AI usage limit reached|{int(time.time()) + 1000}"
    agent = claude_code(program=program(tmp_path, refusing(None, text)))
    outcome = asked("asyncio", agent, RetryPolicy(deadline=900))
    assert (outcome.stopped_because, len(outcome.attempts)) == ("deadline", 1)


def test_a_wrong_key_of_claude_is_not_repeated(tmp_path: Path) -> None:
    text = "Invalid API key · Fix external API key"
    outcome = asked("asyncio", claude_code(program=program(tmp_path, refusing(401, text))), AT_ONCE)
    assert (outcome.stopped_because, len(calls(tmp_path))) == ("agent_error", 1)
    assert text in str(outcome.failure)


# What OpenCode 1.18.33 prints when the provider refuses a request.
OPENCODE_REFUSED = """
number = note({"words": sys.argv[1:], "text": sys.stdin.read()})
part = {"tokens": {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 3, "write": 1}},
        "cost": 0.25}
headers = {"connection": "close", "content-type": "application/json", "retry-after-ms": "1"}
if number == 0:
    event = {"timestamp": 1795353772031, "sessionID": "ses_1"}
    data = {"message": "slow down", "statusCode": STATUS, "isRetryable": RETRYABLE,
            "responseHeaders": headers, "responseBody": "{}",
            "metadata": {"url": "http://127.0.0.1/v1"}}
    print(json.dumps({"type": "step_finish", "part": part, **event}))
    print(json.dumps({"type": "error", "error": {"name": "APIError", "data": data}, **event}))
    sys.exit(1)
for kind, text in [("step_start", {}), ("text", {"text": REPLIES[1]}), ("step_finish", part)]:
    print(json.dumps({"type": kind, "sessionID": "ses_1", "part": text}))
"""


@both_backends
def test_a_rate_limit_of_opencode_is_repeated_in_its_session_with_its_cost(
    backend: str, tmp_path: Path
) -> None:
    body = OPENCODE_REFUSED.replace("STATUS", "429").replace("RETRYABLE", "True")
    outcome = asked(backend, opencode(program=program(tmp_path, body)), AT_ONCE)
    assert outcome.accepted
    assert outcome.attempts[0].usage == Usage(input_tokens=14, output_tokens=6, cost=0.25)
    assert outcome.usage == Usage(tokens=40, input_tokens=28, output_tokens=12, cost=0.5)
    assert outcome.attempts[0].error == "opencode gave no result (slow down)"
    assert calls(tmp_path)[1]["words"] == ["run", "--format", "json", "-s", "ses_1"]
    assert calls(tmp_path)[1]["text"] == "Implement it."


def test_an_error_that_opencode_calls_permanent_is_not_repeated(tmp_path: Path) -> None:
    body = OPENCODE_REFUSED.replace("STATUS", "401").replace("RETRYABLE", "False")
    outcome = asked("asyncio", opencode(program=program(tmp_path, body)), AT_ONCE)
    assert (outcome.stopped_because, len(calls(tmp_path))) == ("agent_error", 1)


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ("'total_cost_usd': 0.5", Usage(cost=0.5)),
        (
            "'usage': {'input_tokens': 3, 'output_tokens': 2}",
            Usage(input_tokens=3, output_tokens=2),
        ),
        ("'usage': {'input_tokens': 3}, 'total_cost_usd': float('nan')", Usage(input_tokens=3)),
        ("'usage': {'input_tokens': -3, 'output_tokens': 'many'}, 'total_cost_usd': '1'", Usage()),
        ("'usage': []", None),
    ],
)
def test_what_claude_does_not_report_is_unknown(
    tmp_path: Path, fields: str, usage: Usage | None
) -> None:
    body = (
        "print(json.dumps({'is_error': False, 'result': REPLIES[1], 'session_id': 's1', "
        + fields
        + "}))"
    )
    reply = run(
        "asyncio",
        lambda: claude_code(program=program(tmp_path, body)).ask(Message("Implement it.")),
    )
    assert reply.usage == usage


@both_backends
def test_opencode_is_asked_again_in_its_session(backend: str, tmp_path: Path) -> None:
    outcome = asked(backend, opencode("--agent", "build", program=program(tmp_path, OPENCODE)))
    assert outcome.accepted
    assert outcome.text == GOOD
    assert (outcome.usage.tokens, outcome.usage.cost) == (64, 1.0)
    first, second = calls(tmp_path)
    assert first["words"] == ["run", "--format", "json", "--agent", "build"]
    assert first["text"] == "Implement it."
    assert second["words"] == ["run", "--format", "json", "-s", "ses_1", "--agent", "build"]
    assert second["text"] == outcome.attempts[1].message


def test_a_fresh_message_begins_a_new_session(tmp_path: Path) -> None:
    agent = claude_code(program=program(tmp_path, CLAUDE))

    async def talk() -> None:
        for way in WAYS:
            await agent.ask(Message("Go on.", way))

    run("asyncio", talk)
    assert ["--resume" in str(call["words"]) for call in calls(tmp_path)] == [
        False,
        True,
        False,
        True,
        False,
    ]


def test_opencode_started_twice_at_once_for_the_first_time_is_asked_again(tmp_path: Path) -> None:
    # What OpenCode 1.18 prints where another process creates the tables at the same time.
    body = """
if note("start", 9) == 0:
    print("Error: Unexpected error\\n\\nFailed query: \\nCREATE TABLE x (y);\\nparams: ",
          file=sys.stderr)
    sys.exit(1)
"""
    outcome = asked("asyncio", opencode(program=program(tmp_path, body + OPENCODE)), AT_ONCE)
    assert outcome.accepted
    assert "exit code 1: Failed query:" in (outcome.attempts[0].error or "")


@pytest.mark.parametrize("make", [claude_code, opencode, codex])
def test_no_message_is_a_word_of_a_known_program_and_all_of_it_arrives(
    tmp_path: Path, make: Callable[..., CommandLineAgent]
) -> None:
    body = """
call = note({"words": sys.argv[1:], "text": sys.stdin.read()})
sys.exit(3)
"""
    agent = make(program=program(tmp_path, body))
    for text in ("--help me", "-", "--", ' -x "quoted" \\ \n\nand "more"\n', "x" * 300_000):
        with pytest.raises(CommandFailedError):
            run("asyncio", partial(agent.ask, Message(text)))
        last = calls(tmp_path)[-1]
        assert last["text"] == text
        # Codex reads standard input where its last word is "-".
        words = last["words"]
        assert isinstance(words, list)
        assert text == "-" or text not in words


@pytest.mark.parametrize("make", [claude_code, opencode, codex])
def test_a_session_that_would_be_an_option_is_refused(
    tmp_path: Path, make: Callable[..., CommandLineAgent]
) -> None:
    agent = make(program=program(tmp_path, "note(1)"))
    agent.session = "--dangerously-skip-permissions"
    with pytest.raises(CommandFailedError, match="would be an option of the program") as refused:
        run("asyncio", lambda: agent.ask(Message("Go on.", way="same_conversation")))
    assert refused.value.retryable is False
    assert not (tmp_path / "calls.jsonl").exists()


@pytest.mark.parametrize(
    ("body", "expected"),
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
def test_a_program_that_fails_is_a_failed_call_that_says_why(
    tmp_path: Path, body: str, expected: str
) -> None:
    outcome = asked("asyncio", claude_code(program=program(tmp_path, body)), ONE_ATTEMPT)
    assert outcome.stopped_because == "agent_error"
    assert isinstance(outcome.failure, CommandFailedError)
    assert expected in str(outcome.failure)
    assert "Implement it." not in str(outcome.failure)


def test_opencode_without_events_is_a_failed_call(tmp_path: Path) -> None:
    outcome = asked(
        "asyncio", opencode(program=program(tmp_path, "print('starting')")), ONE_ATTEMPT
    )
    assert "wrote no events" in str(outcome.failure)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    outcome = asked("asyncio", claude_code(program="no-such-agent", folder=tmp_path), ONE_ATTEMPT)
    assert "no-such-agent cannot be run (no such file or directory)" in str(outcome.failure)


@both_backends
def test_a_cancelled_call_ends_the_program(backend: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    agent = claude_code(
        program=program(
            tmp_path, f"open({str(pipe)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
        )
    )

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


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for the process where Linux shows it"
)
@both_backends
def test_what_a_program_has_started_ends_with_it_when_the_call_is_cancelled(
    backend: str, tmp_path: Path
) -> None:
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
            state = (
                Path(f"/proc/{process}/stat")
                .read_text(encoding="utf-8")
                .rpartition(")")[2]
                .split()[0]
            )
        except FileNotFoundError:
            return

        if state == "Z":
            return

        time.sleep(0.01)

    pytest.fail(f"process {process} still runs")


@both_backends
def test_what_a_program_leaves_in_the_background_is_not_waited_for(
    backend: str, tmp_path: Path
) -> None:
    place = tmp_path / "pid"
    reply = run(
        backend, lambda: script(f"sleep 600 & echo $! > {place}; echo done").ask(Message("Do it."))
    )
    try:
        assert reply.text == "done\n"
    finally:
        os.kill(int(place.read_text(encoding="utf-8")), signal.SIGKILL)


@both_backends
def test_a_program_that_reads_nothing_may_answer_all_the_same(backend: str) -> None:
    reply = run(
        backend, lambda: script("exec 0<&-; echo done", on_stdin=True).ask(Message("x" * 1_000_000))
    )
    assert reply.text == "done\n"


def test_a_program_without_sessions_receives_the_earlier_messages_and_answers() -> None:
    agent = CommandLineAgent(
        command=lambda _text, _session: ["cat"], read=lambda text: Answer(text=text), on_stdin=True
    )

    async def talk() -> list[str]:
        ways: tuple[Way, ...] = ("first", "same_conversation", "first")
        return [
            (await agent.ask(Message(f"Message {number}.", way))).text
            for number, way in enumerate(ways)
        ]

    first, second, third = run("asyncio", talk)
    assert second == f"{first}\n\nYou answered:\n\n{first}\n\nMessage 1."
    assert third == "Message 2."


@pytest.mark.parametrize("on_stdin", [False, True])
def test_characters_that_no_program_can_receive_are_replaced(on_stdin: bool) -> None:
    agent = script("cat" if on_stdin else 'printf %s "$1"', on_stdin=on_stdin)
    assert run("asyncio", lambda: agent.ask(Message("a\0b\ud800c"))).text == "a\ufffdb?c"


@pytest.mark.parametrize(
    ("agent", "message", "expected"),
    [
        (
            script("true"),
            "x" * 3_000_000,
            "the message is too long for the words of a command (sh)",
        ),
        (claude_code(program="cat", folder="/nowhere"), "x", "cat cannot be run in /nowhere"),
        (
            CommandLineAgent(command=lambda _t, _s: "echo", read=lambda text: Answer(text=text)),
            "x",
            "command returned 'e",
        ),
        (
            CommandLineAgent(command=lambda _t, _s: [], read=lambda text: Answer(text=text)),
            "x",
            "command returned []",
        ),
        (
            # Wrong on purpose: `read` has to return an answer.
            CommandLineAgent(command=lambda _t, _s: ["echo"], read=str),  # type: ignore[arg-type]
            "x",
            "the answer that read made is str",
        ),
    ],
    ids=["too long", "no folder", "a text", "no words", "no answer"],
)
def test_mistakes_about_a_program_are_named(
    agent: CommandLineAgent, message: str, expected: str
) -> None:
    with pytest.raises((CommandFailedError, TypeError)) as caught:
        run("asyncio", lambda: agent.ask(Message(message)))
    assert expected in str(caught.value)


# The word is the last value of the programs above, which the model gives with its first reply.
ENDS_EARLY = {
    claude_code: CLAUDE.replace(
        '"s1",', '"s1", "stop_reason": ["max_tokens", "end_turn"][number],'
    ),
    opencode: OPENCODE.replace("0.25}),\n]", '0.25, "reason": ["length", "stop"][number]}),\n]'),
}


@pytest.mark.parametrize("made", [claude_code, opencode])
def test_a_program_says_why_its_model_stopped(
    made: Callable[..., CommandLineAgent], tmp_path: Path
) -> None:
    outcome = asked("asyncio", made(program=program(tmp_path, ENDS_EARLY[made])))
    assert [each.stop_reason for each in outcome.attempts] == ["token_limit", None]
    assert "cut at the token limit: send it shorter" in outcome.attempts[1].message
