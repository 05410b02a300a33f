"""`goop-mcp check`: exit codes, sources of replies, options."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from goop_mcp.services import check_files
from tests.cli.running import (
    ACCEPTED,
    CASES,
    PROGRAM,
    REJECTED,
    REPAIRABLE,
    REPAIRED,
    environment,
    run,
    run_on_terminal,
    unverified,
)
from tests.requirements import requirement
from tests.workspace.true_projects import commit, git, memory_of, write


@requirement("H-29")
def test_an_accepted_reply_exits_0_and_a_rejected_one_1() -> None:
    assert (run("check", ACCEPTED).code, run("check", REJECTED).code) == (0, 1)


def test_one_rejected_reply_among_accepted_ones_exits_1() -> None:
    ended = run("check", ACCEPTED.name, REJECTED.name, ACCEPTED.name, cwd=CASES)
    assert ended.code == 1
    assert ended.out.endswith("\n3 files: 2 accepted, 1 rejected; 1 error\n")


def test_an_accepted_reply_without_findings_is_one_line() -> None:
    assert (
        run("check", ACCEPTED.name, cwd=CASES).out
        == f"{ACCEPTED.name}: accepted (goop_report 0.1.6)\n"
    )


def test_a_reply_is_read_from_a_pipe_when_no_file_is_named() -> None:
    ended = run("check", stdin=ACCEPTED.read_bytes())
    assert (ended.code, ended.out) == (0, "<stdin>: accepted (goop_report 0.1.6)\n")


def test_a_dash_stands_for_standard_input_among_files() -> None:
    ended = run("check", ACCEPTED, "-", stdin=REJECTED.read_bytes())
    assert ended.code == 1
    assert "<stdin>:2:11: error: " in ended.out


def test_on_a_terminal_a_file_is_required() -> None:
    ended = run_on_terminal("check")
    assert ended.code == 2
    assert (
        ended.out
        == "goop-mcp: no file is named, and nothing is piped in; name a file or a folder.\n"
    )


def test_an_empty_reply_is_judged_and_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty.md").touch()
    ended = run("check", "empty.md", cwd=tmp_path)
    assert ended.code == 1
    assert "the reply is empty" in ended.out


def test_strict_mode_rejects_what_lenient_mode_repairs() -> None:
    reply = REPAIRABLE.encode()
    assert run("check", stdin=reply).code == 0
    strict = run("check", "--strict", stdin=reply)
    assert strict.code == 1
    assert "rejected (goop_report 0.1.6, strict mode): 2 errors\n" in strict.out


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        (["--agent", "goop-planner"], "goop_report/agent-mismatch"),
        (["--phase", "plan"], "goop_report/phase-mismatch"),
        (["--files-changed"], "goop_report/artifacts-missing"),
        (["--memory-saved"], "goop_report/memory-missing"),
        (["--checks-run"], "goop_report/verification-missing"),
    ],
)
def test_what_the_caller_expects_is_compared(option: list[str], rule: str) -> None:
    sections = re.compile("<(artifacts|memory|verification)>.*?</\\1>", re.DOTALL)
    reply = sections.sub("", REPAIRABLE).encode()
    assert run("check", stdin=reply).code == 0
    ended = run("check", *option, stdin=reply)
    assert ended.code == 1
    assert f"[{rule}]" in ended.out


def test_the_profile_v1_knows_the_phase_discuss() -> None:
    reply = REPAIRABLE.replace("<phase>execute", "<phase>discuss").encode()
    assert "[goop_report/phase-alias]" in run("check", stdin=reply).out
    assert "[goop_report/phase-alias]" not in run("check", "--profile", "v1", stdin=reply).out


def test_the_protocol_can_be_named() -> None:
    ended = run("check", "--protocol", "goop_report", stdin=b"Done.")
    assert ended.code == 1
    assert "[goop_report/no-envelope]" in ended.out


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a project in which a file was made and committed."""
    write(tmp_path, "a.py")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "feat(a): add a")
    return tmp_path


