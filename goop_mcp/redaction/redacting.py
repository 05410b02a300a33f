"""Redact a text: one pass for each kind of secret that its keywords make possible."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from goop_mcp.redaction.on_use import on_use
from goop_mcp.redaction.patterns import REDACTED, SECRET_PATTERNS
from goop_mcp.redaction.tokens import long_runs

__all__ = ["PRIVATE", "REDACTED", "Redacted", "may_hold_secrets", "redact"]

PRIVATE: Final = "[PRIVATE]"

# Replacing a secret may make its neighbour match, so passes repeat until nothing is found. Two are
# enough for real texts; the limit bounds the time for a text made to need more.
_MOST_PASSES: Final = 8
# Each keyword is looked for once in a text, even if several kinds of secret need it, and only where
# the text has the sign in it: a single character is found much faster than a word.
_WORDS: Final[dict[str, list[str]]] = {}
for _word in {word: None for pattern in SECRET_PATTERNS for word in pattern.words}:
    _WORDS.setdefault(next((c for c in _word if not c.isalpha()), ""), []).append(_word)
# `<private>`, also with the angle brackets escaped by a host.
_MARK: Final = on_use(
    r"(?:<|&lt;)\s{0,8}(/?)\s{0,8}private(?:\s[^<>&]{0,200})?(?:>|&gt;)", re.IGNORECASE
)


class Redacted:
    """A text without its secrets, and how many places were replaced."""

    __slots__ = ("count", "text")

    def __init__(self, text: str, count: int) -> None:
        self.text, self.count = text, count


def redact(text: str) -> Redacted:
    """Return `text` with `[PRIVATE]` for parts marked as private and `[REDACTED]` for secrets."""
    count = 0
    for _ in range(_MOST_PASSES):
        before, lowered = count, text.lower()
        present = set(_present_words(lowered))
        if "private" in lowered:
            text, found = _hide_private(text)
            count += found

        looked_at, runs = None, []
        for pattern in SECRET_PATTERNS:
            if pattern.may_hold is None:
                may_hold = not present.isdisjoint(pattern.words)
            else:
                # Found once for several kinds; each replacement makes another text.
                if looked_at is not text:
                    looked_at, runs = text, long_runs(text)
                may_hold = pattern.may_hold(text, runs)
            if may_hold:
                text, found = pattern.hide(text)
                count += found

        if count == before:
            break

    return Redacted(text, count)


def may_hold_secrets(texts: Iterable[str]) -> bool:
    """Return whether any of `texts` needs `redact`; much faster than `redact` itself."""
    text = "\n".join(texts)
    lowered = text.lower()
    if "private" in lowered or any(_present_words(lowered)):
        return True

    runs = long_runs(text)
    return any(
        pattern.may_hold(text, runs) for pattern in SECRET_PATTERNS if pattern.may_hold is not None
    )


def _present_words(lowered: str) -> Iterator[str]:
    return (
        word
        for sign, words in _WORDS.items()
        if sign in lowered
        for word in words
        if word in lowered
    )


def _hide_private(text: str) -> tuple[str, int]:
    """Replace the outermost pairs of private marks; an unclosed one hides the rest of the text.

    Hiding too much is better than showing a part that was marked as private.
    """
    pieces: list[str] = []
    depth = shown_from = 0

    for mark in _MARK().finditer(text):
        if not mark[1]:
            if depth == 0:
                pieces += [text[shown_from : mark.start()], PRIVATE]

            depth += 1
        elif depth:
            depth -= 1
            shown_from = mark.end()

    hidden = len(pieces) // 2
    if depth == 0:
        pieces.append(text[shown_from:])
    return "".join(pieces), hidden
