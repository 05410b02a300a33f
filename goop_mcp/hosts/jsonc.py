"""Edit JSON that may hold comments and trailing commas without changing any other character.

Comments and trailing commas are replaced by blanks of the same length. The result is plain JSON in
which every value has the same offset as in the original, so that edits found there apply here.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.json_text import JsonDefect, line_and_column, members, parse_object

__all__ = ["Document", "append_element", "parse", "remove_element", "remove_member", "set_member"]

_BLANKS = " \t\r\n"
# Both patterns match texts as well: a `//` or a comma inside a text is thereby skipped.
_COMMENT = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|(?P<comment>//[^\r\n]*|/\*.*?\*/)', re.DOTALL)
_COMMA = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|(?P<comma>,)(?=[ \t\r\n]*[}\]])')
_NO_BREAK = re.compile(r"[^\r\n]")
_INDENT = re.compile(r"[{\[](?:[ \t]*\r?\n)+(?P<indent>[ \t]+)\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text that holds one object.

    `plain` is the text without comments, `bare` also without trailing commas; all three have the
    same length.
    """

    text: str
    plain: str
    bare: str
    value: Mapping[str, JsonValue]

    def get(self, keys: Sequence[str]) -> JsonValue:
        """Return the value at `keys`; None when there is none."""
        value: JsonValue = self.value
        for key in keys:
            if not isinstance(value, Mapping):
                return None

            value = value.get(key)

        return value

    def place(self, keys: Sequence[str]) -> tuple[int, int]:
        """Return line and column of the value at the longest existing prefix of `keys`."""
        start = _root(self)
        for key in keys:
            found = _member(self, start, key) if self.bare[start] == "{" else None
            if found is None:
                break

            start = found.start

        return line_and_column(self.text, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """A member or an element: the whole from `begin` to `end`, its value from `start`."""

    key: str
    begin: int
    start: int
    end: int


def parse(text: str) -> Document | JsonDefect:
    """Return the object that `text` holds, or the position of the syntax error.

    A blank text counts as an empty object.
    """
    if not text.lstrip("\ufeff").strip(_BLANKS):
        text = f"{text[:1] if text.startswith(chr(0xFEFF)) else ''}{{}}\n"

    # Line breaks stay, so that lines and columns are the same in all three texts.
    plain = _COMMENT.sub(
        lambda match: match[0] if match["comment"] is None else _NO_BREAK.sub(" ", match[0]), text
    )

    def without_comma(match: re.Match[str]) -> str:
        if match["comma"] is None:
            return match[0]

        # A trailing comma becomes a blank; one without a value before it stays a syntax error.
        at = match.start() - 1
        while at >= 0 and plain[at] in _BLANKS:
            at -= 1

        return "," if at < 0 or plain[at] in "{[,:" else " "

    bare = _COMMA.sub(without_comma, plain)
    value = parse_object(bare)
    if isinstance(value, JsonDefect):
        return value
    return Document(text=text, plain=plain, bare=bare, value=value)


def set_member(document: Document, keys: Sequence[str], value: JsonValue) -> Document:
    """Set the value at `keys`; missing parent objects are created.

    Raises TypeError when a parent is not an object.
    """
    # Follow the keys as far as they exist. The first missing one is inserted, with the rest of the
    # path as nested objects in its value; if none is missing, the value is replaced.
    start = begin = end = _root(document)
    for depth, key in enumerate(keys):
        if document.bare[start] != "{":
            raise TypeError(".".join(keys[:depth]))

        found = _member(document, start, key)
        if found is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}

            return _insert(document, start, value, key=key)

        start, begin, end = found.start, found.begin, found.end

    written = _written(document, value, _line_indent(document.text, begin))

    return _reparsed(document.text[:start] + written + document.text[end:])


def append_element(document: Document, keys: Sequence[str], value: JsonValue) -> Document:
    """Append `value` to the list at `keys`, which is created when it is missing.

    Raises TypeError when it is not a list, or when a parent is not an object.
    """
    if document.get(keys) is None:
        return set_member(document, keys, [value])

    start = _value_start(document, keys)
    if document.bare[start] != "[":
        raise TypeError(".".join(keys))
    return _insert(document, start, value)


def remove_member(document: Document, keys: Sequence[str]) -> Document:
    """Remove the member at `keys`; raise KeyError when it does not exist."""
    start = _value_start(document, keys[:-1])
    return _cut(document, start, lambda slot: slot.key == keys[-1])


def remove_element(document: Document, keys: Sequence[str], index: int) -> Document:
    """Remove one element of the list at `keys`; `index` counts from 0.

    Raises KeyError when it does not exist.
    """
    start = _value_start(document, keys)
    return _cut(document, start, lambda slot: slot.key == str(index))


def _reparsed(text: str) -> Document:
    document = parse(text)
    if isinstance(document, JsonDefect):
        raise TypeError(f"editing broke the text: {document.message}")
    return document


def _root(document: Document) -> int:
    return document.bare.index("{")


def _member(document: Document, start: int, key: str) -> _Slot | None:
    return next((slot for slot in _slots(document, start) if slot.key == key), None)


def _value_start(document: Document, keys: Sequence[str]) -> int:
    start = _root(document)
    for key in keys:
        found = _member(document, start, key) if document.bare[start] == "{" else None
        if found is None:
            raise KeyError(key)

        start = found.start

    return start


