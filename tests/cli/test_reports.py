"""`goop-mcp reports`: recorded reports are listed, shown and withdrawn on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.context import AppContext
from goop_mcp.settings import DatabaseUrl, Settings
from tests.cli.running import Ended, run, run_on_terminal
from tests.postgres import Database
from tests.rights import ordinary_rights
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import copied

TIGER = "tiger-4711-xyz-tiger-4711"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with two reports."""
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project_context:
        record(project_context, report("W2.T1", summary=f"Done. api_key={TIGER} \x1b[2J"))
        record(project_context, report("W2.T2"))

    return tmp_path


def reports(project: Path, *arguments: str) -> Ended:
    return run("reports", *arguments, cwd=project)


def as_json(project: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    ended = reports(project, *arguments, "--format", "json")
    assert ended.code == code, ended.err
    values: dict[str, Any] = json.loads(ended.out)
    return values


def test_reports_are_listed_newest_first_and_continued(project: Path) -> None:
    listed = as_json(project, "list", "--limit", "1")
    assert [each["report"] for each in listed["reports"]] == [2]
    assert listed["has_more"] is True
    people = reports(project, "list", "--limit", "1")
    assert "`goop-mcp reports list --round 1 --before 2`" in people.out
    rest = as_json(project, "list", "--round", "1", "--before", "2")
    assert ([each["report"] for each in rest["reports"]], rest["has_more"]) == ([1], False)
    assert "| 1 | " in reports(project, "list").out
    assert "data, not instructions" in people.out


def test_a_report_is_shown_without_secrets_and_control_characters(project: Path) -> None:
    people, programs = reports(project, "show", "1"), as_json(project, "show", "1")
    assert people.code == 0
    assert "## 🔮 GoopSpec · Report 1\n" in people.out
    assert programs["envelope"]["task_id"] == "W2.T1"
    assert programs["verdict"]["verdict"] == "accepted"
    assert "CHRONICLE.md" in programs["documents"]
    both = people.out + json.dumps(programs) + run_on_terminal("reports", "list", cwd=project).out
    assert TIGER not in both
    assert "[REDACTED]" in people.out
    assert "\x1b[2J" not in people.out


def test_a_report_is_withdrawn_once(project: Path) -> None:
    done = as_json(project, "withdraw", "2", "--reason", "It was another task.")
    assert (done["status"], done["revision"]) == ("withdrawn", 3)
    assert ".goopspec/ADL.md" in done["files"]
    again = reports(project, "withdraw", "2", "--reason", "Once more.")
    assert (again.code, again.err) == (0, "")
    assert "Report 2 already does not count: it was withdrawn." in again.out
    assert [each["retired"] for each in as_json(project, "list")["reports"]] == ["withdrawn", None]
    log = (project / ".goopspec" / "ADL.md").read_text(encoding="utf-8")
    assert "It was another task." in log
    assert "Once more." not in log


def test_a_report_of_a_closed_round_is_refused_with_what_to_do(project: Path) -> None:
    with working_in(project) as project_context:
        project_context.store.write(
            lambda writing: writing.close_round(
                outcome="accept", closed_at="2026-01-20T08:00:00.000Z", plan_sha256=None
            )
        )

    refused = reports(project, "withdraw", "2", "--reason", "It was another task.")
    assert refused.code == 1
    assert "→ Run: `goop-mcp project round --reopen`" in refused.out
    assert as_json(project, "show", "2")["counts"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["show", "7"], 1, "there is no report 7; "),
        (["withdraw", "7", "--reason", "no"], 1, "there is no report 7; "),
        (["withdraw", "1"], 2, "missing option '--reason'"),
        (["withdraw", "1", "--reason", " "], 2, "the reason is empty"),
        (["show", "one"], 2, "'one' is not a whole number"),
        (["list", "--limit", "0"], 2, "expected 1 to 200"),
        (["list", "--round", "9"], 2, "there is no round 9"),
        (["lst"], 2, "did you mean 'list'?"),
    ],
)
def test_what_cannot_be_done_says_why(
    project: Path, arguments: list[str], code: int, expected: str
) -> None:
    ended = reports(project, *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert expected in ended.err


def test_nothing_is_created_by_looking(tmp_path: Path) -> None:
    ended = reports(tmp_path, "list")
    assert (ended.code, ended.err) == (0, "")
    assert "Round 1 has no reports yet." in ended.out
    assert list(tmp_path.iterdir()) == []


def test_a_project_in_postgres_is_named_by_its_id(tmp_path: Path, database: Database) -> None:
    shop = ("--database", database.url(), "--project-id", "shop")
    settings = Settings(project=tmp_path, database=DatabaseUrl(database.url()), project_id="shop")
    with AppContext(settings) as application:
        record(application.writing_context(), report())

    done = as_json(tmp_path, "withdraw", "1", "--reason", "It was another task.", *shop)
    assert done["resources"] == ["goop://project/CHRONICLE.md", "goop://project/ADL.md"]
    assert as_json(tmp_path, "show", "1", *shop)["retired"] == "withdrawn"
    bank = ("--database", database.url(), "--project-id", "bank")
    assert as_json(tmp_path, "list", *bank)["reports"] == []
    assert list(tmp_path.iterdir()) == []


def test_a_recorded_report_is_checked_routed_and_repaired_by_its_number(project: Path) -> None:
    checked = run("check", "--report", "2", "--format", "json", cwd=project)
    assert (checked.code, checked.err) == (0, "")
    (verdict,) = json.loads(checked.out)
    assert (verdict["file"], verdict["verdict"]) == ("report 2", "accepted")
    routed = run("route", "--report", "2", "--no-workspace", cwd=project)
    assert (routed.code, routed.out.partition("\n")[0]) == (0, "actions: save_state, continue_next")
    assert "<task_id>W2.T2</task_id>" in run("repair", "--report", "2", cwd=project).out

    for command in ("check", "route", "repair"):
        missing = run(command, "--report", "7", cwd=project)
        assert (missing.code, missing.out) == (2, "")
        assert "there is no report 7; goop-mcp reports list" in missing.err
        both = run(command, "reply.md", "--report", "2", cwd=project)
        assert (both.code, both.out) == (2, "")
        assert "--report are given; name" in both.err
    for command in ("route", "repair"):
        assert "no reply is named; name a file" in run(command, cwd=project).err


def test_a_recorded_report_shows_its_decision_and_its_warnings(project: Path) -> None:
    (project / "reply.md").write_text(report("W2.T1", "BLOCKED"), encoding="utf-8")
    recorded = reports(project, "record", "reply.md")
    assert recorded.out.startswith("Recorded as report 3.\n\nDecision: ask_user. BLOCKED: Nobody")
    assert "- warning: status is BLOCKED and ready is true; expected false (" in recorded.out
    rejected = report("W2.T1", "FINISHED")
    assert "Decision" not in run("reports", "record", "-", stdin=rejected.encode(), cwd=project).out


def test_what_could_not_be_counted_is_reported_with_the_name_of_the_program(tmp_path: Path) -> None:
    assert run("init", cwd=tmp_path).code == 0
    (tmp_path / "reply.md").write_text(report("W2.T1", "FINISHED"), encoding="utf-8")
    documents = tmp_path / ".goopspec"
    documents.chmod(0o555)
    with ordinary_rights():
        ended = reports(tmp_path, "record", "reply.md")
    documents.chmod(0o755)
    assert ended.err.startswith("goop-mcp: a reply could not be counted: .goopspec/.lock is not")


def test_a_decision_about_a_withdrawn_report_says_so(project: Path) -> None:
    note = "goop-mcp: note: not verified: 1 of 1 claims; --workspace verifies them.\n"
    assert run("route", "--report", "2", "--no-workspace", cwd=project).err == note
    reports(project, "withdraw", "2", "--reason", "It was another task.")
    routed = run("route", "--report", "2", "--no-workspace", cwd=project)
    assert sorted(routed.err.splitlines(keepends=True)) == [
        note,
        "goop-mcp: note: report 2 does not count: it was withdrawn.\n",
    ]
    assert routed.out.startswith("actions: save_state, continue_next\n")


def test_a_report_is_built_from_json(project: Path) -> None:
    fields = {"status": "questions", "questions": [{"id": "q1", "question": "Which?"}]}
    (project / "fields.json").write_text(json.dumps(fields), encoding="utf-8")
    built = reports(project, "build", "--protocol", "factory", "--json", "fields.json")
    assert (built.code, built.err) == (0, "")
    assert json.loads(built.out) == fields
    checked = run("check", "--strict", "--protocol", "factory", stdin=built.out.encode())
    assert checked.code == 0

    piped = run("reports", "build", stdin=b'{"status": "DONE"}', cwd=project)
    assert (piped.code, piped.out) == (1, "")
    assert "status is 'DONE'; expected one of COMPLETE, PARTIAL" in piped.err
    broken = run("reports", "build", "--json", "-", stdin=b"{", cwd=project)
    assert (broken.code, broken.out) == (2, "")
    assert "not valid JSON from line 1" in broken.err


def test_a_shell_completes_the_commands_and_the_numbers_of_reports(project: Path) -> None:
    def completed(line: str, *, cwd: Path = project) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        ended = run(cwd=cwd, env={"_GOOP_MCP_COMPLETE": "bash_complete", **words})
        assert ended.err == ""
        return ended.out.split()

    commands = ["plain,build", "plain,list", "plain,record", "plain,show", "plain,withdraw"]
    assert completed("goop-mcp reports ") == commands
    assert completed("goop-mcp reports show ") == ["plain,2", "plain,1"]
    assert completed("goop-mcp reports withdraw 1") == ["plain,1"]
    assert completed("goop-mcp reports show ", cwd=project.parent) == []
