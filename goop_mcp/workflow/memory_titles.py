"""How long the title of a memory may be, and where a longer one is cut."""

from typing import Final

__all__ = ["LONGEST_TITLE", "cut_title"]

LONGEST_TITLE: Final = 100
"""Characters of a title that are kept; the rest goes to the content."""

_SHORTEST_CUT: Final = 60


def cut_title(title: str) -> tuple[str, str]:
    """Return the part of `title` to keep, and its rest; cut between words where possible."""
    if len(title) <= LONGEST_TITLE:
        return title, ""

    blank = title.rfind(" ", _SHORTEST_CUT, LONGEST_TITLE + 1)
    cut = blank if blank > 0 else LONGEST_TITLE
    return title[:cut].rstrip(), title[cut:].lstrip()
