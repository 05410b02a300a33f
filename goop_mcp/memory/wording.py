"""When two memories say the same, and when nearly the same."""

import hashlib
import re
import unicodedata
from collections import Counter
from typing import Final

__all__ = ["fingerprint", "overlap", "telling_words", "tokens"]

_TOKEN: Final = re.compile(r"\w+")
_TELLING_WORDS: Final = 6
_SHORTEST_TELLING: Final = 3


def fingerprint(title: str, content: str) -> str:
    """Return a hash that is the same for texts that differ in case, blanks or the Unicode form only."""
    return hashlib.sha256(f"{_normalised(title)}\n{_normalised(content)}".encode()).hexdigest()


def _normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def tokens(title: str, content: str) -> Counter[str]:
    """Return the words of a memory in any case, with how often each is there."""
    return Counter(_TOKEN.findall(f"{title}\n{content}".casefold()))


def overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return the F1 of the words of two memories: 1 for the same words, 0 for none in common."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def telling_words(words: Counter[str]) -> list[str]:
    """Return the longest words without digits, at most six: as a rule the rarest.

    Figures are what nearly equal memories differ in.
    """
    plain = [word for word in words if len(word) >= _SHORTEST_TELLING and word.isalpha()]
    return sorted(plain, key=lambda word: (-len(word), word))[:_TELLING_WORDS]
