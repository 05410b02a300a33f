"""Places in a text: from offsets to the lines and columns that people and editors count."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeAlias

from goop_mcp.validation.safe_json import JsonObjectValue, decode_object

__all__ = ["PlainObject", "SourceText"]

PlainObject: TypeAlias = "tuple[int, int, JsonObjectValue]"
"""A JSON object in a text: where it begins, where it ends, what it holds."""


class Unread(Enum):
    """What stands for a value that nobody has asked for yet."""

    YET = 0


class SourceText:
    """The text as the caller gave it, and the text in which envelopes are looked for.

    The two are the same unless a host had escaped the reply; then `read` is the unescaped one and
    offsets in it are traced back to the one that was given (D-09, D-12). Offsets count characters
    from 0.
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
        # As many as there are escapes in the text: machine numbers take a tenth of the room.
        self._starts, self._origins = array("q"), array("q")
        for at, origin in shifts:
            self._starts.append(at)
            self._origins.append(origin)

    @property
    def plain_objects(self) -> Sequence[PlainObject] | None:
        """The JSON objects in `read` that lie in no other one, None when a brace begins none; decoded once for all."""
        if self._objects is Unread.YET:
            self._objects = _plain_objects(self.read)
        return self._objects

    def origin(self, offset: int) -> int:
        """Return the offset in `given` of what stands at `offset` in `read`."""
        index = bisect_right(self._starts, offset) - 1
        moved = offset if index < 0 else self._origins[index] + offset - self._starts[index]
        return min(moved, len(self.given))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, both from 1, in `given` of what stands at `offset` in `read`.

        A line ends with a line feed; a carriage return before it belongs to the line.
        """
        at = self.origin(offset)
        return self.given.count("\n", 0, at) + 1, at - self.given.rfind("\n", 0, at)


def _plain_objects(text: str) -> Sequence[PlainObject] | None:
    objects: list[PlainObject] = []
    at = text.find("{")
    while at >= 0:
        decoded = decode_object(text, at)
        if decoded is None:
            return None

        objects.append((at, decoded[1], decoded[0]))
        at = text.find("{", decoded[1])

    return objects
