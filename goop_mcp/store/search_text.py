"""How texts and queries are split into words, the same way for both engines.

Besides its words, a text is found by the parts of its identifiers (`HTTPServerError` by "server
error"), by identifiers in another style (`externalId` by `external_id`), and by the inner words of
scripts that put no blanks between words, which are indexed as pairs of characters.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from goop_mcp.store.records import MemoryFilter

__all__ = [
    "IMPORTANCE_LEVELS",
    "MOST_WORDS",
    "WORD",
    "filter_groups",
    "filter_tokens",
    "fold_concept",
    "inner_words",
    "project_token",
    "query_terms",
    "query_words",
    "search_body",
    "search_text",
    "term_forms",
]

WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036F])*")
"""Letters and digits with their accents: `session_id` is two words, `src/auth/service.ts` four."""

_ACCENTS = re.compile(r"[\u0300-\u036F]+")

MOST_WORDS = 32
"""How many words of a query count: the first ones."""

IMPORTANCE_LEVELS: Final = (0.9, 0.8, 0.7, 0.6, 0.5, 0.3)
"""Lower bounds of importance that the index of words knows."""

# Identifiers in one piece, such as snake_case, kebab-case, and prose with hyphens.
_COMPOUND: Final = re.compile(
    r"[^\W_](?:[^\W_]|[\u0300-\u036F])*(?:[_-][^\W_](?:[^\W_]|[\u0300-\u036F])*)*"
)
# A longer one is a path or a heading, which nobody writes in one word.
_MOST_JOINED: Final = 4
_CASE_OR_DIGIT: Final = re.compile(
    "[a-zß-öø-ÿ0-9][A-ZÀ-ÖØ-Þ]|[A-ZÀ-ÖØ-Þ]{2}[a-zß-öø-ÿ]|[^\\W\\d_][0-9]|[0-9][^\\W\\d_]"
)
_PART: Final = re.compile("[A-ZÀ-ÖØ-Þ]+(?![a-zß-öø-ÿ])|[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ÿ]+|[0-9]+|[^\\W\\d_]")
_SHORTEST_PART: Final = 2

# Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Han and Hangul. Korean has blanks, but its words
# carry endings that no stemmer here knows.
_UNSPACED: Final = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]+"
)
# The tokens of filters begin with a character that no word has.
_MARK: Final = "\ue000"


def query_words(query: str) -> tuple[str, ...]:
    # One word may come composed or, as in file names of macOS, decomposed; it then counts once.
    """Return the distinct words of a query in their order; none for punctuation only.

    Case is kept: the engines fold it in the way they folded the text, which differs from
    casefold().
    """
    words = dict.fromkeys(WORD.findall(unicodedata.normalize("NFC", query)))
    return tuple(words)[:MOST_WORDS]


def query_terms(query: str) -> tuple[str, ...]:
    """Return what a query asks for: its words, with identifiers such as `session_id` in one piece.

    At most as many as words count in a query.
    """
    # A run of an unspaced script is a term by itself. It is taken out of the text first, or the
    # pattern of compounds would join it to a Latin word that stands next to it without a blank.
    text = unicodedata.normalize("NFC", query)
    terms = dict.fromkeys(_UNSPACED.findall(text))
    if terms:
        text = _UNSPACED.sub(" ", text)

    return tuple(terms | dict.fromkeys(_COMPOUND.findall(text)))[:MOST_WORDS]


def term_forms(term: str) -> tuple[tuple[str, ...], ...]:
    """Return the ways in which texts may hold `term`: each is a group of words that all count.

    `externalId` may stand as one word, or as the words "external" and "Id".
    """
    forms = [tuple(_pairs(run)) for run in _UNSPACED.findall(term)]
    if forms:
        term = _UNSPACED.sub(" ", term)

    for compound in _COMPOUND.findall(term):
        words = WORD.findall(compound)
        if 1 < len(words) <= _MOST_JOINED:
            forms.append(("".join(words),))

        forms.append(tuple(dict.fromkeys(words)))
        # Parts are searched in addition to the whole: who searches `externalId` wants that
        # identifier first, and the two words apart as well.
        parts = [part for word in words for part in _parts(word) or (word,)]
        if len(parts) > len(words):
            forms.append(tuple(dict.fromkeys(parts)))

    return tuple(dict.fromkeys(form[:MOST_WORDS] for form in forms if form))


def inner_words(texts: Iterable[str]) -> str:
    """Return the distinct words that `texts` hold within others, separated by blanks.

    These are parts of identifiers, identifiers without their separators, and single characters
    and pairs of characters of scripts without blanks.
    """
    found: dict[str, None] = {}
    for text in texts:
        plain = text
        # Most texts are ASCII, and for these the search for other scripts would be wasted.
        if not text.isascii() and (runs := _UNSPACED.findall(text)):
            for run in runs:
                found.update(dict.fromkeys((*_letters(run), *_pairs(run))))

            # A word of another script next to such a run is not a word of its own for the engines.
            plain = _UNSPACED.sub(" ", text)
            found.update(dict.fromkeys(WORD.findall(plain)))

        if _CASE_OR_DIGIT.search(plain):
            for word in WORD.findall(plain):
                found.update(dict.fromkeys(_parts(word)))

        if "_" in plain or "-" in plain:
            for compound in _COMPOUND.findall(plain):
                words = WORD.findall(compound)
                if 1 < len(words) <= _MOST_JOINED:
                    found["".join(words)] = None

    return " ".join(found)


def _parts(word: str) -> tuple[str, ...]:
    """Return the parts of an identifier in mixed case or with digits, () for another word."""
    if not _CASE_OR_DIGIT.search(word):
        return ()

    parts: list[str] = []
    lone = ""
    # Bounded by the word itself: WORD ends at every character that is not a letter or digit.
    for part in _PART.findall(word):
        # A lone letter belongs to what follows: "OAuth", "iPhone".
        if len(part) == 1 and part.isalpha():
            lone = part
            continue

        whole, lone = (part if part.isdecimal() else lone + part), ""
        if len(whole) >= _SHORTEST_PART:
            parts.append(whole)

    return tuple(parts) if parts != [word] else ()


def _letters(run: str) -> str:
    """Return `run` without vowel and tone marks, at which the engines would split it."""
    return "".join(
        character
        for character in unicodedata.normalize("NFC", run)
        if unicodedata.category(character)[0] != "M"
    )


def _pairs(run: str) -> list[str]:
    # A single character has no pair, and many words of Chinese are one character long.
    letters = _letters(run)
    if len(letters) <= 1:
        return [letters] if letters else []
    return [letters[at : at + 2] for at in range(len(letters) - 1)]


def search_text(text: str) -> str:
    """Return the words of `text` in lower case without accents.

    For PostgreSQL, whose own parser keeps paths and URLs as one token.
    """
    decomposed = unicodedata.normalize("NFKD", text.lower())
    # Composed again, as Hangul and voiced Kana would otherwise be split at each character.
    return " ".join(WORD.findall(unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))))


def search_body(content: str, concepts: Sequence[str], title: str) -> str:
    """Return the words by which a memory is found besides those of its title, for PostgreSQL."""
    inner = inner_words((title, content, *concepts))
    return search_text(" ".join((content, *concepts, inner)))


def fold_concept(concept: str) -> str:
    """Return `concept` without differences of case, outer blanks and Unicode normalisation."""
    # casefold() may leave text that is not normalised, so normalisation runs before and after it.
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", concept).casefold()).strip()


def filter_tokens(type: str, importance: float, concepts: Sequence[str]) -> str:
    """Return the tokens by which filters find a memory in the index of words."""
    tokens = [_type_token(type), *map(_concept_token, concepts)]
    tokens += [_importance_token(level) for level in IMPORTANCE_LEVELS if importance >= level]

    return " ".join(tokens)


def filter_groups(wanted: MemoryFilter) -> list[list[str]]:
    """Return groups of tokens: a memory needs one of each group.

    An importance between two levels is compared in the row as well.
    """
    level = next((level for level in IMPORTANCE_LEVELS if level <= wanted.min_importance), None)
    groups = (
        [_type_token(type) for type in wanted.types],
        [_concept_token(concept) for concept in wanted.concepts],
        [_importance_token(level)] if level else [],
    )
    return [group for group in groups if group]


def project_token(tenant: str, project: str) -> str:
    """Return the token that all memories of a project have in an index of many projects."""
    # NUL is in neither name, so that two pairs of names never give the same text.
    # Half of a character in a name is refused by the database, which says so.
    named = f"{tenant}\0{project}".encode(errors="surrogatepass")
    return f"{_MARK}p{hashlib.blake2b(named, digest_size=9).hexdigest()}"


def _type_token(type: str) -> str:
    # Underscores would split the token into two words in FTS5.
    return f"{_MARK}t{type.replace('_', '')}"


@lru_cache(maxsize=256)
def _concept_token(concept: str) -> str:
    # A digest, as concepts hold blanks and punctuation.
    digest = hashlib.blake2b(fold_concept(concept).encode(), digest_size=9).hexdigest()
    return f"{_MARK}c{digest}"


def _importance_token(level: float) -> str:
    # Tenths, as a dot would end the token.
    return f"{_MARK}i{round(level * 10)}"
