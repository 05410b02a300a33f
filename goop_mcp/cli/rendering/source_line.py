"""Render one line of a reply with carets under a position."""

import unicodedata

from goop_mcp.services.check_files import marked_length

__all__ = ["point_at", "shown"]

_TAB = 4
_CUT = "…"


def point_at(line: str, column: int, found: str | None, *, room: int) -> tuple[str, str]:
    """Return `line` cut to `room` cells, and the line with the carets below it.

    `column` counts from 1 and may be one after the end. If `found` is at that position, all of it
    is marked. A line that is too long is cut on both sides of the position.
    """
    at = min(column - 1, len(line))
    # Most lines are as wide as they have characters.
    if len(line) < room and line.isascii() and line.isprintable():
        marked = min(marked_length(line, column, found), len(line) - at)
        return line, " " * at + "^" * max(1, marked)

    # Only the characters near the position are measured: a line may have megabytes.
    first = max(0, at - room)
    pieces = _pieces(line[first : at + room])
    mark = at - first
    widths = [width for _, width in pieces]
    after_end = mark == len(widths)
    fits = len(pieces) == len(line) and sum(widths) + after_end <= room
    start, end = (0, len(pieces)) if fits else _window(widths, mark, room)
    left = _CUT if first + start > 0 else ""
    right = _CUT if first + end < len(line) else ""
    text = left + "".join(piece for piece, _ in pieces[start:end]) + right
    indent = len(left) + sum(widths[start:mark])
    marked = min(mark + marked_length(line, column, found), end)

    return text, " " * indent + "^" * max(1, sum(widths[mark:marked]))


def shown(text: str) -> str:
    """Return `text` with control and invisible characters written as escapes."""
    return text if text.isprintable() else "".join(map(_shown_character, text))


def _shown_character(character: str) -> str:
    return (
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
    )


def _pieces(line: str) -> list[tuple[str, int]]:
    """Return each character as it is printed, and its width in cells."""
    pieces: list[tuple[str, int]] = []
    cell = 0
    for character in line:
        piece = " " * (_TAB - cell % _TAB) if character == "\t" else _shown_character(character)
        if character.isascii() or len(piece) > 1:
            width = len(piece)
        elif unicodedata.category(character) in ("Mn", "Me"):
            width = 0
        else:
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1

        pieces.append((piece, width))
        cell += width

    return pieces


def _window(widths: list[int], mark: int, room: int) -> tuple[int, int]:
    """Return start and end of the pieces that fit between two cuts, balanced around `mark`."""
    # Grow from the mark to both sides, one piece each in turn, until neither neighbour fits.
    room -= 2 * len(_CUT)
    start = end = mark
    left = right = True

    while left or right:
        left = start > 0 and widths[start - 1] <= room
        if left:
            start -= 1
            room -= widths[start]

        right = end < len(widths) and widths[end] <= room
        if right:
            room -= widths[end]
            end += 1

    return start, end
