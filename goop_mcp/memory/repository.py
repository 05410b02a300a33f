"""Get single memories, list them, and forget them on request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.memory.searching import SearchArgumentError, wanted_memories
from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import StoredMemory

__all__ = [
    "ForgottenMemory",
    "MemoryNotFoundError",
    "all_memories",
    "forget_memory",
    "get_memory",
    "list_memories",
    "memory_values",
]


_LARGEST_ID: Final = 2**63 - 1
_PAGE: Final = 200


class MemoryNotFoundError(GoopError, LookupError):
    """Raised when there is no memory with an id, or it was forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenMemory:
    """A memory that was forgotten.

    `purged` is whether its row was removed as well; `revision` is the project's after it.
    """

    id: int
    title: str
    forgotten_at: str
    purged: bool
    revision: int

    def to_dict(self) -> dict[str, object]:
        """Return what was forgotten as JSON values."""
        return {
            "id": self.id,
            "title": self.title,
            "forgotten_at": self.forgotten_at,
            "purged": self.purged,
            "revision": self.revision,
        }


def get_memory(store: Store, id: int) -> StoredMemory:
    """Return the memory with `id`; raise MemoryNotFoundError if there is none or no longer."""
    found = store.read(lambda reading: _memory(reading, id))
    if found is None or found.forgotten_at is not None:
        raise _not_found(id, found)
    return found


def memory_values(memory: StoredMemory) -> dict[str, object]:
    """Return the whole memory as JSON values; a key derived from the text is None."""
    own_key = memory.idempotency_key != f"words:{memory.fingerprint}"
    return {
        "id": memory.id,
        "uid": memory.uid,
        "type": memory.type,
        "title": memory.title,
        "content": memory.content,
        "importance": memory.importance,
        "concepts": list(memory.concepts),
        "facts": list(memory.facts),
        "source_files": list(memory.source_files),
        "agent": memory.agent,
        "session_id": memory.session_id,
        "idempotency_key": memory.idempotency_key if own_key else None,
        "created_at": memory.created_at,
        "revision": memory.revision,
    }


def list_memories(
    store: Store,
    *,
    types: Sequence[str] = (),
    concepts: Sequence[str] = (),
    min_importance: float = 0.0,
    limit: int | None = None,
    before_id: int | None = None,
) -> list[StoredMemory]:
    """Return at most `limit` memories, newest first; None means all.

    `before_id`, the id of the last one, continues the list. Raises SearchArgumentError for a filter
    or limit that is not allowed.
    """
    if limit is not None and limit < 1:
        raise SearchArgumentError(f"limit is {limit}; expected at least 1")

    wanted = wanted_memories(types=types, concepts=concepts, min_importance=min_importance)

    return store.read(lambda reading: reading.memories(wanted, limit=limit, before_id=before_id))


def all_memories(store: Store) -> Iterator[StoredMemory]:
    """Yield every memory, oldest first, read page by page; includes those saved meanwhile."""
    last = 0
    while found := store.read(partial(_page, id=last)):
        yield from found
        last = found[-1].id


def _page(reading: ReadTransaction, id: int) -> list[StoredMemory]:
    return reading.memories_after(id, limit=_PAGE)


def forget_memory(
    store: Store, id: int, *, purge: bool = False, clock: Clock = utc_now, timeout: float = 30.0
) -> ForgottenMemory:
    """Remove texts, key and index entries of the memory with `id`; `purge` removes the row as well.

    Only an id is accepted, so that a search never forgets anything. Raises MemoryNotFoundError when
    there is no such memory, or when it is already forgotten and not to be purged.
    """

    def change(writing: WriteTransaction) -> ForgottenMemory:
        now = written(clock())
        before = _memory(writing, id)
        was = (
            writing.forget_memory(id, forgotten_at=now, purge=purge) if before is not None else None
        )
        if was is None:
            raise _not_found(id, before)
        return ForgottenMemory(
            id=id, title=was.title, forgotten_at=now, purged=purge, revision=writing.next_revision()
        )

    # Looked up first, as a write would create the database and wait for other writers.
    if store.read(lambda reading: _memory(reading, id)) is None:
        raise _not_found(id, None)
    return store.write(change, timeout=timeout)


def _memory(reading: ReadTransaction, id: int) -> StoredMemory | None:
    # Databases raise an error for a number beyond 64 bits.
    return reading.memory(id) if 0 < id <= _LARGEST_ID else None


def _not_found(id: int, found: StoredMemory | None) -> MemoryNotFoundError:
    if found is not None and found.forgotten_at is not None:
        return MemoryNotFoundError(
            f"memory {id} was forgotten on {found.forgotten_at}; search for another"
        )

    return MemoryNotFoundError(
        f"there is no memory {id}; search for its text, results show the ids"
    )
