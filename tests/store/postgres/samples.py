"""Records for tests; each number makes another one."""

import hashlib

from goop_mcp.store.interface import Writing
from goop_mcp.store.records import NewEvent, NewMemory, NewReport, StoredMemory

NOW = "2026-11-21T09:00:00Z"


def memory(
    number: int | str = 1, *, title: str | None = None, content: str = "Sessions end after 30 minutes."
) -> NewMemory:
    """Return a memory that differs from others in all that must be unique."""
    key = hashlib.sha256(str(number).encode()).hexdigest()
    return NewMemory(
        uid=f"m-{number}",
        type="decision",
        title=title if title is not None else f"Decision {number}",
        content=content,
        importance=0.7,
        idempotency_key=key,
        fingerprint=key,
        created_at=NOW,
        concepts=("Sessions", "auth"),
        facts=("timeout=30",),
        source_files=("src/auth/service.ts",),
        agent="goop-executor",
        session_id="s1",
    )


def report(number: int = 1) -> NewReport:
    """Return an envelope to be recorded."""
    return NewReport(
        protocol="goop_report",
        idempotency_key=f"report-{number}",
        envelope="{}",
        verdict="{}",
        decision="{}",
        created_at=NOW,
        task_id=f"W1.T{number}",
    )


def event(number: int = 1) -> NewEvent:
    """Return something that happened."""
    return NewEvent(kind="decision", author="human", text=f"Something {number}", created_at=NOW, document="ADL.md")


def save(new: NewMemory, writing: Writing) -> StoredMemory:
    """Add a memory, or return the one that was saved under its key."""
    return writing.memory_by_key(new.idempotency_key) or writing.add_memory(new)
