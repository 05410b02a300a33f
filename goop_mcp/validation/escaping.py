"""Characters that XML text may not contain literally, and their replacements."""

import re
from collections.abc import Iterator

__all__ = [
    "FORBIDDEN",
    "INVISIBLE",
    "STRAY",
    "XML_BLANKS",
    "ZERO_WIDTH",
    "escape_attribute",
    "escaped",
    "forbidden_runs",
    "visible",
    "without_emphasis",
    "without_forbidden",
]

XML_BLANKS = " \t\r\n"

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
INVISIBLE = re.compile(
    "[\u0085\u00a0\u00ad\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]"
)
ZERO_WIDTH = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_BLANKS = re.compile("[\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")

# A terminal colour, or other characters. The alternatives are not repeated in a group, because the
# engine would need memory for each repetition.
_PIECE = re.compile(
    "\x1b\\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\ud800-\udfff\ufffe\uffff]+|\x1b"
)
STRAY = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos|#(?:9|10|13|3[2-9]|[4-9]\d|[1-9]\d{2,3}|[1-4]\d{4}|5[0-4]\d{3})"
    r"|#x(?:9|[aAdD]|[2-9a-fA-F][0-9a-fA-F]|[1-9a-fA-F][0-9a-fA-F]{2}"
    r"|[1-9a-cA-C][0-9a-fA-F]{3}|1[0-9a-fA-F]{4}));)"
    r"([A-Za-z][A-Za-z0-9]{1,30};)?|]]>"
)


def escaped(stray: re.Match[str]) -> tuple[str, str]:
    """Return the replacement of a stray character, and the message."""
    if stray[0] == "]]>":
        return "]]&gt;", "]]> outside of a CDATA section"

    entity = stray[1]
    character = None
    if entity:
        # A table of two thousand names, which few replies need.
        from html.entities import html5  # noqa: PLC0415

        character = html5.get(entity)
    if character is not None and character not in "&<":
        return character, f"HTML entity &{entity} is unknown to XML; expected the character itself"
    if entity:
        return f"&amp;{entity}", "unescaped &; expected &amp;"
    return "&amp;", "unescaped &; expected &amp;"


def escape_attribute(value: str) -> str:
    """Return `value` for use between double quotes; what is escaped already stays unchanged."""
    value = _PIECE.sub("", value)
    value = STRAY.sub(lambda stray: stray[0] if stray[0] == "]]>" else escaped(stray)[0], value)
    return value.replace("<", "&lt;").replace('"', "&quot;")


def forbidden_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each range that XML cannot contain; terminal colours stay complete."""
    start = end = 0
    for piece in _PIECE.finditer(text):
        if piece.start() > end:
            if end > start:
                yield start, end

            start = piece.start()

        end = piece.end()

    if end > start:
        yield start, end


def visible(text: str) -> str:
    """Return `text` with plain blanks instead of unusual ones, and without invisible characters."""
    return INVISIBLE.sub("", _BLANKS.sub(" ", text)).strip(XML_BLANKS)


def without_emphasis(word: str) -> str:
    """Return `word` without Markdown marks around it: asterisks, underscores, backticks."""
    bare = word.strip("*_`")
    before, _, after = word.partition(bare) if bare else ("", "", "")
    return bare if before and before == after[::-1] else word


def without_forbidden(text: str) -> str:
    """Return `text` without the characters that XML cannot contain and without terminal colours."""
    return _PIECE.sub("", text) if FORBIDDEN.search(text) else text
