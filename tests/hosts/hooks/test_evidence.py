"""A report is compared with the transcript of the agent that wrote it."""

import json
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.evidence.recorded import Recorded, recorded
from tests.hosts.hooks.hooks import Answer, Host
from tests.workspace.true_projects import git

EVENT = "SubagentStop"
FAILED = recorded("failed-claimed-passed")
HONEST = recorded("failed-fixed")


def stop(host: Host, record: Recorded, **changes: object) -> Answer:
    """End the turn of the agent in `record`, with its transcript and its report."""
    values = {"agent_transcript_path": str(record.file), "last_assistant_message": record.report}
    return host.send(EVENT, **{**values, **changes})


def copy_of(record: Recorded, folder: Path) -> Path:
    copy = folder / "agent-a1.jsonl"
    copy.write_bytes(record.file.read_bytes())
    return copy


def test_a_claim_that_the_transcript_contradicts_is_sent_back_with_what_failed(host: Host) -> None:
    reason = stop(host, FAILED).reason
    assert "evidence/check-failed" in reason or "tests" in reason
    assert "test_adds" in reason
    assert "pytest" in reason


def test_an_honest_report_ends_at_once(host: Host) -> None:
    began = time.monotonic()
    assert stop(host, HONEST).ended.out == ""
    assert stop(host, recorded("failed-reported")).passed
    assert time.monotonic() - began < 20


def test_the_project_can_turn_it_off(host: Host) -> None:
    host.configure(evidence="off", check_workspace=False)
    assert stop(host, FAILED).passed


def test_a_passed_check_that_nothing_can_have_been_is_sent_back_by_default(host: Host) -> None:
    assert "no command of this task shows it" in stop(host, recorded("nothing-run")).reason
    host.configure(require_evidence="claimed")
    assert stop(host, recorded("nothing-run"), session_id="another", prompt_id="another").passed


def test_evidence_can_be_required(host: Host) -> None:
    host.configure(require_evidence="observed", check_workspace=False)
    reason = stop(host, recorded("nothing-run")).reason
    assert "tests" in reason
    assert stop(host, recorded("passed"), prompt_id="another").passed


@pytest.mark.parametrize("values", [{"evidence": "on"}, {"require_evidence": True}])
def test_a_wrong_setting_is_reported_and_the_default_holds(
    host: Host, values: dict[str, object]
) -> None:
    host.configure(check_workspace=False, **values)
    answer = stop(host, FAILED)
    assert next(iter(values)) in answer.ended.err
    assert "test_adds" in answer.reason


@pytest.mark.parametrize("damage", ["missing", "folder", "pipe", "cut", "unknown form", "empty"])
def test_a_transcript_that_cannot_be_used_is_no_reason_to_send_a_report_back(
    host: Host, tmp_path: Path, damage: str
) -> None:
    path = copy_of(FAILED, tmp_path)
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-2000])
    elif damage == "unknown form":
        path.write_bytes(content.replace(b'"is_error"', b'"failed"'))
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
        elif damage == "pipe":
            subprocess.run(["/usr/bin/mkfifo", str(path)], check=True)

    answer = stop(host, FAILED, agent_transcript_path=str(path))
    assert answer.passed
    assert "Traceback" not in answer.ended.err


def test_the_last_lines_of_the_transcript_may_come_after_the_event(
    host: Host, tmp_path: Path
) -> None:
    path = copy_of(FAILED, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b'"Here is my report') - 900])

    def write_late() -> None:
        # The host writes while the hook, a process that takes longer to start, already runs.
        time.sleep(0.06)
        path.write_bytes(content)

    late = threading.Thread(target=write_late)
    late.start()
    assert "test_adds" in stop(host, FAILED, agent_transcript_path=str(path)).reason
    late.join()


