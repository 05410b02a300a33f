"""`goop-mcp audit`: what it reads, prints and leaves alone."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from goop_mcp.services.audit import AuditLimits
from tests.audit.scenes import Turn, audited, claude_session, transcript
from tests.cli.running import Ended, interrupt_on_terminal, run
from tests.documentation.pages import read_page
from tests.evidence.recorded import CASES, recorded
from tests.requirements import requirement

FAILED = "FAILED t.py::test_a - x\n1 failed, 1 passed in 0.1s"
LIE = (("pytest", FAILED, 1), "All tests pass.")
HONEST = (("pytest", "2 passed in 0.1s", 0), "All tests pass.")
SECRET = "sk-ant-api03-" + "A1b2" * 22


class Machine:
    """A home with the folders of the hosts, and a project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "my project"
        self.project.mkdir()
        self.home.mkdir()

    def claude(self, content: bytes, *, name: str = "s1", cwd: Path | None = None) -> Path:
        encoded = re.sub("[^A-Za-z0-9]", "-", str(cwd or self.project))
        return self._write(self.home / ".claude/projects" / encoded / f"{name}.jsonl", content)

    def session(self, *turns: Turn, cwd: Path | None = None, time: int = 0) -> bytes:
        return claude_session(*turns, cwd=str(cwd or self.project), time=time)

    def codex(self, content: bytes, *, name: str = "rollout-2026-01-01-a") -> Path:
        found = content.replace(b"/project", str(self.project).encode())
        return self._write(self.home / ".codex/sessions/2026/01/01" / f"{name}.jsonl", found)

    def _write(self, path: Path, content: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def opencode(self, *, name: str = "failed-claimed-passed", log: bool = False) -> None:
        """Keep a recorded session in a database as the host has it, with its log if asked."""
        session = json.loads(recorded(name, "opencode").file.read_bytes())
        path = self.home / ".local/share/opencode/opencode.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(f"PRAGMA journal_mode = {'WAL' if log else 'DELETE'}")
            database.executescript(
                "CREATE TABLE session (id, directory, version, time_updated);"
                "CREATE TABLE message (id, session_id, time_created, data);"
                "CREATE TABLE part (id, message_id, session_id, time_created, data);"
            )
            database.execute(
                "INSERT INTO session VALUES ('ses_1', ?, '9.9.9', 1)", (str(self.project),)
            )
            for at, message in enumerate(session["messages"]):
                row = (f"msg_{at}", "ses_1", at, json.dumps(message["info"]))
                database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
                for part, value in enumerate(message["parts"]):
                    place = (f"prt_{at:02}{part:02}", f"msg_{at}", "ses_1", part)
                    database.execute(
                        "INSERT INTO part VALUES (?, ?, ?, ?, ?)", (*place, json.dumps(value))
                    )
            if log:
                # As the host leaves it: a copy that no process has put into the database.
                log_file = path.with_name("opencode.db-wal").read_bytes()
                main_file = path.read_bytes()
        if log:
            path.write_bytes(main_file)
            path.with_name("opencode.db-wal").write_bytes(log_file)

    def audit(self, *arguments: str | Path, cwd: Path | None = None) -> Ended:
        env = {**os.environ, "HOME": str(self.home)}
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
            env.pop(name, None)
        return run("audit", *arguments, cwd=cwd or self.project, env=env)

    def values(self, *arguments: str | Path) -> dict[str, Any]:
        ended = self.audit("--format", "json", *arguments)
        assert (ended.code, ended.err) == (0, "")
        found: dict[str, Any] = json.loads(ended.out)
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def digests(folder: Path) -> dict[str, str]:
    return {
        str(each): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


@requirement("A-01")
def test_the_three_hosts_of_this_project_are_read_and_nothing_changes(machine: Machine) -> None:
    machine.claude(machine.session(LIE))
    machine.claude(machine.session(HONEST, time=1), name="s1/subagents/agent-a")
    machine.codex(transcript("failed-claimed-passed", "All tests pass.", host="codex"))
    machine.opencode(log=True)
    elsewhere = machine.project.parent / "other"
    machine.claude(machine.session(LIE, cwd=elsewhere, time=2), cwd=elsewhere)
    before = digests(machine.project.parent)

    found = machine.values()

    assert found["transcripts"] == {"read": 4, "claude-code": 2, "codex": 1, "opencode": 1}
    assert found["claims"] == {
        "readable": 4,
        "contradicted": 3,
        "supported": 1,
        "unsupported": 0,
        "unreadable": 0,
    }
    assert found["rate"] == 0.75
    assert digests(machine.project.parent) == before
    assert machine.values("--all-projects")["claims"]["contradicted"] == 4


def test_people_see_the_rate_the_counts_and_where_it_was_stated(machine: Machine) -> None:
    path = machine.claude(machine.session(LIE, HONEST))
    ended = machine.audit()
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        "50.0 % of the claims with a readable history are contradicted by the result of a command"
        " or of a write (1 of 2).\n"
    )
    assert f"1. {path}:4\n   claim:   All tests pass.\n" in ended.out
    assert "1 failed, test_a (transcript line 2)\n   command: pytest\n" in ended.out
    assert "Read: 1 transcript (1 claude-code), 2 last messages.\n" in ended.out


def test_without_transcripts_it_says_where_it_looked(machine: Machine) -> None:
    ended = machine.audit("--fail-over", "0")
    assert ended.code == 0
    assert ended.out.startswith("no transcripts found for this project: looked in ")
    for folder in (".claude/projects", ".codex/sessions", ".local/share/opencode"):
        assert str(machine.home / folder) in ended.out
    assert "--fail-over decided nothing" in ended.err
    assert machine.values()["rate"] is None


def test_more_than_the_limit_fails(machine: Machine) -> None:
    machine.claude(machine.session(LIE, HONEST))
    assert machine.audit("--fail-over", "49").code == 1
    assert machine.audit("--fail-over", "50").code == 0


def test_a_folder_may_be_a_project_or_hold_transcripts(machine: Machine, tmp_path: Path) -> None:
    path = machine.claude(machine.session(LIE))
    for folder in (machine.project, path.parent, path, machine.home):
        ended = machine.audit("--format", "json", folder, cwd=tmp_path)
        assert json.loads(ended.out)["claims"]["contradicted"] == 1, folder
    (tmp_path / "new").mkdir()
    assert "no transcripts found" in machine.audit(cwd=tmp_path / "new").out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("nowhere",), "does not exist"),
        ((".", "--all-projects"), "give one of them"),
        (("--fail-over", "101"), "101"),
    ],
)
def test_a_wrong_call_is_refused(machine: Machine, arguments: tuple[str, ...], error: str) -> None:
    ended = machine.audit(*arguments)
    assert ended.code == 2
    assert error in ended.err


