"""The part of a memory that shows why it was found."""

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
    """Return at most `limit` characters of `content` on one line, from shortly before the first of `words`.

    A word is found in its other forms too, by its beginning. Without any of them the content is shown from its start.
    """
    first = _first_place(content, words)
    start = 0 if len(content) <= limit else _begin(content, first)
    # White space is squeezed: look a little further than what can be shown.
    text = " ".join(content[start : start + 4 * limit].split())
    shown = f"{_ELLIPSIS}{text}" if start else text
    if len(shown) <= limit and start + 4 * limit >= len(content):
        return shown

    cut = shown[: limit - 1]

    return f"{cut.rsplit(' ', 1)[0] if ' ' in cut else cut}{_ELLIPSIS}"


def _first_place(content: str, words: Sequence[str]) -> int:
    stems = dict.fromkeys(
        word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)] for word in words
    )
    if not stems:
        return 0

    found = re.search(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, stems))})", content, re.IGNORECASE)
    return found.start() if found else 0


def _begin(content: str, place: int) -> int:
    """Return where to begin so that `place` stands a little behind the start, at the beginning of a word."""
    start = max(place - _BEFORE, 0)
    if start == 0:
        return 0

    blank = content.find(" ", start, place)
    return blank + 1 if blank >= 0 else place
