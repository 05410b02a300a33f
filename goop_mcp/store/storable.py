"""Refuse text that not every engine can keep: one cuts at NUL, another rejects it, none takes half a character."""

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
            if isinstance(text, str):
                _refuse(field.name, text)


def _refuse(name: str, text: str) -> None:
    if "\0" in text:
        raise StoreError(f"{name} holds the character NUL, which no database keeps; take it out")

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{name} holds half of a character at {error.start + 1}; take it out"
        ) from error
