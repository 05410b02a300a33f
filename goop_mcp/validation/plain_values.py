"""A model of an envelope as JSON values."""

from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["plain_values"]


def plain_values(model: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of `model` by name: dataclasses in it as objects, tuples as lists, words as texts."""
    return {each.name: _plain(getattr(model, each.name)) for each in fields(model)}


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return plain_values(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value
