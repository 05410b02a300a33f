"""`goop-mcp repair`: the text with the form of its envelope mended, or nothing."""

import subprocess
from pathlib import Path

import pytest

from goop_mcp import validate
from goop_mcp.operations.check_files import repair_file
from tests.cli.running import ACCEPTED, CASES, MENDABLE, MENDED, PROGRAM, environment, run
from tests.repository import ROOT


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


def test_the_envelope_is_mended_and_the_rest_stays_as_it_is() -> None:
    text = f"Before & <before>\n\n{MENDABLE}```\n  \n"
    assert repaired(text.encode()) == text.replace(MENDABLE, MENDED).encode()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_the_last_one_and_a_byte_order_mark_stay(
    line_end: str, last: str, mark: str
) -> None:
    def as_written(text: str) -> bytes:
        return (mark + text.removesuffix("\n") + last).replace("\n", line_end).encode()

    assert repaired(as_written(MENDABLE)) == as_written(MENDED)


@pytest.mark.parametrize(
    "path", [ACCEPTED, CASES / "message_two_envelopes.md"], ids=lambda path: path.name
)
def test_what_needs_no_mending_is_printed_as_it_is(path: Path) -> None:
    assert repaired(path.read_bytes()) == path.read_bytes()


def test_a_reply_without_faults_of_form_is_said_to_need_nothing() -> None:
    assert (
        run("repair", ACCEPTED.name, cwd=CASES).err
        == f"{ACCEPTED.name}: nothing to mend, printed as it is\n"
    )


def test_each_repair_is_told_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text(MENDABLE, encoding="utf-8")
    ended = run("repair", "reply.md", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, MENDED)
    assert ended.err.count("\n  mended: ") == 2
    assert ended.err.endswith("\nreply.md: 2 mended\n")


def test_of_a_rejected_reply_nothing_is_printed() -> None:
    ended = run("repair", "-", stdin=MENDABLE.replace("COMPLETE", "DONE").encode())
    assert (ended.code, ended.out) == (1, "")
    assert "<stdin>:4:11: error: status is 'DONE'" in ended.err
    assert "warning" not in ended.err
    assert ended.err.endswith(
        "<stdin>: rejected, nothing is printed: 1 error\n"
        "  Only form can be mended without guessing; send the reply back to the agent.\n"
    )


@pytest.mark.parametrize("path", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_nothing_is_printed_that_is_still_rejected(path: Path) -> None:
    mended = repair_file(str(path)).repaired
    assert (mended is not None) is validate(path.read_text(encoding="utf-8")).accepted
    assert mended is None or validate(mended).accepted


@pytest.mark.parametrize(
    "reply",
    [
        '{"status": "complete", "summary": "Added it", "files_created": ["src/a.py"]}\n',
        "## STATUS\ncomplete\n\n## SUMMARY\nAdded it.\n\n## NEXT\ngoop-verifier\n",
    ],
    ids=["json_of_013", "sections"],
)
def test_a_reply_that_check_accepts_in_an_older_form_is_printed_as_it_is(reply: str) -> None:
    assert validate(reply).accepted

    ended = run("repair", "-", stdin=reply.encode())

    assert (ended.code, ended.out) == (0, reply)
    assert (
        ended.err
        == "<stdin>: accepted and printed as it is; with its envelope written again it would be"
        " rejected\n"
    )


def test_mending_twice_changes_nothing_more() -> None:
    once = repaired(MENDABLE.encode())
    assert repaired(once) == once


def test_an_escaped_reply_that_needs_no_mending_stays_escaped() -> None:
    report = ACCEPTED.read_text(encoding="utf-8")
    escaped = report.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert repaired(escaped.encode()) == escaped.encode()


def test_a_mended_envelope_of_an_escaped_reply_can_be_read_again() -> None:
    escaped = MENDABLE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    mended = repaired(escaped.encode()).decode()
    assert mended == MENDED
