"""`goop-mcp project`: a person at the terminal confirms, and nobody else."""

import json
from pathlib import Path

import pytest

from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.scaffold import create_project
from tests.cli.running import PROGRAM, Ended, run, run_command_on_terminal, run_on_terminal
from tests.workspace.projects import put_in_phase

NOW = "2026-11-22T12:00:00.000Z"
END_OF_INPUT = "\x04"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    create_project(ProjectFiles(tmp_path), name="Shop", now=NOW)
    return tmp_path


@pytest.fixture
def accepting(project: Path) -> Path:
    put_in_phase(project, "accept")
    return project


def merge_on_terminal(project: Path, typed: str) -> Ended:
    return run_on_terminal("project", "merge", cwd=project, typed=typed)


def waiting(project: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run("status", "--format", "json", cwd=project).out)[
        "waiting"
    ]
    return found


def log_of(project: Path) -> str:
    return (project / ".goopspec/ADL.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("typed", ["y\n", "YES\n", "maybe\ny\n"])
def test_a_person_at_the_terminal_sees_the_question_and_confirms(
    accepting: Path, typed: str
) -> None:
    ended = merge_on_terminal(accepting, typed)

    assert ended.code == 0, ended.out
    assert "Merge the work of round 1?\nMerge? [y/N]" in ended.out
    assert "The merge of round 1 is confirmed." in ended.out
    assert "terminal " in log_of(accepting)
    assert waiting(accepting) == []


@pytest.mark.parametrize("typed", ["n\n", "\n", "No\n"])
def test_anything_negative_refuses_and_so_does_return(accepting: Path, typed: str) -> None:
    ended = merge_on_terminal(accepting, typed)

    assert ended.code == 1, ended.out
    assert "is confirmed" not in ended.out
    assert waiting(accepting) == []
    assert run("project", "merge", cwd=accepting).code == 3, "it is asked again"


@pytest.mark.parametrize("typed", [END_OF_INPUT, "what\nwhat\nwhat\n"])
def test_no_answer_leaves_the_question_open(accepting: Path, typed: str) -> None:
    assert merge_on_terminal(accepting, typed).code == 3
    assert len(waiting(accepting)) == 1


def test_a_merge_is_not_confirmed_before_there_is_work(project: Path) -> None:
    assert run("project", "phase", "plan", cwd=project).code == 0
    ended = merge_on_terminal(project, "y\n")

    assert ended.code == 1, ended.out
    assert "[y/N]" not in ended.out
    assert "the project is in phase plan" in ended.out
    assert waiting(project) == []


def test_without_a_terminal_it_is_refused_with_both_ways_and_once(accepting: Path) -> None:
    ended = run("project", "merge", cwd=accepting, stdin=b"y\n")

    assert ended.code == 3
    assert 'run "goop-mcp project merge" in a terminal, or open "goop-mcp ui"' in ended.out
    assert ended.err == ""
    assert [each["action"] for each in waiting(accepting)] == ["confirm_merge"]
    assert "merge" not in log_of(accepting).lower()


@pytest.mark.parametrize("redirected", ["echo y | {} project merge", "{} project merge | cat"])
def test_a_terminal_on_one_side_only_is_no_terminal(accepting: Path, redirected: str) -> None:
    script = redirected.format('"$@"')
    command = ["/bin/sh", "-c", script, "sh", *PROGRAM]
    ended = run_command_on_terminal(command, cwd=accepting, typed="y\n")

    assert "[y/N]" not in ended.out
    assert len(waiting(accepting)) == 1


def test_a_program_that_reads_json_is_not_asked(accepting: Path) -> None:
    arguments = ("project", "merge", "--format", "json")
    ended = run_on_terminal(*arguments, cwd=accepting, typed="y\n")

    assert ended.code == 3
    assert "[y/N]" not in ended.out


def test_there_is_no_option_that_answers(accepting: Path) -> None:
    for option in ("--yes", "-y", "--force"):
        assert run("project", "merge", option, cwd=accepting).code == 2


def test_status_signals_what_waits_only_on_demand(accepting: Path) -> None:
    assert run("status", "--exit-code", cwd=accepting).code == 0
    run("project", "merge", cwd=accepting)
    shown = run("project", "status", "--exit-code", cwd=accepting)
    assert shown.code == 3
    assert "Waiting for You" in shown.out
    assert run("status", cwd=accepting).code == 0
    merge_on_terminal(accepting, "y\n")
    assert run("status", "--exit-code", cwd=accepting).code == 0


def test_a_step_without_a_question_is_done_and_says_how_to_go_back(project: Path) -> None:
    ended = run("project", "phase", "plan", cwd=project)

    assert ended.code == 0, ended.err
    state = json.loads((project / ".goopspec/state.json").read_text(encoding="utf-8"))
    assert state["workflow"]["phase"] == "plan"
    again = run("project", "phase", "plan", "--format", "json", cwd=project)
    assert (again.code, json.loads(again.out)["status"]) == (0, "unchanged")


def test_a_step_that_is_not_possible_ends_with_1_and_says_what_is_missing(project: Path) -> None:
    ended = run("project", "interview", cwd=project)

    assert ended.code == 1
    assert "a vision of more than two sentences" in ended.out


def test_a_missing_reason_is_a_usage_error(project: Path) -> None:
    ended = run("project", "phase", "accept", "--force", cwd=project)

    assert (ended.code, ended.out) == (2, "")
    assert "reason is missing" in ended.err


def test_a_state_that_is_never_written_is_reported(project: Path) -> None:
    state = project / ".goopspec/state.json"
    state.write_text("{", encoding="utf-8")
    ended = run("project", "phase", "plan", cwd=project)

    assert ended.code == 1
    assert "state.json" in ended.err
    assert state.read_text(encoding="utf-8") == "{"


def test_the_group_has_the_commands_for_the_start_as_well(tmp_path: Path) -> None:
    assert "created .goopspec/SPEC.md\n" in run("project", "init", cwd=tmp_path).out
    assert run("project", "status", cwd=tmp_path).out == run("status", cwd=tmp_path).out


def test_an_unknown_step_is_answered_with_a_suggestion(project: Path) -> None:
    ended = run("project", "lokc", cwd=project)

    assert ended.code == 2
    assert "did you mean 'lock'" in ended.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("goop-mcp project un", {"unlock"}),
        ("goop-mcp project phase ex", {"execute"}),
        ("goop-mcp project skip-gate d", {"discovery"}),
        ("goop-mcp project accept --outcome a", {"accept", "accept_with_issues"}),
    ],
)
def test_a_shell_completes_steps_and_their_values(words: str, expected: set[str]) -> None:
    variables = {
        "_GOOP_MCP_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    ended = run(env=variables)

    assert {line.partition(",")[2] for line in ended.out.splitlines()} == expected


def test_a_command_of_the_host_is_followed_by_that_of_the_terminal(project: Path) -> None:
    both = "`/goop-discuss` in the host, `goop-mcp project {}` on a terminal"
    assert "→ " + both.format("phase plan") in run("status", cwd=project).out
    planned = run("project", "phase", "plan", cwd=project)
    assert "Next: " + both.format("interview").replace("`", "") in planned.out
    refused = run("project", "lock", cwd=project)
    assert "→ Run: " + both.format("interview") in refused.out


def test_a_project_that_exists_keeps_its_name_and_says_so(project: Path) -> None:
    ended = run("init", "--name", "Market", cwd=project)
    assert ended.code == 0
    assert 'the project keeps its name "Shop"' in ended.err
    assert "state.json" in ended.err
    assert run("init", "--name", "Shop", cwd=project).err == ""
    assert run("init", cwd=project).err == ""


def test_a_plan_without_tasks_is_not_reported_as_missing(project: Path) -> None:
    run("project", "phase", "plan", cwd=project)
    skip = ("project", "skip-gate", "discovery", "--reason", "quick task: one page")
    assert run_on_terminal(*skip, cwd=project, typed="y\n").code == 0
    assert "| Interview | ✓ Skipped |" in run("status", cwd=project).out
    for plan in (b"", b"\xff\xfe\x00plan"):
        (project / ".goopspec/BLUEPRINT.md").write_bytes(plan)
        refused = run("project", "lock", cwd=project)
        assert '- ✗ tasks in BLUEPRINT.md that can be read, such as "### Task 1.1' in refused.out
    (project / ".goopspec/BLUEPRINT.md").unlink()
    assert "- ✗ BLUEPRINT.md\n" in run("project", "lock", cwd=project).out


def test_a_step_without_a_project_is_no_closed_gate(tmp_path: Path) -> None:
    refused = run("project", "lock", cwd=tmp_path)
    assert refused.out.startswith("## 🔮 GoopSpec · No Project\n")
    assert "→ Run: `goop-mcp init`" in refused.out


def test_an_optional_file_that_is_absent_contradicts_nothing(project: Path) -> None:
    shown = run("status", cwd=project).out
    assert "PROJECT_KNOWLEDGE_BASE" not in shown
    assert "Drift" not in shown
