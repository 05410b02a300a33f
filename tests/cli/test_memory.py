"""The memory of a project on the command line: every command, its output and its errors."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.store.opening import open_store
from tests.cli.running import Ended, run, run_on_terminal
from tests.postgres import Database
from tests.requirements import requirement
from tests.rights import ordinary_rights
from tests.store.rows import add, new_memory
from tests.workspace.true_projects import git, make_project

TIGER = "tiger-4711-xyz"
TITLE = "Use jose for tokens"


def memory(project: Path, *arguments: str, stdin: str = "") -> Ended:
    return run("memory", *arguments, stdin=stdin.encode(), cwd=project)


def as_json(project: Path, *arguments: str) -> dict[str, Any]:
    ended = memory(project, *arguments, "--format", "json")
    assert ended.code == 0, ended.err
    values: dict[str, Any] = json.loads(ended.out)
    return values


def listed(project: Path, *options: str) -> list[dict[str, Any]]:
    ended = memory(project, "list", *options, "--format", "json")
    assert ended.code == 0, ended.err
    values: list[dict[str, Any]] = json.loads(ended.out)
    return values


def refused(ended: Ended, code: int, expected: str) -> None:
    assert (ended.code, ended.out) == (code, "")
    assert expected in ended.err
    assert all(line.startswith("goop-mcp: ") for line in ended.err.splitlines())


@pytest.mark.parametrize("by_hand", [False, True])
def test_the_first_memory_keeps_the_database_out_of_git(tmp_path: Path, *, by_hand: bool) -> None:
    git(tmp_path, "init", "--quiet")
    if by_hand:
        (tmp_path / ".goopspec").mkdir()
    assert memory(tmp_path, "save", TITLE, "text").code == 0

    git(tmp_path, "add", "-A")
    assert git(tmp_path, "ls-files").split() == [".goopspec/.gitignore"]
    saved = (tmp_path / ".goopspec/.gitignore").read_bytes()
    assert run("init", cwd=tmp_path).code == 0
    assert (tmp_path / ".goopspec/.gitignore").read_bytes() == saved


def test_what_a_person_ignores_in_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec/.gitignore").write_text("")
    assert memory(tmp_path, "save", TITLE, "text").code == 0
    assert (tmp_path / ".goopspec/.gitignore").read_text() == ""


def test_the_companion_that_a_read_only_database_left_is_named(tmp_path: Path) -> None:
    database = tmp_path / ".goopspec/goop.db"
    with ordinary_rights():
        memory(tmp_path, "save", TITLE, "text")
        database.chmod(0o444)
        assert memory(tmp_path, "list").code == 0
        database.chmod(0o644)
        ended = memory(tmp_path, "save", "another", "text")

        assert ended.code == 2
        left = ".goopspec/goop.db-shm"
        assert ended.err == (
            f"goop-mcp: {left} is not writable; give this user write permission on it: chmod u+w"
            f" {left}.\n"
        )
        (tmp_path / left).chmod(0o644)
        assert memory(tmp_path, "save", "another", "text").code == 0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with one memory."""
    ended = memory(
        tmp_path,
        *(
            "save",
            TITLE,
            "The keys rotate each night.",
            "--type",
            "decision",
            "--importance",
            "0.8",
        ),
        *(
            "--concept",
            "auth",
            "--concept",
            "keys",
            "--fact",
            "RS256",
            "--source-file",
            "src/auth.ts",
        ),
        *("--agent", "goop-executor", "--session", "s1", "--key", "w2t3"),
    )
    assert (ended.code, ended.out, ended.err) == (0, "saved: memory 1\n", "")

    return tmp_path


@requirement("P-18")
def test_a_saved_memory_is_shown_completely(project: Path) -> None:
    shown = as_json(project, "show", "1")
    assert {
        name: shown[name]
        for name in ("id", "type", "title", "content", "importance", "concepts", "facts")
    } == {
        "id": 1,
        "type": "decision",
        "title": TITLE,
        "content": "The keys rotate each night.",
        "importance": 0.8,
        "concepts": ["auth", "keys"],
        "facts": ["RS256"],
    }
    assert (shown["source_files"], shown["agent"], shown["session_id"]) == (
        ["src/auth.ts"],
        "goop-executor",
        "s1",
    )
    assert (shown["idempotency_key"], shown["revision"]) == ("w2t3", 1)
    ended = memory(project, "show", "1")

    for word in (
        TITLE,
        "decision, importance 0.8",
        "goop-executor",
        "auth, keys",
        "src/auth.ts",
        "RS256",
        "each night",
    ):
        assert word in ended.out


def test_the_content_may_come_through_a_pipe(tmp_path: Path) -> None:
    assert memory(tmp_path, "save", "Piped", stdin="two\n  lines\n").code == 0
    assert memory(tmp_path, "save", "Dash", "-", stdin="other words").code == 0
    assert as_json(tmp_path, "show", "1")["content"] == "two\n  lines\n"
    assert memory(tmp_path, "show", "1").out.endswith("\n  | two\n  |   lines\n")