def test_the_base_of_the_task_can_be_named(workspace: Path) -> None:
    base = git(workspace, "rev-parse", "HEAD")
    write(workspace, "b.py")
    sha = commit(workspace, "feat(b): add b")[:7]
    claim = REPAIRED.replace("a1b2c3d", sha).replace('action="created"', 'action="modified"')
    assert claim.count('path="a.py" action="modified"') == 1

    for arguments, severity in ((), "warning"), (("--strict", "--base", base), "error"):
        out = " ".join(
            run("check", "--workspace", *arguments, stdin=claim.encode(), cwd=workspace).out.split()
        )
        assert "[evidence/file-not-touched]" in out
        assert (
            f"{severity}:" in out.partition("[evidence/file-not-touched]")[0].rpartition("[")[2]
        ), out


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("deadbeef", "'deadbeef' is not a commit of this repository; fetch it, or name the one"),
        ("x; y", "'x; y' is not the id of a commit; name the one"),
        ("HEAD", "'HEAD' is not the id of a commit; name the one"),
    ],
)
def test_a_base_that_is_no_commit_is_refused(workspace: Path, base: str, problem: str) -> None:
    ended = run("check", "--workspace", "--base", base, ACCEPTED, cwd=workspace)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"goop-mcp: --base {problem} at which the task began, as git rev-parse prints it.\n"
    )


def test_a_base_is_not_looked_for_where_there_is_no_repository(tmp_path: Path) -> None:
    ended = run("check", "--workspace", "--base", "deadbeef", ACCEPTED, cwd=tmp_path)
    assert (ended.code, ended.err) == (1, "")


def test_claims_are_verified_in_the_project_with_workspace(workspace: Path) -> None:
    sha = git(workspace, "rev-parse", "--short", "HEAD")
    memory_of(workspace, "A note").close()
    true, lying = REPAIRED.replace("a1b2c3d", sha), REPAIRED.replace("a.py", "b.py")
    accepted = run("check", "--workspace", stdin=true.encode(), cwd=workspace)
    assert accepted.code == 0
    assert "memory" not in accepted.out
    forgetful = true.replace(">A note<", ">Another note<")
    assert (
        "[evidence/memory-not-found]"
        in run("check", "--workspace", stdin=forgetful.encode(), cwd=workspace).out
    )

    ended = run("check", "--workspace", "--project", workspace, stdin=lying.encode())

    assert ended.code == 1
    assert "<stdin>:10:24: error: file 'b.py' does not exist; " in ended.out
    assert "[evidence/file-not-found]" in ended.out
    assert "[evidence/commit-not-found]" in ended.out
    assert run("check", stdin=lying.encode(), cwd=workspace).code == 0


def test_false_claims_are_in_every_format(workspace: Path) -> None:
    outputs = {
        form: (
            run(
                "check", "--workspace", "--format", form, stdin=REPAIRED.encode(), cwd=workspace
            ).out
        )
        for form in ("json", "sarif", "github")
    }
    (verdict,) = json.loads(outputs["json"])
    lines = {finding["rule"]: finding["line"] for finding in verdict["findings"]}
    assert lines["evidence/commit-not-found"] == 11
    assert all("evidence/commit-not-found" in output for output in outputs.values())


def test_a_project_that_does_not_exist_is_a_usage_error() -> None:
    ended = run("check", "--workspace", "--project", "nowhere", ACCEPTED)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("goop-mcp: --project is 'nowhere', which is not a folder")


# Many files


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    """Make a folder with 120 replies, 20 of them rejected, among other files."""
    for number in range(120):
        source = REJECTED if number % 6 == 0 else ACCEPTED
        target = tmp_path / "replies" / f"wave {number // 60}" / f"{number:03}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (tmp_path / "replies" / "notes.py").write_text("no reply", encoding="utf-8")
    (tmp_path / "replies" / ".git").mkdir()
    (tmp_path / "replies" / ".git" / "COMMIT.txt").write_text("no reply", encoding="utf-8")
    (tmp_path / "replies" / "loop").symlink_to(tmp_path / "replies", target_is_directory=True)

    return tmp_path


