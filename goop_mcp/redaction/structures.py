"""Redact whole structures: JSON values and dataclasses."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar, cast

from goop_mcp.redaction.redacting import REDACTED, redact

__all__ = ["map_texts", "redact_structure"]

T = TypeVar("T")
_Change = Callable[[str, str | None], str]


def redact_structure(value: T) -> tuple[T, int]:
    """Return a copy of `value` with every text redacted, and the number of replaced places.

    A text under a name such as `password` is replaced completely.
    """
    count = 0

    def hide(text: str, name: str | None) -> str:
        nonlocal count
        found = redact(text)
        # A text that shows nothing by itself is judged as an assignment to its name.
        as_assigned = f"{name}={REDACTED}"
        if found.count == 0 and name is not None and redact(f"{name}={text}").text == as_assigned:
            count += 1
            return REDACTED

        count += found.count
        return found.text

    return map_texts(value, hide), count


def map_texts(value: T, change: _Change) -> T:
    """Return a copy of `value` with every text replaced by the result of `change`.

    `change` receives the text and the name of its field or key; the name is None for keys and at
    the top. Lists, tuples, mappings and dataclasses are walked; other values are kept.
    """
    return cast("T", _copy(value, None, change))


# The result has the type of `value`, which the type system cannot express here.
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
