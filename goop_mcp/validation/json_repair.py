"""Read loosely written JSON: one pass from left to right that lists each repair (D-17).

A string ends at the first quote after which the object can continue. If that is not the very next
quote, the string is repaired only if exactly one quote of its line could end it. The reader also
records the position of each value.

Why this is safe: a repair is made only where the text has exactly one reading. Anything else ends
with a `JsonFailure`, because a guess could change what the agent reported. Why it is linear: the
position only moves forward, and whatever looks ahead (`StringEnds`) stops at the end of a line.
"""

import json
import re
from enum import Enum
from typing import Final

from msgspec import Struct, field

from goop_mcp.structs import DataStruct
from goop_mcp.validation.edits import Edit
from goop_mcp.validation.escaping import ZERO_WIDTH
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.json_rules import LOOSE_SYNTAX
from goop_mcp.validation.json_strings import (
    CLOSERS,
    QUOTES,
    StringEnds,
    content_of,
    escape_pointer,
    wrong_escapes,
)
from goop_mcp.validation.safe_json import MOST_DIGITS, JsonObjectValue, JsonValue

__all__ = ["Ending", "JsonFailure", "LooseObject", "read_loosely"]

_GAP = re.compile(r"[ \t\r\n]*+")
_UNSEEN = re.compile(
    "[\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+"
)
_WORD = re.compile(r"[^\s,:\[\]{}\"'“”„‘’/#…]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_BARE_KEY = re.compile(r"[A-Za-z_$][\w$-]*+")
_ELLIPSIS = re.compile(r"\.{3,}|…")
_LITERALS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_PYTHON: Final[dict[str, str]] = {"True": "true", "False": "false", "None": "null"}
_SHOWN = 30
_DEEPEST = 128  # each level takes two or three frames of the interpreter's stack
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class Ending(Enum):
    """How a JSON text ends: closed, with only the outermost brace missing, or in the middle."""

    WHOLE = "whole"
    ROOT_OPEN = "root open"
    CUT_OFF = "cut off"


class JsonFailure(DataStruct, frozen=True):
    """Why a text cannot be read: the offset, the problem there, and whether it is the depth."""

    offset: int
    message: str
    too_deep: bool = False


class LooseObject(Struct):
    """What was read.

    Offsets count from the start of the source; `positions` are those of values by JSON pointer.
    `failure` is None if the text could be read up to its end. `inside` is the pointer of the value
    at which it ends.
    """

    value: JsonObjectValue = field(default_factory=dict)
    end: int = 0
    ending: Ending = Ending.WHOLE
    edits: list[Edit] = field(default_factory=list)
    doubled: list[tuple[str, int]] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    failure: JsonFailure | None = None
    inside: str = ""


class _EndOfTextError(Exception):
    """The source ends before its object does."""


class _FailureError(Exception):
    """The source cannot be read as JSON."""

    def __init__(self, offset: int, message: str, *, too_deep: bool = False) -> None:
        super().__init__(message)
        self.failure = JsonFailure(offset, message, too_deep)


def read_loosely(source: str, *, depth: int) -> LooseObject:
    """Read the object at the start of `source`, which begins with a brace, and ignore the rest.

    Nesting deeper than `depth`, at most 128, is a failure. Takes time linear to the length of
    `source`.
    """
    return _LooseReader(source, depth).read()


class _LooseReader:
    def __init__(self, source: str, depth: int) -> None:
        self._source = source
        # The reader calls itself once for each level, so that the stack of Python bounds the depth,
        # whatever the caller allows.
        self._depth = min(depth, _DEEPEST)
        self._at = 0
        self._found = LooseObject(positions={"": 0})
        self._ends = StringEnds(source)
        # Whether the text, if it ended here, would lack only the outermost brace: it ends after a
        # member of the outermost object.
        self._only_root_open = False

    def read(self) -> LooseObject:
        found = self._found
        try:
            self._object("", found.value, 1)
        except _EndOfTextError:
            found.ending = Ending.ROOT_OPEN if self._only_root_open else Ending.CUT_OFF
        except _FailureError as error:
            found.failure = error.failure

        found.end = self._at
        return found

    # Objects and arrays

    def _object(self, pointer: str, target: JsonObjectValue, depth: int) -> None:
        self._open(pointer, depth)
        comma: int | None = None
        while True:
            self._skip_gap(pointer)
            if self._close("}", comma, pointer):
                return
            if self._skip_ellipsis(pointer):
                continue

            self._only_root_open = False
            key_at = self._at
            key = self._key(pointer)
            path = f"{pointer}/{escape_pointer(key)}"
            # A doubled key is an error, but the reading goes on: what follows may hold more errors,
            # and the agent should receive all of them at once.
            if key in target:
                self._found.doubled.append((path, key_at))

            # The key takes its position in the object before its value is read, so that an
            # envelope that ends here still shows it.
            target[key] = None
            self._found.inside = path
            self._skip_gap(path)
            character = self._peek()
            self._found.positions[path] = self._at
            if character in "{[":
                # In place before it is read, so that an envelope that is cut off still holds all
                # that was read of it.
                inner: JsonObjectValue | list[JsonValue] = {} if character == "{" else []
                target[key] = inner
                self._container(path, inner, depth)
            else:
                try:
                    target[key] = self._scalar(path, member=True)
                except _EndOfTextError:
                    del target[key]  # half a value must not count as the value
                    raise

            comma = self._comma("}", pointer, at_root=depth == 1)

    def _array(self, pointer: str, target: list[JsonValue], depth: int) -> None:
        self._open(pointer, depth)
        comma: int | None = None
        elided = ""

        while True:
            self._skip_gap(pointer)
            if self._peek() == "]" and elided and not target:
                # The whole list was left out: template text, which must not become an empty list.
                target.append(elided)
            if self._close("]", comma, pointer):
                return

            written = self._at
            if self._skip_ellipsis(pointer):
                elided = "..."
                self._found.positions[f"{pointer}/0"] = written
                continue

            path = f"{pointer}/{len(target)}"
            self._found.inside = path
            self._found.positions[path] = self._at
            # `_skip_gap` and `_close` have looked at this character: it is there.
            character = self._source[self._at]
            if character in "{[":
                inner: JsonObjectValue | list[JsonValue] = {} if character == "{" else []
                target.append(inner)
                self._container(path, inner, depth)
            else:
                target.append(self._scalar(path, member=False))

            comma = self._comma("]", pointer, at_root=False)

    def _container(self, path: str, inner: JsonObjectValue | list[JsonValue], depth: int) -> None:
        if isinstance(inner, dict):
            self._object(path, inner, depth + 1)
        else:
            self._array(path, inner, depth + 1)

    def _open(self, pointer: str, depth: int) -> None:
        if depth > self._depth:
            message = f"objects and lists are nested over {self._depth} levels deep"
            raise _FailureError(self._at, message, too_deep=True)

        self._found.inside = pointer
        self._at += 1

    def _close(self, bracket: str, comma: int | None, pointer: str) -> bool:
        if self._peek() != bracket:
            return False
        if comma is not None:
            self._edit(comma, comma + 1, "", f"comma before {bracket}; expected none", pointer)

        self._at += 1
        return True

    def _comma(self, bracket: str, pointer: str, *, at_root: bool) -> int | None:
        """Consume the comma after a member and return its offset.

        Return None if the bracket or `...` comes next. Any other character means that a comma is
        missing, which is not repaired: a string may have ended at the wrong quote.
        """
        # A number at the very end may lack more digits.
        self._only_root_open = at_root and not self._source[self._at - 1].isdigit()
        self._found.inside = pointer
        self._skip_gap(pointer)
        character = self._peek()
        if character == ",":
            self._only_root_open = False
            self._at += 1
            return self._at - 1

        if character != bracket and _ELLIPSIS.match(self._source, self._at) is None:
            if character in QUOTES or character in "{[":
                following = excerpt(
                    self._source[self._at : self._at + _SHOWN].partition("\n")[0], _SHOWN
                )
                raise _FailureError(
                    self._at, f"a comma is missing; expected one before {following}"
                )

            raise self._unexpected(f"a comma or {bracket}")

        return None

    def _skip_ellipsis(self, pointer: str) -> bool:
        ellipsis = _ELLIPSIS.match(self._source, self._at)
        if ellipsis is None:
            return False

        self._only_root_open = False
        self._at = ellipsis.end()
        self._skip_gap(pointer)
        end = ellipsis.end()
        if self._source.startswith(",", self._at):
            self._at += 1
            end = self._at

        self._edit(
            ellipsis.start(),
            end,
            "",
            f"{ellipsis[0]} stands for what was left out; expected all of it",
            pointer,
        )

        return True

    # Gaps

    def _peek(self) -> str:
        if self._at >= len(self._source):
            raise _EndOfTextError
        return self._source[self._at]

    def _skip_gap(self, pointer: str) -> None:
        """Skip blanks; remove comments and invisible characters and list that as repairs."""
        source = self._source
        while True:
            gap = _GAP.match(source, self._at)
            self._at = start = gap.end() if gap else self._at
            # JSONC, JSON5 and YAML all have comments, and models mix them up.
            if source.startswith(("//", "#"), start):
                end = source.find("\n", start)
                self._at = len(source) if end < 0 else end
                self._edit(start, self._at, "", "comment; JSON has none", pointer)
            elif source.startswith("/*", start):
                end = source.find("*/", start + 2)
                if end < 0:
                    raise _EndOfTextError

                self._at = end + 2
                self._edit(start, self._at, "", "comment; JSON has none", pointer)
            elif (unseen := _UNSEEN.match(source, start)) is not None:
                self._at = unseen.end()
                self._edit(
                    start,
                    self._at,
                    " ",
                    "invisible or unusual blank; expected a plain one",
                    pointer,
                )
            else:
                return

    # Keys and single values

    def _key(self, pointer: str) -> str:
        if self._peek() in QUOTES:
            key = self._quoted_key(pointer)
        # JavaScript needs no quotes around keys, and models write it where JSON is asked for.
        elif (bare := _BARE_KEY.match(self._source, self._at)) is not None:
            key = bare[0]
            quoted = f'"{key}"'
            self._edit(
                self._at,
                bare.end(),
                quoted,
                f"key {excerpt(key, 30)} has no quotes; expected {excerpt(quoted, 32)}",
                pointer,
            )
            self._at = bare.end()
        else:
            raise self._unexpected("a key in double quotes")

        self._skip_gap(pointer)
        if self._peek() != ":":
            raise self._unexpected("a colon after the key")

        self._at += 1
        return key

    def _quoted_key(self, pointer: str) -> str:
        """Return a key without its zero-width characters; only a key in ASCII cannot need them."""
        start, edits = self._at, len(self._found.edits)
        key = self._string(pointer, "key")
        clean = key if key.isascii() else ZERO_WIDTH.sub("", key)
        if not clean or clean == key or not clean.isascii():
            return key

        # The edits of the string are inside of the one that replaces it, and edits must not
        # overlap.
        del self._found.edits[edits:]
        self._edit(
            start,
            self._at,
            json.dumps(clean),
            f"invisible character in the key {excerpt(clean, _SHOWN)}",
            pointer,
        )

        return clean

    def _scalar(self, path: str, *, member: bool) -> JsonValue:
        if self._source[self._at] in QUOTES:
            return self._string(path, "member" if member else "item")

        word = _WORD.match(self._source, self._at)
        if word is None:
            raise self._unexpected("a value")
        # At the very end of the text `tru` and `12` may be the beginning of something longer.
        if word.end() == len(self._source) and word[0] not in _LITERALS:
            self._at = word.end()
            raise _EndOfTextError

        value = self._word(word[0], path)
        self._at = word.end()
        return value

    def _word(self, word: str, path: str) -> bool | int | float | None:
        # Models that were asked for a dict print Python's.
        if word in _PYTHON:
            end = self._at + len(word)
            self._edit(
                self._at, end, _PYTHON[word], f"{word} is Python; expected {_PYTHON[word]}", path
            )
            return _LITERALS[_PYTHON[word]]

        if word in _LITERALS:
            return _LITERALS[word]

        number = _NUMBER.fullmatch(word)
        if number is None:
            raise self._unexpected("a number, true, false, null or a text in double quotes")
        if not number["fraction"]:
            # The bound of the strict decoder as well: both accept the same numbers.
            if len(word) > MOST_DIGITS:
                raise self._unexpected(f"a number of at most {MOST_DIGITS} digits")
            return int(word)

        # Not refused by its length: it is rounded, and the strict decoder rounds it in the same
        # way.
        value = float(word)
        if value in (float("inf"), float("-inf")):
            raise self._unexpected("a number that can be held")
        return value

    def _string(self, path: str, position: str) -> str:
        start = self._at
        quote = self._source[start]
        close = self._ends.of(start, position)
        if close is None:
            # Without any quote that could close it, the text ends within this string. With several,
            # the string has two readings, and neither is taken.
            if not any(closer in self._source[start + 1 :] for closer in CLOSERS[quote]):
                # All of the rest belongs to the string, so nothing after it may be read as another
                # member.
                self._at = len(self._source)
                raise _EndOfTextError

            raise _FailureError(
                start,
                'the end of this text is unclear; expected \\" for each quote inside it',
            )

        last = self._source[close]
        raw = self._source[start + 1 : close]
        if quote != '"' or last != '"':
            names = "typographic quotes" if {quote, last} - {"'", '"'} else "single quotes"
            self._edit(start, start + 1, '"', f"{names}; expected double quotes", path)
            self._edit(close, close + 1, '"', f"{names}; expected double quotes", path)

        for offset, length, new, message in wrong_escapes(raw, quote):
            at = start + 1 + offset
            self._edit(at, at + length, new, message, path)

        value = content_of(raw)
        if not value.isascii() and _HALF_PAIR.search(value):
            raise _FailureError(
                start, "the text holds half of a surrogate pair; expected whole characters"
            )

        self._at = close + 1
        return value

    def _unexpected(self, expected: str) -> _FailureError:
        word = _WORD.match(self._source, self._at)
        found = excerpt(word[0], 30) if word else self._source[self._at : self._at + 1]
        return _FailureError(self._at, f"found {found!r}; expected {expected}")

    def _edit(self, start: int, end: int, new: str, message: str, path: str) -> None:
        self._found.edits.append(Edit(start, end, new, LOOSE_SYNTAX, message, path))
