"""Refuse text that not every engine can store.

SQLite cuts text at NUL, PostgreSQL rejects it, and no engine stores a lone surrogate.
"""

from dataclasses import fields

from goop_mcp.errors import StoreError
from goop_mcp.store.records import (
    NewAttempt,
    NewEvent,
    NewJudgement,
    NewMemory,
    NewReport,
    Projection,
)

__all__ = ["refuse_unstorable"]


def refuse_unstorable(
    record: NewMemory | NewReport | NewEvent | NewAttempt | NewJudgement | Projection,
) -> None:
    """Raise StoreError when a text of `record` holds NUL or a lone surrogate."""
    for field in fields(record):
        value = getattr(record, field.name)
        for text in value if isinstance(value, tuple) else (value,):
            if not isinstance(text, str):
                continue
            if "\0" in text:
                raise StoreError(
                    f"{field.name} holds the character NUL, which no database keeps; remove it"
                )

            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise StoreError(
                    f"{field.name} holds half of a character at {error.start + 1}; remove it"
                ) from error
