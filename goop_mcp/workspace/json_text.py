"""Edit JSON text: locate values, change single ones, keep every other character."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from goop_mcp.validation.safe_json import JsonValue, decode_object, nesting

__all__ = [
    "JsonDefect",
    "Member",
    "Scalar",
    "line_and_column",
    "members",
    "parse_object",
    "set_values",
]

Scalar: TypeAlias = "bool | int | str | None"

_BLANKS = " \t\r\n"
_DEPTH = 64
_BOM = "\ufeff"
_STRING = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonDefect:
    """Why a text is not a JSON object: a message with its line and column, both from 1."""

    message: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One key of an object with the offsets of key and value in the text; `end` is exclusive."""

    key: str
    key_start: int
    start: int
    end: int


def parse_object(text: str) -> Mapping[str, JsonValue] | JsonDefect:
    """Return the object in `text`, or its defect; a byte order mark is ignored.

    A duplicate key is a defect too, because programs differ in which of its values they use.
    """
    start = _object_start(text)
    # Brackets inside strings do not nest. The depth is checked first, because the decoder recurses.
    if nesting(_STRING.sub("", text)) > _DEPTH:
        return JsonDefect(message=f"it nests deeper than {_DEPTH}", line=1, column=1)

    decoded = decode_object(text, start) if text.startswith("{", start) else None
    if decoded is not None and not text[decoded[1] :].strip(_BLANKS):
        return decoded[0]
    return _defect(text, start)


def members(text: str, start: int | None = None) -> Iterator[Member]:
    """Yield the keys of the object at offset `start`, by default of the whole text.

    The text must be valid JSON.
    """
    at = _skip(text, (_object_start(text) if start is None else start) + 1)
    while text[at] != "}":
        key, after_key = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, after_key) + 1)
        _, end = _DECODER.raw_decode(text, begin)
        yield Member(key=key, key_start=at, start=begin, end=end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def set_values(text: str, changes: Sequence[tuple[tuple[str, ...], Scalar]]) -> str:
    """Return `text` with each value at a path of keys replaced, or added as the last of its object.

    Every other character stays. Raises KeyError if an object on the path does not exist.
    """
    for keys, value in changes:
        text = _set_value(text, keys, json.dumps(value, ensure_ascii=False))

    return text


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of `offset`, both from 1; a byte order mark has no column."""
    line_start = text.rfind("\n", 0, offset) + 1
    mark = 1 if line_start == 0 and text.startswith(_BOM) else 0
    return text.count("\n", 0, offset) + 1, offset - line_start - mark + 1


def _set_value(text: str, keys: tuple[str, ...], written: str) -> str:
    start = _object_start(text)
    for key in keys[:-1]:
        start = next((member.start for member in members(text, start) if member.key == key), -1)
        if start < 0 or text[start] != "{":
            raise KeyError(key)

    # Replacing only the value keeps the style of the file and the keys of other programs.
    found = list(members(text, start))
    for member in found:
        if member.key == keys[-1]:
            return text[: member.start] + written + text[member.end :]

    entry = f"{json.dumps(keys[-1])}: {written}"
    if not found:
        return text[: start + 1] + entry + text[start + 1 :]

    last = found[-1]
    # The blanks and line ends before the last key give the style of the object.
    before = found[-2].end if len(found) > 1 else start + 1
    gap = text[before : last.key_start].removeprefix(",")

    return text[: last.end] + "," + gap + entry + text[last.end :]


def _object_start(text: str) -> int:
    return _skip(text, 1 if text.startswith(_BOM) else 0)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _defect(text: str, start: int) -> JsonDefect:
    """Return the defect of `text`, which `parse_object` refused."""
    if not text[start:].strip(_BLANKS):
        return JsonDefect(message="it is empty", line=1, column=1)
    if text[start] != "{":
        line, column = line_and_column(text, start)
        return JsonDefect(message="it is not a JSON object", line=line, column=column)

    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        line, column = line_and_column(text, error.pos)
        is_cut = error.pos >= len(text.rstrip(_BLANKS))
        message = "it ends in the middle" if is_cut else f"unexpected {text[error.pos]!r}"
        return JsonDefect(message=message, line=line, column=column)
    except (ValueError, RecursionError):
        return JsonDefect(message="it nests too deeply, or has too long a number", line=1, column=1)

    rest = text[end:]
    if rest.strip(_BLANKS):
        line, column = line_and_column(text, end + len(rest) - len(rest.lstrip(_BLANKS)))
        return JsonDefect(message="something follows the object", line=line, column=column)

    # What the decoder of Python takes and `parse_object` refused has a duplicate key, at any depth.
    ahead = [start]
    while ahead:
        seen: set[str] = set()
        for member in members(text, ahead.pop()):
            if member.key in seen:
                line, column = line_and_column(text, member.key_start)
                message = f"key {member.key!r} stands twice"
                return JsonDefect(message=message, line=line, column=column)

            seen.add(member.key)
            if text[member.start] == "{":
                ahead.append(member.start)

    # Python's decoder also takes these, which no other reader has to.
    message = "it is not valid JSON: it has NaN, infinity or half a surrogate pair"
    return JsonDefect(message=message, line=1, column=1)


_DECODER = json.JSONDecoder()