def test_of_a_folder_only_the_findings_and_one_summary_are_shown(replies: Path) -> None:
    ended = run("check", "replies", cwd=replies)
    lines = ended.out.splitlines()

    assert ended.code == 1
    assert lines[-1] == "120 files: 100 accepted, 20 rejected; 20 errors"
    assert sum(": error: " in line for line in lines) == 20
    assert ": accepted" not in ended.out
    assert lines[0].startswith("replies/wave 0/000.md:2:11: error: ")
    assert ended.err == unverified(700)


def test_of_two_thousand_files_the_rejected_are_shown_and_one_summary(tmp_path: Path) -> None:
    good, bad = ACCEPTED.read_bytes(), REJECTED.read_bytes()
    for number in range(2000):
        (tmp_path / f"{number:04}.md").write_bytes(good if number % 10 else bad)
    ended = run("check", ".", cwd=tmp_path)
    *blocks, summary = ended.out.rstrip("\n").split("\n\n")

    assert (ended.code, ended.err) == (1, unverified(12600))
    assert summary == "2,000 files: 1,800 accepted, 200 rejected; 200 errors"
    assert [block.partition(":")[0] for block in blocks] == [
        f"{number:04}.md" for number in range(0, 2000, 10)
    ]
    assert all(block.count(": error: ") == block.count("\n  fix: ") == 1 for block in blocks)


def test_quiet_leaves_only_errors_and_verbose_shows_each_file(replies: Path) -> None:
    quiet = run("check", "--quiet", "replies/wave 0", cwd=replies)
    verbose = run("check", "-v", "replies/wave 0", cwd=replies)

    assert quiet.code == verbose.code == 1
    assert "files:" not in quiet.out
    assert quiet.out.count(": error: ") == 10
    assert verbose.out.count(": accepted (goop_report") == 50
    assert run("check", "-q", ACCEPTED).out == ""


def test_infos_are_counted_and_shown_only_with_verbose() -> None:
    text = REPAIRED.replace("<files>", "<files><!-- a -->").replace("  <memory>", "  <memory >")
    without_memory = re.sub(r"(?s)  <memory.*?</memory>\n", "", text).encode()
    short, long = run("check", stdin=without_memory), run("check", "-v", stdin=without_memory)

    assert "1 info (-v shows them)" in short.out
    assert ": info: " not in short.out
    assert ": info: " in long.out
    assert "(-v)" not in long.out


def test_progress_is_shown_on_a_terminal_only(replies: Path) -> None:
    on_terminal = run_on_terminal("check", "replies", cwd=replies)

    assert "checking" in on_terminal.out
    assert "120/120" in on_terminal.out
    assert "checking" not in run_on_terminal("check", "replies/wave 0/000.md", cwd=replies).out


def test_output_is_written_to_a_file_without_colours(replies: Path) -> None:
    ended = run(
        "check", "--color", "always", "--output", "found.txt", "replies", "missing.md", cwd=replies
    )
    written = (replies / "found.txt").read_text(encoding="utf-8")

    assert (ended.code, ended.out) == (2, "")
    missing = "goop-mcp: 'missing.md' does not exist; check the path.\n"
    assert ended.err == unverified(700) + missing
    assert "\x1b" not in written
    assert written.endswith("121 files: 100 accepted, 20 rejected, 1 not read; 20 errors\n")


