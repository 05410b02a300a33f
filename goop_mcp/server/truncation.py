"""Cut structured answers that are too large for clients; they stay valid and name what is left out.

Clients of the SDK end the session at a stream event over 1 MiB. An answer that large is rare: it
takes a reply of hundreds of kilobytes, or a project with thousands of tasks.
"""

import json
import marshal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["LEFT_OUT", "MOST_BYTES", "fitted"]

MOST_BYTES: Final = 800_000
"""Bytes of a structured answer as JSON; the rest of 1 MiB is for the text that goes with it."""

LEFT_OUT: Final = "left_out"
"""The key under which a cut answer lists what was cut."""

# A control character is one byte in marshal's form, and \u with four digits in JSON.
_LONGEST_ESCAPE: Final = 6
# The schema allows null for both. The envelope can be read from the repaired text, and the client
# has the reply from which both were made.
_MAY_BE_NULL: Final = ("repaired_text", "envelope")


@dataclass(frozen=True, slots=True)
class _Cut:
    """How much is kept: entries of a list, characters of a text in a list, and of other texts."""

    listed: int
    in_a_list: int
    alone: int
    left_out: list[str] = field(default_factory=list)


def fitted(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values`, cut to MOST_BYTES as JSON; LEFT_OUT then lists the paths that were cut."""
    whole: dict[str, Any] = dict(values)
    # No value is longer in JSON than six times its size in marshal's form, which takes a quarter of
    # the time to write.
    with suppress(ValueError):
        if _LONGEST_ESCAPE * len(marshal.dumps(whole, 0)) <= MOST_BYTES:
            return whole
    if _size(whole) <= MOST_BYTES:
        return whole

    # What the client can rebuild by itself goes first, whole; then all lists and texts become
    # shorter in steps, until the answer fits.
    left: list[str] = [*whole.pop(LEFT_OUT, [])]
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


def _size(values: Mapping[str, object]) -> int:
    return len(
        json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
    )


def _without(value: object, name: str, path: str, left: list[str]) -> object:
    """Return `value` with null for the key `name` at any depth, except in lists and envelopes."""
    if path.rpartition(".")[2] == name and value is not None:
        left.append(path)
        return None
    if isinstance(value, Mapping) and path.rpartition(".")[2] != "envelope":
        return {key: _without(each, name, f"{path}.{key}", left) for key, each in value.items()}
    return value


def _cut(value: object, path: str, cut: _Cut, characters: int) -> object:
    match value:
        case str() if len(value) > characters:
            cut.left_out.append(path)
            return f"{value[: characters - 1]}…"
        case list():
            if len(value) > cut.listed:
                cut.left_out.append(path)
            return [_cut(each, path, cut, cut.in_a_list) for each in value[: cut.listed]]
        case Mapping():
            return {
                key: _cut(each, f"{path}.{key}", cut, characters) for key, each in value.items()
            }
        case _:
            return value
