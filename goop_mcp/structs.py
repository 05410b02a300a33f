"""The base of the values that judging a reply makes: immutable, and quick to define and to make.

A dataclass with slots takes half a millisecond to define, which each start of a program and each
hook pays a hundred times, and a frozen one takes ten times as long to make as a mutable one. A
struct of msgspec takes a thirtieth and a tenth of that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import NODEFAULT, Struct

if TYPE_CHECKING:
    from dataclasses import Field

__all__ = ["DataStruct", "field_names", "required_names"]


class _DataclassFields:
    """Gives a struct the attribute by which the functions of `dataclasses` know their own."""

    def __init__(self) -> None:
        self._known: dict[type, dict[str, Field[Any]]] = {}

    def __get__(self, _instance: object, owner: type[Struct]) -> "dict[str, Field[Any]]":
        # Made when somebody asks, because loading dataclasses takes longer than a hook may.
        if owner not in self._known:
            make: Any = import_module("dataclasses").make_dataclass
            made = make(owner.__name__, owner.__struct_fields__)
            self._known[owner] = made.__dataclass_fields__
        return self._known[owner]


class DataStruct(Struct, frozen=True):
    """A struct for which `dataclasses.replace`, `fields` and `asdict` work as for a dataclass."""

    __dataclass_fields__: ClassVar[_DataclassFields] = _DataclassFields()


def field_names(kind: type[Any]) -> tuple[str, ...] | None:
    """Return the field names of a struct or dataclass, None for any other class."""
    if issubclass(kind, Struct):
        return kind.__struct_fields__

    # Without the functions of dataclasses: to load them takes longer than to judge a reply.
    fields = getattr(kind, "__dataclass_fields__", None)
    return None if fields is None else tuple(fields)


def required_names(kind: type[Any]) -> frozenset[str]:
    """Return the fields of a struct or dataclass that have no default."""
    if issubclass(kind, Struct):
        names, defaults = kind.__struct_fields__, kind.__struct_defaults__
        first = len(names) - len(defaults)
        without = [
            name for name, value in zip(names[first:], defaults, strict=True) if value is NODEFAULT
        ]
        return frozenset((*names[:first], *without))

    dataclasses: Any = import_module("dataclasses")
    return frozenset(
        each.name
        for each in dataclasses.fields(kind)
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
    )
