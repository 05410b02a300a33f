"""`goop-mcp repair`: the text with the form of its envelope repaired, or nothing."""

import subprocess
from pathlib import Path

import pytest

from goop_mcp import validate
from goop_mcp.cli import main
from goop_mcp.errors import UnwritableFileError
from goop_mcp.services import check_files
from goop_mcp.services.check_files import repair_file
from goop_mcp.services.user_files import overwrite_file
from tests.cli.running import ACCEPTED, CASES, PROGRAM, REPAIRABLE, REPAIRED, environment, run
from tests.repository import ROOT
from tests.rights import ordinary_rights


def repaired(content: bytes) -> bytes:
    """Return what `goop-mcp repair -` prints, byte for byte."""
    command = [*PROGRAM, "repair", "-"]
    ended = subprocess.run(
        command,
        input=content,
        cwd=ROOT,
        env=environment(),
        check=True,
        capture_output=True,
        timeout=300,
    )

    return ended.stdout


def test_the_envelope_is_repaired_and_the_rest_is_not_changed() -> None:
    text = f"Before & <before>\n\n{REPAIRABLE}```\n  \n"
    assert repaired(text.encode()) == text.replace(REPAIRABLE, REPAIRED).encode()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_are_kept(line_end: str, last: str, mark: str) -> None:
    def as_written(text: str) -> bytes:
        return (mark + text.removesuffix("\n") + last).replace("\n", line_end).encode()

    assert repaired(as_written(REPAIRABLE)) == as_written(REPAIRED)


@pytest.mark.parametrize(
    "path", [ACCEPTED, CASES / "message_two_envelopes.md"], ids=lambda path: path.name
)
def test_a_reply_that_needs_no_repair_is_printed_unchanged(path: Path) -> None:
    assert repaired(path.read_bytes()) == path.read_bytes()


def test_a_reply_without_errors_of_form_is_reported_to_need_no_repair() -> None:
    assert (
        run("repair", ACCEPTED.name, cwd=CASES).err
        == f"{ACCEPTED.name}: nothing to repair, printed unchanged\n"
    )


def test_each_repair_is_reported_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text(REPAIRABLE, encoding="utf-8")
    ended = run("repair", "reply.md", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, REPAIRED)
    assert ended.err.count("\n  repaired: ") == 2
    assert ended.err.endswith("\nreply.md: 2 repaired\n")


def test_nothing_of_a_rejected_reply_is_printed() -> None:
    ended = run("repair", "-", stdin=REPAIRABLE.replace("COMPLETE", "DONE").encode())
    assert (ended.code, ended.out) == (1, "")
    assert "<stdin>:4:11: error: status is 'DONE'" in ended.err
    assert "warning" not in ended.err
    assert ended.err.endswith(
        "<stdin>: rejected, nothing is printed: 1 error\n"
        "  Only form can be repaired without guessing; send the reply back to the agent.\n"
    )


