"""Find and read JSON objects in a text: linear, bounded in depth, without doubled keys."""

import json
import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ForwardRef, TypeAlias

import msgspec
from msgspec import Struct, field

__all__ = [
    "Braces",
    "JsonObjectValue",
    "JsonValue",
    "decode_object",
    "decode_plain",
    "load_object",
    "nesting",
    "pair_braces",
]

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
    )
else:
    # A reference that is also understood where these names are not imported.
    JsonValue = ForwardRef(
        "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None",
        module=__name__,
    )
"""Any value that JSON can express."""

JsonObjectValue: TypeAlias = dict[str, Any]
"""An object as it was read; readers narrow each value before they use it."""

MOST_DIGITS = 40
# Searched where each digit was replaced by the same one: a search for a fixed text skips ahead,
# which a pattern for a run of digits does not.
_TOO_MANY_DIGITS = b"9" * (MOST_DIGITS + 1)
_DIGITS_ALIKE = bytes.maketrans(b"0123456789", b"9" * 10)

# A brace or the start of a comment, after everything in which braces do not count: other text,
# strings, escapes. The alternatives begin with different characters and the group is atomic, so
# each character is consumed once and a text without a token fails after one pass.
_TOKEN = re.compile(
    r'(?>(?:[^{}"/\\]++|"(?>(?:[^"\\\n]++|\\.)*)"|\\.|["\\]|/(?![/*])|(?<=:)//)*)'
    r"(?P<token>\{(?>(?:\s*+\{)*)|\}|//|/\*)"
)
_BRACKET = re.compile(r"[\[{}\]]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class Braces(Struct):
    """How the braces of a text pair up, all offsets in order.

    `starts` and `ends` are those of the outermost balanced objects, `unclosed` the braces that are
    never closed; these hide nothing.
    """

    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    unclosed: "array[int]" = field(default_factory=lambda: array("q"))

    def around(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the bounds of the object that contains `start` to `end`, None if none does."""
        index = bisect_right(self.starts, start) - 1
        return (
            (self.starts[index], self.ends[index])
            if index >= 0 and end <= self.ends[index]
            else None
        )


def pair_braces(text: str) -> Braces:
    """Return the pairs of braces in `text`, in linear time.

    Strings and comments count only inside braces, because prose has quotation marks that are not
    strings. A string ends with its line, so a stray quote hides one line at most. Text after an
    object is only searched if it has a brace or a comment outside of quotation marks.
    """
    braces = Braces()
    # A comment that is never closed is then known without a search to the end for each.
    last_comment = text.rfind("*/")
    at = text.find("{")
    line_before_token = -1

    while at >= 0 and (at := _pair_from(text, at, braces, last_comment)) >= 0:
        # Nothing that `_TOKEN` skips crosses a line except plain text, so a token that is found
        # from one place is also found from every later place on an earlier line. Without this
        # memory, many quoted objects before a distant brace would take quadratic time.
        if at > line_before_token:
            token = _TOKEN.match(text, at)
            if token is None:
                break

            line_before_token = text.rfind("\n", at, token.start("token"))

        at = text.find("{", at)

    return braces


def _pair_from(text: str, at: int, braces: Braces, last_comment: int) -> int:
    """Pair braces from the one at `at` until it is closed.

    Return the offset after its end, -1 if the text ends before. The position only moves forward.
    """
    unclosed, match = braces.unclosed, _TOKEN.match
    while (token := match(text, at)) is not None:
        start, at = token.span("token")
        kind = text[start]
        if kind == "}":
            # The object that ends here replaces those inside it. Each is removed at most once, so
            # this takes amortized constant time.
            begin, starts = unclosed.pop(), braces.starts
            while starts and starts[-1] > begin:
                starts.pop()
                braces.ends.pop()

            starts.append(begin)
            braces.ends.append(at)
            if not unclosed:
                return at
        elif kind == "{":
            # A run of braces is one token, because hostile texts consist of nothing else; without
            # blanks in it, no offset has to be looked at.
            unclosed.append(start)
            if at - start > 1:
                run = range(start + 1, at)
                compact = text.count("{", start + 1, at) == len(run)
                unclosed.extend(run if compact else (each for each in run if text[each] == "{"))
        elif text[at - 1] == "/":
            at = text.find("\n", at)
            if at < 0:
                return -1
        elif at <= last_comment:
            # The comparison saves a search to the end of the text for each comment never closed.
            at = text.find("*/", at) + 2

    return -1


def load_object(text: str, *, depth: int) -> JsonObjectValue | None:
    """Return the JSON object that `text` is.

    Return None if it is not one, repeats a key, or nests deeper than `depth`.
    """
    if nesting(text) > depth:
        return None
    decoded = decode_object(text, 0) if text.startswith("{") else None
    return decoded[0] if decoded is not None and decoded[1] == len(text) else None


def decode_object(text: str, start: int) -> tuple[JsonObjectValue, int] | None:
    """Return the object that begins at `start` and its end, None if it is not acceptable JSON.

    Refused are repeated keys, NaN and Infinity, integers of more than 40 digits, halves of
    surrogate pairs, and nesting that exhausts the decoder's stack.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None

    # A half pair is either an escape, which only the decoded values show, or in the text itself.
    # Within the object only: a text may hold a hundred thousand objects, and each asks this again.
    if (
        text.find("\\", start, end) >= 0
        and text.find("\\u", start, end) >= 0
        and _HALF_PAIR.search(json.dumps(value, ensure_ascii=False))
    ):
        return None
    if not text.isascii() and _HALF_PAIR.search(text, start, end):
        return None
    return value, end


def decode_plain(text: str) -> JsonObjectValue | None:
    """Return the object that is all of `text`, None if it is not plain enough to be sure.

    Decides as `decode_object` does, in half of its time, for texts without a backslash; None says
    nothing about other texts.
    """
    if "\\" in text:
        return None

    try:
        value = msgspec.json.decode(text)
        encoded = msgspec.json.encode(value)
    except (ValueError, RecursionError):
        return None

    # The decoder keeps the last of two equal keys. Without escapes each text has two quotation
    # marks, so that nothing was left out if none of them is missing.
    if value.__class__ is not dict or encoded.count(b'"') != text.count('"'):
        return None
    # The decoder reads any number of digits.
    return None if _TOO_MANY_DIGITS in encoded.translate(_DIGITS_ALIKE) else value


def nesting(text: str, start: int = 0, end: int | None = None) -> int:
    """Return an upper bound of the nesting depth, counting brackets in strings as well."""
    # Brackets in strings count too, because leaving them out would cost as much as decoding.
    deepest = level = 0
    for bracket in _BRACKET.finditer(text, start, len(text) if end is None else end):
        level += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, level)

    return deepest


def _unique_keys(pairs: list[tuple[str, Any]]) -> JsonObjectValue:
    # The decoder itself would keep the last of two equal keys without a word, and parsers differ in
    # which one they keep.
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice")
    return values


def _integer(digits: str) -> int:
    # Converting takes time quadratic to the number of digits.
    if len(digits) > MOST_DIGITS:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    # `1e999` is syntactically correct, and would be written again as Infinity, which is no JSON.
    if not math.isfinite(number):
        raise ValueError("a number beyond all bounds")
    return number


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_refuse,
    parse_int=_integer,
    parse_float=_fraction,
)
