"""A memory in an imported or exported file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.importance import ImportanceScale, packages_importance
from goop_mcp.memory.times import written
from goop_mcp.store.records import StoredMemory
from goop_mcp.validation.findings import excerpt

__all__ = ["Entry", "EntryError", "LineRemark", "entry_from_values", "values_of"]

Value = object
"""A value of JSON."""

_UID: Final = re.compile(r"[\w.:-]{1,100}")
_TEXTS: Final = ("title", "content", "type", "agent", "session_id", "idempotency_key", "uid")
_LISTS: Final = ("concepts", "facts", "source_files")
_NAMES: Final = (*_TEXTS, *_LISTS, "importance", "created_at")
# The packages' names of these fields, in camel case.
_OTHER_NAMES: Final = {
    "sourceFiles": "source_files",
    "sessionId": "session_id",
    "createdAt": "created_at",
}
# Larger numbers are milliseconds: as seconds they would be after the year 5138.
_LARGEST_SECONDS: Final = 100_000_000_000
_LARGEST_MILLISECONDS: Final = _LARGEST_SECONDS * 1000


class EntryError(ValueError):
    """Raised within this package when an entry cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class LineRemark:
    """A remark about a line of an imported file; lines count from 1."""

    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory of a file; `uid` and `created_at` are None if the file does not contain them."""

    line: int
    draft: MemoryDraft
    uid: str | None
    created_at: str | None
    remarks: tuple[LineRemark, ...] = ()


def values_of(memory: StoredMemory, scale: ImportanceScale = "ours") -> dict[str, Value]:
    """Return a memory as JSON values without empty ones and without a key derived from the text."""
    importance = (
        packages_importance(memory.importance) if scale == "packages" else memory.importance
    )
    values: dict[str, Value] = {
        "uid": memory.uid,
        "type": memory.type,
        "title": memory.title,
        "content": memory.content,
        "importance": importance,
        "concepts": list(memory.concepts),
        "facts": list(memory.facts),
        "source_files": list(memory.source_files),
        "agent": memory.agent,
        "session_id": memory.session_id,
        "idempotency_key": (
            None
            if memory.idempotency_key == f"words:{memory.fingerprint}"
            else memory.idempotency_key
        ),
        "created_at": memory.created_at,
    }

    return {name: value for name, value in values.items() if value not in (None, [])}


def entry_from_values(given: Mapping[str, Value], *, line: int) -> Entry:
    """Return the entry of JSON values at `line`; raise EntryError when they are not a memory."""
    values = {
        _OTHER_NAMES.get(name, name): value for name, value in given.items() if value is not None
    }
    unknown = [excerpt(name, 40) for name in values if name not in _NAMES]
    remarks = [f"{', '.join(unknown)} left out: a memory has no such field"] if unknown else []
    texts = {name: _text(name, values[name]) for name in _TEXTS if name in values}
    lists = {name: _texts(name, values[name]) for name in _LISTS if name in values}
    uid = texts.get("uid")
    if uid is not None and not _UID.fullmatch(uid):
        raise EntryError(
            f"uid is {excerpt(uid, 40)!r}; expected letters, digits, dots and hyphens, 100 at most"
        )

    draft = MemoryDraft(
        title=texts.get("title", ""),
        content=texts.get("content", ""),
        type=texts.get("type", "observation"),
        importance=values.get("importance", 0.5),
        concepts=lists.get("concepts", ()),
        facts=lists.get("facts", ()),
        source_files=lists.get("source_files", ()),
        agent=texts.get("agent"),
        session_id=texts.get("session_id"),
        idempotency_key=texts.get("idempotency_key"),
    )
    created_at = _time(values["created_at"]) if "created_at" in values else None

    return Entry(
        line=line,
        draft=draft,
        uid=uid,
        created_at=created_at,
        remarks=tuple(LineRemark(line, message) for message in remarks),
    )


def _text(name: str, value: Value) -> str:
    if not isinstance(value, str):
        raise EntryError(f"{name} is {excerpt(str(value), 40)}; expected text")
    return value


def _texts(name: str, value: Value) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise EntryError(f"{name} is {excerpt(str(value), 40)}; expected a list of texts")
    return tuple(_text(name, each) for each in value)


def _time(value: Value) -> str:
    try:
        return written(_read_time(value))
    except (ValueError, OverflowError, OSError) as error:
        raise EntryError(
            f"created_at is {excerpt(str(value), 40)}; expected a time in ISO 8601"
        ) from error


def _read_time(value: Value) -> datetime:
    if isinstance(value, str):
        time = datetime.fromisoformat(value)
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= _LARGEST_MILLISECONDS
    ):
        raise ValueError("no time")

    seconds = value if value <= _LARGEST_SECONDS else value / 1000

    return datetime.fromtimestamp(seconds, UTC)


Reader = Callable[[Iterable[str]], "Iterator[Entry | LineRemark]"]
"""Yields the entries of lines, and remarks on lines that could not be read, as it reads them."""
