"""A project created, inspected and handed over on the command line."""

import json
from pathlib import Path

import pytest

from goop_mcp.cli.rendering.terminal_page import render_terminal_page
from goop_mcp.workspace.documents.handoff import read_handoff
from tests.cli.running import run, run_on_terminal
from tests.postgres import Database
from tests.rights import ordinary_rights
from tests.services.redaction_samples import ADDRESS, PASSWORD
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import copied


def test_a_project_is_created_once_and_then_kept(tmp_path: Path) -> None:
    first = run("init", "--name", "Shop", cwd=tmp_path)
    spec = tmp_path / ".goopspec/SPEC.md"
    spec.write_text("mine", encoding="utf-8")
    again = run("init", cwd=tmp_path)

    assert (first.code, first.err) == (0, "")
    assert "created .goopspec/SPEC.md\n" in first.out
    assert (again.code, {line.split()[0] for line in again.out.splitlines()}) == (0, {"kept"})
    assert spec.read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in spec.parent.iterdir()) == [
        ".gitignore",
        "ADL.md",
        "BLUEPRINT.md",
        "CHRONICLE.md",
        "REQUIREMENTS.md",
        "SPEC.md",
        "hooks.json",
        "state.json",
    ]


def test_a_folder_that_leads_out_of_the_project_is_refused(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (tmp_path / ".goopspec").symlink_to(outside, target_is_directory=True)
    ended = run("init", cwd=tmp_path)

    assert (ended.code, ended.out) == (2, "")
    assert "leads out of the project" in ended.err
    assert list(outside.iterdir()) == []


def test_a_folder_that_may_not_be_read_is_named_and_no_file_in_it(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0)
    for command in (["status"], ["memory", "list"]):
        with ordinary_rights():
            ended = run(*command, "--project", "locked", cwd=tmp_path)
        assert (ended.code, ended.out, ended.err) == (
            2,
            "",
            "goop-mcp: 'locked' may not be read by you; change its permissions.\n",
        )


def test_a_current_folder_that_may_not_be_read_is_named_and_no_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o100)
    with ordinary_rights():
        ended = run("status", cwd=tmp_path)
    tmp_path.chmod(0o700)
    assert (ended.code, ended.err) == (
        2,
        "goop-mcp: the folder of the project may not be read by you; change its permissions.\n",
    )


def test_a_state_that_may_not_be_read_is_not_called_broken(tmp_path: Path) -> None:
    run("init", cwd=tmp_path)
    (tmp_path / ".goopspec/state.json").chmod(0)
    with ordinary_rights():
        shown = run("status", cwd=tmp_path).out
    assert (
        "❌ .goopspec/state.json cannot be read: permission denied; change its permissions; it was"
        " not changed (workflow/state-corrupt)"
    ) in shown


