"""No input stops the session: exit code 0, a valid answer or none, one line on stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.hosts.hooks import hook
from tests.cli.running import SECONDS, environment, run, run_command, run_in_shell
from tests.hosts.hooks.hooks import BAD, GOOD, Host
from tests.repository import ROOT
from tests.store.hostile_databases import FOREIGN_OBJECTS, FOREIGN_VALUES, plant
from tests.workspace.true_projects import write

EVENT = "SubagentStop"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   \n",
        b"no JSON",
        b'{"hook_event_name": "SubagentStop"',
        b"[]",
        b"null",
        b'"SubagentStop"',
        b"{}",
        b'{"hook_event_name": 7}',
        b'{"hook_event_name": null}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"hook_event_name": "SubagentStop", "agent_type": "goop-executor", "cwd": "\\u0000"'
        + b"," * 3,
    ],
)
def test_invalid_input_is_reported_on_stderr_and_passes(host: Host, content: bytes) -> None:
    answer = host.send_raw(content)
    assert answer.ended.out == ""
    assert answer.ended.err.startswith("goop-mcp: standard input")
    assert answer.ended.err.count("\n") == 1


@pytest.mark.parametrize("event", ["PreCompact", "SubagentStopped", "", "stop"])
def test_an_unknown_event_passes_without_a_message(host: Host, event: str) -> None:
    answer = host.send(EVENT, hook_event_name=event)
    assert (answer.ended.out, answer.ended.err) == ("", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"session_id": 7, "agent_id": [], "prompt_id": {}},
        {"stop_hook_active": "yes", "background_tasks": "none", "effort": 3},
        {"background_tasks": [None, 1, {"status": 5}, []]},
        {"session_id": "\ud800", "agent_id": "x" * 100_000},
        {"transcript_path": "\x00", "cwd": "\x00"},
        {"a key of tomorrow": {"deep": [1, 2, 3]}},
    ],
)
def test_fields_of_the_wrong_type_count_as_missing(host: Host, changes: dict[str, object]) -> None:
    assert not host.send(EVENT, **changes).passed


@pytest.mark.parametrize("message", [7, ["text"], {"text": BAD}])
def test_a_message_of_another_type_is_read_from_the_transcript(host: Host, message: object) -> None:
    answer = host.send(EVENT, last_assistant_message=message)
    assert answer.passed
    assert "transcript cannot be read" in answer.ended.err


@pytest.mark.parametrize(
    "response", [None, 7, "text", [], {"content": 7, "agentType": 7}, {"content": [7, None]}]
)
def test_an_answer_of_a_tool_in_another_form_passes(host: Host, response: object) -> None:
    assert host.send("PostToolUse", tool_response=response).ended.out == ""


def test_lone_surrogates_in_a_message_are_judged_like_any_text(host: Host) -> None:
    assert not host.send(EVENT, last_assistant_message=f"{BAD} \ud83d").passed


def test_a_message_over_the_limit_is_sent_back(host: Host) -> None:
    assert "expected at most" in host.send(EVENT, last_assistant_message="x" * 3_000_000).reason


def test_an_event_that_is_far_too_large_passes_unread(host: Host) -> None:
    answer = host.send(EVENT, last_assistant_message="x" * (32 * 1024 * 1024))
    assert answer.ended.out == ""
    assert "passed unread" in answer.ended.err


def test_a_pipe_instead_of_a_file_does_not_block_the_session(host: Host, tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    (host.project / ".goopspec").mkdir()
    os.mkfifo(host.project / ".goopspec" / "hooks.json")
    answer = host.send(EVENT, last_assistant_message=None, agent_transcript_path=str(fifo))
    assert answer.passed
    assert "it is not a file" in answer.message
    assert "it is not a file" in answer.ended.err


@pytest.mark.parametrize(
    "arguments", [(), ("cursor",), ("claude-code", "more"), ("--protocol", "speckit")]
)
def test_a_usage_error_is_reported_and_does_not_block(arguments: tuple[str, ...]) -> None:
    ended = run("hook", *arguments, stdin=b"{}")
    assert (ended.code, ended.out) == (0, "")
    assert "expected one of claude-code, codex" in ended.err


def test_closed_streams_are_not_an_error(host: Host) -> None:
    event = json.dumps(
        {"hook_event_name": EVENT, "agent_type": "goop-executor", "last_assistant_message": BAD}
    )
    (host.project / "event.json").write_text(event, encoding="utf-8")
    environment = {"CLAUDE_PLUGIN_DATA": str(host.data)}
    # On a full device Python's last flush would fail as well, and end the process with 120.
    full = (
        ("< /dev/null 2>/dev/full", "< event.json >/dev/full 2>/dev/full")
        if Path("/dev/full").exists()
        else ()
    )

    for streams in (
        *full,
        "<&-",
        "< event.json >&-",
        "< event.json 2>&-",
        "< event.json | true",
        "<&- >&- 2>&-",
    ):
        ended = run_in_shell(f'"$@" hook claude-code {streams}', cwd=host.project, env=environment)
        assert ended.code == 0
        assert "Traceback" not in ended.err


def test_a_missing_project_is_not_an_error(host: Host) -> None:
    away = Host(
        host.project, host.data, environment={"CLAUDE_PROJECT_DIR": str(host.project / "gone")}
    )
    assert not away.send(EVENT).passed
    assert away.send(EVENT, agent_id="b", last_assistant_message=GOOD).passed


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b", "x" * 5000])
def test_paths_that_no_file_can_have_are_not_an_error(host: Host, path: str) -> None:
    nowhere = Host(host.project, host.data, environment={"CLAUDE_PROJECT_DIR": ""})
    assert not nowhere.send(EVENT, cwd=path).passed
    unread = host.send(EVENT, last_assistant_message=None, agent_transcript_path=path)
    assert unread.passed
    assert "the transcript cannot be read" in unread.ended.err


def test_a_folder_removed_meanwhile_is_not_an_error(host: Host) -> None:
    event = json.dumps(
        {"hook_event_name": EVENT, "agent_type": "goop-executor", "last_assistant_message": BAD}
    )
    (host.project / "event.json").write_text(event, encoding="utf-8")
    words = (
        'exec 3< event.json; mkdir gone && cd gone && rmdir ../gone && "$@" hook claude-code <&3'
    )
    ended = run_in_shell(
        words, cwd=host.project, env={"CLAUDE_PLUGIN_DATA": str(host.data), "PYTHONSAFEPATH": "1"}
    )
    assert '"decision": "block"' in ended.out, ended.err


def test_a_damaged_installation_does_not_stop_the_session(host: Host) -> None:
    script = (
        "import sys; sys.modules['lxml'] = None; from goop_mcp.__main__ import main;"
        " sys.exit(main())"
    )
    report = json.dumps(
        {"hook_event_name": EVENT, "agent_type": "goop-executor", "last_assistant_message": GOOD}
    )
    ended = run_command(
        [sys.executable, "-c", script, "hook", "claude-code"],
        stdin=report.encode(),
        cwd=host.project,
    )
    assert (ended.code, ended.out) == (0, "")
    assert "the hook failed and allows everything" in ended.err


HEAVY = {
    "anyio",
    "apsw",
    "asyncio",
    "click",
    "jinja2",
    "logging",
    "mcp",
    "pydantic",
    "rich",
    "sqlite3",
    "subprocess",
}


# What judges, and what compares a report with the work of its agent.
JUDGE = {
    "dataclasses",
    "goop_mcp.evidence.judging",
    "goop_mcp.validation.pipeline",
    "lxml.etree",
}
OTHER_HOSTS = {
    "goop_mcp.evidence.readers.codex",
    "goop_mcp.evidence.readers.histories",
    "goop_mcp.evidence.readers.opencode",
    "goop_mcp.redaction.patterns",
    "goop_mcp.redaction.redacting",
}


@pytest.mark.parametrize(
    ("event", "more"),
    [
        ("SubagentStop", OTHER_HOSTS),
        ("Stop", JUDGE | OTHER_HOSTS),
        ("SubagentStart", OTHER_HOSTS),
        ("SessionStart", JUDGE | OTHER_HOSTS),
        ("PostToolUse", OTHER_HOSTS),
    ],
)
def test_no_event_loads_what_it_does_not_need(host: Host, event: str, more: set[str]) -> None:
    recorded = (
        Path(__file__).parent.parent.parent / "cases" / "hosts" / "claude_code" / f"{event}.json"
    )
    script = (
        "import sys; from goop_mcp.__main__ import _is_hook; assert _is_hook(sys.argv[1:]);from"
        " goop_mcp.hosts.hooks.hook import main; main(sys.argv[2:]); print(*sys.modules,"
        " file=sys.stderr)"
    )
    ended = run_command(
        [sys.executable, "-c", script, "hook", "claude-code"],
        stdin=recorded.read_bytes(),
        cwd=host.project,
        env={"CLAUDE_PLUGIN_DATA": str(host.data)},
    )
    assert ended.code == 0
    assert (HEAVY | more) & set(ended.err.split()) == set()


@pytest.mark.parametrize(
    "kind", ["a view in place of a table", "a further trigger", "a title of 60 MB"]
)
def test_a_database_made_to_hang_its_readers_does_not_block_the_agent(
    host: Host, kind: str
) -> None:
    plant(host.project, *{**FOREIGN_OBJECTS, **FOREIGN_VALUES}[kind])
    host.configure(record=True)
    answer = host.send(EVENT, last_assistant_message=GOOD)
    assert answer.passed
    if kind in FOREIGN_OBJECTS:
        assert "does not declare its tables" in answer.message + answer.ended.err


def test_the_hook_ends_although_the_host_never_ends_its_event() -> None:
    program = (
        "import goop_mcp.hosts.hooks.hook as hook; hook._SECONDS = 0.5; hook.main(['claude-code'])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.wait(SECONDS) == 0
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == b""
        assert process.stderr.read().startswith(
            b"goop-mcp: the hook was not done after 0.5 seconds and allows"
        )


def test_rules_that_never_return_do_not_block_the_agent(host: Host) -> None:
    rules = host.project / "endless.py"
    rules.write_text("while True: pass\n", encoding="utf-8")
    program = (
        "import sys, goop_mcp.hosts.hooks.hook as hook; hook._SECONDS_TO_RECORD = 1.0; "
        f"hook.main(['claude-code', '--rules', {str(rules)!r}])"
    )
    event = {
        "hook_event_name": EVENT,
        "agent_type": "goop-executor",
        "last_assistant_message": GOOD,
    }
    sent = json.dumps({**event, "cwd": str(host.project)}).encode()
    ended = run_command([sys.executable, "-c", program], stdin=sent, cwd=host.project)
    assert (ended.code, ended.out) == (0, "")
    assert "allows everything" in ended.err


def test_the_hook_ends_before_the_host_ends_it() -> None:
    plugin = ROOT / "packaging" / "plugins" / "claude-code" / "goop-mcp" / "hooks" / "hooks.json"
    for event, entries in json.loads(plugin.read_text(encoding="utf-8"))["hooks"].items():
        own = hook._SECONDS_TO_RECORD if event in hook._MAY_RECORD else hook._SECONDS
        assert all(own < each["timeout"] for entry in entries for each in entry["hooks"]), event


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("goop-mcp.toml", "[hooks]\n" + "".join(f"k{number} = 1\n" for number in range(20_000))),
        ("goop-mcp.toml", "[check]\n" + "".join(f"k{number} = 1\n" for number in range(20_000))),
        ("goop-mcp.toml", "".join(f"[k{number}]\n" for number in range(20_000))),
        ("goop-mcp.toml", f"a{'.a' * 100_000} = 1\n"),
        (
            "goop-mcp.toml",
            f"[hooks]\nagents = {json.dumps(['*a' * 100 + str(n) for n in range(99)] + ['*'])}\n",
        ),
        (".goopspec/hooks.json", json.dumps({f"k{number}": 1 for number in range(5_000)})),
    ],
    ids=["hooks", "check", "tables", "parts", "patterns", "json"],
)
def test_a_file_that_takes_long_to_read_does_not_stop_the_judge(
    host: Host, file: str, text: str
) -> None:
    host.send("SessionStart")
    write(host.project, file, text)
    answer = host.send(EVENT)
    assert answer.reason
    assert len(answer.ended.err) < 10_000