@pytest.mark.parametrize("name", ["in.md", "./in.md", "link.md"])
def test_output_never_replaces_what_is_checked(tmp_path: Path, name: str) -> None:
    reply = tmp_path / "in.md"
    reply.write_bytes(ACCEPTED.read_bytes())
    (tmp_path / "link.md").symlink_to("in.md")
    for arguments in ([name, "in.md"], [name, "."], ["in.md", name]):
        ended = run("check", "--output", *arguments, cwd=tmp_path)

        assert (ended.code, ended.out) == (2, "")
        assert "is a file that is checked and would be lost; name another file." in ended.err
        assert reply.read_bytes() == ACCEPTED.read_bytes()


def test_output_replaces_that_of_the_call_before(tmp_path: Path) -> None:
    for _ in range(2):
        assert run("check", "--output", "found.log", ACCEPTED, cwd=tmp_path).code == 0
    assert "accepted" in (tmp_path / "found.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-v", "-q"], "--verbose and --quiet contradict each other; leave one out."),
        (
            ["-q", "--format", "json"],
            "--quiet is for text; --format json always has every finding.",
        ),
        (["--watch", "-"], "standard input (-) does not change; with --watch, name files."),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: list[str], sentence: str) -> None:
    ended = run("check", *options, stdin=b"Done.")

    assert (ended.code, ended.out, ended.err) == (2, "", f"goop-mcp: {sentence}\n")


def test_watch_checks_again_when_a_file_changes_and_ends_with_the_last_code(tmp_path: Path) -> None:
    reply = tmp_path / "reply.md"
    reply.write_bytes(REJECTED.read_bytes())
    process = subprocess.Popen(
        [*PROGRAM, "check", "--watch", "."],
        cwd=tmp_path,
        env=environment({"PYTHONUNBUFFERED": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    seen = ""
    try:
        while "reply.md: rejected" not in seen:
            seen += process.stdout.readline()
        # The clock of the file system may be coarse; the size differs as well.
        time.sleep(0.05)
        reply.write_bytes(ACCEPTED.read_bytes())
        while "reply.md: accepted" not in seen:
            seen += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)
        process.stdout.close()

    assert "changed, checking again" in seen


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    for number in range(30):
        os.mkfifo(tmp_path / f"{number}.md")
    (tmp_path / "reply.md").write_bytes(ACCEPTED.read_bytes())

    # Each would be waited for ten seconds, which is longer than a run may take.
    assert run("check", ".", cwd=tmp_path).out == "reply.md: accepted (goop_report 0.1.6)\n"


def test_more_folders_or_replies_than_are_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "reply.md").touch()

    for bound, most in (("_MOST_FILES", 2), ("_MOST_FOLDERS", 3)):
        with monkeypatch.context() as patch:
            patch.setattr(check_files, bound, most)
            files, unread = check_files.files_below([str(tmp_path)])
        assert files == []
        assert "name subfolders" in unread[0].message

    assert len(check_files.files_below([str(tmp_path)])[0]) == 3


def test_a_path_that_is_too_long_is_an_unread_file(tmp_path: Path) -> None:
    # The folder can be listed by its whole path, and the file in it cannot be opened by it.
    inside, folder = str(tmp_path), os.open(tmp_path, os.O_RDONLY)
    while len(inside) < 4_000:
        name = "d" * min(200, 4_000 - len(inside))
        os.mkdir(name, dir_fd=folder)
        deeper = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        inside, folder = f"{inside}/{name}", deeper
    os.close(os.open("r" * 200 + ".md", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)

    for named in (str(tmp_path), "a" * 5_000):
        ended = run("check", "--format", "json", named)
        assert ended.code == 2
        assert "name too long" in ended.err
        assert "Traceback" not in ended.err


def test_replies_that_are_too_long_together_are_unread_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_files, "MOST_CHARACTERS", 600)
    names = [str(tmp_path / f"{number}.md") for number in range(4)]
    for name in names:
        Path(name).write_text("No envelope. " * 50, encoding="utf-8")

    outcome = check_files.check_files(names)

    assert [each.file for each in outcome.checked] == names[:1]
    assert [each.file for each in outcome.unread] == names[1:]
    assert "fewer files" in outcome.unread[0].message
