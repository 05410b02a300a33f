"""Transcripts that are damaged, hostile, cut off or unknown accuse nobody, and cost no time."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from goop_mcp.evidence.activity import ENTRIES, AgentActivity
from goop_mcp.evidence.readers.claude_code import holds_report, read_claude_code, separated
from goop_mcp.evidence.readers.codex import ends_with_report, is_rollout, read_codex
from goop_mcp.evidence.readers.last_messages import in_claude_code
from goop_mcp.evidence.readers.opencode import read_opencode, read_opencode_export
from tests.evidence.recorded import RECORDED, Recorded, recorded
from tests.growth import assert_linear

VERSION = "2.1.329"
BASE = recorded("failed-fixed")
SESSION = recorded("failed-fixed", "opencode")
Line = dict[str, Any]


def lines_of(record: Recorded = BASE) -> list[Line]:
    return [json.loads(line) for line in record.file.read_text(encoding="utf-8").splitlines()]


def read(
    lines: list[Line],
    report: str | None = BASE.report,
    *,
    at_end: bool = True,
) -> AgentActivity:
    content = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    return read_claude_code(content.encode(), report=report, at_end=at_end)


def user(content: object, **values: object) -> Line:
    message = {"role": "user", "content": content}
    return {"type": "user", "isSidechain": True, "version": VERSION, "message": message, **values}


def calling(name: str, given: dict[str, object], id: str = "toolu_x") -> Line:
    content = [{"type": "tool_use", "id": id, "name": name, "input": given}]
    message = {"role": "assistant", "content": content}
    return {"type": "assistant", "isSidechain": True, "version": VERSION, "message": message}


def answered(text: object, id: str = "toolu_x", **values: object) -> Line:
    return user([{"type": "tool_result", "tool_use_id": id, "content": text, **values}])


def saying(text: str) -> Line:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "isSidechain": True, "version": VERSION, "message": message}


def run_of(line: str, text: object, **values: object) -> AgentActivity:
    """Return the activity of an agent that ran one command, with this result."""
    called = calling("Bash", {"command": line})
    block = {"type": "tool_result", "tool_use_id": "toolu_x", "content": text, **values}
    return read([user("Do it."), called, user([block]), saying("Done.")], "Done.")


def statuses(activity: AgentActivity) -> list[int | None]:
    return [each.status for each in activity.commands]


@pytest.mark.parametrize("record", RECORDED, ids=[each.id for each in RECORDED])
def test_a_transcript_that_is_cut_off_anywhere_is_not_complete(record: Recorded) -> None:
    content = record.file.read_bytes().rstrip()
    chance = random.Random(7)
    known = [(each["line"], each["status"]) for each in record.truth["commands"]]
    readers = {
        "claude-code": read_claude_code,
        "codex": read_codex,
        "opencode": read_opencode_export,
    }
    reader = readers[record.host]
    reported = content.find(b"<goop_report")

    for end in [0, 1, *(chance.randrange(len(content)) for _ in range(12))]:
        activity = reader(content[:end], report=record.report or "It is done.")
        if end < reported or record.host == "opencode":
            assert not activity.complete
            assert activity.why_incomplete

        for command in activity.commands:
            # What is not written yet is unknown, and never a success or a failure.
            assert (command.line, command.status) in known or command.status is None


def test_a_damaged_line_in_between_makes_it_incomplete() -> None:
    content = BASE.file.read_bytes()
    middle = content.index(b"tool_result")
    for damage in (b"\0" * 40, b"\n", b'"\n{"type":"user"'):
        damaged = content[:middle] + damage + content[middle + len(damage) :]
        activity = read_claude_code(damaged, report=BASE.report)
        assert not activity.complete
        assert "damaged" in activity.why_incomplete


def test_bytes_that_are_no_text_and_deep_nesting_are_damage() -> None:
    nested = b'{"type":"user","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    for line in (b'{"type":"user","message":"\xff\xfe"}\n', nested, b"[1]\n", b"null\n"):
        activity = read_claude_code(line + BASE.file.read_bytes(), report=BASE.report)
        assert not activity.complete

    assert not read_opencode_export(b"[" * 100_000, report=None).complete


@pytest.mark.parametrize("version", ["2.1.400", "3.0.0", "", None, 7])
def test_the_version_of_the_host_decides_nothing(version: object) -> None:
    lines = lines_of()
    # A host may be updated in the middle of a session.
    for line in lines[len(lines) // 2 :]:
        line["version"] = version

    assert read(lines).complete
    assert statuses(read(lines)) == [1, 0]

    session = json.loads(SESSION.file.read_text(encoding="utf-8"))
    session["info"]["version"] = version
    assert read_opencode(session, report=SESSION.report).complete

    def newer(rollout_lines: list[Line]) -> None:
        session_meta = {"type": "session_meta", "payload": {"cli_version": version}}
        rollout_lines.insert(5, session_meta)

    assert rollout(newer).complete


NEW_LINES: list[tuple[Line, bool]] = [
    ({"type": "telemetry", "durations": [3, 4], "model": {"name": "m"}}, False),
    ({"type": "attachment", "attachment": {"type": "weather", "content": "sunny"}}, False),
    # A copy of a request, with the call that stands in a line of its own and the tools as schemas.
    ({"type": "request-copy", "tools": [{"input_schema": {"command": {"type": "string"}}}]}, False),
    ({"type": "attachment", "attachment": {"type": "hook_failed", "command": "notify"}}, False),
    ({"type": "shell", "command": "pytest -q", "exitCode": 1}, True),
    ({"type": "tool", "call": {"type": "tool_use", "id": "toolu_new", "name": "Bash"}}, True),
    ({"type": "turn", "items": [{"id": "x", "output": {"stdout": "1 failed"}}]}, True),
    ({"type": "attachment", "attachment": {"type": "run", "exit_code": 0}}, True),
    ({"kind": "tool_call", "toolName": "Bash"}, True),
    ({"type": ["user"], "argv": ["pytest"]}, True),
]


@pytest.mark.parametrize(("line", "hides"), NEW_LINES, ids=lambda value: json.dumps(value)[:60])
def test_a_line_of_a_new_kind_counts_only_where_it_may_hide_work(line: Line, hides: bool) -> None:
    lines = lines_of()
    lines.insert(-2, line)
    activity = read(lines)
    assert activity.complete is not hides
    if hides:
        assert activity.unreadable
        assert "claude-code 2.1.329 writes lines of an unknown kind" in activity.why_incomplete

    if line.get("type") == "attachment":
        # Only Claude Code has them.
        return

    payloads = [line, {"type": "item_completed", "item": line}]
    for payload in payloads if isinstance(line.get("type"), str) else ():
        entry = {"type": "event_msg", "payload": payload}

        def added(rollout_lines: list[Line], entry: Line = entry) -> None:
            rollout_lines.insert(9, entry)

        assert rollout(added).complete is not hides

    session = json.loads(SESSION.file.read_text(encoding="utf-8"))
    session["messages"][-1]["parts"].insert(0, line)
    assert read_opencode(session, report=SESSION.report).complete is not hides


def test_a_copy_of_known_calls_hides_nothing() -> None:
    lines = lines_of()
    copied = [line["message"] for line in lines if line["type"] in {"assistant", "user"}]
    lines.insert(-2, {"type": "request", "messages": copied})
    assert read(lines).complete


def test_a_huge_line_of_a_new_kind_may_hide_work() -> None:
    lines = lines_of()
    lines.insert(-2, {"type": "numbers", "values": list(range(30_000))})
    assert not read(lines).complete


def renamed(line: Line, old: str, new: str) -> Line:
    value: Line = json.loads(json.dumps(line).replace(f'"{old}"', f'"{new}"'))
    return value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("is_error", "failed"),
        ("command", "line"),
        ("Bash", "Terminal"),
        ("tool_use", "tool_call"),
        ("tool_result", "tool_answer"),
        ("content", "parts"),
        ("message", "body"),
        ("assistant", "agent"),
        ("id", "identity"),
        ("name", "title"),
    ],
)
def test_a_field_that_a_newer_host_renames_accuses_nobody(old: str, new: str) -> None:
    record = recorded("failed-claimed-passed")
    lines = [renamed(line, old, new) for line in lines_of(record)]
    activity = read(lines, record.report)
    assert not activity.complete
    assert activity.unreadable


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exit_code", "exitCode"),
        ("CommandExecution", "Command"),
        ("item_completed", "item_done"),
        ("function_call", "tool_call"),
        ("response_item", "response"),
        ("exec_command", "terminal"),
        ("call_id", "callId"),
    ],
)
def test_a_field_that_a_newer_codex_renames_accuses_nobody(old: str, new: str) -> None:
    record = recorded("failed-claimed-passed", "codex")
    lines = [renamed(line, old, new) for line in lines_of(record)]
    content = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    activity = read_codex(content.encode(), report=record.report)
    assert not activity.complete or [each.status for each in activity.commands] == [1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exit", "exitCode"),
        ("bash", "terminal"),
        ("tool", "call"),
        ("state", "result"),
        ("completed", "done"),
        ("command", "line"),
        ("parts", "blocks"),
        ("metadata", "meta"),
        ("callID", "id"),
    ],
)
def test_a_field_that_a_newer_opencode_renames_accuses_nobody(old: str, new: str) -> None:
    record = recorded("failed-claimed-passed", "opencode")
    session = renamed(json.loads(record.file.read_text(encoding="utf-8")), old, new)
    activity = read_opencode(session, report=record.report)
    assert not activity.complete
    # A tool of an unknown name may also be one of an MCP server.
    assert activity.unreadable or old == "bash"


def test_a_transcript_that_goes_on_after_the_report_is_not_that_of_its_end() -> None:
    lines = [*lines_of(), user("Stop hook feedback:\nYour report", isMeta=True)]
    assert "goes on" in read(lines).why_incomplete
    # The program that checks a reply later finds the report wherever it stands.
    assert read(lines, at_end=False).complete


def test_a_report_that_was_sent_before_is_not_taken_for_the_one_that_is_not_written_yet() -> None:
    lines = [*lines_of(), user("Stop hook feedback:\nNo.", isMeta=True)]
    lines += [calling("Bash", {"command": "pytest -q"})]
    activity = read(lines)
    assert not activity.complete
    again = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    assert not holds_report(again, BASE.report or "")


def test_what_a_resumed_agent_did_before_is_of_an_earlier_task() -> None:
    lines = lines_of()
    lines[-1:-1] = [user("Go on.", isMeta=True, origin={"kind": "coordinator"})]
    assert [each.current for each in read(lines).commands] == [False, False]


def test_a_summary_of_the_conversation_begins_no_task() -> None:
    lines = lines_of()
    summary = user("This session continues another one.", isCompactSummary=True)
    boundary = {"type": "system", "subtype": "compact_boundary", "version": VERSION}
    # The lines after it have no link to those before it.
    lines[20:20] = [boundary, summary | {"parentUuid": None}]
    activity = read(lines)
    assert activity.complete
    assert [each.current for each in activity.commands] == [True, True]


def test_a_call_that_a_summary_of_the_conversation_cut_off_has_an_unknown_outcome() -> None:
    lines = lines_of()
    summary = user("This session continues another one.", isCompactSummary=True)
    lines[20:20] = [calling("Bash", {"command": "pytest -q"}, "cut"), summary]
    activity = read(lines)
    assert activity.complete
    assert statuses(activity) == [1, None, 0]


def test_a_result_that_stands_before_its_call_leaves_its_outcome_unknown() -> None:
    lines = lines_of()
    lines[-1:-1] = [answered("ok", "early"), calling("Edit", {"file_path": "/a.py"}, "early")]
    activity = read(lines)
    assert activity.complete
    assert activity.files[-1].path == "/a.py"
    assert activity.files[-1].ok is None


def test_two_objects_in_one_line_are_both_read() -> None:
    whole = read(lines_of())
    text = "".join(f"{json.dumps(line)}\n" for line in lines_of()).encode()
    # A host that was ended wrote no line feed, and the next one wrote on.
    joined = text.replace(b"\n", b"", 12)
    assert joined.count(b"\n") == text.count(b"\n") - 12
    activity = read_claude_code(joined, report=BASE.report)
    assert activity.complete
    assert statuses(activity) == statuses(whole) == [1, 0]
    (message,) = in_claude_code(joined)
    assert message.text == BASE.report

    # Half of an object stays damaged, and a text may hold the same characters.
    assert "damaged" in read_claude_code(b'{"type":"us' + joined, report=BASE.report).why_incomplete
    odd = [*lines_of()[:-1], calling("Bash", {"command": 'echo "}{"}{'}), lines_of()[-1]]
    assert [each.line for each in read(odd).commands][-1] == 'echo "}{"}{'


def test_a_line_of_many_objects_is_damaged_and_not_taken_apart() -> None:
    many = b'{"type":"user"}' * 100_000
    assert separated(many) == (many,)
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines_of())
    activity = read_claude_code(many + b"\n" + text, report=BASE.report)
    assert "line 1 of the transcript is damaged" in activity.why_incomplete


def test_a_clock_that_jumps_changes_no_order() -> None:
    lines = lines_of()
    for line, second in zip(lines, range(len(lines), 0, -1), strict=True):
        line["timestamp"] = f"19{second % 90 + 10}-01-01T00:00:{second % 60:02}Z"

    assert statuses(read(lines)) == [1, 0]


def test_a_tool_that_nobody_knows_is_listed_and_harms_nothing() -> None:
    lines = lines_of()
    lines[-1:-1] = [calling("Weather", {"where": []}), answered("sunny")]
    activity = read(lines)
    assert activity.complete
    assert activity.tools[-1].name == "Weather"


@pytest.mark.parametrize("name", ["Agent", "Task", "SendMessage", "mcp__ide__run_tests", "Monitor"])
def test_work_that_the_transcript_does_not_show_makes_it_incomplete(name: str) -> None:
    lines = lines_of()
    lines[-1:-1] = [calling(name, {}), answered("It is done.")]
    activity = read(lines)
    assert not activity.complete
    assert name in activity.why_incomplete

    # A call that was refused did nothing.
    lines[-2] = answered("<tool_use_error>No.</tool_use_error>", is_error=True)
    assert read(lines).complete


@pytest.mark.parametrize(
    ("text", "values", "status", "ran"),
    [
        ("ok", {"is_error": False}, 0, True),
        ("ok", {}, None, True),
        ("Exit code 3\nno", {"is_error": True}, 3, True),
        ("Exit code 3", {"is_error": True}, 3, True),
        ("Exit code 33333\nno", {"is_error": True}, None, True),
        ("Exit code \u0663\nno", {"is_error": True}, None, True),
        ("Exit code 143\nCommand timed out after 2m 0s", {"is_error": True}, None, True),
        ("<tool_use_error>Blocked</tool_use_error>", {"is_error": True}, None, False),
        ("The user doesn't want to proceed with this tool use.", {"is_error": True}, None, False),
        ("[Request interrupted by user for tool use]", {"is_error": True}, None, True),
        ("Command running in background with ID: b1", {"is_error": False}, None, True),
        ("Command was moved to the background with ID: b1", {"is_error": False}, None, True),
        ([{"type": "text", "text": "Exit code 2\nno"}], {"is_error": True}, 2, True),
        (None, {"is_error": False}, 0, True),
        ({"no": "list"}, {"is_error": True}, None, False),
    ],
)
def test_the_outcome_of_a_command_is_read_from_its_result(
    text: object, values: dict[str, object], status: int | None, ran: bool
) -> None:
    (command,) = run_of("pytest -q", text, **values).commands
    assert (command.status, command.ran) == (status, ran)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("grep -c x y", None),
        ("pytest -q | grep passed", None),
        ("cd x; CI=1 rg x", None),
        ("/usr/bin/diff a b", None),
        ("[ -f x ]", None),
        ("! test -f x", None),
        ("ls $(find . -name x)", None),
        ("grep -c 'a|b' y", None),
        ('grep -c "a; b" y', None),
        ("grep x y && pytest -q", 0),
        ("npm test", 0),
        ("git diff", 0),
        ("pytest -q 2>&1", 0),
        ("pytest -k 'a | grep'", 0),
        ('pytest -k "x \\" ; grep"', 0),
        ("", 0),
    ],
)
def test_a_success_of_a_program_that_answers_by_its_status_is_unknown(
    line: str, status: int | None
) -> None:
    assert statuses(run_of(line, "x", is_error=False)) == [status]


def test_two_calls_with_the_same_id_are_two_commands() -> None:
    first, second = calling("Bash", {"command": "a"}), calling("Bash", {"command": "b"})
    activity = read([user("Do it."), first, second, answered("x", is_error=False), saying("Done.")])
    assert [each.line for each in activity.commands] == ["a", "b"]
    assert statuses(activity) == [0, None]


BLOCKS: list[object] = [
    None,
    7,
    "text",
    {"type": "tool_use"},
    {"type": "tool_use", "id": 1, "name": "Bash"},
    {"type": "tool_use", "id": "i", "name": "Bash", "input": None},
    {"type": "tool_use", "id": "i", "name": "Bash", "input": []},
    {"type": "tool_use", "id": "i", "name": "Bash", "input": {}},
    {"type": "tool_use", "id": "i", "name": "Write", "input": {"file_path": 3}},
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_another_form_is_skipped_or_empty(block: object) -> None:
    line = {**calling("Read", {}), "message": {"role": "assistant", "content": [block]}}
    activity = read([user("Do it."), line, saying("Done.")], "Done.")
    assert all(each.line == "" for each in activity.commands)


def test_only_the_last_entries_of_too_many_are_kept_and_nothing_is_claimed_of_the_others() -> None:
    lines = [user("Do it.")]
    for number in range(ENTRIES + 5):
        lines.append(calling("Bash", {"command": f"echo {number}"}, f"t{number}"))

    activity = read([*lines, saying("Done.")], "Done.")
    assert len(activity.commands) == ENTRIES
    assert activity.commands[-1].line == f"echo {ENTRIES + 4}"
    assert not activity.complete


def test_a_line_of_a_shell_that_is_far_too_long_proves_nothing() -> None:
    (command,) = run_of("x" * 1_000_000 + "; pytest -q", "ok", is_error=False).commands
    assert len(command.line) < 20_000
    assert command.line.endswith("&")


def _filled(kind: Callable[[int], bytes], size: int) -> bytes:
    piece = kind(0)
    return b"".join(kind(number) for number in range(size // len(piece)))


@pytest.mark.parametrize(
    "kind",
    [
        lambda _: b'{"type":"user"}\n',
        lambda _: b"\n",
        lambda _: b"{}\n",
        lambda n: json.dumps(calling("Bash", {"command": "x"}, f"t{n}")).encode() + b"\n",
        lambda n: json.dumps(user("again", n=n)).encode() + b"\n",
        lambda _: b'{"type":"user","message":{"content":"<task-notification>"}}\n',
        lambda _: b'{"type":"user"}',
    ],
    ids=["users", "blank", "empty", "calls", "tasks", "notices", "one line"],
)
def test_a_hostile_transcript_takes_time_in_proportion_to_its_size(
    kind: Callable[[int], bytes],
) -> None:
    assert_linear(
        lambda content: read_claude_code(content, report="Done."),
        lambda size: _filled(kind, size),
        sizes=(500_000, 4_000_000),
    )


ROLLOUT = recorded("failed-fixed", "codex")


def rollout(change: Callable[[list[Line]], None]) -> AgentActivity:
    """Return what is read of the rollout after a change of its lines."""
    lines = [json.loads(line) for line in ROLLOUT.file.read_text(encoding="utf-8").splitlines()]
    change(lines)
    content = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    return read_codex(content.encode(), report=ROLLOUT.report)


def call_of(line: Line) -> str:
    return str(line["payload"].get("call_id") or line["payload"].get("item", {}).get("id"))


def test_a_rollout_with_repeated_calls_or_hidden_work_is_not_complete() -> None:
    assert rollout(lambda _: None).complete

    def repeated(lines: list[Line]) -> None:
        (first, *_) = [each for each in lines if each["payload"].get("type") == "function_call"]
        lines.insert(lines.index(first) + 1, first)

    def typed(lines: list[Line]) -> None:
        (first, *_) = [each for each in lines if each["payload"].get("type") == "function_call"]
        first["payload"]["name"] = "write_stdin"
        first["payload"]["arguments"] = json.dumps({"session_id": 1, "chars": "pytest\n"})

    def delegated(lines: list[Line]) -> None:
        (first, *_) = [each for each in lines if each["payload"].get("type") == "function_call"]
        first["payload"]["name"] = "spawn_agent"
        lines[:] = [each for each in lines if each is first or call_of(each) != call_of(first)]

    def without_task(lines: list[Line]) -> None:
        lines[:] = [
            each for each in lines if each["payload"].get("item", {}).get("type") != "UserMessage"
        ]

    for change in (repeated, typed, delegated, without_task):
        activity = rollout(change)
        assert not activity.complete, change
        assert activity.why_incomplete


def test_a_rollout_without_outcomes_or_with_impossible_ones_knows_no_status() -> None:
    def without_items(lines: list[Line]) -> None:
        lines[:] = [
            each
            for each in lines
            if each["payload"].get("item", {}).get("type") != "CommandExecution"
        ]

    # The host gave the status to the model as well, in lines that a command cannot write.
    assert [each.status for each in rollout(without_items).commands] == [
        each.status for each in rollout(lambda _: None).commands
    ]

    def without_any(lines: list[Line]) -> None:
        without_items(lines)
        for each in lines:
            if each["payload"].get("type") == "function_call_output":
                each["payload"]["output"] = "Process exited with code 0\nExit code: 0"

    assert {each.status for each in rollout(without_any).commands} == {None}

    for status in (-1, 124, 137, 300, True, "1", 1e9, None):

        def changed(lines: list[Line], status: object = status) -> None:
            for each in lines:
                if each["payload"].get("item", {}).get("type") == "CommandExecution":
                    each["payload"]["item"]["exit_code"] = status

        assert {each.status for each in rollout(changed).commands} == {None}, status


def test_values_of_other_types_in_a_rollout_raise_nothing() -> None:
    values = [None, 7, True, "x", [], {}, [1], {"type": "x"}, "[" * 5000]
    lines = [json.loads(line) for line in ROLLOUT.file.read_text(encoding="utf-8").splitlines()]
    chance = random.Random(13)

    for _ in range(300):
        line = json.loads(json.dumps(chance.choice(lines)))
        payload = line["payload"]
        place = payload.get("item") if chance.random() < 0.5 and "item" in payload else payload
        if place:
            place[chance.choice(list(place))] = chance.choice(values)
        changed = [*lines[:9], line, *lines[9:]]
        content = "".join(f"{json.dumps(each)}\n" for each in changed).encode()
        read_codex(content, report=ROLLOUT.report)
        ends_with_report(content, ROLLOUT.report or "")

    assert not is_rollout(b"")
    assert not is_rollout(BASE.file.read_bytes())
    assert is_rollout(ROLLOUT.file.read_bytes())
