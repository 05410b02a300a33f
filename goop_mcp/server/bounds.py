"""Structured answers that are too large for clients, cut so that their schemas hold and they say what is left out.

Clients of the SDK take no event of a stream over 1 MiB, and with it the session ends. An answer that large is rare:
it takes a reply of hundreds of kilobytes, or a project with thousands of tasks.
"""

import json
import marshal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["LEFT_OUT", "MOST_BYTES", "fitted"]

MOST_BYTES: Final = 800_000
"""Bytes of a structured answer as JSON; what is left of 1 MiB is for the text beside it."""

LEFT_OUT: Final = "left_out"
"""The key under which an answer that was cut names what."""

# A control character is one byte there, and \u and four digits in JSON.
_LONGEST_ESCAPE: Final = 6
# Both may be null by their schema. The second can be had from the first, and both from the reply.
_MAY_BE_NULL: Final = ("repaired_text", "envelope")


@dataclass(frozen=True, slots=True)
class _Cut:
    """How much is left: entries of a list, characters of a text in one, and of a text that stands alone."""

    listed: int
    in_a_list: int
    alone: int
    left_out: list[str] = field(default_factory=list)


def fitted(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values`, cut to MOST_BYTES as JSON where they have more; then LEFT_OUT is a list of what is cut."""
    whole: dict[str, Any] = dict(values)
    if _surely_fits(whole) or _size(whole) <= MOST_BYTES:
        return whole

    left: list[str] = []

    for name in _MAY_BE_NULL:
        whole = {key: _without(value, name, key, left) for key, value in whole.items()}
        if _size(whole) <= MOST_BYTES:
            return {**whole, LEFT_OUT: left}

    for cut in (_Cut(100, 500, 70_000), _Cut(30, 200, 20_000), _Cut(10, 100, 2_000)):
        less = {key: _cut(value, key, cut, cut.alone) for key, value in whole.items()}
        less[LEFT_OUT] = [*left, *dict.fromkeys(cut.left_out)]
        if _size(less) <= MOST_BYTES:
            break

    return less


def _surely_fits(values: dict[str, Any]) -> bool:
    """Tell by a look that takes a quarter of the time: no value is longer in JSON than six times its size there."""
    try:
        return _LONGEST_ESCAPE * len(marshal.dumps(values, 0)) <= MOST_BYTES
    except ValueError:
        return False


def _size(values: Mapping[str, object]) -> int:
    return len(
        json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
    )


def _without(value: object, name: str, path: str, left: list[str]) -> object:
    """Return `value` with null in place of what is called `name`, at any depth but not within lists and envelopes."""
    if path.rpartition(".")[2] == name and value is not None:
        left.append(path)
        return None
    if isinstance(value, Mapping) and path.rpartition(".")[2] != "envelope":
        return {key: _without(each, name, f"{path}.{key}", left) for key, each in value.items()}
    return value


def _cut(value: object, path: str, cut: _Cut, letters: int) -> object:
    match value:
        case str() if len(value) > letters:
            cut.left_out.append(path)
            return f"{value[: letters - 1]}…"
        case list():
            if len(value) > cut.listed:
                cut.left_out.append(path)
            return [_cut(each, path, cut, cut.in_a_list) for each in value[: cut.listed]]
        case Mapping():
            return {key: _cut(each, f"{path}.{key}", cut, letters) for key, each in value.items()}
        case _:
            return value
