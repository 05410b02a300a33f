"""Save a memory: once, however often the call is repeated (WORKFLOW, section 7)."""

from dataclasses import dataclass
from typing import Final, Literal
from uuid import uuid4

from goop_mcp.memory.drafts import (
    MemoryDraft,
    MemoryRefusedError,
    PreparedMemory,
    finding_of,
    prepare,
)
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.memory.wording import nearly_the_same
from goop_mcp.store.interface import Reading, Store, Writing
from goop_mcp.store.records import NewMemory, StoredMemory
from goop_mcp.validation.findings import Finding, Hit, excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workflow.memory_rules import DUPLICATE, KEY_REUSED

__all__ = ["SavedMemory", "add_memory", "new_memory", "save_memory"]

_FIRST_CANDIDATES: Final = 3
_MOST_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedMemory:
    """What became of a save.

    `duplicate` means that `id` and `revision` are those of a memory that was there before.

    `redactions` counts the secrets and private parts taken out. `similar` are the ids of memories
    of the same type that say nearly the same; they are kept.
    """

    id: int
    uid: str
    revision: int
    status: Literal["saved", "duplicate"]
    redactions: int
    similar: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the outcome as JSON values (INTERFACES, section 5)."""
        return {
            "id": self.id,
            "revision": self.revision,
            "status": self.status,
            "redactions": self.redactions,
            "similar": list(self.similar),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def save_memory(
    store: Store,
    draft: MemoryDraft,
    *,
    scale: ImportanceScale = "ours",
    clock: Clock = utc_now,
    timeout: float = 30.0,
) -> SavedMemory:
    """Save `draft` and return once it is on disk.

    `timeout` is the longest wait for other writers, in seconds.

    `scale` is "either" for the tools that bear the packages' names. Raises MemoryRefusedError for a
    draft that cannot be kept or whose key another memory holds, and the errors of the store.
    """
    prepared = prepare(draft, scale=scale)
    return store.write(lambda writing: add_memory(writing, prepared, clock=clock), timeout=timeout)


def add_memory(
    writing: Writing, prepared: PreparedMemory, *, clock: Clock = utc_now
) -> SavedMemory:
    """Add what is prepared within a transaction under way.

    Raises MemoryRefusedError when another memory holds the key.
    """
    first = _same(writing, prepared)
    if first is not None:
        return _duplicate(first, prepared)

    similar = _similar(writing, prepared)
    stored = writing.add_memory(new_memory(prepared, uid=uuid4().hex, created_at=written(clock())))

    return SavedMemory(
        id=stored.id,
        uid=stored.uid,
        revision=stored.revision,
        status="saved",
        redactions=prepared.redactions,
        similar=similar,
        findings=prepared.findings,
    )


def _same(reading: Reading, prepared: PreparedMemory) -> StoredMemory | None:
    """Return the memory that holds the same words, None when there is none."""
    holder = reading.memory_by_key(prepared.idempotency_key) if prepared.own_key else None
    if holder is not None and holder.fingerprint != prepared.fingerprint:
        raise MemoryRefusedError([_key_reused(holder, prepared.idempotency_key)])
    return holder or reading.memory_by_fingerprint(prepared.fingerprint)


def _key_reused(holder: StoredMemory, key: str) -> Finding:
    message = (
        f"idempotency_key {excerpt(key, 80)!r} is held by memory {holder.id}, which says something"
        " else"
    )
    hit = Hit(
        message=f"{message}; expected a key of its own", path="idempotency_key", found=excerpt(key)
    )
    return finding_of(Problem(KEY_REUSED, hit))


def _duplicate(first: StoredMemory, prepared: PreparedMemory) -> SavedMemory:
    message = f"memory {first.id} says the same; nothing was added"
    remark = finding_of(
        Problem(DUPLICATE, Hit(message=message, path="content", found=str(first.id)))
    )
    return SavedMemory(
        id=first.id,
        uid=first.uid,
        revision=first.revision,
        status="duplicate",
        redactions=prepared.redactions,
        findings=(*prepared.findings, remark),
    )


def _similar(reading: Reading, prepared: PreparedMemory) -> tuple[int, ...]:
    """Return memories of the type that say nearly the same, at most 20.

    Those that share most sketches are compared word by word; more than three only when one of these
    is alike.
    """
    some = _alike(reading, prepared, limit=_FIRST_CANDIDATES)
    return _alike(reading, prepared, limit=_MOST_CANDIDATES) if some else ()


def _alike(reading: Reading, prepared: PreparedMemory, *, limit: int) -> tuple[int, ...]:
    return tuple(
        sorted(
            each.id
            for each in reading.memories_by_sketch(prepared.sketches, limit=limit)
            if each.type == prepared.type
            and nearly_the_same(prepared.words, each.title, each.content)
        )
    )


def new_memory(prepared: PreparedMemory, *, uid: str, created_at: str) -> NewMemory:
    """Return what is prepared as a row to be added."""
    return NewMemory(
        uid=uid,
        type=prepared.type,
        title=prepared.title,
        content=prepared.content,
        importance=prepared.importance,
        idempotency_key=prepared.idempotency_key,
        fingerprint=prepared.fingerprint,
        created_at=created_at,
        concepts=prepared.concepts,
        facts=prepared.facts,
        source_files=prepared.source_files,
        agent=prepared.agent,
        session_id=prepared.session_id,
        sketches=prepared.sketches,
    )
