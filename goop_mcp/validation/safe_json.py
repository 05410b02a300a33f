"""Find and read JSON objects in a text: linear, bounded in depth, no doubled keys, no numbers that are none."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["JsonObjectValue", "JsonValue", "decode_object", "load_object", "nesting", "object_spans"]

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""What JSON can say."""

JsonObjectValue: TypeAlias = dict[str, Any]
"""An object as it was read; readers narrow each value before they use it."""

MOST_DIGITS = 40

_TOKEN = re.compile(r'[{}]|"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\\?\Z)')
_BRACKET = re.compile(r"[\[{}\]]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def object_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of every balanced object that lies in no other one, in order.

    Quotes count inside braces only, and a string ends with its line: prose holds quotation marks of its own. Braces
    that are never closed hide nothing.
    """
    spans: list[tuple[int, int]] = []
    open_braces: list[int] = []
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind == "{":
            open_braces.append(token.start())
        elif kind == "}" and open_braces:
            start = open_braces.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, token.end()))
        elif not open_braces:
            continue
    return spans


def load_object(text: str, *, depth: int) -> JsonObjectValue | None:
    """Return the JSON object `text` is; None when it is none, doubles a key, or nests deeper than `depth`."""
    if nesting(text) > depth:
        return None
    decoded = decode_object(text, 0) if text.startswith("{") else None
    return decoded[0] if decoded is not None and decoded[1] == len(text) else None


def decode_object(text: str, start: int) -> tuple[JsonObjectValue, int] | None:
    """Return the object that begins at `start`, and its end; None when it is no JSON or says more than JSON may.

    Refused are keys that stand twice, numbers that are none, integers of more than 40 digits and halves of surrogate
    pairs. Nesting that the decoder gives up on is refused as well.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if text.find("\\u", start, end) >= 0 and _holds_half_pair(value):
        return None
    if not text.isascii() and _HALF_PAIR.search(text, start, end):
        return None
    return value, end


def nesting(text: str, start: int = 0, end: int | None = None) -> int:
    """Return how deep brackets are nested, those in strings included: never too low."""
    deepest = level = 0
    for bracket in _BRACKET.finditer(text, start, len(text) if end is None else end):
        level += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def _holds_half_pair(value: JsonValue) -> bool:
    return _HALF_PAIR.search(json.dumps(value, ensure_ascii=False)) is not None


def _without_doubles(pairs: list[tuple[str, Any]]) -> JsonObjectValue:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice")
    return values


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number beyond all bounds")
    return number


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_doubles, parse_constant=_refuse, parse_int=_integer, parse_float=_fraction
)
