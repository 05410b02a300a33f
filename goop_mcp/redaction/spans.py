"""Replace parts of a text, and find them again in the text as it was given."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Replaced", "Step", "given_parts", "replaced", "with_marks"]


class Replaced(NamedTuple):
    """A part of a text, from `start` to `end`, and the mark that stands in its place."""

    start: int
    end: int
    mark: str


class Step(NamedTuple):
    """The parts of a text that were replaced by `mark` at once, in their order."""

    spans: tuple[tuple[int, int], ...]
    mark: str


def replaced(text: str, spans: Iterable[tuple[int, int]], mark: str) -> tuple[str, Step]:
    """Return `text` with `mark` for each of `spans`, which do not overlap, and what was replaced.

    A part that is the mark already stays.
    """
    done = tuple(span for span in spans if text[slice(*span)] != mark)
    parts = [Replaced(start, end, mark) for start, end in done]

    return with_marks(text, parts) if done else text, Step(done, mark)


def with_marks(text: str, parts: Iterable[Replaced]) -> str:
    """Return `text` with the mark of each of `parts`, which are in order and do not overlap."""
    pieces: list[str] = []
    shown = 0
    for part in parts:
        pieces += [text[shown : part.start], part.mark]
        shown = part.end

    return "".join([*pieces, text[shown:]])


def given_parts(given: str, steps: Sequence[Step], result: str) -> tuple[Replaced, ...]:
    """Return the parts of `given` that `steps` replaced, one after the other, to get `result`."""
    parts: tuple[Replaced, ...] = ()
    for step in steps:
        parts = _after(parts, step)

    # A step that replaced half of an earlier mark left the other half, which looks like any text.
    # Then nothing is known about the rest, and all of it counts as replaced.
    is_known = with_marks(given, parts) == result
    return parts if is_known else (Replaced(0, len(given), steps[-1].mark),)


def _after(parts: Sequence[Replaced], step: Step) -> tuple[Replaced, ...]:
    """Return the parts of the given text that are replaced after `step` as well."""
    begins: list[int] = []
    shift = 0
    for part in parts:
        begins.append(part.start + shift)
        shift += len(part.mark) - (part.end - part.start)

    def given(position: int, *, is_end: bool) -> int:
        """Return where `position` of the present text was in the given one."""
        index = bisect_right(begins, position - is_end) - 1
        if index < 0:
            return position
        part, beyond = parts[index], position - begins[index] - len(parts[index].mark)
        if beyond >= 0:
            return part.end + beyond
        return part.end if is_end else part.start

    new = [
        Replaced(given(start, is_end=False), given(end, is_end=True), step.mark)
        for start, end in step.spans
    ]
    starts = [part.start for part in new]

    def is_left(part: Replaced) -> bool:
        index = bisect_right(starts, part.start) - 1
        return index < 0 or new[index].end < part.end

    return tuple(sorted([*filter(is_left, parts), *new]))
