"""Redact a text: one pass for each kind of secret that its keywords make possible."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from goop_mcp.redaction.ahead import searched_texts
from goop_mcp.redaction.on_use import on_use
from goop_mcp.redaction.patterns import SECRET_PATTERNS, Span
from goop_mcp.redaction.searched import SearchedText
from goop_mcp.redaction.spans import Replaced, Step, given_parts, replaced

__all__ = [
    "MARK_OF_PRIVATE",
    "PRIVATE",
    "REDACTED",
    "UNSEARCHED",
    "Redacted",
    "may_hold_secrets",
    "redact",
]

REDACTED: Final = "[REDACTED]"
PRIVATE: Final = "[PRIVATE]"

# Replacing a secret may make its neighbour match, so passes repeat until nothing is found. Two are
# enough for real texts; the limit bounds the time for a text made to need more.
_MOST_PASSES: Final = 8
# Each keyword is looked for once in a text, even if several kinds of secret need it, and only where
# the text has the sign in it: a single character is found much faster than a word.
_WORDS: Final[dict[str, list[str]]] = {}
for _word in {word: None for pattern in SECRET_PATTERNS for word in pattern.words}:
    _WORDS.setdefault(next((c for c in _word if not c.isalpha()), ""), []).append(_word)
MARK_OF_PRIVATE: Final = on_use(
    r"(?:<|&lt;)\s{0,8}(/?)\s{0,8}private(?:\s[^<>&]{0,200})?(?:>|&gt;)", re.IGNORECASE
)
"""`<private>` or its end, also with the angle brackets escaped by a host."""


class Redacted:
    """A text without its secrets, and how many places were replaced."""

    __slots__ = ("_given", "_steps", "count", "text")

    def __init__(
        self, text: str, count: int, *, given: str = "", steps: Iterable[Step] = ()
    ) -> None:
        self.text, self.count = text, count
        self._given, self._steps = given, tuple(steps)

    @property
    def parts(self) -> tuple[Replaced, ...]:
        """The parts of the given text that were replaced, in their order."""
        return given_parts(self._given, self._steps, self.text) if self._steps else ()


UNSEARCHED: Final = Redacted(REDACTED, 1)
"""The result for a text that is searched as soon as the transaction is undone."""


def redact(text: str) -> Redacted:
    """Return `text` with `[PRIVATE]` for parts marked as private and `[REDACTED]` for secrets."""
    known = searched_texts()
    if known is None:
        return _search(text)
    return known.look_up(text, _search, clean=Redacted(text, 0), unknown=UNSEARCHED)


def _search(text: str) -> Redacted:
    steps: list[Step] = []
    searched = SearchedText(text)
    for _ in range(_MOST_PASSES):
        before, present = len(steps), _present_words(searched.lowered)
        if "private" in searched.lowered:
            searched = _without(searched, _find_private(searched.text), PRIVATE, steps)

        for pattern in SECRET_PATTERNS:
            if (
                not present.isdisjoint(pattern.words)
                if pattern.may_hold is None
                else pattern.may_hold(searched)
            ):
                searched = _without(searched, pattern.find(searched), REDACTED, steps)

        if len(steps) == before:
            break

    count = sum(len(step.spans) for step in steps)
    return Redacted(searched.text, count, given=text, steps=steps)


def may_hold_secrets(texts: Iterable[str]) -> bool:
    """Return whether any of `texts` needs `redact`; much faster than `redact` itself."""
    searched = SearchedText("\n".join(texts))
    return (
        "private" in searched.lowered
        or bool(_present_words(searched.lowered))
        or any(pattern.may_hold(searched) for pattern in SECRET_PATTERNS if pattern.may_hold)
    )


def _without(
    searched: SearchedText, spans: Iterable[Span], mark: str, steps: list[Step]
) -> SearchedText:
    """Return the text with `mark` for each of `spans`; what was replaced is added to `steps`."""
    text, step = replaced(searched.text, spans, mark)
    if not step.spans:
        return searched
    steps.append(step)
    return SearchedText(text)


def _present_words(lowered: str) -> set[str]:
    return {
        word
        for sign, words in _WORDS.items()
        if sign in lowered
        for word in words
        if word in lowered
    }


def _find_private(text: str) -> Iterator[Span]:
    """Yield the outermost pairs of private marks; an unclosed one reaches to the end of the text.

    Hiding too much is better than showing a part that was marked as private.
    """
    depth = begins = 0
    for mark in MARK_OF_PRIVATE().finditer(text):
        if not mark[1]:
            if depth == 0:
                begins = mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield begins, mark.end()

    if depth:
        yield begins, len(text)