def test_of_a_transcript_of_100_megabytes_the_end_is_read(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "agent-a1.jsonl"
    line = json.dumps({"type": "progress", "version": "2.1.329", "text": "x" * 10_000}).encode()
    with path.open("wb") as file:
        for _ in range(10_000):
            file.write(line + b"\n")
        file.write(FAILED.file.read_bytes())

    began = time.monotonic()
    assert "test_adds" in stop(host, FAILED, agent_transcript_path=str(path)).reason
    assert time.monotonic() - began < 20


def test_a_secret_in_an_output_is_neither_shown_nor_stored(host: Host, tmp_path: Path) -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - of no account
    host.configure(record=True)
    path = copy_of(FAILED, tmp_path)
    text = path.read_text(encoding="utf-8")
    for shown in ("::test_adds", "assert 3 == 4", "def test_adds():"):
        text = text.replace(shown, f"{shown}[{secret}]")
    path.write_text(text, encoding="utf-8")

    answer = stop(host, FAILED, agent_transcript_path=str(path))
    assert "test_adds" in answer.reason
    assert secret not in answer.ended.out + answer.ended.err
    for folder in (host.project, host.data):
        for file in (each for each in folder.rglob("*") if each.is_file()):
            assert secret.encode() not in file.read_bytes(), file


def test_the_transcript_of_codex_is_not_read(host: Host) -> None:
    codex = Host(host.project, host.data, name="codex")
    began = time.monotonic()
    assert stop(codex, FAILED).passed
    assert time.monotonic() - began < 20


def test_a_session_of_opencode_comes_with_its_event(host: Host) -> None:
    opencode = Host(host.project, host.data, name="opencode")
    record = recorded("failed-claimed-passed", "opencode")
    session = json.loads(record.file.read_text(encoding="utf-8"))
    changes = {"last_assistant_message": record.report, "agent_transcript_path": None}
    assert "test_adds" in opencode.send(EVENT, session=session, **changes).reason
    assert opencode.send(EVENT, session=[], prompt_id="another", **changes).passed


def test_a_report_that_passed_unaccepted_is_marked_for_the_main_agent(
    host: Host, tmp_path: Path
) -> None:
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    path = copy_of(FAILED, folder)
    event = {"agent_id": "a1", "agent_transcript_path": str(path)}
    assert stop(host, FAILED, **event).reason
    assert stop(host, FAILED, **event, stop_hook_active=True).passed

    response = {
        "agentId": "a1",
        "agentType": "goop-executor",
        "content": [{"type": "text", "text": FAILED.report}],
    }
    answer = host.send(
        "PostToolUse", transcript_path=str(tmp_path / "session.jsonl"), tool_response=response
    )
    assert "is not accepted" in answer.context


def test_the_commit_at_which_an_agent_begins_is_kept_once(host: Host) -> None:
    (host.project / ".goopspec").mkdir()
    git(host.project, "init", "-q", "-b", "main")
    first = commit(host.project, "first")
    event = {"agent_id": "a1", "agent_type": "goop-executor"}
    host.send("SubagentStart", **event)
    commit(host.project, "second")
    # A resumed agent also reports what it did before.
    host.send("SubagentStart", **event)

    (kept,) = (host.data / "task-bases").iterdir()
    assert kept.read_text(encoding="utf-8") == first


@pytest.mark.parametrize(
    ("left", "work", "accused"),
    [
        ("", "", True),
        ("", "changes", False),
        ("", "commits", False),
        ("changes", "", True),
        ("changes", "changes", False),
        ("changes", "restores", False),
        ("more than is kept", "", False),
    ],
)
def test_a_file_that_is_as_the_agent_found_it_was_not_modified(
    host: Host, tmp_path: Path, left: str, work: str, accused: bool
) -> None:
    """`left` is what an earlier agent left without a commit, `work` what this one does."""
    host.configure(mode="strict")
    project = host.project
    git(project, "init", "-q", "-b", "main")
    names = ["calc.py", *(f"more/{at}.py" for at in range(501))]
    (project / "more").mkdir()
    for name in names:
        (project / name).write_text("def add(a, b): ...\n", encoding="utf-8")
    commit(project, "first")

    if left:
        for name in names[: 1 if left == "changes" else None]:
            (project / name).write_text("def add(a, b): return a - b\n", encoding="utf-8")
    host.send("SubagentStart", agent_id="a1", agent_type="goop-executor")
    if work == "restores":
        git(project, "checkout", "--", "calc.py")
    elif work:
        (project / "calc.py").write_text("def add(a, b): return a + b\n", encoding="utf-8")
    if work == "commits":
        commit(project, "second")

    record = recorded("passed")
    path = copy_of(record, tmp_path)
    claim = '<artifacts><files><file path="calc.py" action="modified">A</file></files></artifacts>'
    report = (record.report or "").replace("<artifacts></artifacts>", claim)
    text = path.read_text(encoding="utf-8")
    text = text.replace("<artifacts></artifacts>", json.dumps(claim)[1:-1])
    path.write_text(text, encoding="utf-8")
    ended = host.send(
        EVENT, agent_transcript_path=str(path), last_assistant_message=report, agent_id="a1"
    ).ended
    assert ("evidence/file-not-touched" in ended.out) is accused, ended


def test_an_agent_outside_of_a_repository_begins_at_no_commit(host: Host) -> None:
    (host.project / ".goopspec").mkdir()
    answer = host.send("SubagentStart", agent_id="../a/b", agent_type="goop-executor")
    assert answer.context
    assert not (host.data / "task-bases").exists()


def commit(project: Path, name: str) -> str:
    (project / f"{name}.txt").write_text(name, encoding="utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", name)
    return git(project, "rev-parse", "HEAD").strip()
