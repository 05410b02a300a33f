"""Convert offsets in a text to the lines and columns that people and editors count."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeAlias

from goop_mcp.validation.safe_json import JsonObjectValue, decode_object, decode_plain

__all__ = ["PlainObject", "SourceText"]

PlainObject: TypeAlias = "tuple[int, int, JsonObjectValue]"
"""A JSON object in a text: where it begins, where it ends, what it holds."""


class Unread(Enum):
    """The mark of a value that was not computed yet, distinct from None."""

    YET = 0


_NO_SHIFTS = array("q")


class SourceText:
    """The text as the caller gave it, and the text in which envelopes are searched.

    The two are equal unless a host had escaped the reply; then `read` is the unescaped text, and
    offsets in it are traced back to the given one (D-09, D-12). Offsets count characters from 0.
    """

    __slots__ = ("_objects", "_origins", "_starts", "given", "read")

    def __init__(
        self, given: str, read: str | None = None, shifts: Iterable[tuple[int, int]] = ()
    ) -> None:
        """Wrap `given`.

        `shifts` holds (offset in `read`, offset in `given`) wherever their distance changes.
        """
        self.given = given
        self.read = given if read is None else read
        self._objects: Sequence[PlainObject] | Unread | None = Unread.YET
        self._starts, self._origins = _NO_SHIFTS, _NO_SHIFTS
        if shifts != ():
            # One for each escape in the text: an array takes a tenth of the memory of a list.
            self._starts, self._origins = array("q"), array("q")
            for at, origin in shifts:
                self._starts.append(at)
                self._origins.append(origin)

    @property
    def plain_objects(self) -> Sequence[PlainObject] | None:
        """The outermost JSON objects in `read`, None if a brace does not begin one.

        They are decoded once, on first use, for all protocols.
        """
        if self._objects is not Unread.YET:
            return self._objects

        objects: list[PlainObject] = []
        at = self.read.find("{")
        # Nearly every text has one object.
        end = self.read.rfind("}") + 1
        if 0 <= at < end and (value := decode_plain(self.read[at:end])) is not None:
            objects.append((at, end, value))
            at = self.read.find("{", end)

        while at >= 0:
            decoded = decode_object(self.read, at)
            if decoded is None:
                self._objects = None
                return None

            objects.append((at, decoded[1], decoded[0]))
            at = self.read.find("{", decoded[1])

        self._objects = objects
        return objects

    @property
    def shifts(self) -> Iterable[tuple[int, int]]:
        """(offset in `read`, offset in `given`) wherever their distance changes, in order."""
        return zip(self._starts, self._origins, strict=True)

    def offset_of(self, origin: int) -> int | None:
        """Return the offset in `read` of what is at `origin` in `given`, None where it is not."""
        index = bisect_right(self._origins, origin) - 1
        offset = self._starts[index] + origin - self._origins[index] if index >= 0 else origin
        ends = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.read)
        return offset if offset < ends else None

    def origin(self, offset: int) -> int:
        """Return the offset in `given` of the character at `offset` in `read`."""
        index = bisect_right(self._starts, offset) - 1
        # Between two shifts the distance is constant, so one look-up finds the origin of any
        # character.
        moved = offset if index < 0 else self._origins[index] + offset - self._starts[index]
        return min(moved, len(self.given))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, in `given` of the character at `offset` in `read`.

        A line ends with a line feed; a carriage return before it belongs to the line.
        """
        at = min(offset, len(self.given)) if self._starts is _NO_SHIFTS else self.origin(offset)
        return self.given.count("\n", 0, at) + 1, at - self.given.rfind("\n", 0, at)
