"""Regular expressions that are compiled when a text first needs them.

Most texts hold no word of a secret and need none, and compiling all would take longer than the
start of a process that redacts one of them.
"""

import re
from collections.abc import Callable

__all__ = ["LatePattern", "on_use"]


class LatePattern:
    """A regular expression that the first call compiles; each call returns it."""

    __slots__ = ("_flags", "_pattern", "_source")

    def __init__(self, source: str | Callable[[], str], flags: int) -> None:
        self._source, self._flags = source, flags
        self._pattern: re.Pattern[str] | None = None

    def __call__(self) -> re.Pattern[str]:
        """Return the pattern."""
        if self._pattern is None:
            source = self._source if isinstance(self._source, str) else self._source()
            self._pattern = re.compile(source, self._flags)
        return self._pattern

    @property
    def is_compiled(self) -> bool:
        """Whether a call costs nothing more."""
        return self._pattern is not None


def on_use(source: str | Callable[[], str], flags: int = 0) -> LatePattern:
    """Return the pattern `source`, or what `source` returns, to be compiled on first use."""
    return LatePattern(source, flags)