def test_projects_whose_folders_have_the_same_name_are_distinguished(machine: Machine) -> None:
    twin = machine.project.with_name("my-project")
    path = machine.claude(machine.session(LIE, cwd=twin), cwd=twin)
    assert path.parent.name == machine.claude(machine.session(HONEST), name="own").parent.name
    assert machine.values()["claims"]["contradicted"] == 0
    assert machine.values()["claims"]["supported"] == 1


def test_a_session_in_a_folder_of_the_project_counts(machine: Machine) -> None:
    inside = machine.project / "web"
    machine.claude(machine.session(LIE, cwd=inside), cwd=inside)
    assert machine.values()["claims"]["contradicted"] == 1


@requirement("A-04")
def test_secrets_and_commands_to_the_terminal_are_not_shown(machine: Machine) -> None:
    command = f"API_KEY={SECRET} pytest"
    text = f"\x1b]0;title\x07All tests pass.\n\nThe key {SECRET} works."
    machine.claude(machine.session([(command, f"{FAILED}\n\x1b[31m{SECRET}", 1), text]))
    page = machine.project / "page.html"
    shown = machine.audit("--html", page).out
    for output in (shown, machine.audit("--format", "json").out, page.read_text("utf-8")):
        assert SECRET not in output
        assert "\x1b" not in output