@pytest.mark.parametrize("path", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_no_text_is_printed_that_is_still_rejected(path: Path) -> None:
    printed = repair_file(str(path)).repaired
    assert (printed is not None) is validate(path.read_text(encoding="utf-8")).accepted
    assert printed is None or validate(printed).accepted


@pytest.mark.parametrize(
    "reply",
    [
        '{"status": "complete", "summary": "Added it", "files_created": ["src/a.py"]}\n',
        "## STATUS\ncomplete\n\n## SUMMARY\nAdded it.\n\n## NEXT\ngoop-verifier\n",
    ],
    ids=["json_of_013", "sections"],
)
def test_a_reply_accepted_in_an_older_form_is_printed_unchanged(reply: str) -> None:
    assert validate(reply).accepted

    ended = run("repair", "-", stdin=reply.encode())

    assert (ended.code, ended.out) == (0, reply)
    assert (
        ended.err
        == "<stdin>: accepted and printed unchanged; with its envelope written again it would be"
        " rejected\n"
    )


def test_a_second_repair_changes_nothing() -> None:
    once = repaired(REPAIRABLE.encode())
    assert repaired(once) == once


def test_an_escaped_reply_that_needs_no_repair_stays_escaped() -> None:
    report = ACCEPTED.read_text(encoding="utf-8")
    escaped = report.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert repaired(escaped.encode()) == escaped.encode()


def test_a_repaired_envelope_of_an_escaped_reply_can_be_read_again() -> None:
    escaped = REPAIRABLE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert repaired(escaped.encode()).decode() == REPAIRED


# Many files


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    """Make a folder with a reply of each kind."""
    (tmp_path / "good.md").write_bytes(ACCEPTED.read_bytes())
    (tmp_path / "crlf.md").write_bytes(REPAIRABLE.replace("\n", "\r\n").encode())
    (tmp_path / "bad.md").write_text("No envelope.\n", encoding="utf-8")
    private = tmp_path / "private.md"
    private.write_text(REPAIRABLE.removesuffix("\n"), encoding="utf-8")
    private.chmod(0o640)

    return tmp_path


def test_write_repairs_the_files_and_leaves_rejected_ones(replies: Path) -> None:
    before = {path.name: path.read_bytes() for path in replies.iterdir()}
    ended = run("repair", "--write", ".", cwd=replies)
    after = {path.name: path.read_bytes() for path in replies.iterdir()}

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("bad.md: error: no <goop_report> envelope was found")
    assert ended.err.endswith("\n4 files: 2 repaired, 1 unchanged, 1 rejected and unchanged\n")
    assert after == before | {
        "crlf.md": REPAIRED.replace("\n", "\r\n").encode(),
        "private.md": REPAIRED.removesuffix("\n").encode(),
    }
    assert (replies / "private.md").stat().st_mode & 0o777 == 0o640
    assert run("repair", "--write", ".", cwd=replies).err.endswith(
        "4 files: 3 unchanged, 1 rejected and unchanged\n"
    )


def test_a_link_is_repaired_where_it_leads_to(replies: Path) -> None:
    (replies / "link.md").symlink_to("private.md")
    assert run("repair", "--write", "link.md", cwd=replies).code == 0

    assert (replies / "link.md").is_symlink()
    assert validate((replies / "private.md").read_text(encoding="utf-8")).repairs == ()


def test_the_diff_can_be_applied_and_changes_nothing_itself(replies: Path) -> None:
    (replies / "bad.md").unlink()
    before = {path.name: path.read_bytes() for path in replies.iterdir()}
    ended = run("repair", "--diff", "crlf.md", "private.md", "good.md", cwd=replies)

    assert ended.code == 0
    assert ended.err == "3 files: 2 would be repaired, 1 unchanged\n"
    assert {path.name: path.read_bytes() for path in replies.iterdir()} == before

    patch = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(patch, input=ended.out.encode(), cwd=replies, check=True, timeout=60)
    assert (replies / "crlf.md").read_bytes() == REPAIRED.replace("\n", "\r\n").encode()
    assert (replies / "private.md").read_text(encoding="utf-8") == REPAIRED.removesuffix("\n")


@pytest.mark.parametrize(
    "name", ["a b.md", "a b\tc.md", "ü.md", 'q"\\.md', "./plain.md", "{folder}/a b.md"]
)
def test_the_diff_names_each_file_as_git_takes_it(replies: Path, name: str) -> None:
    named = name.format(folder=replies)
    (replies / named).write_text(REPAIRABLE, encoding="utf-8")
    ended = run("repair", "--diff", named, cwd=replies)

    patch = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(patch, input=ended.out.encode(), cwd=replies, check=True, timeout=60)
    assert (replies / named).read_text(encoding="utf-8") == REPAIRED


def test_the_diff_of_a_file_elsewhere_is_named_from_the_root(replies: Path) -> None:
    below = replies / "below"
    below.mkdir()
    ended = run("repair", "--diff", "../crlf.md", cwd=below)

    assert ended.out.splitlines()[:2] == [f"--- a{replies}/crlf.md", f"+++ b{replies}/crlf.md"]


def test_a_file_that_changed_meanwhile_is_left_alone(replies: Path) -> None:
    private = replies / "private.md"
    with pytest.raises(UnwritableFileError, match="has changed since it was read"):
        overwrite_file(str(private), "new", expected="what was read")

    assert private.read_text(encoding="utf-8") == REPAIRABLE.removesuffix("\n")
    assert sorted(path.name for path in replies.iterdir()) == [
        "bad.md",
        "crlf.md",
        "good.md",
        "private.md",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["a.md", "b.md"],
            "2 files are named and one can be printed; repair all with --write, or show the changes"
            " with --diff.",
        ),
        (["--write", "-"], "--write needs files or folders; name them."),
        (["--diff", "--report", "1"], "--diff needs files or folders; name them."),
    ],
)
def test_what_cannot_be_repaired_in_place_is_refused(arguments: list[str], sentence: str) -> None:
    ended = run("repair", *arguments)

    assert (ended.code, ended.out, ended.err) == (2, "", f"goop-mcp: {sentence}\n")


def test_a_file_that_may_not_be_written_is_an_error_and_the_others_are_repaired(
    replies: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = replies / "locked"
    locked.mkdir()
    (locked / "reply.md").write_text(REPAIRABLE, encoding="utf-8")
    locked.chmod(0o555)
    monkeypatch.chdir(replies)
    with ordinary_rights():
        code = main(["repair", "--write", "locked", "crlf.md"])
    locked.chmod(0o755)

    assert code == 2
    assert "'locked/reply.md' cannot be written (permission denied)" in capsys.readouterr().err


def test_a_read_only_file_is_left_alone_and_named(replies: Path) -> None:
    private = replies / "private.md"
    before = private.read_bytes()
    private.chmod(0o444)
    ended = run("repair", "--write", "private.md", "crlf.md", cwd=replies)

    assert ended.code == 2
    assert "'private.md' is read-only and is left as it is; make it writable" in ended.err
    assert private.read_bytes() == before
    assert b"<status>" in (replies / "crlf.md").read_bytes()
    assert run("repair", "--diff", "private.md", cwd=replies).code == 0


def test_files_that_are_too_long_together_are_left_alone_and_named(
    replies: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_files, "MOST_CHARACTERS", len(REPAIRABLE) + 100)
    before = (replies / "private.md").read_bytes()

    code = main(["repair", "--write", *(str(replies / name) for name in ("crlf.md", "private.md"))])

    assert code == 2
    assert "fewer files" in capsys.readouterr().err
    assert b"<status>" in (replies / "crlf.md").read_bytes()
    assert (replies / "private.md").read_bytes() == before
