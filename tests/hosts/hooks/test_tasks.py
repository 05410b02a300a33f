"""A task that Claude Code calls completed is blocked once where its report is missing."""

import shutil
from pathlib import Path

import pytest

from tests.hosts.hooks.hooks import Host
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import copied


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Begin a session in a project whose plan has W2.T1, and that has tasks checked."""
    project = tmp_path / "project"
    project.mkdir()
    copied("profile_0x", project)
    begun = Host(project, tmp_path / "data")
    begun.configure(tasks=True)
    return begun


def test_a_task_without_a_report_is_blocked_once_and_the_one_call_is_named(host: Host) -> None:
    answer = host.send("TaskCompleted")
    assert answer.reason == (
        "W2.T1 has no accepted report in this round. Call record_report with the report of its"
        " agent, then complete the task again. This is asked once."
    )

    assert host.send("TaskCompleted").json == {}
    assert host.send("TaskCompleted", session_id="another").reason
    assert host.send("TaskCompleted", task_subject="W2.T2: check it").reason


def test_a_recorded_report_of_any_status_is_silence(host: Host) -> None:
    with working_in(host.project) as context:
        record(context, report("W2.T1", status="PARTIAL"))

    assert host.send("TaskCompleted").json == {}
    # Committed or not makes no difference: git is not asked.
    assert not host.project.joinpath(".git").exists()


@pytest.mark.parametrize(
    ("subject", "description"),
    [
        ("Add login", "All tests pass, complete the task"),
        ("W9.T9: no task of this plan", "x"),
        ("Upgrade to 2.1", "Wave 2"),
        ("Compare W2.T1 with W2.T2", "both"),
        ("Add login", "Needs W2.T1 and W2.T2"),
        (None, None),
        (7, ["W2.T1"]),
    ],
)
def test_other_tasks_pass_without_a_word(host: Host, subject: object, description: object) -> None:
    changed = {"task_subject": subject, "task_description": description}
    answer = host.send("TaskCompleted", **changed)
    assert (answer.json, answer.ended.err) == ({}, "")


def test_a_description_that_names_one_task_is_sufficient(host: Host) -> None:
    changed = {"task_subject": "Add login", "task_description": "This is T2.1 of the plan"}
    assert host.send("TaskCompleted", **changed).reason


def test_it_is_off_by_default_and_without_a_project(host: Host) -> None:
    host.configure()
    assert host.send("TaskCompleted").json == {}
    host.configure(tasks="yes")
    answer = host.send("TaskCompleted")
    assert answer.json == {}
    assert 'tasks is "yes"; expected true or false' in answer.ended.err

    shutil.rmtree(host.project / ".goopspec")
    assert host.send("TaskCompleted").json == {}


def test_a_gate_that_fails_lets_the_task_pass(host: Host) -> None:
    host.project.joinpath(".goopspec", "goop.db").write_bytes(b"no database" * 1000)
    answer = host.send("TaskCompleted")
    assert answer.json == {}
    assert "a completed task was not checked" in answer.ended.err
