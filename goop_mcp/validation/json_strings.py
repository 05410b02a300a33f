"""Strings of loose JSON: where one ends, what is wrong in it, and its content.

The patterns use atomic groups and possessive quantifiers throughout. Without them a match that
fails would give its characters back one at a time and try the rest of the pattern after each of
them, in quadratic time; with them each character is consumed once.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from goop_mcp.validation.positions import SourceText

__all__ = [
    "CLOSERS",
    "QUOTES",
    "StringEnds",
    "content_of",
    "decoded_text",
    "escape_pointer",
    "text_of_string",
    "wrong_escapes",
]

_TYPOGRAPHIC_DOUBLE = "“”„‟"
_TYPOGRAPHIC_SINGLE = "‘’‚‛"
QUOTES: Final = frozenset(f"\"'{_TYPOGRAPHIC_DOUBLE}{_TYPOGRAPHIC_SINGLE}")
CLOSERS: Final[dict[str, str]] = {
    '"': '"',
    "'": "'",
    **dict.fromkeys(_TYPOGRAPHIC_DOUBLE, f'{_TYPOGRAPHIC_DOUBLE}"'),
    **dict.fromkeys(_TYPOGRAPHIC_SINGLE, f"{_TYPOGRAPHIC_SINGLE}'"),
}
"""The quotes that may end a text, by the one it begins with."""

_KEY = (
    r"""(?:"(?>(?:[^"\\\n]|\\.)*)"|'(?>(?:[^'\\\n]|\\.)*)'"""
    rf"|[{_TYPOGRAPHIC_DOUBLE}][^{_TYPOGRAPHIC_DOUBLE}\"\n]*+[{_TYPOGRAPHIC_DOUBLE}\"]"
    rf"|[{_TYPOGRAPHIC_SINGLE}][^{_TYPOGRAPHIC_SINGLE}\n]*+[{_TYPOGRAPHIC_SINGLE}'])\s*+:"
)
# A key without quotes; the start of a value after the colon distinguishes it from a word of prose.
_BARE_KEY = (
    r"[A-Za-z_$][\w$-]*+\s*+:\s*+(?:[\"'\[{\-0-9]|true\b|false\b|null\b|True\b|False\b|None\b)"
)
_REST = r"|//|/\*|\#|\.{3,}|…|\Z"
# What may follow the quote that ends a text, by the place of the text.
_FOLLOWS: Final[dict[str, re.Pattern[str]]] = {
    "key": re.compile(r"\s*+(?::|//|/\*|\#|\Z)"),
    "member": re.compile(rf"\s*+(?:,\s*+(?:{_KEY}|{_BARE_KEY}|}}{_REST})|}}{_REST})"),
    "item": re.compile(
        rf"\s*+(?:,\s*+(?:[\"'\[{{\]\-0-9tfnTFN"
        rf"{_TYPOGRAPHIC_DOUBLE}{_TYPOGRAPHIC_SINGLE}]{_REST})|\]{_REST})"
    ),
}
# What follows a text if the comma after it is missing.
_NO_COMMA: Final[dict[str, re.Pattern[str]]] = {
    "member": re.compile(rf"\s*+(?:{_KEY}|{_BARE_KEY})"),
    "item": re.compile(r"""\s++["'\[{]"""),
}
# A quote between two texts, or after a key: such a quote cannot be inside a text.
_STRUCTURE = re.compile(r"""["'“”]\s*(?:["'“”:])""")
_STRICT = re.compile(
    r'[^"\\\x00-\x1f]*+(?>(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*)"'
)
_ODD = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\s\S])|[\"\x00-\x1f]|\\\Z")
_STRING_PART = re.compile(
    r'\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[\s\S]|"'
)
_ESCAPES = frozenset('"\\/bfnrt')
_CONTROL_ESCAPES = {chr(code): f"\\u{code:04x}" for code in range(32)} | {
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_LINE_BREAK = "raw line break in a text; expected \\n"


class StringEnds:
    """Finds the quote that ends a string of `source`."""

    def __init__(self, source: str) -> None:
        """Prepare nothing: patterns are made when a string is odd."""
        self._source = source

    def of(self, start: int, place: str) -> int | None:
        """Return the offset of the quote that ends the string at `start`, None if it is unclear.

        `place` is "key", "member" or "item". The first quote counts if the object can continue
        after it. If not, exactly one quote of the same line has to be able to end the text, or only
        a comma is missing after the first quote.

        Linear over all strings of a source: the first quote is found by one pass over the string,
        and the search for others ends with the line. No line is searched again and again, because
        the end of a second such string would be a second possible end of the first one, which is
        a failure.
        """
        # What follows a quote shows its role: a quote inside a text is rarely followed by a comma
        # and a key, or by a bracket.
        source, follows = self._source, _FOLLOWS[place]
        quote = source[start]
        strict = _STRICT.match(source, start + 1) if quote == '"' else None
        if strict is not None and follows.match(source, strict.end()):
            return strict.end() - 1

        closers = CLOSERS[quote]
        closer = re.compile(rf"(?>(?:[^{closers}\\]|\\[\s\S])*)[{closers}]")
        first = closer.match(source, start + 1)
        if first is None:
            return None
        if follows.match(source, first.end()):
            return first.end() - 1

        only = self._only_end(start, first.end(), closer, follows)
        if only is None and place in _NO_COMMA and _NO_COMMA[place].match(source, first.end()):
            # The text itself is unambiguous; the missing comma after it is reported by the caller.
            return first.end() - 1

        return only

    def _only_end(
        self, start: int, after: int, closer: re.Pattern[str], follows: re.Pattern[str]
    ) -> int | None:
        """Return the only quote of the line that can end the string at `start`, None if unclear.

        The search begins at `after`. Two possible ends mean two readings, and a guess could change
        the meaning. So does a text that itself looks like structure up to that end.
        """
        source = self._source
        line_end = source.find("\n", start)
        line_end = len(source) if line_end < 0 else line_end
        ends: list[int] = []

        while after < line_end and (quote := closer.match(source, after, line_end)) is not None:
            after = quote.end()
            if follows.match(source, after):
                ends.append(after - 1)

        if len(ends) != 1 or _STRUCTURE.search(source, start + 1, ends[0]):
            return None
        return ends[0]


def wrong_escapes(raw: str, quote: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield offset, length, replacement and message for everything that JSON forbids in a string.

    Double quotes are only reported in a string between double quotes, because another one may
    contain them. Line breaks are reported once.
    """
    named_line_break = False
    for odd in _ODD.finditer(raw):
        new = _escaped(odd)
        if new == odd[0] or (odd[0] == '"' and quote != '"') or odd[0] == f"\\{quote}":
            continue
        if odd[0] in "\r\n":
            if not named_line_break:
                yield odd.start(), len(odd[0]), new, _LINE_BREAK

            named_line_break = True
        elif odd[0] == '"':
            yield odd.start(), 1, new, 'unescaped quote in a text; expected \\"'
        elif odd[0][0] == "\\":
            yield odd.start(), 1, "\\\\", "a backslash that escapes nothing; expected \\\\"
        else:
            yield odd.start(), 1, new, "control character in a text; expected its escape"


def content_of(raw: str) -> str:
    """Return the content of a string with `raw` between its quotes; no letter is lost."""
    text: str = json.loads(f'"{_ODD.sub(_escaped, raw)}"')
    return text


def _escaped(odd: re.Match[str]) -> str:
    """Return what JSON requires in place of `odd`, which may be valid already."""
    text = odd[0]
    if text == '"':
        return '\\"'
    if text[0] != "\\":
        return _CONTROL_ESCAPES[text]
    if len(text) > 2 or text[1:] in _ESCAPES:  # noqa: PLR2004 - \uXXXX
        return text
    if text[1:] in QUOTES:
        return text[1:]

    # The backslash is kept as a letter of the text; a control character after it has to be escaped
    # too.
    kept = text[1:]
    return "\\\\" + _CONTROL_ESCAPES.get(kept, kept)


def escape_pointer(key: str) -> str:
    """Return `key` as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def text_of_string(text: str, start: int) -> SourceText:
    """Return the content of the string at `start`, and where in `text` each character came from."""
    parts: list[str] = []
    shifts = [(0, start + 1)]
    read, last = 0, start + 1

    for odd in _STRING_PART.finditer(text, start + 1):
        parts.append(text[last : odd.start()])
        read += len(parts[-1])
        if odd[0] == '"':
            break

        parts.append(content_of(odd[0]))
        read += len(parts[-1])
        last = odd.end()
        shifts.append((read, last))

    return SourceText(text, "".join(parts), shifts)


def decoded_text(text: str, start: int) -> SourceText:
    """Return `text` with the content of the string at `start` in its place, and all origins.

    A string that is never closed is decoded up to the end of the text.
    """
    parts, shifts = [text[:start]], [(start, start + 1)]
    read, last = start, start + 1

    for odd in _STRING_PART.finditer(text, start + 1):
        literal = text[last : odd.start()]
        character = content_of(odd[0]) if odd[0] != '"' else ""
        parts += (literal, character)
        read += len(literal) + len(character)
        last = odd.end()
        shifts.append((read, last))
        if odd[0] == '"':
            break

    parts.append(text[last:])

    return SourceText(text, "".join(parts), shifts)
