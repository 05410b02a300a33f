"""Excerpts of memories that show why they were found."""

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["LONGEST_SNIPPET", "snippet"]

LONGEST_SNIPPET: Final = 240

_BEFORE: Final = 60
_SHORTEST_STEM: Final = 4
_LONGEST_ENDING: Final = 3
_ELLIPSIS: Final = "…"


def snippet(content: str, words: Sequence[str], limit: int = LONGEST_SNIPPET) -> str:
    """Return at most `limit` characters of `content` on one line, around the first of `words`.

    Other forms of a word are found by its beginning. Without any of the words the snippet is the
    start of the content.
    """
    first = _first_match(content, words)
    start = 0 if len(content) <= limit else _snippet_start(content, first)
    # Runs of white space become one blank, so more characters are taken than can be shown.
    text = " ".join(content[start : start + 4 * limit].split())
    shown = f"{_ELLIPSIS}{text}" if start else text
    if len(shown) <= limit and start + 4 * limit >= len(content):
        return shown

    cut = shown[: limit - 1]

    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut else cut}{_ELLIPSIS}"


def _first_match(content: str, words: Sequence[str]) -> int:
    stems = dict.fromkeys(
        word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)] for word in words
    )
    if not stems:
        return 0

    found = re.search(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, stems))})", content, re.IGNORECASE)
    return found.start() if found else 0


def _snippet_start(content: str, place: int) -> int:
    """Return the start of a word that is a little before `place`."""
    start = max(place - _BEFORE, 0)
    if start == 0:
        return 0

    blank = content.find(" ", start, place)
    return blank + 1 if blank >= 0 else place
