"""Regular expressions that are compiled when a text first needs them.

Most texts hold no word of a secret and need none, and compiling all would take longer than the
start of a process that redacts one of them.
"""

import re
from collections.abc import Callable
from functools import cache

__all__ = ["LatePattern", "on_use"]

LatePattern = Callable[[], re.Pattern[str]]


def on_use(pattern: str | Callable[[], str], flags: int = 0) -> LatePattern:
    """Return a function that returns the compiled `pattern`, or what `pattern` returns."""
    return cache(lambda: re.compile(pattern if isinstance(pattern, str) else pattern(), flags))
