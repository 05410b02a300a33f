"""Look into a result without trusting it: a value of another kind counts as absent."""

from goop_mcp.protocols.speckit.model import Values
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["items", "number", "section"]


def number(values: Values | None, name: str) -> float | None:
    """Return the number called `name`; None when there is none."""
    value = values.get(name) if values is not None else None
    # By class: this is asked dozens of times for each answer, and a bool is not a number.
    return value if value.__class__ is int or value.__class__ is float else None


def section(values: Values | None, name: str) -> Values:
    """Return the object called `name`, `values` itself for "", or an empty one."""
    if values is None:
        return {}
    value = values if not name else values.get(name)
    return value if isinstance(value, dict) else {}


def items(values: Values | None, name: str) -> list[JsonValue] | None:
    """Return the list called `name`; None when there is none."""
    value = values.get(name) if values is not None else None
    return value if isinstance(value, list) else None
