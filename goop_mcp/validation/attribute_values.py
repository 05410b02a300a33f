"""Find where an attribute value begins and ends in a tag that is not well-formed."""

import re

from goop_mcp.structs import DataStruct

__all__ = ["Value", "find_value"]

_QUOTES = {
    opening: re.compile(f"[{closing}\n]")
    for openings, closing in (
        ('"', '"”“„‟'),
        ("'", "'’‘"),
        ("“”„", '“”"„‟'),
        ("‘’", "‘’'"),
        ("«", "»"),
        ("»", "«"),
    )
    for opening in openings
}
_CLOSING_QUOTES = frozenset("\"'”’“")
_AFTER_VALUE = re.compile(r"[ \t\r\n/>]|[A-Za-z_][\w.\-:]*+\s*+=\s*+[\"']")
_BARE_VALUE = re.compile(r"[^\s<>\"'“”„‟‘’«»=]++")


class Value(DataStruct, frozen=True):
    """A value from `start` to `end`, without its quotes, and the offset `after` the whole value.

    `quoted`: its quotes are correct.
    """

    start: int
    end: int
    after: int
    quoted: bool = False


def find_value(source: str, at: int) -> Value | None:
    """Return the value that begins at `at`, None if it has no reading, or more than one.

    A value with correct quotes may contain anything but a line break, if a blank, the end of the
    tag or another attribute follows it. Without that the quote may be missing, and the value ends
    at the first character that no unquoted value contains.
    """
    opening = source[at : at + 1]
    if opening in ('"', "'"):
        close = source.find(opening, at + 1)
        if close > 0 and "\n" not in source[at:close] and _AFTER_VALUE.match(source, close + 1):
            return Value(at + 1, close, close + 1, quoted=True)

    start = at + 1 if opening and opening in _QUOTES else at
    closers = _QUOTES.get(opening)
    end = start
    if closers is not None and opening not in ('"', "'"):
        close_at = closers.search(source, start)
        end = close_at.start() if close_at is not None and close_at[0] != "\n" else -1
    if end <= start:
        bare = _BARE_VALUE.match(source, start)
        if bare is None:
            return None

        end = bare.end()
        if source.startswith("/>", end - 1) and closers is None:
            end -= 1

    return Value(start, end, end + 1 if source[end : end + 1] in _CLOSING_QUOTES else end)
