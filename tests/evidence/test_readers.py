"""The readers see in each recorded transcript what the agent did, and nothing else."""

import json

import pytest

from goop_mcp.evidence.readers import claude_code, codex, opencode
from goop_mcp.validation.feedback import OPENING
from tests.e2e.clients import CLAUDE_CODE, CODEX, OPENCODE
from tests.evidence.recorded import RECORDED, Recorded, recorded

each_record = pytest.mark.parametrize("record", RECORDED, ids=[each.id for each in RECORDED])
TESTED = {
    "claude-code": claude_code.TESTED_VERSIONS,
    "codex": codex.TESTED_VERSIONS,
    "opencode": opencode.TESTED_VERSIONS,
}


def test_at_least_thirty_transcripts_are_recorded() -> None:
    assert len(RECORDED) >= 30
    assert {each.host for each in RECORDED} == {"claude-code", "codex", "opencode"}
    honest = [each.truth["honest"] for each in RECORDED]
    assert min(honest.count(True), honest.count(False)) >= 10


@each_record
def test_commands_are_read_with_the_status_that_they_ended_with(record: Recorded) -> None:
    read = [
        {"line": each.line, "status": each.status, "ran": each.ran, "current": each.current}
        for each in record.read().commands
    ]
    assert read == record.truth["commands"]


@each_record
def test_changed_files_are_read(record: Recorded) -> None:
    files = record.read().files
    tried = [(each["path"], each["ok"]) for each in record.truth["files"]]
    # OpenCode lists the files that a step changed as well, also those changed by a command.
    assert [pair for pair in tried if pair not in [(each.path, each.ok) for each in files]] == []
    assert all(each.path.startswith("/project/") for each in files)
    if record.host != "opencode":
        assert [(each.path, each.ok) for each in files] == tried


@each_record
def test_saved_memories_are_read(record: Recorded) -> None:
    saved = [{"title": each.title, "ok": each.ok} for each in record.read().memories]
    assert saved == record.truth["memories"]


@each_record
def test_what_was_read_is_complete_where_the_agent_reported(record: Recorded) -> None:
    activity = record.read()
    assert activity.complete == record.truth["complete"], activity.why_incomplete
    assert bool(activity.why_incomplete) != activity.complete


@each_record
def test_entries_are_in_the_order_in_which_the_agent_acted(record: Recorded) -> None:
    activity = record.read()
    for entries in (activity.commands, activity.tools, activity.memories):
        positions = [each.position for each in entries]
        assert positions == sorted(set(positions))


@each_record
def test_the_version_of_the_host_is_read(record: Recorded) -> None:
    assert record.read().host_version == record.truth["host_version"]
    assert record.version or record.truth["host_version"] in TESTED[record.host]


def test_versions_with_hundreds_of_releases_between_them_are_recorded() -> None:
    others = {(each.host, each.version) for each in RECORDED if each.version}
    assert len(others) >= 6
    assert {host for host, _ in others} == {"claude-code", "codex", "opencode"}


def test_the_clients_of_the_end_to_end_tests_are_of_a_tested_version() -> None:
    assert CLAUDE_CODE.version in claude_code.TESTED_VERSIONS
    assert CODEX.version in codex.TESTED_VERSIONS
    assert OPENCODE.version in opencode.TESTED_VERSIONS


@each_record
def test_a_record_names_no_path_of_the_machine_that_made_it(record: Recorded) -> None:
    text = record.file.read_text(encoding="utf-8")
    assert len(text) < 200_000
    for word in (*(f"/{name}/" for name in ("root", "work")), "-work-", "site-packages", ".venv"):
        assert word not in text


def test_the_outcome_of_a_background_command_comes_with_its_notice() -> None:
    record = recorded("background-command-failed")
    (command,) = record.read().commands
    assert command.status == 1

    # Cut before the notice, nobody knows how it ended.
    lines = record.file.read_bytes().splitlines(keepends=True)
    notice = next(at for at, line in enumerate(lines) if b"<task-notification>" in line)
    activity = claude_code.read_claude_code(b"".join(lines[:notice]), report=None)
    assert [each.status for each in activity.commands] == [None]


def test_a_command_past_its_time_limit_has_no_status_although_the_host_shows_one() -> None:
    (stopped, _) = recorded("time-limit").read().commands
    assert (stopped.status, stopped.ran, stopped.output_whole) == (None, True, False)


