"""Places in a text: from offsets to the lines and columns that people and editors count."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

__all__ = ["SourceText"]


class SourceText:
    """The text as the caller gave it, and the text in which envelopes are looked for.

    The two are the same unless a host had escaped the reply; then `read` is the unescaped one and offsets in it are
    traced back to the one that was given (D-09, D-12). Offsets count characters from 0.
    """

    __slots__ = ("_origins", "_starts", "given", "read")

    def __init__(self, given: str, read: str | None = None, shifts: Iterable[tuple[int, int]] = ()) -> None:
        """Wrap `given`. `shifts` holds (offset in `read`, offset in `given`) wherever their distance changes."""
        self.given = given
        self.read = given if read is None else read
        # As many as there are escapes in the text: machine numbers take a tenth of the room.
        self._starts, self._origins = array("q"), array("q")
        for at, origin in shifts:
            self._starts.append(at)
            self._origins.append(origin)

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