@requirement("A-04")
def test_the_page_is_one_file_in_which_hostile_text_stays_text(machine: Machine) -> None:
    command = "pytest '<script>alert(1)</script>'"
    machine.claude(machine.session([(command, FAILED, 1), "All tests pass."]))
    path = machine.project / "page.html"
    assert machine.audit("--html", path).code == 0
    document = path.read_text("utf-8")
    page = html.fromstring(document)
    assert page.xpath("//script | //img | //link | //iframe") == []
    assert not page.xpath("//@src | //@href")
    assert "<script>alert(1)</script>" in page.text_content()
    assert "100.0 %" in page.text_content()
    assert page.xpath("string(//meta[@name='color-scheme']/@content)") == "light dark"

    again = machine.audit("--html", path)
    assert (again.code, path.read_text("utf-8")) == (2, document)
    assert "--force" in again.err
    assert machine.audit("--html", path, "--force").code == 0


def test_the_page_says_when_there_is_nothing(machine: Machine) -> None:
    path = machine.project / "page.html"
    assert machine.audit("--html", path).code == 0
    assert "no transcripts found for this project" in path.read_text("utf-8")


# Bad input


def test_unknown_lines_and_missing_fields_are_unreadable_and_never_untrue(tmp_path: Path) -> None:
    lines = claude_session(LIE).splitlines(keepends=True)
    changes = {
        "a new kind of line": [*lines[:2], b'{"type":"new","tool_use":{"command":"x"}}\n'],
        "a new kind of block": [
            *lines[:2],
            lines[3].replace(b'"type":"text"', b'"type":"new_tool_call","command":"pytest"'),
        ],
        "no id of the call": [lines[0], lines[1].replace(b'"id":"toolu_0_1",', b""), *lines[2:3]],
        "no status": [
            *lines[:2],
            lines[2].replace(b',"is_error":true', b"").replace(b"Exit code 1", b"Ended"),
        ],
        "a damaged line": [*lines[:2], lines[2][:40] + b"\n"],
    }
    for name, changed in changes.items():
        (tmp_path / "a.jsonl").write_bytes(b"".join([*changed, lines[-1]]))
        found = audited(tmp_path)
        assert found.outcomes["contradicted"] == 0, name
        assert found.outcomes["unreadable"] + found.outcomes["unsupported"] == 1, name