def test_an_output_that_the_host_cut_is_not_whole() -> None:
    long = [each for each in RECORDED if each.name.startswith("long-output")]
    # Codex keeps all of it.
    for record in (each for each in long if each.host != "codex"):
        (command,) = record.read().commands
        assert not command.output_whole, record


def test_outputs_are_not_part_of_what_is_printed_about_an_entry() -> None:
    activity = recorded("secret-in-output").read()
    assert "wJalrXUtnFEMI" in activity.commands[0].output
    assert "wJalrXUtnFEMI" not in repr(activity)


def test_the_feedback_and_the_template_of_goop_mcp_begin_no_task() -> None:
    for record in (each for each in RECORDED if each.name == "template-in-the-file"):
        assert [each.current for each in record.read().commands] == [True]


def test_what_a_person_or_a_hook_of_the_project_started_is_listed_without_a_result() -> None:
    record = recorded("failed-fixed", "claude-code")
    lines = record.file.read_bytes().splitlines(keepends=True)
    first = next(each for each in map(json.loads, lines) if each["type"] == "user")

    def with_line(**changes: object) -> list[str]:
        added = json.dumps({**first, **changes}).encode() + b"\n"
        read = claude_code.read_claude_code(b"".join((lines[0], added, *lines[1:])), report=None)
        return [each.name for each in read.tools]

    def hook(event: str, command: str) -> list[str]:
        attachment = {"type": "hook_success", "hookEvent": event, "command": command}
        return with_line(type="attachment", attachment=attachment)

    def message(text: str) -> list[str]:
        return with_line(message={"role": "user", "content": text})

    plain = [each.name for each in record.read().tools]
    assert sorted(hook("PostToolUse", "ruff check .")) == sorted([*plain, "hook"])
    assert hook("PostToolUse", "goop-mcp hook claude-code") == plain
    assert hook("SessionStart", "ruff check .") == plain
    assert sorted(message("<bash-input>pytest</bash-input>")) == sorted([*plain, "bash-input"])
    assert message("<bash-stdout>12 passed</bash-stdout>") == plain


def test_a_transcript_without_its_beginning_is_not_complete() -> None:
    record = recorded("failed-fixed", "claude-code")
    lines = record.file.read_bytes().splitlines(keepends=True)
    values = [json.loads(each) for each in lines]
    assert record.read().complete
    second = next(at for at, each in enumerate(values) if each.get("parentUuid"))
    task = {**values[second], "type": "user", "message": {"role": "user", "content": "parentUuid"}}
    mention = {"type": "summary", "summary": '"parentUuid":null'}
    for head in ([], [mention]):
        cut = [json.dumps(each).encode() + b"\n" for each in (*head, task)]
        read = claude_code.read_claude_code(b"".join((*cut, *lines)), report=record.report)
        assert not read.complete
        assert "continues lines" in read.why_incomplete


def test_the_session_that_the_plugin_sends_is_read_like_the_export() -> None:
    record = recorded("failed-fixed", "opencode")
    session = json.loads(record.file.read_text(encoding="utf-8"))
    assert opencode.read_opencode(session, report=record.report) == record.read()


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_feedback_sent_as_the_next_message_begins_no_task(host: str) -> None:
    """The retry loop asks again in the same conversation; what was run before still counts."""
    record = next(
        each
        for each in RECORDED
        if each.host == host and "evidence/check-failed" in each.truth["findings"]
    )
    lines = record.file.read_bytes().splitlines(keepends=True)
    read = codex.read_codex if host == "codex" else claude_code.read_claude_code

    def message(text: str) -> bytes:
        if host == "codex":
            item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
            value = {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}
        else:
            first = next(each for each in map(json.loads, lines) if each["type"] == "user")
            value = {**first, "message": {"role": "user", "content": text}}
        return json.dumps(value).encode() + b"\n"

    # The line of the message itself: Codex repeats its text in other events.
    reply = next(
        line for line in reversed(lines) if b"goop_report" in line and b'"assistant"' in line
    )
    again = [*lines, message(f"{OPENING} 1 error"), reply]
    other = [*lines, message("Something else"), reply]
    kept = read(b"".join(again), report=None).commands
    assert [each.current for each in kept] == [True] * len(kept)
    assert kept
    begun = read(b"".join(other), report=None).commands
    assert not any(each.current for each in begun)
