"""`goop-mcp gate --task`: what others call done is done only with a report of this round."""

from pathlib import Path

import pytest

from goop_mcp.services.task_gate import task_ids_in
from tests.cli.running import Ended, run
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import copied


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project whose plan has W2.T1 and W2.T2."""
    folder = tmp_path / "project"
    folder.mkdir()
    copied("profile_0x", folder)
    return folder


def gate(project: Path, task: str, *options: str, **environment: str) -> Ended:
    state = {"XDG_STATE_HOME": str(project.parent / "state")}
    return run("gate", "--task", task, *options, cwd=project, env={**state, **environment})


def test_a_task_passes_once_its_report_is_recorded_and_complete(project: Path) -> None:
    ended = gate(project, "W2.T1")
    assert ended.code == 1
    assert ended.err == (
        "W2.T1 has no accepted report in this round: record it with `goop-mcp reports record"
        " REPLY.md`, or the tool record_report.\n"
    )
    assert not project.joinpath(".goopspec", "goop.db").exists()

    # A report that is not accepted changes nothing.
    reply = project / "reply.md"
    reply.write_text(report("W2.T1", status="FINISHED"), encoding="utf-8")
    refused = run("reports", "record", "reply.md", cwd=project)
    assert refused.code == 1
    assert refused.out.startswith("Not recorded. Your report was not accepted")
    assert gate(project, "W2.T1").code == 1

    # One that is partial, or whose checks failed, does not finish the task.
    for text, why in (
        (report("W2.T1", status="PARTIAL"), "PARTIAL"),
        (report("W2.T1", status="BLOCKED"), "BLOCKED"),
    ):
        reply.write_text(text, encoding="utf-8")
        assert run("reports", "record", "reply.md", cwd=project).code == 0
        ended = gate(project, "W2.T1")
        assert ended.code == 1
        assert f"is {why}; `goop-mcp reports show" in ended.err

    reply.write_text(report("W2.T1"), encoding="utf-8")
    recorded = run("reports", "record", "reply.md", cwd=project)
    assert recorded.code == 0
    assert recorded.out.startswith("Recorded as report 3.\n\nDecision: save_state, continue_next.")
    again = run("reports", "record", "reply.md", cwd=project).out
    assert again.startswith("Already recorded as report 3.\n\nDecision: ")
    assert not again.endswith("\n\n")
    for spelling in ("W2.T1", "T2.1", "Wave 2, Task 1", "w2t1"):
        ended = gate(project, spelling)
        assert (ended.code, ended.err) == (0, "W2.T1 is done: report 3.\n")

    # Nothing else is done by that, and a withdrawn report counts no more.
    assert gate(project, "W2.T2").code == 1
    assert run("reports", "withdraw", "3", "--reason", "Wrong", cwd=project).code == 0
    assert gate(project, "W2.T1").code == 1


def test_a_task_whose_check_shows_no_result_does_not_pass(project: Path) -> None:
    with working_in(project) as context:
        record(context, report("W2.T1", evidence="left to goop-tester"))

    ended = gate(project, "W2.T1")

    assert ended.code == 1
    assert ended.err == (
        "W2.T1 is not done: its last report, 1, is COMPLETE, and its check tests is passed and"
        " shows no result: run it, or report it as not run; `goop-mcp reports show 1` shows what is"
        " left.\n"
    )


def test_any_id_of_a_report_is_a_task_also_one_of_another_tool(project: Path) -> None:
    with working_in(project) as context:
        record(context, report("add-login"))

    assert gate(project, "add-login").code == 0
    assert gate(project, "add-logout").code == 1


def test_an_agent_is_refused_at_most_twice_for_each_task_and_a_person_every_time(
    project: Path,
) -> None:
    own = {"CLAUDE_CODE_SESSION_ID": "session-1"}
    assert [gate(project, "W2.T1", **own).code for _ in range(4)] == [1, 1, 0, 0]
    assert "refused twice here, and passes now" in gate(project, "W2.T1", **own).err
    assert gate(project, "W2.T2", **own).code == 1
    assert gate(project, "W2.T1", "--spawn", "session-2").code == 1
    assert [gate(project, "W2.T1").code for _ in range(4)] == [1, 1, 1, 1]


def test_a_gate_that_cannot_judge_passes_and_says_so(project: Path) -> None:
    project.joinpath(".goopspec", "goop.db").write_bytes(b"no database" * 1000)
    ended = gate(project, "W2.T1")
    assert ended.code == 0
    assert "W2.T1 was not checked, and passes: " in ended.err


def test_a_gate_needs_a_file_or_a_task(project: Path) -> None:
    for arguments in ((), ("prompt.md", "--task", "W1.T1")):
        ended = run("gate", *arguments, cwd=project)
        assert ended.code == 2
        assert "expected one of them" in ended.err


def test_only_forms_that_mean_a_task_are_ids() -> None:
    assert task_ids_in("W1.T2 and w1t3, T2.4; Task 2.5, Wave 3, Task 1 (W3.T1).") == (
        "W1.T2",
        "W1.T3",
        "W2.T4",
        "W2.T5",
        "W3.T1",
    )
    for text in (
        "Upgrade to 1.2",
        "Task 3 of the list",
        "version T1.2.3",
        "XW1.T2",
        "W1.T2x",
        "wave 1 is done",
        "done, all tasks complete",
        "",
    ):
        assert task_ids_in(text) == (), text

    assert len(task_ids_in(" ".join(f"W1.T{n}" for n in range(10_000)))) == 50
    assert task_ids_in("W1.T" * 100_000 + "wave 1 " * 100_000) == ()


@pytest.mark.parametrize("task", ["", " ", "\n"])
def test_an_empty_task_is_a_wrong_call_and_no_refusal(tmp_path: Path, task: str) -> None:
    # As from a script whose variable is not set.
    ended = run("gate", "--task", task, cwd=tmp_path)
    assert ended.code == 2
    assert "--task is empty; expected the id of a task" in ended.err
