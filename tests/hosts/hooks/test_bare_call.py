"""`goop-mcp` without a command that receives the event of a hook, and no MCP client.

Hosts that know no `args` start it so. An exit code of 2 would refuse every prompt of a person.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.hosts.hooks.answers import EVENTS
from tests.cli.running import PROGRAM, SECONDS, Ended, environment, run
from tests.hosts.hooks.hooks import BAD, CASES, GOOD, Host
from tests.validation.shop import TICKET

NOTE = "as the command of a hook use goop-mcp hook HOST."
NO_CLIENT = "standard input ended without a JSON-RPC message"


def event(host: Host, name: str = "SubagentStop", **changes: object) -> dict[str, object]:
    recorded = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return {**recorded, "cwd": str(host.project), "last_assistant_message": BAD, **changes}


def variables(host: Host) -> dict[str, str]:
    return {"CLAUDE_PROJECT_DIR": str(host.project), "CLAUDE_PLUGIN_DATA": str(host.data)}


def called(host: Host, content: bytes, *words: str, **more: str) -> Ended:
    return run(*words, stdin=content, cwd=host.project, env={**variables(host), **more})


def assert_blocks(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["decision"] == "block"
    assert NOTE in ended.err


@pytest.mark.parametrize("name", [*EVENTS, "PreCompact"])
def test_every_event_is_answered_in_its_form(host: Host, name: str) -> None:
    recorded = CASES / f"{name}.json"
    values = (
        event(host, name) if recorded.exists() else {"hook_event_name": name, "session_id": "1"}
    )
    sent = json.dumps(values).encode()
    ended = called(host, sent)
    assert (ended.code, ended.err) == (
        0,
        f"goop-mcp: standard input holds the event of a hook"
        f" instead of messages of an MCP client; {NOTE}\n",
    )

    # As the same hook answers that is called by its name, in a session of its own.
    host_of_another = Host(host.project, host.data.with_name("other data"))
    assert ended.out == host_of_another.send_raw(sent).ended.out


@pytest.mark.parametrize(
    ("before", "indent", "after"),
    [
        (b"", None, b"\n"),
        (b"", None, b""),
        (b"\n \t\n\r\n", None, b"\n"),
        (b"\xef\xbb\xbf", None, b"\r\n"),
        (b"", 2, b"\n"),
        (b"\n", 1, b""),
        (b"  ", None, b"\n\n{}\n"),
    ],
    ids=["line", "no line end", "blank lines", "byte order mark", "lines", "lines cut", "more"],
)
def test_the_event_may_come_in_any_form_of_json(
    host: Host, before: bytes, indent: int | None, after: bytes
) -> None:
    # What a tool was given may look like a message of a client.
    values = event(host, tool_input={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    sent = before + json.dumps(values, indent=indent).encode() + after
    assert_blocks(called(host, sent))


def test_an_event_that_comes_in_pieces_is_answered_before_the_host_ends_its_input(
    host: Host,
) -> None:
    line = json.dumps(event(host, filling="é" * 200_000)).encode() + b"\n"
    with subprocess.Popen(
        PROGRAM,
        cwd=host.project,
        env=environment(variables(host)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for piece in (line[:1], line[1:70_001], line[70_001:-1], line[-1:]):
            process.stdin.write(piece)
            process.stdin.flush()

        # The pipe stays open until the answer is there.
        assert json.loads(process.stdout.read())["decision"] == "block"
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"hook_event_name": 7}', "standard input names no event"),
        (b'{"hook_event_name": null}\n', "standard input names no event"),
        (b'{"session_id": "1", "hook_event_name": "Stop", "a": "', "standard input is not JSON"),
        (b'{"hook_event_name": "Stop",\n\n', "standard input is not JSON"),
        (b'{"hook_event_name": "Stop", "a": ' + b"[" * 100_000, "standard input is not JSON"),
        (b'{"hook_event_name": "Stop", "a": "\xff"}', "standard input is not JSON"),
        (
            b'{"hook_event_name": "Stop", "a": "' + b"x" * 34_000_000 + b'"}\n',
            "the event has more than 33,554,432 bytes; it passed unread",
        ),
    ],
    ids=["number", "null", "cut off", "several lines", "nested", "no text", "too long"],
)
def test_a_broken_event_passes_with_a_line_that_says_why(
    host: Host, content: bytes, why: str
) -> None:
    # The rest of what is too long is not read.
    with subprocess.Popen(
        PROGRAM,
        cwd=host.project,
        env=environment(variables(host)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, err = process.communicate(content, SECONDS)

    assert (process.returncode, out) == (0, b"")
    assert NOTE in err.decode()
    assert why in err.decode()


def test_settings_with_an_error_refuse_no_prompt(host: Host) -> None:
    prompt = json.dumps(event(host, "UserPromptSubmit")).encode()
    ended = called(host, prompt, GOOP_PROJECT_DIR="/nowhere")
    assert (ended.code, ended.out) == (0, "")
    assert "GOOP_PROJECT_DIR is '/nowhere', which is not a folder" in ended.err
    assert NOTE in ended.err


def test_settings_with_an_error_are_reported_to_a_client(host: Host) -> None:
    message = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"hook_event_name": "x"}}\n'
    ended = called(host, message, GOOP_PROJECT_DIR="/nowhere")
    assert (ended.code, ended.out) == (2, "")
    assert NOTE not in ended.err


def test_the_command_serve_answers_it_with_its_custom_rules(host: Host) -> None:
    sent = json.dumps(event(host, last_assistant_message=GOOD)).encode()
    ended = called(host, sent, "serve", "--rules", "tests.validation.shop:TICKET")
    assert_blocks(ended)
    assert TICKET.id in ended.out


@pytest.mark.parametrize(
    "content",
    [
        b'My report: {"hook_event_name": "Stop"}\n',
        b'[{"hook_event_name": "Stop"}]\n',
        b'{}\n{"hook_event_name": "Stop"}\n',
        b'{"text": "\\"hook_event_name\\": 1"}\n',
    ],
)
def test_other_input_is_no_event(host: Host, content: bytes) -> None:
    ended = called(host, content)
    assert (ended.code, ended.out) == (2, "")
    assert NO_CLIENT in ended.err


def test_a_message_of_a_client_is_no_event_whatever_it_holds(host: Host) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "hook_event_name": "Stop"}
    ended = called(host, json.dumps(message).encode() + b"\n")
    assert json.loads(ended.out) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (ended.code, ended.err) == (0, "")


def test_a_client_that_sends_an_event_later_is_served_as_before(host: Host) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    sent = ping + json.dumps(event(host)).encode() + b"\n" + ping.replace(b'"id":1', b'"id":2')
    ended = called(host, sent)
    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == [1, 2]
    assert (ended.code, ended.err) == (0, "")


def test_serving_a_client_loads_nothing_of_the_hook(host: Host) -> None:
    script = (
        "import sys; sys.argv[1:] = []\nfrom goop_mcp.__main__ import main\n"
        "code = main(); print(code, *sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        cwd=host.project,
        env=environment(variables(host)),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    code, *modules = ended.stderr.decode().split()
    assert code == "0"
    assert [name for name in modules if name.startswith("goop_mcp.hosts.hooks.")] == []


def test_the_event_is_read_from_a_file_as_well(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    file.write_text(json.dumps(event(host)), encoding="utf-8")
    with file.open("rb") as opened:
        ended = subprocess.run(
            PROGRAM,
            stdin=opened,
            cwd=host.project,
            env=environment({**os.environ, **variables(host)}),
            capture_output=True,
            check=True,
            timeout=SECONDS,
        )
    assert json.loads(ended.stdout)["decision"] == "block"
