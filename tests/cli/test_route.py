import json
import re
from pathlib import Path

import pytest

from tests.cli.running import CASES, TERMINAL_COLUMNS, run, run_on_terminal
from tests.requirements import requirement
from tests.rights import ordinary_rights
from tests.services.reporting import record, report, untrue, working_in
from tests.workspace.true_projects import make_project

EXECUTOR = str(CASES / "016_executor_complete.xml")
PLANNER = str(CASES / "016_planner_complete.xml")


def test_decision_is_shown_to_people_with_its_reason_and_who_continues() -> None:
    ended = run("route", "--no-workspace", EXECUTOR)

    assert ended.code == 0
    assert ended.out.startswith("actions: save_state, continue_next\nnext_agent: goop-executor\n")
    assert "\n## 🔮 GoopSpec · " in ended.out
    assert "(G6)" in ended.out
    assert "actions: save_state, continue_next" in ended.out
    assert "next_agent: goop-executor" in ended.out


def test_decision_is_one_json_object_for_programs() -> None:
    decision = json.loads(run("route", "--no-workspace", PLANNER, "--format", "json").out)

    assert decision["rule"] == "G3"
    assert decision["actions"] == ["save_state", "new_session"]
    assert decision["next_command"] == "/goop-specify"
    assert decision["verdict"]["verdict"] == "accepted"


def test_context_changes_the_decision(tmp_path: Path) -> None:
    context = tmp_path / "context.json"
    context.write_text(json.dumps({"expected_agent": "goop-planner"}), encoding="utf-8")

    decision = json.loads(run("route", EXECUTOR, "--context", str(context), "--format", "json").out)

    assert decision["rule"] == "R2"
    assert decision["actions"] == ["request_repair"]
    assert "goop_report/agent-mismatch" in decision["instruction"]


def test_rejected_reply_is_asked_for_again_and_ends_with_1(tmp_path: Path) -> None:
    reply = tmp_path / "reply.md"
    reply.write_text("Done. All tests pass.", encoding="utf-8")

    ended = run("route", str(reply), "--format", "json")

    assert ended.code == 1
    assert json.loads(ended.out)["actions"] == ["request_repair"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[", "is not valid JSON"),
        ('{"attempt": "two"}', "attempt"),
        ('{"attemptt": 2}', "attemptt"),
        ("[]", "is a list"),
    ],
)
def test_invalid_context_is_refused_by_field(text: str, expected: str, tmp_path: Path) -> None:
    context = tmp_path / "context.json"
    context.write_text(text, encoding="utf-8")

    ended = run("route", EXECUTOR, "--context", str(context))

    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
    assert "Traceback" not in ended.err


@requirement("F-15")
def test_claims_are_verified_in_a_project_unless_that_is_switched_off(tmp_path: Path) -> None:
    def rule(*options: str) -> str:
        ended = run("route", EXECUTOR, *options, "--project", tmp_path, "--format", "json")
        found: str = json.loads(ended.out)["rule"]
        return found

    assert rule() == "G6"
    (tmp_path / ".goopspec").mkdir()
    assert rule() == "R4"
    assert rule("--no-workspace") == "G6"
    assert not (tmp_path / ".goopspec" / "goop.db").exists()


@requirement("F-15")
def test_a_true_report_is_routed_in_its_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    reply = tmp_path / "reply.md"
    for text, code, shown in (
        (project.reply, 0, "actions: save_state, continue_next"),
        (project.reply.replace(project.sha[:7], "deadbee"), 1, "actions: request_repair"),
    ):
        reply.write_text(text, encoding="utf-8")
        ended = run("route", reply, "--project", tmp_path)
        assert (ended.code, ended.out.startswith(shown)) == (code, True), ended


def test_a_report_of_missing_files_is_sent_back_with_workspace(tmp_path: Path) -> None:
    decision = json.loads(
        run("route", EXECUTOR, "--workspace", "--project", tmp_path, "--format", "json").out
    )

    assert decision["rule"] == "R4"
    assert decision["actions"] == ["request_repair", "resume_same"]
    assert "src/auth/service.ts" in decision["instruction"]


def test_a_terminal_shows_words_and_no_markup() -> None:
    shown = run_on_terminal("route", "--no-workspace", EXECUTOR).out
    assert "actions: save state, continue next" in shown
    assert re.search("^  🔮 GoopSpec · ", shown, re.MULTILINE)
    assert not re.findall(r"##|\*\*|^---$", shown, re.MULTILINE)
    piped = run("route", "--no-workspace", EXECUTOR).out
    assert "actions: save_state, continue_next" in piped
    assert "## 🔮 GoopSpec · " in piped


def test_the_reason_is_wrapped_to_the_terminal(tmp_path: Path) -> None:
    reply = tmp_path / "reply.md"
    text = Path(EXECUTOR).read_text(encoding="utf-8").replace("<blockers>None</blockers>", "")
    reply.write_text(
        text.replace("goop-executor", "goop-executor" + "-of-many-words" * 9), encoding="utf-8"
    )

    shown = run_on_terminal("route", "--no-workspace", str(reply)).out.splitlines()
    start = next(at for at, line in enumerate(shown) if line.startswith("COMPLETE: "))
    reason = shown[start : shown.index("", start)]
    assert len(reason) > 1
    assert all(len(line) <= TERMINAL_COLUMNS for line in reason[:1])
    assert all(line.startswith("    ") for line in reason[1:])
    assert reason[-1].endswith(").")


def test_what_the_command_leaves_to_a_person_is_shown_in_the_chronicle(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    with working_in(tmp_path) as project:
        record(project, report("W1.T1"))
    chronicle = tmp_path / ".goopspec" / "CHRONICLE.md"
    before = chronicle.read_bytes()

    def routed() -> str:
        options = ("--format", "json", "--project", str(tmp_path))
        rule: str = json.loads(run("route", "-", *options, stdin=untrue().encode()).out)["rule"]
        return rule

    assert (routed(), chronicle.read_bytes()) == ("R4", before)
    assert routed() == "R4b"
    waiting = chronicle.read_text(encoding="utf-8").partition("**Waiting for a Person:**")[2]
    assert "goop-mcp project decide --task W2.T1" in waiting


def test_what_a_person_has_to_decide_is_kept_where_no_file_can_show_it(tmp_path: Path) -> None:
    folder = tmp_path / "shop" / ".goopspec"
    state = folder / "state.json"
    folder.mkdir(parents=True)
    options = ("--project", folder.parent, "--database", f"sqlite:///{tmp_path / 'shop.db'}")
    assert run("init", *options[:2]).code == 0
    before = state.read_bytes()
    assert run("project", "phase", "plan", *options).code == 0
    # As a writer leaves it that was killed after its change was stored.
    state.write_bytes(before)

    folder.chmod(0o555)
    try:
        with ordinary_rights():
            ended = [run("route", "-", *options, stdin=untrue().encode()) for _ in range(2)]
    finally:
        folder.chmod(0o755)

    assert [each.code for each in ended] == [1, 1], ended
    assert "state.json was not written" in ended[1].err
    [waiting] = json.loads(run("status", "--format", "json", *options).out)["waiting"]
    assert "decide --task W2.T1" in waiting["command"]
