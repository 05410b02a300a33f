"""In which line of a TOML or JSON file a key stands; the parsers of both do not keep that."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

__all__ = ["KeyPath", "json_lines", "line_of", "long_key_line", "toml_lines"]

KeyPath = tuple[str, ...]
"""The keys from the top of a document to a value; an entry of a list is its number, from 0."""

# Each alternative begins with another character and the text was accepted by its parser before, so
# that a string always ends: the scan is one pass.
_TOML_TOKEN: Final = re.compile(
    r"(?P<text>\"\"\"(?:[^\\]|\\.)*?\"\"\"\"{0,2}|'''.*?''''{0,2}"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
    r"|(?P<comment>#[^\n]*)|(?P<mark>[\n\[\]{}=.,])|(?P<bare>[^\s\[\]{}=.,\"'#]+)",
    re.DOTALL,
)
_KEY_PART: Final = r"(?:[\w-]++|\"(?>(?:[^\"\\\n]|\\.)*)\"|'[^'\n]*+')"
# For text that nobody has parsed yet: what does not end is one token up to where it would have to,
# so that this scan is one pass as well.
_LONG_KEY: Final = re.compile(
    r"\"\"\"(?>(?:[^\"\\]|\\.|\"(?!\"\"))*)(?:\"{3,5})?|'''(?>(?:[^']|'(?!''))*)(?:'{3,5})?"
    r"|#[^\n]*+"
    rf"|(?P<long>{_KEY_PART}(?:[ \t]*+\.[ \t]*+{_KEY_PART}){{50}})"
    r"|\"(?>(?:[^\"\\\n]|\\.)*)\"?|'[^'\n]*+'?|[\w-]++",
    re.DOTALL | re.ASCII,
)
_JSON_TOKEN: Final = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[\n\[\]{}:,])', re.DOTALL)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def toml_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of each table and each key; `text` is TOML that can be parsed.

    Keys of inline tables are left out: they stand in the line of their table.
    """
    lines: dict[KeyPath, int] = {}
    arrays: dict[KeyPath, int] = {}
    table: KeyPath = ()
    # The keys of the statement that is being read; None after its "=" or its header.
    keys: list[str] | None = []
    depth, header = 0, 0

    for token in _tokens(_TOML_TOKEN, text):
        if token.text == "\n" and depth == 0:
            keys, header = [], 0
        elif keys is None:
            # A value: only its brackets matter, because a list may go over several lines.
            depth += (token.text in ("[", "{")) - (token.text in ("]", "}"))
        elif token.text == "[" and not keys:
            header += 1
        elif token.text == "]" and header:
            table, keys = tuple(keys), None
            if header > 1:
                # The second "]" of an array of tables closes nothing that was counted.
                depth, arrays[table] = 1, arrays.get(table, -1) + 1
                table = (*table, str(arrays[table]))
            # A table that has no header of its own begins with the first one in it.
            for length in range(1, len(table) + 1):
                lines.setdefault(table[:length], token.line)
        elif token.text == "=":
            lines.setdefault((*table, *keys), token.line)
            keys = None
        elif token.kind in ("text", "bare"):
            keys.append(_toml_key(token))

    return lines


def long_key_line(text: str) -> int | None:
    """Return the line of a TOML key of more than 50 parts, None without one.

    The parser takes half a minute for one of 50,000. `text` need not be TOML.
    """
    for match in _LONG_KEY.finditer(text):
        if match["long"] is not None:
            return text.count("\n", 0, match.start()) + 1

    return None


def json_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of each key and each entry; `text` is JSON that can be parsed."""
    lines: dict[KeyPath, int] = {}
    path: list[str] = []
    # For each open object None, for each open list the number of its current entry.
    entries: list[int | None] = []
    last: _Token | None = None

    for token in _tokens(_JSON_TOKEN, text):
        if token.text == ":" and last is not None:
            path[-1] = str(json.loads(last.text))
            lines.setdefault(tuple(path), last.line)
        elif token.text in ("{", "["):
            entries.append(0 if token.text == "[" else None)
            path.append("0")
        elif token.text in ("}", "]"):
            entries.pop()
            path.pop()
        elif token.text == "," and (number := entries[-1]) is not None:
            entries[-1] = number + 1
            path[-1] = str(number + 1)

        if token.kind == "text":
            last = token
            if entries and entries[-1] is not None:
                lines.setdefault(tuple(path), token.line)

    return lines


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int:
    """Return the line of `path`, or of the nearest thing around it that has one, 1 at worst."""
    for length in range(len(path), 0, -1):
        if (line := lines.get(path[:length])) is not None:
            return line

    return 1


def _tokens(pattern: re.Pattern[str], text: str) -> Iterator[_Token]:
    line, counted = 1, 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if match.lastgroup != "comment":
            yield _Token(match.lastgroup or "", match[0], line)


def _toml_key(token: _Token) -> str:
    if token.kind == "bare":
        return token.text
    # Only the parser knows the escapes of a key in quotes.
    return next(iter(tomllib.loads(f"{token.text} = 1")))
