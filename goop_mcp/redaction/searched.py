"""A text in which secrets are looked for, and what several kinds of them need to know of it."""

import string
from typing import Final

from goop_mcp.redaction.on_use import on_use

__all__ = ["SearchedText"]

_SMALL_LETTERS: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# All characters that tokens are made of, those of services included; of most texts they are a small
# part. The Kelvin sign is a k in small letters, in which the names of services are looked for.
_LONG_RUN: Final = on_use("[A-Za-z0-9_.~+/=%:\u212a-]{11,}")


class SearchedText:
    """A text, and what is found out about it once for all kinds of secrets.

    `lowered` is the text in lower case, with every character at the same position.
    """

    __slots__ = ("_runs", "lowered", "text")

    def __init__(self, text: str) -> None:
        lowered = text.lower()
        # Some characters become two in lower case (such as İ). Then only ASCII is lowered.
        is_same = len(lowered) == len(text)
        self.text = text
        self.lowered = lowered if is_same else text.translate(_SMALL_LETTERS)
        self._runs: list[str] | None = None

    @property
    def long_runs(self) -> list[str]:
        """The parts that are long enough for a token and have only its characters."""
        if self._runs is None:
            self._runs = _LONG_RUN().findall(self.text)
        return self._runs
