"""Ids that a document defines more than once, which leaves open what the id means."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

__all__ = ["Defined", "Repeated", "repeated_ids"]


class Defined(NamedTuple):
    """A place that defines `id`: its line, from 1, and `among` what else it would be the same.

    Headings are compared with those of the same level: a summary or notes about a task repeat its
    title below another heading, as do lists elsewhere.
    """

    id: str
    among: Hashable
    line: int


class Repeated(NamedTuple):
    """An id, and the lines that define it, from 1: at least two."""

    id: str
    lines: tuple[int, ...]

    def __str__(self) -> str:
        """Return it as people read it: MH1 in lines 9 and 30."""
        *others, last = self.lines
        return f"{self.id} in lines {', '.join(map(str, others))} and {last}"


def repeated_ids(defined: Iterable[Defined]) -> tuple[Repeated, ...]:
    """Return the ids that are defined more than once, in the order of the text."""
    found: dict[tuple[str, Hashable], dict[int, None]] = {}
    for each in defined:
        found.setdefault((each.id, each.among), {})[each.line] = None
    return tuple(Repeated(id, tuple(lines)) for (id, _), lines in found.items() if len(lines) > 1)
