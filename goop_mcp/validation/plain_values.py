"""A model of an envelope as JSON values, and back."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from goop_mcp.structs import field_names, required_names
from goop_mcp.validation.findings import excerpt

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from msgspec import Struct

__all__ = ["model_from", "plain_values"]

Model = TypeVar("Model")

_AS_THEY_ARE: Final = frozenset({str, int, float, bool, type(None)})


def plain_values(model: "Struct | DataclassInstance") -> dict[str, Any]:
    """Return the fields of `model` by name, as JSON values.

    Structs and dataclasses in it become objects, tuples lists, members of a StrEnum texts.
    """
    return {each: _plain(getattr(model, each)) for each in field_names(model.__class__) or ()}


def _plain(value: object) -> object:
    kind: Any = value.__class__
    if kind in _AS_THEY_ARE:
        return value
    if kind is tuple:
        return [_plain(each) for each in cast("tuple[object, ...]", value)]
    if (names := field_names(kind)) is not None:
        return {name: _plain(getattr(value, name)) for name in names}
    return str(value) if isinstance(value, StrEnum) else value


def model_from(kind: type[Model], values: object, path: str = "") -> Model:
    """Return the struct or dataclass `kind` whose `plain_values` are `values`.

    They may come from JSON. Keys that `kind` does not have are ignored, because a newer version may
    write more. Raise ValueError, which names the place (`path`), if a value is missing or has the
    wrong type.
    """
    if not isinstance(values, Mapping):
        raise _unfit(path, values, "an object")

    hints = _hints(cast("Any", kind))
    if missing := [
        name for name, (_, required) in hints.items() if required and name not in values
    ]:
        raise ValueError(f"{path or kind.__name__} has no {missing[0]!r}; expected a value for it")

    try:
        read = {
            name: _read(hint, values[name], f"{path}.{name}")
            for name, (hint, _) in hints.items()
            if name in values
        }
    except RecursionError:
        raise ValueError(
            f"{path or kind.__name__} is nested too deeply; expected what to_dict wrote"
        ) from None

    return kind(**read)


# `hint` is a type or a construct of `typing`, which have no common type.
def _read(hint: Any, value: object, path: str) -> object:  # noqa: ANN401
    """Return `value` as it is stored in a field of the type `hint`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None

        # The error of the last alternative is reported.
        *others, last = [kind for kind in inner if kind is not NoneType]
        for kind in others:
            try:
                return _read(kind, value, path)
            except ValueError:
                continue

        return _read(last, value, path)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _unfit(path, value, "a list")

        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        if len(kinds) != len(value):
            raise _unfit(path, value, f"a list of {len(kinds)}")
        return tuple(
            _read(kind, each, f"{path}[{n}]")
            for n, (kind, each) in enumerate(zip(kinds, value, strict=True))
        )

    if origin is Literal:
        if value not in inner:
            raise _unfit(path, value, f"one of {', '.join(map(str, inner))}")
        return value

    if isinstance(hint, type) and field_names(hint) is not None:
        return model_from(cast("type[object]", hint), value, path)
    return _read_plain(origin or hint, value, path)


# `kind` is any class, as in `_read`.
def _read_plain(kind: Any, value: object, path: str) -> object:  # noqa: ANN401
    if issubclass(kind, StrEnum):
        if value not in list(kind):
            raise _unfit(path, value, f"one of {', '.join(kind)}")
        return kind(value)

    # In Python a bool is an int, and JSON may write 1.0 as 1.
    fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise _unfit(path, value, kind.__name__)
    return value


def _unfit(path: str, value: object, expected: str) -> ValueError:
    return ValueError(
        f"{path.lstrip('.') or 'the value'} is {excerpt(repr(value)[:200], 60)}; expected"
        f" {expected}"
    )


@cache
def _hints(kind: type[Any]) -> Mapping[str, tuple[Any, bool]]:
    """Return the type of each field, and whether it is required."""
    types = get_type_hints(kind)
    required = required_names(kind)
    return {name: (types[name], name in required) for name in field_names(kind) or ()}
