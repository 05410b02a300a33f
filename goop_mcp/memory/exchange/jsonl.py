"""Memories as JSONL: one JSON object a line."""

import json
from collections.abc import Iterable, Iterator

from goop_mcp.memory.exchange.entries import Entry, EntryError, LineRemark, entry_from_values, values_of
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.store.records import StoredMemory

__all__ = ["read_jsonl", "write_jsonl"]


def write_jsonl(memories: Iterable[StoredMemory], *, scale: ImportanceScale = "ours") -> Iterator[str]:
    """Yield a line a memory, each with its line feed; `scale` "packages" writes importance from 1 to 10."""
    for memory in memories:
        yield json.dumps(values_of(memory, scale), ensure_ascii=False) + "\n"


def read_jsonl(text: str) -> tuple[list[Entry], list[LineRemark]]:
    """Return the memories of `text` and the lines that are none, each with the reason; blank lines are neither."""
    entries, unread = [], []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            entries.append(_entry(line, number))
        except EntryError as error:
            unread.append(LineRemark(number, str(error)))
    return entries, unread


def _entry(line: str, number: int) -> Entry:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise EntryError(f"no JSON at column {error.colno}; expected one object on the line") from error
    except (ValueError, RecursionError) as error:
        raise EntryError("a number too long or too much nesting; expected one object on the line") from error
    if not isinstance(values, dict):
        raise EntryError("no JSON object; expected one with title and content")
    return entry_from_values(values, line=number)
