"""A model of an envelope as JSON values."""

from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["plain_values"]

_AS_THEY_ARE: Final = frozenset({str, int, float, bool, type(None)})


def plain_values(model: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of `model` by name: dataclasses in it as objects, tuples as lists, words as texts."""
    return {name: _plain(getattr(model, name)) for name in _names(model.__class__)}


def _plain(value: object) -> object:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return plain_values(value)
    return str(value) if isinstance(value, StrEnum) else value


@cache
def _names(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    """Return the fields of a dataclass; looking them up takes longer than reading them."""
    return tuple(each.name for each in fields(kind))
