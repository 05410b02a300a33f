"""Tell where a value stands in JSON that is as it should be: what lies before it is passed over by the decoder."""

import json
import re

__all__ = ["nearest_place"]

_GAP = re.compile(r"[ \t\r\n]*+")
_read = json.JSONDecoder().raw_decode


def nearest_place(source: str, pointer: str) -> int:
    """Return the offset of the value at the JSON pointer `pointer`, or of the nearest value around it.

    `source` is an object that the decoder takes, from its first brace on. Takes time linear to what lies before the
    value.
    """
    only = _only_mention(source, pointer[1:])
    if only is not None:
        return only

    at = 0

    for step in pointer.split("/")[1:]:
        child = _child(source, at, step)
        if child is None:
            return at

        at = child

    return at


def _only_mention(source: str, name: str) -> int | None:
    """Return the place of a member of the outermost object whose name stands in `source` once, None for any other."""
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


def _child(source: str, at: int, step: str) -> int | None:
    """Return where the value at `at` has its part called `step`; None also where it is one that has no parts."""
    if source[at] == "[":
        return _item(source, at, step)
    return _member(source, at, step) if source[at] == "{" else None


def _member(source: str, at: int, step: str) -> int | None:
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
    for _ in range(int(step) if step.isdecimal() else len(source)):
        if source[at] == "]":
            return None

        at = _next(source, at)

    return at if source[at] != "]" else None


def _next(source: str, at: int) -> int:
    """Return where the member or item behind the value at `at` begins, or the bracket that stands there instead."""
    at = _skip_gap(source, _read(source, at)[1])
    return _skip_gap(source, at + 1) if source[at] == "," else at


def _skip_gap(source: str, at: int) -> int:
    gap = _GAP.match(source, at)
    return gap.end() if gap is not None else at
