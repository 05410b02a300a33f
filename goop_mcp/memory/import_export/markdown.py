"""Memories as Markdown: a section each, with its fields as a list and its content in a fence.

A value in the list is plain text, or JSON if plain text would not be read back unchanged.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from goop_mcp.memory.import_export.entries import (
    Entry,
    EntryError,
    LineRemark,
    Value,
    entry_from_values,
    values_of,
)
from goop_mcp.store.records import StoredMemory
from goop_mcp.validation.findings import counted_noun

__all__ = ["read_markdown", "write_markdown"]

_TITLE: Final = "# Memories"
_SECTION: Final = "## "
_FIELD: Final = re.compile(r"- (\w{1,40}): (.*)", re.DOTALL)
_FENCE: Final = re.compile(r"(`{3,})text\r?")
_TICKS: Final = re.compile(r"`+")
_LONGEST_SECTION: Final = 4 * 1024 * 1024
_JSON_BEGINS: Final = ('"', "[")

Lines = list[tuple[int, str]]


def write_markdown(memories: Iterable[StoredMemory]) -> Iterator[str]:
    """Yield the document in pieces, a section for each memory."""
    yield f"{_TITLE}\n"
    for memory in memories:
        values = values_of(memory)
        title, content = values.pop("title"), str(values.pop("content"))
        fields = "".join(f"- {name}: {_shown(value)}\n" for name, value in values.items())
        # Longer than any run of backticks in the content, so that no line of it ends the fence.
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(content)), default=0))
        yield f"\n{_SECTION}{title}\n\n{fields}\n{fence}text\n{content}\n{fence}\n"


def _shown(value: Value) -> str:
    # Only what reads back as the same value is written without quotes.
    plain = isinstance(value, str) and value == value.strip() and "\n" not in value
    if plain and not str(value).startswith(_JSON_BEGINS):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def read_markdown(lines: Iterable[str]) -> Iterator[Entry | LineRemark]:
    """Yield the memories of `lines`, and remarks on lines that belong to no memory."""
    unread: list[LineRemark] = []
    for start, title, section in _sections(lines, unread):
        try:
            yield _entry(start, title, section, unread)
        except EntryError as error:
            yield LineRemark(start, str(error))

        yield from unread
        unread.clear()

    yield from unread


def _sections(given: Iterable[str], unread: list[LineRemark]) -> Iterator[tuple[int, str, Lines]]:
    """Yield line, title and numbered lines of each section; headings within a fence are content."""
    head: tuple[int, str] | None = None
    lines: Lines = []
    size = 0
    fence = ""

    for number, each in enumerate(given, 1):
        line = each.removeprefix("\ufeff") if number == 1 else each
        if not fence and line.startswith(_SECTION):
            yield from _section(head, lines, unread)
            head, lines, size = (number, line[len(_SECTION) :].strip()), [], 0
            continue

        size += len(line) + 1
        # No memory may be this long. The section is refused anyway, so the rest is not kept.
        if size <= _LONGEST_SECTION:
            lines.append((number, line))

        opened = _FENCE.fullmatch(line)
        if fence and line.rstrip("\r") == fence:
            fence = ""
        elif not fence and opened and head:
            fence = opened[1]

    yield from _section(head, lines, unread)


def _section(
    head: tuple[int, str] | None, lines: Lines, unread: list[LineRemark]
) -> Iterator[tuple[int, str, Lines]]:
    if head is not None:
        yield *head, lines
        return

    _report([(number, line) for number, line in lines if line.strip() != _TITLE], unread)


def _entry(start: int, title: str, lines: Lines, unread: list[LineRemark]) -> Entry:
    values: dict[str, Value] = {"title": title}
    strays: Lines = []
    fence = ""
    content: list[str] | None = None

    for number, line in lines:
        if fence and line.rstrip("\r") == fence:
            fence = ""
        elif fence and content is not None:
            content.append(line)
        elif content is None and (opened := _FENCE.fullmatch(line)):
            fence, content = opened[1], []
        elif content is None and (field := _FIELD.fullmatch(line.rstrip("\r"))):
            values[field[1]] = _value(field[1], field[2])
        else:
            strays.append((number, line))

    if content is None or fence:
        raise EntryError(
            "no content in a fence; expected ```text, the content and ``` below the fields"
        )

    _report(strays, unread)

    return entry_from_values({**values, "content": "\n".join(content)}, line=start)


def _value(name: str, shown: str) -> Value:
    try:
        if name == "importance":
            return float(shown)
        return json.loads(shown) if shown.startswith(_JSON_BEGINS) else shown
    except (ValueError, RecursionError) as error:
        raise EntryError(
            f"{name} cannot be read; expected {'a number' if name == 'importance' else 'JSON'}"
        ) from error


def _report(strays: Lines, unread: list[LineRemark]) -> None:
    written = [number for number, line in strays if line.strip()]
    if written:
        unread.append(
            LineRemark(
                written[0],
                f"{counted_noun(len(written), 'line')} outside of a memory's fields and fence left"
                " out",
            )
        )
