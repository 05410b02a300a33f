"""Typed access to the members of a JSON object after its errors were reported.

A member of another type counts as absent.
"""

from collections.abc import Mapping

from goop_mcp.validation.safe_json import JsonValue

__all__ = ["count_in", "flag_in", "number_in", "others_in", "text_in", "texts_in"]

_Values = Mapping[str, JsonValue]


def text_in(values: _Values, name: str) -> str | None:
    """Return the text called `name`, None if there is none."""
    value = values.get(name)
    return value if isinstance(value, str) else None


def texts_in(values: _Values, name: str) -> tuple[str, ...]:
    """Return the texts of the list called `name`, in order."""
    listed = values.get(name)
    return (
        tuple([each for each in listed if isinstance(each, str)])
        if isinstance(listed, list)
        else ()
    )


def flag_in(values: _Values, name: str) -> bool | None:
    """Return the truth value called `name`, None if there is none."""
    value = values.get(name)
    return value if isinstance(value, bool) else None


def number_in(values: _Values, name: str) -> int | float | None:
    """Return the number called `name`, None if there is none."""
    value = values.get(name)
    # By class: a union of types is made again each time, and a bool is no number.
    return value if value.__class__ is int or value.__class__ is float else None


def count_in(values: _Values, name: str) -> int | None:
    """Return the whole number called `name`, None if there is none; 2.0 counts as 2."""
    number = number_in(values, name)
    return int(number) if number is not None and number == int(number) else None


def others_in(values: _Values, known: frozenset[str]) -> dict[str, JsonValue]:
    """Return the members whose names are not in `known`."""
    return (
        {}
        if values.keys() <= known
        else {name: value for name, value in values.items() if name not in known}
    )
