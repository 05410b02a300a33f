"""A summary that says that something is not done: "2 tests still fail", "only a stub"."""

from importlib import import_module
from typing import Final

from goop_mcp.validation.check_texts.tokens import without_quotations

__all__ = ["admitted_in"]

_LONGEST: Final = 4_000
_SUSPECT: Final = (
    *("still", " yet", "yet ", "stub", "placeholder", "skeleton", "noch", "weiterhin", "encore"),
    *("toujours", "todav", "siguen", "ainda", "continuam", "platzhalter"),
)
_SUSPECT_BEYOND_ASCII: Final = (
    *(
        "aún",
        "ещё",
        "еще",
        "прежнему",
        "заглушка",
        "仍",
        "还",
        "桩",
        "占位",
        "まだ",
        "依然",
        "スタブ",
    ),
)


def admitted_in(summary: str) -> str | None:
    """Return the part of `summary` that says that something fails or is not done, else None.

    Only a whole clause in a fixed form counts, and none whose sentence explains it: as agreed,
    in a later task, before the change, on the main branch. Of a long summary the first 4,000
    characters are read. Linear.
    """
    text = without_quotations(summary[:_LONGEST])
    lower = text.lower()
    is_suspect = any(map(lower.__contains__, _SUSPECT))
    if not is_suspect and not lower.isascii():
        is_suspect = any(map(lower.__contains__, _SUSPECT_BEYOND_ASCII))
    if not is_suspect:
        return None

    # Most summaries have none of these words, and the forms take long to compile.
    admissions = import_module("goop_mcp.validation.check_texts.admissions")
    found: str | None = admissions.admitted_by(text)
    return found
