"""What custom rules print never reaches the two streams from which a host takes the answer.

A host reads an answer only if nothing else is in standard output, and only when no process holds
standard output or standard error any more (`make e2e` shows that for Claude Code).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, SECONDS, Ended, environment, run, run_in_shell
from tests.hosts.hooks.hooks import CASES, GOOD, Answer, Host
from tests.rights import ordinary_rights
from tests.validation.shop import FIX, TICKET, WITHOUT_TICKET

RULES = """\
import ctypes, os, subprocess, sys, threading, time
from dataclasses import replace

from tests.validation.shop import TICKET


def act():
    {act}


def check(report, expected):
    act()
    return TICKET.check(report, expected)


{when_loaded}
RULES = replace(TICKET, check=check)
"""
PRINTING = {
    "Python": "print('seen', flush=True)",
    "Python, not flushed": "print('seen')",
    "the first standard output": "print('seen', file=sys.__stdout__, flush=True)",
    "the descriptor": "os.write(1, b'seen')",
    "C": "libc = ctypes.CDLL(None); libc.puts(b'seen'); libc.fflush(None)",
    "a program": "subprocess.run(['echo', 'seen'], check=True)",
    "a program on stderr": "subprocess.run('echo seen >&2', shell=True, check=True)",
    "a forked child": (
        "pid = os.fork()\n    if not pid: os.write(1, b'seen'); os._exit(0)\n    os.waitpid(pid, 0)"
    ),
}


def ruled(host: Host, act: str, *, when_loaded: str = "") -> Host:
    file = host.project / "printing_rules.py"
    file.write_text(RULES.format(act=act, when_loaded=when_loaded), encoding="utf-8")
    return replace(host, options=("--rules", "printing_rules.py"))


def sent(host: Host) -> Answer:
    return host.send("SubagentStop", last_assistant_message=GOOD)


def assert_judged(answer: Answer) -> None:
    """Check that all of standard output is the answer, in which the rule has judged."""
    assert f"({TICKET.id}). {FIX}" in answer.reason
    assert json.loads(answer.ended.out) == answer.json


@pytest.mark.parametrize("moment", ["judging", "loading"])
@pytest.mark.parametrize("way", PRINTING)
def test_the_answer_is_the_only_output_whatever_a_rule_prints(
    host: Host, way: str, moment: str
) -> None:
    act = PRINTING[way]
    judging = moment == "judging"
    answer = sent(
        ruled(
            host,
            act if judging else "pass",
            when_loaded="" if judging else f"def load():\n    {act}\nload()",
        )
    )
    assert_judged(answer)
    # What nobody flushes is lost, as with every process that ends at once.
    assert "seen" in answer.ended.err


@pytest.mark.parametrize(
    "settings", [{"check_workspace": True}, {"record": True}, {"main": "required"}]
)
def test_it_is_the_only_output_on_every_way_to_a_verdict(
    host: Host, settings: dict[str, object]
) -> None:
    host.configure(**settings)
    assert_judged(sent(ruled(host, PRINTING["a program"])))


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Path]:
    """Return a pipe with a name that a program reads to its end, which comes after the test."""
    pipe = tmp_path / "line"
    os.mkfifo(pipe)
    # Opened for both: neither end waits for the other.
    descriptor = os.open(pipe, os.O_RDWR)
    yield pipe
    os.close(descriptor)


@pytest.mark.parametrize(
    "act",
    [
        "subprocess.Popen(['cat', {pipe!r}])",
        "subprocess.Popen(['sh', '-c', 'cat ' + {pipe!r} + ' & exit 0']).wait()",
        "subprocess.Popen(['cat', {pipe!r}], start_new_session=True, close_fds=False)",
        "os.fork() or (open({pipe!r}).read(), os._exit(0))",
        "os.fork() or (os.fork() or (open({pipe!r}).read(), os._exit(0)), os._exit(0))",
    ],
    ids=["program", "orphan", "session", "fork", "double fork"],
)
def test_the_answer_is_whole_although_a_rule_leaves_a_program_running(
    host: Host, line: Path, act: str
) -> None:
    # `send` reads both streams to their ends, which come when the last process has closed them.
    assert_judged(sent(ruled(host, act.format(pipe=str(line)))))


def test_a_thread_of_a_rule_that_prints_later_adds_nothing(host: Host) -> None:
    act = (
        "threading.Thread(target=lambda: [os.write(1, b'late') for _ in iter(int, 1)],"
        " daemon=True).start()"
    )
    assert_judged(sent(ruled(host, act)))


def test_much_output_is_cut(host: Host) -> None:
    answer = sent(ruled(host, "os.write(1, b'x' * 5_000_000)"))
    assert_judged(answer)
    assert 0 < answer.ended.err.count("x") <= 64 * 1024


@pytest.mark.parametrize(
    "error", ["KeyboardInterrupt", "SystemExit(2)", "MemoryError", "GeneratorExit"]
)
def test_no_exception_of_a_rule_stops_the_session(host: Host, error: str) -> None:
    answer = sent(ruled(host, f"print('seen'); raise {error}"))
    assert answer.passed
    assert "seen" in answer.ended.err
    assert answer.ended.out == "" or answer.message.startswith("goop-mcp did not judge a report")


def test_a_rule_that_closes_every_descriptor_stops_nothing(host: Host) -> None:
    answer = sent(ruled(host, "os.closerange(3, 200)"))
    assert answer.ended.code == 0
    assert answer.ended.out == "" or json.loads(answer.ended.out)


@pytest.mark.parametrize("folder", ["a file in its place", "a folder that may not be written"])
def test_without_a_folder_for_the_output_the_answer_is_the_same(host: Host, folder: str) -> None:
    if folder == "a file in its place":
        host.data.write_text("", encoding="utf-8")
        assert_judged(sent(ruled(host, PRINTING["a program"])))
        return

    host.data.mkdir(mode=0o500)
    with ordinary_rights():
        assert_judged(sent(ruled(host, PRINTING["a program"])))


def test_nothing_is_left_in_the_folder(host: Host) -> None:
    sent(ruled(host, PRINTING["a program"]))
    assert [each.name for each in host.data.iterdir() if each.name.startswith("printed")] == []


@pytest.mark.parametrize(("closed", "out"), [(">&-", ""), ("2>&-", TICKET.id)])
def test_a_stream_that_the_host_has_closed_is_no_error(host: Host, closed: str, out: str) -> None:
    ruled(host, PRINTING["a program"])
    event = json.loads((CASES / "SubagentStop.json").read_text(encoding="utf-8"))
    event |= {"cwd": str(host.project), "last_assistant_message": GOOD}
    (host.project / "event.json").write_text(json.dumps(event), encoding="utf-8")
    ended = run_in_shell(
        f'"$@" hook claude-code --rules printing_rules.py < event.json {closed}',
        cwd=host.project,
        env={"CLAUDE_PLUGIN_DATA": str(host.data)},
    )
    assert ended.code == 0
    assert out in ended.out


def test_a_rule_that_never_returns_shows_what_it_printed(host: Host) -> None:
    ruled(host, "os.write(1, b'seen'); time.sleep(3600)")
    program = (
        "import goop_mcp.hosts.hooks.hook as hook; hook._SECONDS_TO_RECORD = 1.0;"
        " hook.main(['claude-code', '--rules', 'printing_rules.py'])"
    )
    event = json.loads((CASES / "SubagentStop.json").read_text(encoding="utf-8"))
    event |= {"cwd": str(host.project), "last_assistant_message": GOOD}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(event).encode(),
        cwd=host.project,
        env=environment({"CLAUDE_PLUGIN_DATA": str(host.data)}),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    assert ended.stdout == b""
    assert b"seen" in ended.stderr
    assert b"allows everything" in ended.stderr


def printed_verdict(folder: Path, way: str, *command: str) -> Ended:
    (folder / "printing_rules.py").write_text(
        RULES.format(act=PRINTING[way], when_loaded="act()"), encoding="utf-8"
    )
    (folder / "reply.md").write_text(WITHOUT_TICKET, encoding="utf-8")
    return run(*command, "--rules", "printing_rules.py", "reply.md", cwd=folder)


@pytest.mark.parametrize("way", ["the descriptor", "C", "a program", "a forked child"])
@pytest.mark.parametrize("command", [("check", "--format", "json"), ("route", "--format", "json")])
def test_the_output_of_other_commands_is_json_as_well(
    tmp_path: Path, way: str, command: tuple[str, ...]
) -> None:
    ended = printed_verdict(tmp_path, way, *command)
    assert TICKET.id in json.dumps(json.loads(ended.out))
    assert "seen" in ended.err


def test_what_a_client_reads_is_json_as_well(host: Host) -> None:
    ruled(host, PRINTING["a program"], when_loaded="act()")
    call = {"name": "validate_report", "arguments": {"text": GOOD, "protocol": "goop_report"}}
    client = {"protocolVersion": "2025-11-25", "capabilities": {}}
    client |= {"clientInfo": {"name": "tests", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
    ]
    ended = subprocess.run(
        [*PROGRAM, "serve", "--rules", "printing_rules.py"],
        input=b"".join(json.dumps(each).encode() + b"\n" for each in messages),
        cwd=host.project,
        env=environment({"HOME": str(host.data)}),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    first, second = map(json.loads, ended.stdout.splitlines())
    assert (first["id"], second["id"]) == (0, 1)
    assert TICKET.id in json.dumps(second)
    assert b"seen" in ended.stderr
