"""Read the tables of a graph file strictly: each key known, each value of its type and range."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from goop_mcp.delegation.lines import KeyPath
from goop_mcp.validation.findings import excerpt

__all__ = [
    "LONGEST_DURATION",
    "MOST_PROBLEMS",
    "GraphProblem",
    "Reader",
    "choice",
    "duration",
    "flag",
    "number",
    "read_table",
    "suggestion",
    "text",
    "texts",
    "whole",
]

Reader = Callable[[object], Any]
"""Returns a value as the model has it, or raises ValueError with what was expected."""

_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(ms|s|m|h|d)?", re.ASCII)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
MOST_PROBLEMS: Final = 50
"""Problems of one graph that are shown; a hostile one could have millions."""

LONGEST_DURATION: Final = 366 * 86400.0
_MOST_LISTED: Final = 12


@dataclass(frozen=True, slots=True)
class GraphProblem:
    """One thing that is wrong with a graph: where (`path`), in which `line` of its file, and what.

    `line` counts from 1 and is None for a graph that was made in code.
    """

    path: KeyPath
    message: str
    line: int | None = None


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return the end of a message: the name that was probably meant, or those that there are."""
    names = list(known)
    near = get_close_matches(given[:100], names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    if not names:
        return "there are none"
    return f"known are {', '.join(names[:_MOST_LISTED])}"


def read_table(
    values: object, readers: Mapping[str, Reader], path: KeyPath, problems: list[GraphProblem]
) -> dict[str, Any]:
    """Return the values of one table as `readers` read them; what is wrong goes to `problems`."""
    if not isinstance(values, Mapping):
        problems.append(GraphProblem(path, f"{_named(values)}; expected a table"))
        return {}

    read: dict[str, Any] = {}
    for key, value in values.items():
        # Each costs a search for what was probably meant.
        if len(problems) > MOST_PROBLEMS:
            break
        if key not in readers:
            hint = suggestion(str(key), readers)
            problems.append(
                GraphProblem((*path, str(key)), f"there is no key {excerpt(str(key))!r}; {hint}")
            )
            continue

        try:
            read[key] = readers[key](value)
        except ValueError as error:
            problems.append(
                GraphProblem((*path, key), f"{key} is {_named(value)}; expected {error}")
            )

    return read


def text(longest: int, *, least: int = 1) -> Reader:
    """Return a reader of texts of `least` to `longest` characters."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not least <= len(value) <= longest:
            raise ValueError(f"a text of {least} to {longest:,} characters")
        if "\0" in value:
            raise ValueError("a text without NUL")
        return value

    return read


def texts(most: int, longest: int) -> Reader:
    """Return a reader of lists of at most `most` texts."""
    one = text(longest)

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > most:
            raise ValueError(f"a list of at most {most:,} texts")
        return tuple([one(each) for each in value])

    return read


def whole(least: int, most: int) -> Reader:
    """Return a reader of whole numbers from `least` to `most`."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(
                f"a whole number from {least} to {most:,}" if least < most else f"{least}"
            )
        return value

    return read


def number(most: float) -> Reader:
    """Return a reader of numbers above 0 and up to `most`."""

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= most:
            raise ValueError(f"a number above 0, at most {most:,}")
        return float(value)

    return read


def flag(value: object) -> bool:
    """Return `value`, which must be true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def choice(*names: str) -> Reader:
    """Return a reader of one of `names`."""

    def read(value: object) -> str:
        if value not in names:
            hint = f"; {suggestion(value, names)}" if isinstance(value, str) else ""
            raise ValueError(f"{', '.join(names[:-1])} or {names[-1]}{hint}")
        return str(value)

    return read


def duration(value: object) -> float:
    """Return the seconds in `value`: a number of seconds, or a text such as "90s", "20m", "2h"."""
    seconds = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)) is not None:
        seconds = float(match[1]) * _SECONDS[match[2]]
    if not 0 < seconds <= LONGEST_DURATION:
        raise ValueError('a time above 0 and up to 366 days, such as "90s", "20m", "2h" or "1d"')
    return seconds


def _named(value: object) -> str:
    """Return a value for a message: a short one itself, a long one by its kind."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return excerpt(repr(value), 60)
