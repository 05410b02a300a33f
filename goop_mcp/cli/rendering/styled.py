"""Lay out styled text by the cells of a terminal: measure, wrap and put it into columns.

Styled text holds the sequences that `click.style` writes.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Final
from unicodedata import category, east_asian_width

import click

__all__ = ["cells", "columns", "cut", "hanging", "within", "wrap"]

_RESET: Final = "\x1b[0m"
_STYLE: Final = re.compile(r"(\x1b\[[0-9;]*m)")
_CUT: Final = "…"


def cells(text: str) -> int:
    """Return how many cells of a terminal the styled `text` takes."""
    return sum(map(_cells_of, click.unstyle(text)))


def wrap(text: str, width: int) -> list[str]:
    """Return the styled `text` in lines of at most `width` cells, cut between words if possible.

    A style that goes on in the next line is closed at the end of one and opened in the other.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line: str | None = None
        for word in paragraph.split(" "):
            if line is not None and cells(line) + 1 + cells(word) <= width:
                line += f" {word}"
                continue

            if line is not None:
                lines.append(line)
            *full, line = _pieces(word, max(width, 1))
            lines += full

        lines.append(line or "")

    return [line.rstrip(" ") for line in _closed(lines)]


def hanging(text: str, width: int, *, first: str) -> list[str]:
    """Return `text` in lines after `first`, whose width the lines after it are indented by."""
    indent = cells(first)
    lines = wrap(text, width - indent)
    return [first + lines[0], *(f"{' ' * indent}{line}".rstrip() for line in lines[1:])]


def cut(text: str, width: int) -> str:
    """Return `text` without styles, its end replaced by … if it is wider than `width` cells."""
    if cells(text) <= width:
        return text
    return f"{_pieces(text, max(width - 1, 1))[0]}{_CUT}"


def within(style: str, text: str) -> str:
    """Return `text` in `style`, a sequence, which goes on after each style inside."""
    return f"{style}{text.replace(_RESET, _RESET + style)}{_RESET}"


def columns(
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    gap: int,
    right: Collection[int] = (),
    has_head: bool = False,
) -> list[str]:
    """Return `rows` with their cells below each other, `gap` cells apart, wrapped to `width`.

    The columns whose numbers are in `right` end below each other; a head has a line below it.
    """
    count = max(map(len, rows), default=0)
    room = width - gap * (count - 1)
    widths = [
        min(max((cells(row[at]) for row in rows if at < len(row)), default=0), max(room, 1))
        for at in range(count)
    ]
    # The widest ones get narrower, until all fit or each has one cell.
    while sum(widths) > max(room, count):
        widths[widths.index(max(widths))] -= 1

    lines = []
    for number, row in enumerate(rows):
        if has_head and number == 1:
            lines.append(click.style("─" * (sum(widths) + gap * (count - 1)), dim=True))
        wrapped = [wrap(cell, widths[at]) for at, cell in enumerate(row)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            blanks = [" " * (widths[at] - cells(part)) for at, part in enumerate(parts)]
            filled = [
                blank + part if at in right else part + blank
                for at, (part, blank) in enumerate(zip(parts, blanks, strict=True))
            ]
            lines.append((" " * gap).join(filled).rstrip())

    return lines


def _cells_of(character: str) -> int:
    if character.isascii():
        return 1
    # Marks that are drawn over the character before them, and joiners, which nobody sees.
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _pieces(word: str, width: int) -> list[str]:
    """Return `word` in pieces of at most `width` cells, but at least one character."""
    if cells(word) <= width:
        return [word]

    pieces, used = [""], 0
    for part in _STYLE.split(word):
        if _STYLE.fullmatch(part):
            pieces[-1] += part
            continue
        for character in part:
            taken = _cells_of(character)
            if used and used + taken > width:
                pieces.append("")
                used = 0
            pieces[-1] += character
            used += taken

    return pieces


def _closed(lines: Sequence[str]) -> Iterator[str]:
    opened = ""
    for line in lines:
        begun = opened
        for style in _STYLE.findall(line):
            opened = "" if style == _RESET else opened + style
        yield begun + line + (_RESET if opened else "")
