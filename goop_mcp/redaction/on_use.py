"""Regular expressions that are compiled when a text first needs them.

Most texts hold no word of a secret and need none, and compiling all would take longer than the
start of a process that redacts one of them.
"""

import re
from collections.abc import Callable

__all__ = ["LatePattern", "on_use"]

# To look for the 200 words of a pattern one by one in so many characters takes about as long as to
# compile it.
_COMPILED_AFTER = 100_000


class LatePattern:
    """A regular expression that the first call compiles; each call returns it."""

    __slots__ = ("_flags", "_pattern", "_searched", "_source")

    def __init__(self, source: str | Callable[[], str], flags: int) -> None:
        self._source, self._flags = source, flags
        self._pattern: re.Pattern[str] | None = None
        self._searched = 0

    def __call__(self) -> re.Pattern[str]:
        """Return the pattern."""
        if self._pattern is None:
            source = self._source if isinstance(self._source, str) else self._source()
            self._pattern = re.compile(source, self._flags)
        return self._pattern

    def should_search(self, text: str) -> bool:
        """Return whether to search `text` with the pattern at once, not for its words before.

        So it is once the pattern is compiled, and after 100,000 characters that were asked about.
        """
        self._searched += len(text)
        return self._pattern is not None or self._searched > _COMPILED_AFTER


def on_use(source: str | Callable[[], str], flags: int = 0) -> LatePattern:
    """Return the pattern `source`, or what `source` returns, to be compiled on first use."""
    return LatePattern(source, flags)
