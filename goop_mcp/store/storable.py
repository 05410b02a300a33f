"""Refuse, or replace, text that not every engine can store.

SQLite cuts text at NUL, PostgreSQL rejects it, and no engine stores a lone surrogate.
"""

from goop_mcp.errors import StoreError
from goop_mcp.store.records import Record

__all__ = ["refuse_unstorable", "refuse_unstorable_text", "storable_text"]


def refuse_unstorable(record: Record) -> None:
    """Raise StoreError when a text of `record` holds NUL or a lone surrogate."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                refuse_unstorable_text(text, name=name)


def refuse_unstorable_text(text: str, *, name: str) -> None:
    """Raise StoreError when `text` holds NUL or a lone surrogate; the error calls it `name`."""
    if "\0" in text:
        raise StoreError(f"{name} holds the character NUL, which no database keeps; remove it")

    # Nearly every text is, and holds no half of a character then.
    if text.isascii():
        return

    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{name} holds half of a character at {error.start + 1}; remove it"
        ) from error


def storable_text(text: str) -> str:
    """Return `text` with U+FFFD for each NUL and "?" for each lone surrogate."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
