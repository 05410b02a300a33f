"""Rows by number: the same number, the same row."""

from dataclasses import replace

from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import NewEvent, NewMemory, NewReport, StoredMemory
from tests.store.rows import EVENT, REPORT, new_memory

__all__ = ["event", "memory", "report", "save"]


def memory(
    number: int | str = 1, *, title: str = "A decision", content: str = "Sessions end."
) -> NewMemory:
    """Return a memory that differs from those of other numbers in all that must be unique."""
    return replace(new_memory(str(number)), title=title, content=content, sketches=(7,))


def report(number: int = 1) -> NewReport:
    """Return an envelope to be recorded."""
    return replace(REPORT, idempotency_key=f"report-{number}")


def event(number: int = 1) -> NewEvent:
    """Return something that happened."""
    return replace(EVENT, text=f"Something {number}")


def save(new: NewMemory, writing: WriteTransaction) -> StoredMemory:
    """Save a memory and its event in one change, or return the memory with its key."""
    saved = writing.memory_by_key(new.idempotency_key)
    if saved is None:
        saved = writing.add_memory(new)
        writing.add_event(replace(EVENT, text=new.uid))

    return saved
