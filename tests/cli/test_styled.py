import os
import pty
import select
import subprocess
import termios
from pathlib import Path

import click
import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.cli.rendering.styled import cells, columns, cut, hanging, within, wrap
from goop_mcp.cli.rendering.terminal_page import render_terminal_page
from goop_mcp.delegation.graph import Graph
from tests.cli.running import PROGRAM, environment, run_on_terminal

BOLD, RESET = "\x1b[1m", "\x1b[0m"
WORDS = st.lists(st.text(st.sampled_from("ab日é́"), min_size=1, max_size=12), min_size=1)
ROWS, COLUMNS = 12, 70


def test_styles_take_no_cells_and_some_characters_two() -> None:
    assert [cells(each) for each in (f"{BOLD}ab{RESET}", "日本", "e\u0301", "")] == [2, 4, 1, 0]


def test_a_style_over_a_line_end_is_closed_and_opened_again() -> None:
    assert wrap(click.style("one two", bold=True) + " three", 5) == [
        f"{BOLD}one{RESET}",
        f"{BOLD}two{RESET}",
        "three",
    ]


def test_a_style_goes_on_after_one_inside() -> None:
    inside = f"a {click.style('b', fg='cyan')} c"
    assert within(BOLD, inside) == f"{BOLD}a \x1b[36mb{RESET}{BOLD} c{RESET}"


@given(WORDS, st.integers(2, 40))
def test_lines_fit_and_no_character_is_lost(words: list[str], width: int) -> None:
    styled = " ".join(click.style(word, fg="red") if len(word) % 2 else word for word in words)
    lines = wrap(styled, width)

    assert all(cells(line) <= width for line in lines)
    assert "".join(map(click.unstyle, lines)).replace(" ", "") == "".join(words)
    assert click.unstyle("".join(lines)).count("\x1b") == 0
    # Words that fit are whole.
    parts = " ".join(map(click.unstyle, lines)).split()
    assert all(word in parts for word in words if cells(word) <= width)


@given(st.lists(st.tuples(st.text("ab 日"), st.text("cd 日"), st.text("e日")), min_size=1))
def test_columns_fit_and_begin_below_each_other(rows: list[tuple[str, str, str]]) -> None:
    lines = columns(rows, 24, gap=2, right={1}, has_head=True)
    assert all(cells(line) <= 24 for line in lines)


def test_numbers_end_below_each_other() -> None:
    rows = [("name", "count"), ("a", "1"), ("b b", "12")]
    assert columns(rows, 40, gap=2, right={1}) == ["name  count", "a         1", "b b      12"]


def test_further_lines_are_indented_by_the_first_text() -> None:
    assert hanging("one two three", 9, first="• ") == ["• one two", "  three"]


def test_what_is_too_wide_is_cut_at_a_character() -> None:
    assert [cut(text, 5) for text in ("abcde", "abcdef", "日本語")] == ["abcde", "abcd…", "日本…"]


def test_a_page_is_drawn_with_its_lists_tables_quotes_and_code() -> None:
    page = (
        "# Title of `x`\n\n- one two three four five\n  - inside\n- two\n\n3. third\n4. fourth\n\n"
        "> quoted\n\n```xml\n<a>__b__\\_</a>\n```\n\n| n | v |\n|---|--:|\n| a | 10 |\n\n"
        "**bold** and *em*\\\nnew line, [docs](http://x/y)\n"
    )
    assert render_terminal_page(page, width=24, colour=False).splitlines() == [
        "Title of x",
        "",
        " • one two three four",
        "   five",
        "    • inside",
        " • two",
        "",
        " 3. third",
        " 4. fourth",
        "",
        "▌ quoted",
        "",
        "  <a>__b__\\_</a>",
        "",
        "n   v",
        "─────",
        "a  10",
        "",
        "bold and em",
        "new line, docs",
        "(http://x/y)",
    ]


