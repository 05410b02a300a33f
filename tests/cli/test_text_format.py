"""The text of `goop-mcp check` for people, in a pipe and on a terminal."""

from pathlib import Path

import click
import pytest

from goop_mcp.cli.rendering.text import render_text
from goop_mcp.protocols import validate
from goop_mcp.services.check_files import CheckedFile, FileVerdicts
from goop_mcp.validation.limits import Limits
from tests.cli.running import CASES, REPAIRABLE, run, run_on_terminal

REPAIRED_TEXT = """\
reply.md:4:3: warning: element is <Status>; expected <status> [xml/name-case]
    4 |   <Status>COMPLETE</Status>
      |   ^^^^^^^^
  repaired: <Status>
        to: <status>
  fix: Write the names of elements and attributes in lower case, as in the schema.

reply.md:8:16: warning: unescaped &; expected &amp; in <summary> (2 places) [xml/unescaped]
    8 |     <summary>漢字 a && b.</summary>
      |                     ^^
  repaired: &&
        to: &amp;&amp;
  fix: Write & as &amp; and < as &lt; in text and attribute values.

reply.md: accepted (goop_report 0.1.6): 2 warnings, 2 repaired
"""
REJECTED_ON_TERMINAL = """\
derived_bad_status.xml:2:11: error: status is 'FAILED'; expected one of
    COMPLETE, PARTIAL, BLOCKED, CHECKPOINT [goop_report/unknown-status]
    2 |   <status>FAILED</status>
      |           ^^^^^^
  fix: Choose the one status that is true; work that failed is BLOCKED, with the
       reason in blockers.

derived_bad_status.xml: rejected (goop_report 0.1.6): 1 error
"""


def rendered(
    text: str, *, width: int | None = None, file: str = "reply.md", limits: Limits | None = None
) -> str:
    """Return the output for `text`, without styles."""
    verdict = validate(text, limits=limits or Limits())
    checked = CheckedFile(file=file, text=text, verdict=verdict)
    return click.unstyle(render_text(FileVerdicts(checked=(checked,)), width=width))


def test_a_repaired_reply_shows_each_position_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text(REPAIRABLE, encoding="utf-8")
    assert run("check", "reply.md", cwd=tmp_path).out == REPAIRED_TEXT


def test_sentences_are_wrapped_to_the_width_of_a_terminal() -> None:
    ended = run_on_terminal("check", "--color", "never", "derived_bad_status.xml", cwd=CASES)
    assert (ended.code, ended.out) == (1, REJECTED_ON_TERMINAL)


@pytest.mark.parametrize("width", [1, 20, 40, 79, 80])
def test_no_line_with_several_words_is_wider_than_the_terminal(width: int) -> None:
    source = rendered((CASES / "derived_bad_status.xml").read_text(encoding="utf-8"), width=width)
    lines = [
        line
        for line in source.splitlines()
        if " | " not in line and not line.startswith("reply.md: ")
    ]
    assert [line for line in lines if len(line) > max(width, 50)] == []


def test_colours_are_for_terminals() -> None:
    assert "\x1b[31m" in run_on_terminal("check", "derived_bad_status.xml", cwd=CASES).out
    assert "\x1b" not in run("check", "derived_bad_status.xml", cwd=CASES).out


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_can_do_without_colours(variable: dict[str, str]) -> None:
    assert (
        "\x1b"
        not in run_on_terminal("check", "derived_bad_status.xml", cwd=CASES, env=variable).out
    )


def test_colours_can_be_asked_for_and_refused() -> None:
    asked = run(
        "check", "--color", "always", "derived_bad_status.xml", cwd=CASES, env={"NO_COLOR": "1"}
    )
    assert "\x1b[31m" in asked.out
    refused = run_on_terminal("check", "--color", "never", "derived_bad_status.xml", cwd=CASES)
    assert "\x1b" not in refused.out


def test_carriage_returns_at_line_ends_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_bytes(REPAIRABLE.replace("\n", "\r\n").encode())
    assert run("check", "reply.md", cwd=tmp_path).out == REPAIRED_TEXT


def test_a_byte_order_mark_does_not_shift_columns(tmp_path: Path) -> None:
    report = REPAIRABLE[REPAIRABLE.index("<goop_report") :].replace(
        "<goop_report ", "<Goop_Report ", 1
    )
    (tmp_path / "reply.md").write_bytes(b"\xef\xbb\xbf" + report.encode())
    assert run("check", "reply.md", cwd=tmp_path).out.startswith("reply.md:1:1: warning: ")


def test_control_characters_of_the_reply_never_reach_the_terminal() -> None:
    hostile = REPAIRABLE.replace("漢字", "\x1b]0;title\x07\x00\u202e").replace(
        "COMPLETE", "\x9b2JDONE"
    )
    assert {c for c in rendered(hostile, file="a\x1b[1m.md") if not c.isprintable()} == {"\n"}


def test_all_envelopes_are_listed_when_there_are_several() -> None:
    text = (CASES / "message_two_envelopes.md").read_text(encoding="utf-8")
    listed = [
        line for line in rendered(text).splitlines() if line.startswith(("  > line", "    line"))
    ]
    assert listed == [
        "    line 4: an earlier envelope; the last one counts",
        "  > line 62: the last complete envelope outside thinking blocks",
    ]


def test_findings_over_the_limit_are_counted() -> None:
    assert "… and 1 more finding\n" in rendered(REPAIRABLE, limits=Limits(findings=1))


def test_a_long_line_is_cut_around_the_position() -> None:
    long = REPAIRABLE.replace("漢字", "word " * 500).replace("b.", "b " * 500)
    (shown,) = [line for line in rendered(long).splitlines() if " | " in line and "&&" in line]
    assert len(shown) <= 100
    assert shown.count("…") == 2
