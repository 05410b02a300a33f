"""What a word is, for both engines: the same text and the same query have the same words on each of them."""

import re
import unicodedata

__all__ = ["MOST_WORDS", "WORD", "fold_concept", "query_words", "search_text"]

WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036F])*")
"""A run of letters and digits with their accents: `session_id` is two words, `src/auth/service.ts` four."""

_ACCENTS = re.compile(r"[\u0300-\u036F]+")

MOST_WORDS = 32
"""How many words of a query count; the first ones do."""


def query_words(query: str) -> tuple[str, ...]:
    """Return the different words of a query in their order, none for a query of punctuation only.

    Case is left as it is: the engines fold it in the same way as they folded the text, which
    casefold() does not.
    """
    words = dict.fromkeys(WORD.findall(unicodedata.normalize("NFC", query)))
    return tuple(words)[:MOST_WORDS]


def search_text(text: str) -> str:
    """Return the words of `text` in lower case without accents, for an engine whose own parser keeps paths whole."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return " ".join(WORD.findall(_ACCENTS.sub("", decomposed)))


def fold_concept(concept: str) -> str:
    """Return the form in which two concepts are the same: whatever the case, the outer blanks and the Unicode form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", concept).casefold()).strip()