def test_code_in_a_list_is_not_changed() -> None:
    page = "- one\n\n  ```py\n  a: List<T> = __init__\n  ```\n\n~~~\n<b>_c_</b> <http://x/y>\n~~~\n"
    drawn = render_terminal_page(page, width=60, colour=False)
    assert "a: List<T> = __init__\n" in drawn
    assert "<b>_c_</b> <http://x/y>\n" in drawn


def test_control_characters_in_a_page_reach_no_terminal() -> None:
    page = "done\x1b[2J\x1b]0;title\x07 `a\x9b2Jb`\n\n```\n\x1b[31mred\r\n```\n"
    drawn = render_terminal_page(page, width=80, colour=True)

    assert not [each for each in click.unstyle(drawn) if not each.isprintable() and each != "\n"]


@pytest.mark.parametrize("nested", ["> " * 5_000, "- " * 5_000, "*a " * 5_000, "[" * 5_000])
def test_a_page_of_deep_markup_is_drawn(nested: str) -> None:
    assert "end" in render_terminal_page(f"{nested}\n\nend\n", width=80, colour=True)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Twenty tasks, more than the rows of the terminal, whose agents answer at once."""
    reply = (
        '<goop_report version="0.1.6"><status>BLOCKED</status><agent>goop-executor</agent>'
        "<task_id>W1.T1</task_id><state><phase>execute</phase></state><summary>No.</summary>"
        "<handoff><ready>false</ready><next_action agent='user'>Look</next_action>"
        "<blockers>none here</blockers><suggest_new_session>false</suggest_new_session></handoff>"
        "</goop_report>"
    )
    (tmp_path / "agent.sh").write_text(f"sleep 0.6; cat <<'END'\n{reply}\nEND\n")
    tasks = "".join(
        f'[tasks.task{number}]\nagent = "w"\nprompt = "Do {number}"\n' for number in range(20)
    )
    path = tmp_path / "g.toml"
    path.write_text(
        f'graph = 1\nname = "g"\n[agents.w]\nrun = "command"\ncommand = ["sh", "agent.sh"]\n{tasks}'
    )
    return path


@pytest.mark.parametrize("colours", [True, False])
def test_a_run_is_redrawn_in_place_and_leaves_the_final_lines(graph: Path, colours: bool) -> None:
    terminal, side_of_program = pty.openpty()
    termios.tcsetwinsize(terminal, (ROWS, COLUMNS))
    extra = {} if colours else {"NO_COLOR": "1"}
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=1_000)
    stream, written, seen = pyte.ByteStream(screen), b"", []
    with subprocess.Popen(
        [*PROGRAM, "delegate", graph.name, "--trust", Graph.load(graph).digest, "--parallel", "4"],
        cwd=graph.parent,
        env=environment(extra),
        stdin=side_of_program,
        stdout=side_of_program,
        stderr=side_of_program,
    ) as process:
        os.close(side_of_program)
        while select.select([terminal], [], [], 120)[0]:
            try:
                piece = os.read(terminal, 65_536)
            except OSError:
                break
            written += piece
            stream.feed(piece)
            seen.append([line.rstrip() for line in screen.display])

    os.close(terminal)
    assert process.returncode in (1, 3), written
    frames = [lines for lines in seen if any("… and" in line for line in lines)]
    assert len(frames) > 4
    # The first task stands once: each picture covers the one before.
    assert all(sum("task0 " in line for line in lines) == 1 for lines in frames)
    assert any(any(" of 20 ended" in line for line in lines) for lines in frames)
    # Nothing of the pictures has gone up out of the screen but the final lines.
    everything = [
        "".join(line[column].data for column in range(COLUMNS)).rstrip()
        for line in screen.history.top
    ] + seen[-1]
    assert sum(line[2:].startswith("task0 ") for line in everything) == 1
    assert not screen.cursor.hidden
    assert (b"\x1b[34m" in written) is colours


def test_a_terminal_that_cannot_move_its_cursor_gets_a_line_for_each_event(graph: Path) -> None:
    words = ("delegate", "g.toml", "--trust", Graph.load(graph).digest)
    ended = run_on_terminal(*words, cwd=graph.parent, env={"TERM": "dumb"})
    assert "task0: running" in ended.out
    assert "\x1b" not in ended.out
