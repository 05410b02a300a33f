"""Whole structures without their secrets: JSON values, and the frozen values that this program works with."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar, cast

from goop_mcp.redaction.redacting import REDACTED, redact

__all__ = ["map_texts", "redact_structure"]

T = TypeVar("T")
_Change = Callable[[str, str | None], str]


def redact_structure(value: T) -> tuple[T, int]:
    """Return a copy of `value` with every text in it redacted, and the number of places.

    A text under a name such as `password` goes as a whole.
    """
    count = 0

    def hide(text: str, name: str | None) -> str:
        nonlocal count
        found = redact(text)
        if found.count == 0 and name is not None and _is_secret(name, text):
            count += 1
            return REDACTED

        count += found.count
        return found.text

    return map_texts(value, hide), count


def map_texts(value: T, change: _Change) -> T:
    """Return a copy of `value` with every text in it changed; `change` gets the text and the name it stands under.

    Lists, tuples, mappings with their keys and dataclasses are walked; everything else stays. A key has no name.
    """
    return cast("T", _copy(value, None, change))


# Any value, and the same kind of it
def _copy(value: Any, name: str | None, change: _Change) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return value if isinstance(value, Enum) else change(value, name)
    if isinstance(value, Mapping):
        return {
            _copy(key, None, change): _copy(each, str(key), change) for key, each in value.items()
        }

    if isinstance(value, list):
        return [_copy(each, name, change) for each in value]
    if isinstance(value, tuple):
        return tuple(_copy(each, name, change) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{each: _copy(getattr(value, each), each, change) for each in names})

    return value


def _is_secret(name: str, text: str) -> bool:
    """Tell whether `text` is one because of the `name` it stands under."""
    return redact(f"{name}={text}").text == f"{name}={REDACTED}"