def _slots(document: Document, start: int) -> Iterator[_Slot]:
    """Yield the members of the object, or the elements of the list, at `start`."""
    if document.bare[start] == "{":
        for member in members(document.bare, start):
            yield _Slot(key=member.key, begin=member.key_start, start=member.start, end=member.end)

        return

    # Offsets are needed, which json.loads does not give: the elements are decoded one by one.
    at = _skip(document.bare, start + 1)
    index = 0

    while document.bare[at] != "]":
        _, end = _DECODER.raw_decode(document.bare, at)
        yield _Slot(key=str(index), begin=at, start=at, end=end)
        at = _skip(document.bare, end)
        if document.bare[at] == ",":
            at = _skip(document.bare, at + 1)

        index += 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _insert(
    document: Document, start: int, value: JsonValue, *, key: str | None = None
) -> Document:
    """Append an entry to the object or list at `start`."""
    slots = list(_slots(document, start))
    text = document.text
    if not slots:
        # Comments in the empty object or list stay before its first entry.
        base = _line_indent(text, start)
        indent = base + _unit(document.bare)
        close = _skip(document.bare, start + 1)
        inner = text[start + 1 : close].rstrip(_BLANKS)
        rest = text[start + 1 + len(inner) : close]
        if "\n" not in rest:
            rest = _newline(text) + base

        entry = _newline(text) + indent + _entry(document, value, key, indent=indent)
        return _reparsed(text[: start + 1] + inner + entry + rest + text[close:])

    # The layout of the container is kept: on one line the entry follows the last one; on several
    # lines it gets a line with the same indent, after a comment that belongs to the last entry. A
    # list that ends with a comma keeps ending with one.
    last = slots[-1]
    after = _skip(document.plain, last.end)
    trailing = document.plain[after] == ","
    if not _opens_line(document.plain, last.begin):
        entry = _entry(document, value, key, indent=None)
        gap = " " if ", " in text or ": " in text else ""
        at = after + 1 if trailing else last.end

        return _reparsed(
            text[:at]
            + ("" if trailing else ",")
            + gap
            + entry
            + ("," if trailing else "")
            + text[at:]
        )

    indent = _line_indent(text, last.begin)
    at = _end_of_line(document, after + 1 if trailing else last.end)
    entry = _newline(text) + indent + _entry(document, value, key, indent=indent)
    if trailing:
        return _reparsed(text[:at] + entry + "," + text[at:])
    return _reparsed(text[: last.end] + "," + text[last.end : at] + entry + text[at:])


def _cut(document: Document, start: int, wanted: Callable[[_Slot], bool]) -> Document:
    """Remove the first entry that is `wanted` from the object or list at `start`, with one comma.

    The comma is the one after the entry, or, for the last entry, the one before it.
    """
    slots = list(_slots(document, start))
    index = next((index for index, slot in enumerate(slots) if wanted(slot)), None)
    if index is None:
        raise KeyError("entry")

    text, slot = document.text, slots[index]
    begin, end = slot.begin, slot.end
    after = _skip(document.plain, end)
    followed = document.plain[after] == ","
    if followed:
        end = after + 1

    ends_object = document.bare[_skip(document.bare, end)] in "]}"
    if _opens_line(text, begin):
        # The line break goes only when nothing follows on the line: otherwise the rest would join
        # the line before, perhaps after a `//` comment, which would swallow it.
        if text[end:].lstrip(" \t")[:1] in ("\r", "\n"):
            begin = len(text[:begin].rstrip(" \t").removesuffix("\n").removesuffix("\r"))
    elif followed and not ends_object:
        end = _skip(text, end)
    else:
        begin = len(text[:begin].rstrip(" \t"))

    # The only entry, and no comment near: an empty container shrinks to `{}` or `[]`.
    if (
        len(slots) == 1
        and not document.plain[start + 1 : slot.begin].strip(_BLANKS)
        and "/" not in text[start:begin]
    ):
        close = _skip(text, end)
        begin, end = start + 1, close if text[close] in "]}" else end

    text = text[:begin] + text[end:]
    # The last entry has no comma after it: the one before it would be left over.
    if not followed and index:
        comma = document.plain.rindex(",", slots[index - 1].end, slot.begin)
        text = text[:comma] + text[comma + 1 :]

    return _reparsed(text)


def _entry(document: Document, value: JsonValue, key: str | None, *, indent: str | None) -> str:
    written = _written(document, value, indent)
    return written if key is None else f"{json.dumps(key, ensure_ascii=False)}: {written}"


def _written(document: Document, value: JsonValue, indent: str | None) -> str:
    """Return `value` as JSON: on several lines at `indent`, on one line when that is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(document.bare)).split("\n")
    return (_newline(document.text) + indent).join(lines)


def _end_of_line(document: Document, at: int) -> int:
    """Return the end of the line or comment if only comments follow on the line, else `at`."""
    plain, text = document.plain, document.text
    end = at
    while end < len(plain) and plain[end] not in "\r\n":
        end += 1

    if plain[at:end].strip(_BLANKS):
        return at

    # The line may end inside a block comment: then the entry goes after the end of the comment.
    for match in _COMMENT.finditer(text):
        if match["comment"] is not None and match.start() < end < match.end():
            return match.end()

    return end


def _opens_line(text: str, at: int) -> bool:
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return "\n" in text[:at] and not before.strip(" \t")


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found["indent"] if found is not None else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


_DECODER = json.JSONDecoder()