def test_duplicates_and_redactions_are_reported(project: Path) -> None:
    again = memory(project, "save", TITLE.upper(), "the keys  rotate each night.")
    assert (again.code, again.out.splitlines()[0]) == (0, "duplicate: memory 1")
    ended = memory(project, "save", "Log in", f"password={TIGER}")
    assert "1 place with a secret or a private part replaced" in ended.out
    saved = as_json(project, "save", "Sign in", f"password={TIGER}")
    assert (saved["status"], saved["redactions"], saved["similar"]) == ("saved", 1, [])
    assert TIGER not in memory(project, "export").out


def test_every_error_of_a_memory_is_reported_and_nothing_is_created(tmp_path: Path) -> None:
    refused(
        memory(tmp_path, "save", " ", "a", "--importance", "8"),
        2,
        "8.0 is not a number from 0 to 1",
    )
    ended = memory(tmp_path, "save", " ", "a", "--importance", "nan")
    refused(
        ended, 1, "importance is nan; expected a number from 0 to 1; write a number from 0 to 1"
    )
    assert "title is blank; expected text" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_search_shows_the_best_first_with_the_part_that_fits(project: Path) -> None:
    memory(project, "save", "Tabs", "Indent by tabs.", "--type", "note")
    found = as_json(
        project, "search", "rotating keys", "jose", "--type", "decision", "--concept", "AUTH"
    )
    assert [item["id"] for item in found["items"]] == [1]
    assert list(found["items"][0]) == [
        *(
            "id",
            "title",
            "type",
            "importance",
            "concepts",
            "snippet",
            "score",
            "created_at",
            "agent",
            "source_files",
        )
    ]
    ended = memory(project, "search", "jose")
    lines = ended.out.splitlines()
    assert (ended.code, ended.err, lines[0], lines[-1]) == (0, "", f"1. {TITLE}", "1 found")


def test_a_search_that_finds_nothing_succeeds_and_suggests_better_queries(
    project: Path, tmp_path: Path
) -> None:
    ended = memory(project, "search", "zebra", "?!", "--type", "note")
    assert (ended.code, ended.out) == (0, "nothing found\n")
    assert "nothing found" not in ended.err
    assert "query 2 has no words" in ended.err
    assert "leave out types, and try 2 to 4 other phrasings" in ended.err
    (empty := tmp_path / "empty").mkdir()
    assert "nothing was ever saved in this project" in as_json(empty, "search", "x")["notes"][0]
    assert list(empty.iterdir()) == []


def test_a_list_continues_where_it_stopped(project: Path) -> None:
    for number in range(3):
        memory(project, "save", f"T{number}", f"Number {number}.")

    first = memory(project, "list", "--limit", "2")
    assert [line.split()[-1] for line in first.out.splitlines()] == ["T2", "T1"]
    assert first.err == "goop-mcp: these are the newest 2; --before 3 shows more.\n"
    assert [each["id"] for each in listed(project, "--before", "3")] == [2, 1]
    assert [each["id"] for each in listed(project, "--min-importance", "0.7")] == [1]


def test_what_is_forgotten_is_gone_and_purging_removes_the_row(project: Path) -> None:
    assert (
        memory(project, "forget", "1").out
        == f'forgotten: memory 1 "{TITLE}"; its text was deleted\n'
    )
    refused(memory(project, "forget", "1"), 1, "memory 1 was forgotten on ")
    refused(memory(project, "show", "1"), 1, "memory 1 was forgotten on ")
    assert as_json(project, "forget", "1", "--purge")["purged"] is True
    refused(memory(project, "forget", "1", "--purge"), 1, "there is no memory 1")


@pytest.mark.parametrize("name", ["all.jsonl", "all.md"])
def test_an_export_is_read_back_the_same_in_another_project(
    project: Path, tmp_path: Path, name: str
) -> None:
    memory(project, "save", "Fences", "```text\n## no heading\n```", "--type", "todo")
    ended = memory(project, "export", name)
    assert (ended.code, ended.out, ended.err) == (
        0,
        "",
        f"goop-mcp: 2 memories written to {name}.\n",
    )
    (other := tmp_path / "other").mkdir()
    report = as_json(other, "import", f"../{name}")
    assert (report["saved"], report["unread"]) == (2, [])
    assert memory(other, "export").out == memory(project, "export").out
    assert memory(other, "import", f"../{name}").out == "2 already there\n"


