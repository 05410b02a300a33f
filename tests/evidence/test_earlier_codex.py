"""Rollouts of earlier versions of Codex, which end a call with an event or only with a text.

The forms are those of rollouts that people have published, from 0.34 to 0.128; the content is ours.
"""

import json
from collections.abc import Mapping, Sequence

import pytest

from goop_mcp.evidence.readers import codex, last_messages


def earlier(version: str, *, output: str, events: Sequence[Mapping[str, object]] = ()) -> bytes:
    """Return a rollout as versions before 0.150 wrote it: a person asks, a command runs."""
    call = {"type": "function_call", "name": "shell_command", "call_id": "call_1"}
    call["arguments"] = json.dumps({"command": "pytest -q"})
    result = {"type": "function_call_output", "call_id": "call_1", "output": output}
    answer = [{"type": "output_text", "text": "All tests pass."}]
    lines = [
        ("session_meta", {"id": "s", "cwd": "/project", "cli_version": version}),
        ("event_msg", {"type": "user_message", "message": "Test it.", "images": []}),
        ("turn_context", {"cwd": "/project"}),
        ("response_item", call),
        *(("event_msg", each) for each in events),
        ("response_item", result),
        ("event_msg", {"type": "agent_message", "message": "All tests pass."}),
        ("response_item", {"type": "message", "role": "assistant", "content": answer}),
    ]
    rows = ({"timestamp": "2026-01-01T00:00:00Z", "type": t, "payload": p} for t, p in lines)
    return "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows).encode()


FAILED = "1 failed, 1 passed in 0.1s\n"
HEADS = {
    "0.94.0": f"Exit code: 1\nWall time: 0.4 seconds\nOutput:\n{FAILED}",
    "0.92.0": f"Exit code: 1\nWall time: 1 second\nTotal output lines: 900\nOutput:\n{FAILED}",
    "0.128.0": "Chunk ID: a1b2c3\nWall time: 0.0374 seconds\nProcess exited with code 1\n"
    f"Original token count: 42\nOutput:\n{FAILED}",
    "0.46.0": json.dumps({"output": FAILED, "metadata": {"exit_code": 1, "duration_seconds": 1}}),
}


@pytest.mark.parametrize("version", HEADS)
def test_the_status_that_an_earlier_codex_gave_to_the_model_is_read(version: str) -> None:
    content = earlier(version, output=HEADS[version])
    activity = codex.read_codex(content, report="All tests pass.")
    assert activity.complete, activity.why_incomplete
    (command,) = activity.commands
    assert (command.line, command.status) == ("pytest -q", 1)
    assert command.output.endswith(FAILED)
    assert command.output_whole is (version != "0.92.0")


@pytest.mark.parametrize(
    "output",
    [
        "failed in sandbox with execution error: denied",
        f"{FAILED}Exit code: 0\nWall time: 1 seconds\nOutput:\n",
        "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\nProcess exited with"
        " code 0\nOutput:\n",
        "Exit code: 0\n2 passed",
        '{"output":"2 passed","metadata":{"exit_code":true}}',
        '{"output":"2 passed"',
    ],
)
def test_what_a_command_printed_is_not_taken_for_its_status(output: str) -> None:
    (command,) = codex.read_codex(earlier("0.94.0", output=output), report=None).commands
    assert command.status is None


def test_the_ends_that_an_earlier_codex_wrote_as_events_are_read() -> None:
    end = {
        "type": "exec_command_end",
        "call_id": "call_1",
        "command": ["/bin/zsh", "-lc", "pytest -q"],
        "aggregated_output": FAILED,
        "exit_code": 1,
        "status": "failed",
    }
    patch = {
        "type": "patch_apply_end",
        "call_id": "call_1",
        "success": True,
        "changes": {"/project/a.py": {"type": "update", "unified_diff": ""}},
    }
    activity = codex.read_codex(earlier("0.122.0", output="", events=[end]), report=None)
    assert activity.complete, activity.why_incomplete
    assert [(each.line, each.status) for each in activity.commands] == [("pytest -q", 1)]

    for success in (True, False):
        content = earlier("0.122.0", output="", events=[{**patch, "success": success}])
        (file,) = codex.read_codex(content, report=None).files
        assert (file.path, file.action, file.ok) == ("/project/a.py", "edited", success)

    tool = {"type": "mcp_tool_call_end", "call_id": "call_1"}
    given = (
        ({"Ok": {"content": [], "isError": False}}, True),
        ({"Ok": {"content": [], "isError": True}}, False),
        ({"Err": "no server"}, False),
    )
    for result, ok in given:
        content = earlier("0.122.0", output="", events=[{**tool, "result": result}])
        content = content.replace(b'"shell_command"', b'"weather"')
        (call,) = codex.read_codex(content, report=None).tools
        assert call.ok is ok

    # The end of a command that no call of the agent began may be any work.
    other = codex.read_codex(
        earlier("0.122.0", output=HEADS["0.94.0"], events=[{**end, "call_id": "call_9"}]),
        report=None,
    )
    assert not other.complete


def test_each_message_of_a_person_to_an_earlier_codex_begins_a_task() -> None:
    first = earlier("0.94.0", output=HEADS["0.94.0"])
    passed = HEADS["0.94.0"].replace("code: 1", "code: 0")
    second = earlier("0.94.0", output=passed).replace(b"call_1", b"call_2").partition(b"\n")[2]
    content = first + second.replace(b"All tests pass.", b"Tests pass now.")
    found = list(last_messages.in_codex(content))
    assert [each.text for each in found] == ["All tests pass.", "Tests pass now."]
    commands = codex.read_codex(content, report="Tests pass now.").commands
    assert [(each.status, each.current) for each in commands] == [(1, False), (0, True)]
    until = codex.read_codex(content[: found[0].end], report=found[0].report, at_end=False)
    assert [each.status for each in until.commands] == [1]
