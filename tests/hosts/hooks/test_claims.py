"""The claims of a report are verified in a real repository, in one short look (F-15)."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from goop_mcp.store.opening import open_store
from tests.hosts.hooks.hooks import Host
from tests.requirements import requirement
from tests.workspace.true_projects import Project, git, make_project, write

EVENT = "SubagentStop"
SLOW_GIT = "#!/bin/sh\n/bin/sleep 60 &\nwait\n"


@pytest.fixture
def true(host: Host) -> Project:
    """Return the project of the host, filled with what its report claims."""
    return make_project(host.project)


def with_program(host: Host, folder: Path, script: str) -> Host:
    """Return the host with `script` as its git."""
    write(folder, "git", script)
    (folder / "git").chmod(0o755)
    environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}

    return Host(host.project, host.data, environment=environment)


@requirement("F-15")
def test_a_true_report_passes_and_a_false_one_is_sent_back(host: Host, true: Project) -> None:
    assert host.send(EVENT, last_assistant_message=true.reply).ended.out == ""

    ghost = true.reply.replace("src/login.py", "src/ghost.py")
    assert "'src/ghost.py' does not exist" in host.send(EVENT, last_assistant_message=ghost).reason

    invented = true.reply.replace(true.sha[:7], "deadbee")
    reason = host.send(EVENT, last_assistant_message=invented, prompt_id="another").reason
    assert "commit 'deadbee' does not exist" in reason


@pytest.mark.parametrize("record", [False, True])
def test_git_is_started_once_for_a_report(
    host: Host, true: Project, tmp_path: Path, record: bool
) -> None:
    host.configure(record=record)
    real = shutil.which("git")
    log = tmp_path / "log"
    counted = with_program(
        host, tmp_path / "bin", f'#!/bin/sh\necho "$@" >> "{log}"\nexec {real} "$@"\n'
    )

    assert counted.send(EVENT, last_assistant_message=true.reply).ended.out == ""

    assert len(log.read_text(encoding="utf-8").splitlines()) == 1
    answer = counted.send("PostToolUse", tool_response=result_of(true.reply)).ended.out
    assert ("recorded this report as report 1" in answer) is record
    assert "not accepted" not in answer
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize("record", [False, True])
def test_what_git_does_not_answer_in_time_is_not_checked_and_accuses_nobody(
    host: Host, true: Project, tmp_path: Path, record: bool
) -> None:
    host.configure(record=record)
    slow = with_program(host, tmp_path / "bin", SLOW_GIT)
    begun = time.monotonic()

    answer = slow.send(EVENT, last_assistant_message=true.reply.replace(true.sha[:7], "deadbee"))

    assert (answer.ended.out, answer.ended.err) == ("", "")
    assert time.monotonic() - begun < 20
    if record:
        (report,) = open_store(None, project=host.project).read(lambda reading: reading.reports())
        rules = [finding["rule"] for finding in json.loads(report.verdict)["findings"]]
        # Neither the claims could be checked in time, nor the transcript, which does not exist.
        assert set(rules) == {"evidence/not-checked"}


def test_a_missing_file_is_found_although_git_is_slow(
    host: Host, true: Project, tmp_path: Path
) -> None:
    slow = with_program(host, tmp_path / "bin", SLOW_GIT)
    ghost = true.reply.replace("src/login.py", "src/ghost.py")
    assert "src/ghost.py" in slow.send(EVENT, last_assistant_message=ghost).reason


def test_work_in_another_checkout_is_not_in_the_project_yet(
    host: Host, true: Project, tmp_path: Path
) -> None:
    written = true.reply.replace("src/login.py", "src/new.py")
    inside, outside = host.project / ".claude" / "worktrees" / "a", tmp_path / "outside"

    for tree in (inside, outside):
        git(host.project, "worktree", "add", "--quiet", "--detach", str(tree))
        write(tree, "src/new.py")
        changes = {"cwd": str(tree / "src"), "session_id": tree.name}
        answer = host.send(EVENT, last_assistant_message=written, **changes)
        assert answer.passed
        assert "because the agent works in another checkout" in answer.message

    assert not host.send(
        EVENT, last_assistant_message=written, cwd=str(host.project / "src")
    ).passed


def test_a_submodule_is_a_part_of_the_project(host: Host, true: Project, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "--quiet")
    git(library, "commit", "--quiet", "--allow-empty", "--message", "chore: begin")
    git(host.project, "submodule", "--quiet", "add", str(library), "library")

    ghost = true.reply.replace("src/login.py", "src/ghost.py")
    answer = host.send(EVENT, last_assistant_message=ghost, cwd=str(host.project / "library"))
    assert "src/ghost.py" in answer.reason


@requirement("G-43")
def test_the_phase_of_the_project_counts_in_strict_mode(host: Host, true: Project) -> None:
    other = true.reply.replace("<phase>execute<", "<phase>plan<")
    assert host.send(EVENT, last_assistant_message=other).passed

    host.configure(mode="strict")
    reason = host.send(EVENT, last_assistant_message=other, prompt_id="b").reason
    assert "phase is 'plan'; expected 'execute', as phase of state.json says" in reason


def test_settings_that_cannot_be_used_leave_the_text_judged(host: Host, true: Project) -> None:
    broken = Host(host.project, host.data, environment={"GOOP_LOG_LEVEL": "LOUD"})
    answer = broken.send(EVENT, last_assistant_message=true.reply.replace("COMPLETE", "FINISHED"))
    assert "FINISHED" in answer.reason
    passed = broken.send(EVENT, last_assistant_message=true.reply, session_id="new")
    assert "not verified: 4 of 4 claims, because GOOP_LOG_LEVEL" in passed.message


def test_a_database_that_cannot_be_opened_leaves_the_files_verified(
    host: Host, true: Project
) -> None:
    elsewhere = Host(host.project, host.data, environment={"GOOP_DATABASE_URL": "mysql://x/y"})
    ghost = true.reply.replace("src/login.py", "src/ghost.py")
    assert "src/ghost.py" in elsewhere.send(EVENT, last_assistant_message=ghost).reason
    assert elsewhere.send(EVENT, last_assistant_message=true.reply, prompt_id="b").passed


def test_a_false_claim_that_passed_at_last_is_marked_for_the_main_agent(
    host: Host, true: Project
) -> None:
    ghost = true.reply.replace("src/login.py", "src/ghost.py")
    assert not host.send(EVENT, last_assistant_message=ghost).passed
    assert host.send(EVENT, last_assistant_message=ghost, stop_hook_active=True).passed

    marked = host.send("PostToolUse", tool_response=result_of(ghost)).context
    assert "not accepted: evidence/file-not-found" in marked
    background = f"<task-notification>\n<task-id>{AGENT_ID}</task-id>\n{ghost}"
    assert "evidence/file-not-found" in host.send("UserPromptSubmit", prompt=background).context


AGENT_ID = "af3e45c410e4c318d"
"""The agent of the recorded events."""


def result_of(reply: str) -> dict[str, object]:
    """Return what the tool that started the agent returns."""
    return {
        "agentId": AGENT_ID,
        "agentType": "goop-executor",
        "content": [{"type": "text", "text": reply}],
    }
