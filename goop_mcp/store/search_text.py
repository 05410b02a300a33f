"""How texts and queries are split into words, the same way for both engines."""

import re
import unicodedata

__all__ = ["MOST_WORDS", "WORD", "fold_concept", "query_words", "search_text"]

WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036F])*")
"""Letters and digits with their accents: `session_id` is two words, `src/auth/service.ts` four."""

_ACCENTS = re.compile(r"[\u0300-\u036F]+")

MOST_WORDS = 32
"""How many words of a query count: the first ones."""


def query_words(query: str) -> tuple[str, ...]:
    """Return the distinct words of a query in their order; none for punctuation only.

    Case is kept: the engines fold it in the way they folded the text, which differs from
    casefold().
    """
    words = dict.fromkeys(WORD.findall(unicodedata.normalize("NFC", query)))
    return tuple(words)[:MOST_WORDS]


def search_text(text: str) -> str:
    """Return the words of `text` in lower case without accents.

    For PostgreSQL, whose own parser keeps paths and URLs as one token.
    """
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return " ".join(WORD.findall(_ACCENTS.sub("", decomposed)))


def fold_concept(concept: str) -> str:
    """Return `concept` without differences of case, outer blanks and Unicode normalisation."""
    # casefold() may leave text that is not normalised, so normalisation runs before and after it.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", concept).casefold()).strip()
