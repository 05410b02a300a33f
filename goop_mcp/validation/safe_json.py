"""Find and read JSON objects in a text: linear, bounded in depth, no doubled keys, no numbers that are none."""

import json
import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "Braces",
    "JsonObjectValue",
    "JsonValue",
    "decode_object",
    "load_object",
    "nesting",
    "pair_braces",
]

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""What JSON can say."""

JsonObjectValue: TypeAlias = dict[str, Any]
"""An object as it was read; readers narrow each value before they use it."""

MOST_DIGITS = 40

# Braces and comments, with all in front of them in which braces do not count.
_TOKEN = re.compile(
    r'(?>(?:[^{}"/\\]++|"(?>(?:[^"\\\n]++|\\.)*)"|\\.|["\\]|/(?![/*])|(?<=:)//)*)'
    r"(?P<token>\{(?>(?:\s*+\{)*)|\}|//|/\*)"
)
_BRACKET = re.compile(r"[\[{}\]]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Braces:
    """How the braces of a text pair up, all offsets in order.

    `starts` and `ends` are those of the balanced objects that lie in no other one, `unclosed` the
    braces that are never closed; these hide nothing.
    """

    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    unclosed: "array[int]" = field(default_factory=lambda: array("q"))

    def around(self, start: int, end: int) -> tuple[int, int] | None:
        """Return start and end of the object that holds all from `start` to `end`, None when there is none."""
        index = bisect_right(self.starts, start) - 1
        return (
            (self.starts[index], self.ends[index])
            if index >= 0 and end <= self.ends[index]
            else None
        )


def pair_braces(text: str) -> Braces:
    """Return the pairs of braces in `text`, in linear time.

    Strings and comments count inside braces only, as prose holds quotation marks of its own, and a
    string ends with its line.
    """
    braces = Braces()
    last_comment = text.rfind("*/")
    at = text.find("{")
    while at >= 0:
        at = _pair_from(text, at, braces, last_comment)

    return braces


def _pair_from(text: str, at: int, braces: Braces, last_comment: int) -> int:
    """Pair braces from the one at `at` on; return where to go on where text follows that is no JSON, -1 at the end."""
    unclosed, match = braces.unclosed, _TOKEN.match
    while (token := match(text, at)) is not None:
        start, end = token.span("token")
        kind = text[start]
        if not unclosed and (opening := text.find("{", at, end)) != start:
            return opening if opening >= 0 else text.find("{", end)

        at = end
        if kind == "}":
            _close(braces, end)
        elif kind == "{":
            unclosed.append(start)
            if end - start > 1:
                unclosed.extend(_openings(text, start + 1, end))
        elif text[end - 1] == "/":
            at = text.find("\n", end)
            if at < 0:
                return -1
        elif end <= last_comment:
            at = text.find("*/", end) + 2

    return -1


def _openings(text: str, start: int, end: int) -> Iterable[int]:
    """Return the offsets of the braces in a run of them, in which blanks may stand."""
    if text.count("{", start, end) == end - start:
        return range(start, end)
    return (at for at in range(start, end) if text[at] == "{")


def _close(braces: Braces, end: int) -> None:
    """Note the object that ends here, and forget those in it."""
    start, starts = braces.unclosed.pop(), braces.starts
    while starts and starts[-1] > start:
        starts.pop()
        braces.ends.pop()

    starts.append(start)
    braces.ends.append(end)


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
    object_pairs_hook=_without_doubles,
    parse_constant=_refuse,
    parse_int=_integer,
    parse_float=_fraction,
)
