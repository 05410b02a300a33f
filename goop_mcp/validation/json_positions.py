"""Find where a value is in valid JSON, without reading what follows it."""

import json
import re

__all__ = ["nearest_position"]

_GAP = re.compile(r"[ \t\r\n]*+")  # possessive: a long gap is never tried a second time
_read = json.JSONDecoder().raw_decode


def nearest_position(source: str, pointer: str) -> int:
    """Return the offset of the value at the JSON pointer `pointer`, or of the nearest value around.

    `source` is an object that the decoder accepts, from its first brace on. Takes time linear to
    what precedes the value.
    """
    # Most pointers name a member of the outermost object, whose name occurs once.
    only = _only_mention(source, pointer[1:])
    if only is not None:
        return only

    at = 0
    for step in pointer.split("/")[1:]:
        if source[at] == "[":
            child = _item(source, at, step)
        else:
            child = _member(source, at, step) if source[at] == "{" else None
        # A finding about a value that is missing points at the object that lacks it.
        if child is None:
            return at

        at = child

    return at


def _only_mention(source: str, name: str) -> int | None:
    """Return the position of a top-level member whose name is in `source` once, None for others.

    A string value that equals the name, or ends in it after a quotation mark, has no colon after it
    and is rejected by that.
    """
    key = f'"{name}"'
    at = source.find(key)
    if (
        at < 0
        or not name.isidentifier()
        or source.find(key, at + 1) >= 0
        or source.count("{", 0, at) != 1
    ):
        return None

    colon = _skip_gap(source, at + len(key))

    return _skip_gap(source, colon + 1) if source[colon] == ":" else None


def _member(source: str, at: int, step: str) -> int | None:
    # In this order (RFC 6901, section 4): the other way round would turn `~01` into a slash.
    key = step.replace("~1", "/").replace("~0", "~")
    at = _skip_gap(source, at + 1)
    while source[at] == '"':
        name, at = _read(source, at)
        at = _skip_gap(source, _skip_gap(source, at) + 1)
        if name == key:
            return at

        at = _next(source, at)

    return None


def _item(source: str, at: int, step: str) -> int | None:
    at = _skip_gap(source, at + 1)
    # A step that is no number names no item: the loop then ends at the bracket.
    for _ in range(int(step) if step.isdecimal() else len(source)):
        if source[at] == "]":
            return None

        at = _next(source, at)

    return at if source[at] != "]" else None


def _next(source: str, at: int) -> int:
    """Return where the member or item after the value at `at` begins, else where the bracket is."""
    at = _skip_gap(source, _read(source, at)[1])
    return _skip_gap(source, at + 1) if source[at] == "," else at


def _skip_gap(source: str, at: int) -> int:
    gap = _GAP.match(source, at)
    return gap.end() if gap is not None else at