def test_the_packages_scale_is_written_and_read(project: Path, tmp_path: Path) -> None:
    exported = memory(project, "export", "--scale", "packages").out
    assert json.loads(exported)["importance"] == 8
    (other := tmp_path / "other").mkdir()
    memory(other, "import", "-", "--scale", "packages", stdin=exported)
    assert as_json(other, "show", "1")["importance"] == 0.8
    refused(
        memory(project, "export", "--as", "markdown", "--scale", "packages"),
        2,
        "markdown is written on our scale",
    )


def test_an_export_never_overwrites_a_file_unless_asked_to(project: Path) -> None:
    (project / "a.jsonl").write_text("mine", encoding="utf-8")
    refused(
        memory(project, "export", "a.jsonl"),
        2,
        "'a.jsonl' exists already; name another file, or overwrite it",
    )
    assert (project / "a.jsonl").read_text(encoding="utf-8") == "mine"
    assert memory(project, "export", "a.jsonl", "--force").code == 0
    assert TITLE in (project / "a.jsonl").read_text(encoding="utf-8")
    refused(
        memory(project, "export", "nowhere/a.jsonl"),
        2,
        "cannot be written (no such file or directory)",
    )
    assert sorted(path.name for path in project.iterdir()) == [".goopspec", "a.jsonl"]


def test_an_import_names_each_line_that_is_not_imported(tmp_path: Path) -> None:
    lines = [
        '{"title": "a", "content": "b", "colour": 1}',
        "",
        "nope",
        '{"title": "", "content": "x"}',
    ]
    ended = memory(tmp_path, "import", "-", stdin="\n".join(lines))
    assert (ended.code, ended.out) == (1, "1 saved, 2 not imported\n")
    assert ended.err.splitlines() == [
        (
            "goop-mcp: line 3 was not imported: not valid JSON at column 1; expected one object on"
            " the line."
        ),
        (
            "goop-mcp: line 4 was not imported: title is blank; expected text; "
            "write what was learned in the content, and a summary in the title."
        ),
        "goop-mcp: line 1: colour left out: a memory has no such field.",
    ]
    assert memory(tmp_path, "import", "-", stdin="\n").out == "nothing to import\n"


def test_many_lines_that_were_not_imported_are_counted_not_printed(tmp_path: Path) -> None:
    line = json.dumps({"title": "Note", "content": "What was learned", "importance": 7})

    ended = memory(tmp_path, "import", "-", stdin=f"{line}\n" * 1_200)

    assert (ended.code, ended.out) == (1, "1200 not imported\n")
    printed = ended.err.splitlines()
    assert len(printed) == 22
    assert printed[20:] == [
        "goop-mcp: 1180 more such lines; --format json lists the first 1,000.",
        "goop-mcp: importance from 1 to 10, as in GoopSpec packages, needs --scale packages.",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["serch"], "there is no memory command 'serch'; did you mean 'search'?"),
        (["get", "3"], "there is no memory command 'get'; did you mean 'show'?"),
        (["save"], "missing argument 'TITLE'; see goop-mcp memory save --help"),
        (
            ["save", "a", "b", "--type", "idea"],
            "'idea' is not one of 'decision', 'observation', 'note', 'todo'",
        ),
        (["search"], "no query is given; write what to search for"),
        (["search", "", " "], "no query is given; write what to search for"),
        (["search", "a", "--limit", "51"], "limit is 51; expected 1 to 50"),
        (
            ["search", "a", "--min-importance", "2"],
            "min_importance is 2.0; expected a number from 0 to 1",
        ),
        (["search", *"abcdefghi"], "9 queries were given; expected 1 to 8 phrasings"),
        (["list", "--limit", "0"], "limit is 0; expected at least 1"),
        (["show", "one"], "'one' is not a whole number"),
        (["import", "nowhere.jsonl"], "'nowhere.jsonl' does not exist; check the path"),
        (["import", "."], "'.' is a folder"),
        (["list", "--project", "nowhere"], "--project is 'nowhere', which is not a folder"),
        (
            ["list", "--database", "mysql://u:tiger-4711-xyz@h/x"],
            "the database is mysql://u@h/x; expected sqlite:///FILE",
        ),
        (
            ["list", "--database", "postgresql://u:tiger-4711-xyz@h/x"],
            "select one with --project-id or GOOP_PROJECT_ID",
        ),
    ],
)
def test_a_usage_error_is_reported_in_one_sentence_and_creates_nothing(
    tmp_path: Path, arguments: list[str], expected: str
) -> None:
    ended = memory(tmp_path, *arguments)
    refused(ended, 2, expected)
    assert len(ended.err.splitlines()) == 1
    assert TIGER not in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["list"], ["save", "a", "b"], ["forget", "1"], ["export"], ["search", "a"]]
)
def test_a_file_that_is_not_a_database_is_not_changed(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "junk.db").write_bytes(b"no database" * 1_000)
    refused(
        memory(tmp_path, *arguments, "--database", "sqlite:///junk.db"),
        2,
        "junk.db is not a database",
    )
    assert (tmp_path / "junk.db").read_bytes() == b"no database" * 1_000


