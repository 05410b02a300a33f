"""From the typed model to a Factory reply; reading what is written gives the same model again."""

import json
from enum import StrEnum
from typing import Any

from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.factory.model import Reply
from goop_mcp.structs import field_names, required_names

__all__ = ["write_reply"]

_NEVER_WRITTEN = frozenset({"extensions", "unreadable", "partial"})


def write_reply(reply: Reply) -> str:
    """Return `reply` as JSON, indented by two blanks, ending with a line feed.

    Parts that are None, and empty ones that may be left out, are not written. Raises
    NotWritableError when the reply is marked as partial, and when something is called like a field
    of the reply or cannot be expressed in JSON.
    """
    if reply.partial:
        raise NotWritableError(
            "a reply that was cut off cannot be written as a whole one; ask the agent again"
        )

    values = _values(reply)

    try:
        return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise NotWritableError(
            "a value cannot be expressed in JSON; use texts, numbers, lists and objects"
        ) from error


# One of the structs of the model
def _values(part: Any) -> dict[str, Any]:  # noqa: ANN401
    values: dict[str, Any] = {}
    names, required = field_names(part.__class__) or (), required_names(part.__class__)
    for name in names:
        value = getattr(part, name)
        if name in _NEVER_WRITTEN or value is None or (value == () and name not in required):
            continue

        values[name] = _plain(value)

    for name, value in part.extensions.items():
        if name in names and name not in _NEVER_WRITTEN:
            raise NotWritableError(
                f"extension {name!r} is called like a field of the reply; set the field itself"
            )

        values[name] = value

    return values


def _plain(value: Any) -> Any:  # noqa: ANN401 - a value of the model
    if field_names(value.__class__) is not None:
        return _values(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value