def test_reasons_of_one_kind_are_counted_together_with_one_of_them(
    machine: Machine, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    unknown = b'{"type":"call%d","version":"9.9.%d","tool_use":{"command":"x"}}\n'
    for number in range(8):
        ask, call, result, end = claude_session(HONEST).splitlines(keepends=True)
        older = b"9.8.%d" % number
        tool = call.replace(b'"Bash"', b'"mcp__b%d__run_script"' % number)
        lacking = {
            "kind": [ask, call, result, unknown % (number, number), end],
            "form": [
                each.replace(b"9.9.9", older).replace(b'"tool_use_id"', b'"of"')
                for each in (ask, call, result, end)
            ],
            "line": [ask, *[b"\n"] * number, b'{"type":\n', call, result, end],
            "tool": [ask, tool, result, end],
        }
        for at, (name, lines) in enumerate(lacking.items()):
            # No message is a copy of another.
            stamp = b"2026-01-01T%02d:%02d" % (at, number)
            path = tmp_path / "kept" / f"{name}-{number}.jsonl"
            path.write_bytes(b"".join(lines).replace(b"2026-01-01T00:00", stamp))
            os.utime(path, (number, number))

    text = machine.audit(tmp_path / "kept").out
    reasons = re.findall(r"^Unreadable: (.*)$", text, re.MULTILINE)
    assert sorted(reasons) == [
        "8 because a line of the transcript is damaged.",
        "8 because a tool may have run commands, for example mcp__b7__run_script.",
        "8 because claude-code writes lines of an unknown kind, for example 'call7'.",
        "8 because claude-code writes results of an unknown form, for example 9.8.7.",
    ], text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"{",
        b"null\n",
        b'{"type":"user"}\n',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"messages": 3}',
    ],
)
def test_files_that_are_no_transcripts_are_left_out(content: bytes, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.json", "c.db"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = audited(tmp_path)
    assert found.readable == 0
    assert not found.transcripts or set(found.transcripts) <= {"claude-code"}


@requirement("A-03")
def test_limits_leave_out_and_say_so(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_bytes(claude_session(LIE, HONEST, time=number))
    size = (tmp_path / "0.jsonl").stat().st_size
    limits = {
        AuditLimits(transcripts=1): ("transcripts after 1 transcript", 3),
        AuditLimits(all_bytes=2 * size): ("transcripts beyond 0", 2),
        AuditLimits(file_bytes=size - 1): ("transcripts of more than 0", 4),
        AuditLimits(messages=1): ("messages of very long transcripts", 4),
        AuditLimits(seconds=-1): ("transcripts after -1 s", 4),
    }
    for limit, (reason, count) in limits.items():
        left = audited(tmp_path, limit).left_out
        assert [(name.startswith(reason), number) for name, number in left.items()] == [
            (True, count)
        ], left


def test_ctrl_c_ends_it_with_what_was_read(machine: Machine) -> None:
    # The newest first: one that is read at once, and many that take far longer than it is watched.
    machine.claude(machine.session(LIE), name="newest")
    for number in range(60):
        turns = [
            (("pytest", f"{each} passed in 0.1s", 0), "All tests pass.") for each in range(1, 200)
        ]
        path = machine.claude(machine.session(*turns, time=number + 1), name=f"s{number}")
        os.utime(path, (number, number))
    ended = interrupt_on_terminal(
        "audit", at="transcripts: ", cwd=machine.project, env={"HOME": str(machine.home)}
    )
    assert ended.code == 130
    assert "goop-mcp: ended by Ctrl-C; this is what was read until then" in ended.out
    assert "contradicted       1" in ended.out
    left = re.search(r"Left out: (\d+) transcripts not read to the end", ended.out)
    read = re.search(r"Read: (\d+) transcripts", ended.out)
    assert left is not None
    assert read is not None
    # The one that was being read may count as both.
    assert int(left[1]) + int(read[1]) in (61, 62)
    assert "Traceback" not in ended.out


def test_a_copied_history_counts_once(tmp_path: Path) -> None:
    first = claude_session(LIE)
    (tmp_path / "a.jsonl").write_bytes(first)
    (tmp_path / "b.jsonl").write_bytes(first + claude_session(HONEST, time=5))
    found = audited(tmp_path)
    assert (found.outcomes["contradicted"], found.outcomes["supported"]) == (1, 1)


def test_only_the_ten_worst_are_kept(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number}.jsonl").write_bytes(claude_session(LIE, time=number))
    (tmp_path / "count.jsonl").write_bytes(
        claude_session([("pytest", "2 passed in 0.1s", 0), "All 40 tests pass."], time=50)
    )
    found = audited(tmp_path)
    assert (found.outcomes["contradicted"], len(found.worst)) == (13, 10)
    assert {case.judged.rule for case in found.worst} == {"evidence/check-failed"}


def test_a_database_that_is_none_or_of_another_form_is_left_out(machine: Machine) -> None:
    machine.opencode()
    path = machine.home / ".local/share/opencode/opencode.db"
    assert machine.values()["claims"]["contradicted"] == 1
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("ALTER TABLE part RENAME TO parts")
    left = machine.values()["left_out"]
    assert list(left) == [
        "transcripts of OpenCode: the database cannot be read: no such table: part"
    ]
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5_000)
    assert len(machine.values()["left_out"]) == 1


def test_the_example_in_the_documentation_is_real(machine: Machine) -> None:
    folder = machine.project / "transcripts"
    shutil.copytree(CASES / "claude-code" / "2.1.332", folder)
    for each in folder.iterdir():
        os.utime(each, (1, 2 if each.name.startswith("failed") else 1))
    shown = machine.audit("transcripts").out
    _, _, example = read_page("docs/audit.md").partition("$ goop-mcp audit transcripts\n")
    assert example.partition("```")[0] == shown