def test_the_status_is_printed_for_people_and_for_programs(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    people = run("status", cwd=tmp_path)
    programs = run("status", "--format", "json", "--project", str(tmp_path))

    assert (people.code, people.err, programs.code) == (0, "", 0)
    assert people.out.startswith("## 🔮 GoopSpec · Status\n\n**Project:** Todo API\n")
    assert json.loads(programs.out)["phase"] == "execute"
    assert not (tmp_path / ".goopspec/goop.db").exists()


def test_the_status_is_drawn_on_a_terminal(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    drawn = run_on_terminal("status", "--color", "never", cwd=tmp_path)

    assert (drawn.code, "Project: Todo API" in drawn.out, "─" in drawn.out) == (0, True, True)
    assert not [mark for mark in ("**", "| Gate", "## ", "\x1b") if mark in drawn.out]


def test_text_that_looks_like_markup_is_drawn() -> None:
    page = r"\_start: List<String> in src/__init__.py, `a_<b>`; **bold**"
    drawn = render_terminal_page(page, width=80, colour=False).strip()

    assert drawn == "_start: List<String> in src/__init__.py, a_<b>; bold"


def test_another_database_is_read_when_it_is_named(tmp_path: Path) -> None:
    ended = run("status", "--database", "sqlite:///elsewhere.db", "--format", "json", cwd=tmp_path)
    database = {"place": "elsewhere.db", "exists": False, "files_behind": False, "resources": []}
    assert json.loads(ended.out)["database"] == database

    refused = run("status", "--database", ADDRESS, cwd=tmp_path)
    assert refused.code == 2
    assert "--project-id" in refused.err
    assert PASSWORD not in refused.err


def test_a_session_is_handed_over(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project_context:
        record(project_context, report("W2.T1"))

    built = run("handoff", "session", cwd=tmp_path)
    written = run(
        "handoff",
        "session",
        "--write",
        "--json",
        "-",
        stdin=b'{"warnings": ["Mind the gap"]}',
        cwd=tmp_path,
    )

    assert (built.code, built.err, written.code, written.err) == (0, "", 0, "")
    assert read_handoff(built.out).completed[0].name == "W2.T1 Tick off items"
    assert written.out == ".goopspec/HANDOFF.md\n"
    assert read_handoff(
        (tmp_path / ".goopspec/HANDOFF.md").read_text(encoding="utf-8")
    ).gotchas == ("Mind the gap",)


def test_a_handoff_next_to_a_file_of_somebody_else_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec/HANDOFF.md").write_text("theirs", encoding="utf-8")
    ended = run("handoff", "session", "--write", cwd=tmp_path)

    assert ended.code == 0
    assert ended.out.startswith(".goopspec/HANDOFF.conflict-")
    assert "was changed by somebody and is kept" in ended.err
    assert (tmp_path / ".goopspec/HANDOFF.md").read_text(encoding="utf-8") == "theirs"


@pytest.mark.parametrize(
    ("fields", "code", "expected"),
    [
        ("{", 2, "not valid JSON"),
        ('{"sumary": "x"}', 1, "did you mean 'summary'?"),
        ('{"blockers": "x"}', 1, "blockers is not a list of texts"),
        ('{"next_command": "make"}', 1, "give next_command as one command"),
    ],
)
def test_invalid_fields_are_refused(tmp_path: Path, fields: str, code: int, expected: str) -> None:
    ended = run("handoff", "session", "--json", "-", stdin=fields.encode(), cwd=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert expected in ended.err


def test_a_damaged_database_refuses_to_record_a_handoff(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec/goop.db").write_bytes(b"this is no database" * 100)
    ended = run("handoff", "session", "--write", cwd=tmp_path)

    assert (ended.code, ended.out) == (2, "")
    assert "goop.db" in ended.err


def test_with_a_shared_database_a_handoff_is_recorded_and_resumed_from_there(
    tmp_path: Path, database: Database
) -> None:
    shop = {"GOOP_DATABASE_URL": database.url(), "GOOP_PROJECT_ID": "shop"}
    (tmp_path / "fields.json").write_text('{"summary": "Half is done."}', encoding="utf-8")
    written = run("handoff", "session", "--write", "--json", "fields.json", cwd=tmp_path, env=shop)
    resumed = run("prompt", "resume_session", cwd=tmp_path, env=shop)
    status = run("status", cwd=tmp_path, env=shop)

    assert (written.code, written.out) == (
        0,
        "recorded at revision 1, shown at goop://project/HANDOFF.md\n",
    )
    assert "Its description of the work: Half is done." in resumed.out
    assert "Phase, gates and plan are not known here" in status.out
    assert "shown at goop://project/HANDOFF.md" in status.out
    assert [path.name for path in tmp_path.iterdir()] == ["fields.json"]


def test_a_prompt_about_no_project_asks_for_no_database(tmp_path: Path) -> None:
    ended = run(
        "prompt",
        "start_task",
        cwd=tmp_path,
        env={"GOOP_DATABASE_URL": "postgresql://goop@127.0.0.1:9/goop"},
    )
    assert (ended.code, ended.err) == (0, "")
