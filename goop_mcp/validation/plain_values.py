"""A model of an envelope as JSON values."""

from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["plain_values"]

_AS_THEY_ARE: Final = frozenset({str, int, float, bool, type(None)})


def plain_values(model: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of `model` by name: dataclasses in it as objects, tuples as lists, words as texts."""
    return {name: _plain(getattr(model, name)) for name in _names(model.__class__) or ()}


def _plain(value: object) -> object:
    kind: Any = value.__class__
    if kind in _AS_THEY_ARE:
        return value
    if kind is tuple:
        return [_plain(each) for each in cast("tuple[object, ...]", value)]
    if (names := _names(kind)) is not None:
        return {name: _plain(getattr(value, name)) for name in names}
    return str(value) if isinstance(value, StrEnum) else value


@cache
def _names(kind: type[Any]) -> tuple[str, ...] | None:
    """Return the fields of a dataclass, None for any other; looking them up takes longer than reading them."""
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else None
