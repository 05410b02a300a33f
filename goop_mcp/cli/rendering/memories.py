"""Render memories for people.

Their texts are data from agents: control characters in them are made visible.
"""

import textwrap
from collections.abc import Iterator, Sequence

import click

from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.memory.import_export.importing import ImportReport
from goop_mcp.memory.searching import FoundMemories, FoundMemory
from goop_mcp.messages.icons import SEPARATOR
from goop_mcp.messages.quoting import paragraph
from goop_mcp.store.records import StoredMemory

__all__ = ["render_found", "render_import", "render_list", "render_memory"]

_WIDEST = 100
_UNWRAPPED = 1_000_000
_NARROWEST_TITLE = 20
_DAY = len("2026-01-15")
_TAB = 4
_CONTINUATION = "  "
_QUOTE = "  | "
"""The start of each line of a content, which an agent wrote."""


def render_found(found: FoundMemories, *, width: int | None) -> str:
    """Return the results of a search, best first, styled; a `width` of None wraps nothing."""
    blocks = ["".join(f"{line}\n" for line in _found(item, width)) for item in found.items]
    if found.has_more:
        least = "at least " if found.total_is_capped else ""
        count = f"{len(found.items)} of {least}{found.total} found; --limit shows more"
    else:
        count = f"{found.total or 'nothing'} found"

    return "\n".join([*blocks, f"{count}\n"])


def render_list(memories: Sequence[StoredMemory], *, width: int | None) -> str:
    """Return one line a memory; on a terminal a long title is cut."""
    id_width = max((len(str(memory.id)) for memory in memories), default=0)
    lines = []
    for memory in memories:
        head = (
            f"{memory.id:>{id_width}}  {memory.created_at[:_DAY]}  {memory.type:<11} "
            f" {memory.importance:<4g}  "
        )
        title = shown(memory.title)
        room = len(title) if width is None else max(width - len(head), _NARROWEST_TITLE)
        lines.append(head + (title if len(title) <= room else f"{title[: room - 1]}…"))

    return "".join(f"{line}\n" for line in lines)


def render_memory(memory: StoredMemory, *, width: int | None) -> str:
    """Return the whole memory, styled."""
    saved = f"{memory.created_at}{f' by {shown(memory.agent)}' if memory.agent else ''}"
    rows = [
        ("id", f"{memory.id} (revision {memory.revision})"),
        ("type", f"{memory.type}, importance {memory.importance:g}"),
        ("saved", saved),
        ("session", shown(memory.session_id or "")),
        ("concepts", ", ".join(map(shown, memory.concepts))),
        ("files", ", ".join(map(shown, memory.source_files))),
        *(("fact", shown(fact)) for fact in memory.facts),
    ]
    title = _wrap(paragraph(shown(memory.title)), width, first="", others=_CONTINUATION)
    lines = [*(click.style(line, bold=True) for line in title), ""]
    indent = " " * 10
    for name, value in rows:
        if value:
            # Wrapped with blanks in place of the label, whose style has characters but no width.
            first, *others = _wrap(value, width, first=indent, others=indent)
            label = click.style(f"{name + ':':<9}", dim=True)
            lines += [label + first[len(indent) - 1 :], *others]

    inside = None if width is None else width - len(_QUOTE)
    content = []
    for each in memory.content.splitlines():
        text = shown(each.expandtabs(_TAB))
        indent = text[: len(text) - len(text.lstrip())]
        wrapped = _wrap(text.strip(), inside, first=indent, others=indent)
        content += [f"{_QUOTE}{line}" for line in wrapped or [""]]

    return "".join(f"{line}\n" for line in [*lines, "", *content])


def render_import(report: ImportReport) -> str:
    """Return the result of an import in one line, without the lines that were not imported."""
    numbers = [
        (report.saved, "saved"),
        (report.duplicates, "already there"),
        (report.forgotten, "forgotten before and not restored"),
        (report.skipped, "not imported"),
        (report.redactions, "secrets or private parts removed"),
    ]
    counts = [f"{number} {what}" for number, what in numbers if number]

    return f"{', '.join(counts) or 'nothing to import'}\n"


def _found(item: FoundMemory, width: int | None) -> Iterator[str]:
    memory = item.memory
    number = f"{memory.id}."
    indent = " " * (len(number) + 1)
    title = _wrap(shown(memory.title), width, first=f"{number} ", others=indent)
    yield from (click.style(line, bold=True) for line in title)
    parts = [f"{memory.type} {memory.importance:g}", memory.created_at[:_DAY]]
    parts += [shown(memory.agent)] if memory.agent else []
    parts += map(shown, [*memory.concepts, *memory.source_files])
    about = _wrap(f" {SEPARATOR} ".join(parts), width, first=indent, others=indent)
    yield from (click.style(line, dim=True) for line in about)
    yield from _wrap(shown(item.snippet), width, first=indent, others=indent)


def _wrap(text: str, width: int | None, *, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        _UNWRAPPED if width is None else min(width, _WIDEST),
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
    )
