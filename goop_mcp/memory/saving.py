"""Save a memory: once, however often the call is repeated."""

from dataclasses import dataclass
from typing import Final, Literal
from uuid import uuid4

from goop_mcp.memory.drafts import (
    MemoryDraft,
    MemoryRefusedError,
    PreparedMemory,
    prepare,
)
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.memory.similarity import nearly_the_same
from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import NewMemory, StoredMemory
from goop_mcp.validation.findings import Finding, Hit, excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workflow.memory_rules import DUPLICATE, KEY_REUSED

__all__ = ["SaveResult", "add_memory", "new_memory", "save_memory"]

_FIRST_CANDIDATES: Final = 3
_MOST_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """The outcome of a save.

    With the status `duplicate`, `id` and `revision` are those of a memory that existed before.
    `redactions` counts the secrets and private parts that were removed. `similar` are the ids of
    memories of the same type with nearly the same text; they are kept.
    """

    id: int
    uid: str
    revision: int
    status: Literal["saved", "duplicate"]
    redactions: int
    similar: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the outcome as JSON values."""
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
) -> SaveResult:
    """Save `draft` and return once it is on disk.

    `timeout` is the longest wait for other writers, in seconds. `scale` is "either" for the tools
    that have the packages' names. Raises MemoryRefusedError for a draft that cannot be saved or
    whose key another memory holds, and the errors of the store.
    """
    prepared = prepare(draft, scale=scale)
    return store.write(lambda writing: add_memory(writing, prepared, clock=clock), timeout=timeout)


def add_memory(
    writing: WriteTransaction, prepared: PreparedMemory, *, clock: Clock = utc_now
) -> SaveResult:
    """Add a prepared memory within a transaction.

    Raises MemoryRefusedError when another memory holds the key.
    """
    # Looking for the key and adding the memory are one transaction: of two repeated calls that run
    # at the same time, the second finds the memory of the first.
    first = _same(writing, prepared)
    if first is not None:
        message = f"memory {first.id} has the same text; nothing was added"
        hit = Hit(message=message, path="content", found=str(first.id))
        return SaveResult(
            id=first.id,
            uid=first.uid,
            revision=first.revision,
            status="duplicate",
            redactions=prepared.redactions,
            findings=(*prepared.findings, Problem(DUPLICATE, hit).finding(DUPLICATE.lenient)),
        )

    # Only if one of the first three candidates is similar, more of them are compared.
    similar = _alike(writing, prepared, limit=_FIRST_CANDIDATES)
    if similar:
        similar = _alike(writing, prepared, limit=_MOST_CANDIDATES)

    stored = writing.add_memory(new_memory(prepared, uid=uuid4().hex, created_at=written(clock())))

    return SaveResult(
        id=stored.id,
        uid=stored.uid,
        revision=stored.revision,
        status="saved",
        redactions=prepared.redactions,
        similar=similar,
        findings=prepared.findings,
    )


def _same(reading: ReadTransaction, prepared: PreparedMemory) -> StoredMemory | None:
    """Return the memory with the same text, None when there is none.

    Raises MemoryRefusedError when the key belongs to a memory with another text.
    """
    key = prepared.idempotency_key
    holder = reading.memory_by_key(key) if prepared.own_key else None
    if holder is not None and holder.fingerprint != prepared.fingerprint:
        message = (
            f"idempotency_key {excerpt(key, 80)!r} is held by memory {holder.id}, which has another"
            " text; expected an unused key"
        )
        hit = Hit(message=message, path="idempotency_key", found=excerpt(key))
        raise MemoryRefusedError([Problem(KEY_REUSED, hit).finding(KEY_REUSED.lenient)])

    # The same text under another key, or without one, is still a repeated save.
    return holder or reading.memory_by_fingerprint(prepared.fingerprint)


def _alike(reading: ReadTransaction, prepared: PreparedMemory, *, limit: int) -> tuple[int, ...]:
    """Return memories of the same type with nearly the same text, of `limit` candidates."""
    return tuple(
        sorted(
            each.id
            for each in reading.memories_by_sketch(prepared.sketches, limit=limit)
            if each.type == prepared.type
            and nearly_the_same(prepared.words, each.title, each.content)
        )
    )


def new_memory(prepared: PreparedMemory, *, uid: str, created_at: str) -> NewMemory:
    """Return the record of a prepared memory."""
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
