"""The line of a reply with carets under a position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.cli.rendering.source_line import point_at


@pytest.mark.parametrize(
    ("line", "column", "found", "text", "carets"),
    [
        ("<a>b</a>", 4, "b", "<a>b</a>", "   ^"),
        ("<a>long</a>", 4, "long", "<a>long</a>", "   ^^^^"),
        ("<a>long</a>", 4, "other", "<a>long</a>", "   ^"),
        ("<a>long</a>", 4, None, "<a>long</a>", "   ^"),
        ("\tb", 2, "b", "    b", "    ^"),
        ("a\tb", 3, "b", "a   b", "    ^"),
        ("漢字b", 3, "b", "漢字b", "    ^"),
        ("漢字", 1, "漢字", "漢字", "^^^^"),
        ("e\u0301b", 3, "b", "e\u0301b", " ^"),
        ("\x1b[0mb", 5, "b", "\\x1b[0mb", "       ^"),
        ("ab", 3, None, "ab", "  ^"),
        ("", 1, None, "", "^"),
    ],
)
def test_carets_mark_the_position(
    line: str, column: int, found: str | None, text: str, carets: str
) -> None:
    assert point_at(line, column, found, room=40) == (text, carets)


@pytest.mark.parametrize("column", range(1, 101))
def test_a_long_line_is_cut_around_the_position(column: int) -> None:
    line = "0123456789" * 10
    text, carets = point_at(line, column, None, room=18)
    assert len(text) <= 18
    assert text[len(carets) - 1] == line[column - 1]
    assert text.strip("…") in line


def test_a_line_that_just_fits_is_not_cut() -> None:
    assert point_at("x" * 18, 18, None, room=18)[0] == "x" * 18
    assert point_at("x" * 19, 1, None, room=18)[0] == "x" * 16 + "…"


def test_a_position_after_the_end_has_a_separate_cell() -> None:
    assert point_at("x" * 17, 18, None, room=18) == ("x" * 17, " " * 17 + "^")
    assert point_at("x" * 18, 19, None, room=18) == ("…" + "x" * 16, " " * 17 + "^")


@given(st.text(), st.data(), st.integers(20, 100))
def test_the_position_is_always_visible(line: str, data: st.DataObject, room: int) -> None:
    column = data.draw(st.integers(1, len(line) + 1))
    text, carets = point_at(line, column, None, room=room)
    assert text.isprintable()
    assert len(carets) <= room
    assert carets.strip(" ") == "^" * carets.count("^")