def test_another_database_may_be_named(tmp_path: Path) -> None:
    memory(tmp_path, "save", "a", "b", "--database", "sqlite:///kept.db")
    assert (tmp_path / "kept.db").is_file()
    assert not (tmp_path / ".goopspec").exists()
    assert [each["title"] for each in listed(tmp_path, "--database", "sqlite:///kept.db")] == ["a"]


def test_on_a_terminal_everything_fits_and_the_content_is_asked_for(project: Path) -> None:
    memory(
        project,
        "save",
        "word " * 19,
        "another " * 200,
        "--concept",
        "x" * 30,
        "--fact",
        "fact " * 40,
    )
    for arguments in (
        ["list"],
        ["show", "2"],
        ["search", "another"],
        ["--help"],
        ["save", "--help"],
    ):
        ended = run_on_terminal("memory", *arguments, cwd=project, env={"NO_COLOR": "1"})
        assert ended.code == 0
        assert max(map(len, ended.out.splitlines())) <= 80

    asked = run_on_terminal("memory", "save", "x", cwd=project)
    assert (asked.code, asked.out) == (
        2,
        "goop-mcp: no content is given; write it after the title, or pipe it in.\n",
    )


def test_no_memory_prints_control_characters(tmp_path: Path) -> None:
    memory(tmp_path, "save", "Red \x1b[31m", "a\x1b]0;title\x07b\r\nc\td", "--fact", "\x1b[2J")
    for arguments in (["list"], ["show", "1"], ["search", "red"], ["forget", "1"]):
        out = run_on_terminal("memory", *arguments, cwd=tmp_path, env={"NO_COLOR": "1"}).out
        assert not {"\x1b", "\x07", "\r"} & {*out}


def test_a_project_in_postgres_is_named_by_its_id(tmp_path: Path, database: Database) -> None:
    shop = ("--database", database.url(), "--project-id", "shop")
    assert memory(tmp_path, "save", "a", "b", *shop).out == "saved: memory 1\n"
    assert [each["title"] for each in listed(tmp_path, *shop)] == ["a"]
    assert listed(tmp_path, "--database", database.url(), "--project-id", "bank") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["check", "route"])
def test_claims_are_verified_in_the_database_that_is_named(tmp_path: Path, command: str) -> None:
    made = make_project(tmp_path)
    made.store.close()
    (tmp_path / ".goopspec" / "goop.db").rename(tmp_path / "kept.db")
    call = (command, "-", "--workspace", "--format", "json")
    without = run(*call, stdin=made.reply.encode(), cwd=tmp_path)
    named = run(*call, "--database", "sqlite:///kept.db", stdin=made.reply.encode(), cwd=tmp_path)
    assert "the project has no memory yet" in without.out
    assert (named.code, "evidence/" in named.out) == (0, False)


MEMORY_OF_THE_PROGRAM = (
    "import resource, sys; from goop_mcp.__main__ import main; before ="
    " resource.getrusage(resource.RUSAGE_SELF)\nsys.argv[1:] = {arguments!r}\ntry:\n   "
    " main()\nfinally:\n    sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss"
    " - before.ru_maxrss))"
)


def test_neither_an_export_nor_an_import_holds_all_memories_at_once(tmp_path: Path) -> None:
    store = open_store(None, project=tmp_path)
    many = [
        replace(new_memory(f"{n}"), content=f"Number {n}. " + "x" * 20_000) for n in range(3_000)
    ]
    add(store, *many)
    store.close()

    for arguments in (
        ["export", "all.jsonl"],
        ["import", "all.jsonl"],
        ["export", "all.md"],
        ["import", "all.md"],
    ):
        program = MEMORY_OF_THE_PROGRAM.format(arguments=["memory", *arguments])
        ended = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, check=False, capture_output=True
        )
        assert ended.returncode == 0, ended.stderr
        # 60 MB of texts; the pages of the database in memory and a few hundred memories are a third
        # of that.
        assert int(ended.stderr.rpartition(b"\n")[2]) < 60_000

    assert (tmp_path / "all.jsonl").stat().st_size > 60_000_000


def test_a_line_longer_than_any_memory_ends_an_import_and_what_was_before_it_stays(
    tmp_path: Path,
) -> None:
    good = json.dumps({"title": "Good", "content": "This one is taken."})
    lines = [good] * 1 + [
        json.dumps({"title": f"n{n}", "content": f"Number {n}."}) for n in range(200)
    ]
    (tmp_path / "long.jsonl").write_text("\n".join([*lines, "x" * (16 * 1024 * 1024 + 1)]))
    refused(memory(tmp_path, "import", "long.jsonl"), 2, "in line 202; a memory is much shorter")
    assert len(listed(tmp_path)) > 0
