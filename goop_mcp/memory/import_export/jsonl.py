"""Memories as JSONL: one JSON object on each line."""

import json
from collections.abc import Iterable, Iterator

from goop_mcp.memory.import_export.entries import (
    Entry,
    EntryError,
    LineRemark,
    entry_from_values,
    values_of,
)
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.store.records import StoredMemory

__all__ = ["read_jsonl", "write_jsonl"]


def write_jsonl(
    memories: Iterable[StoredMemory], *, scale: ImportanceScale = "ours"
) -> Iterator[str]:
    """Yield a line with its line feed for each memory; `scale` is that of the importance."""
    for memory in memories:
        yield json.dumps(values_of(memory, scale), ensure_ascii=False) + "\n"


def read_jsonl(lines: Iterable[str]) -> Iterator[Entry | LineRemark]:
    """Yield the memories of `lines`, and a remark for each line without one; ignore blank lines."""
    for number, given in enumerate(lines, 1):
        line = given.removeprefix("\ufeff") if number == 1 else given
        if not line.strip():
            continue

        try:
            yield _entry(line, number)
        except EntryError as error:
            yield LineRemark(number, str(error))


def _entry(line: str, number: int) -> Entry:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise EntryError(
            f"not valid JSON at column {error.colno}; expected one object on the line"
        ) from error
    except (ValueError, RecursionError) as error:
        raise EntryError(
            "a number too long or too much nesting; expected one object on the line"
        ) from error

    if not isinstance(values, dict):
        raise EntryError("not a JSON object; expected one with title and content")
    return entry_from_values(values, line=number)
