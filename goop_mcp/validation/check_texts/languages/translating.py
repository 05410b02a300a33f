"""Replace the words of other languages that the tables have by those of English runners."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from goop_mcp.validation.check_texts.languages import PLAIN_WORDS, forms, letters

__all__ = ["may_be_foreign", "translate"]

_UNSPACED: Final = frozenset({"chinese", "japanese"})

_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*['’]?")
_RUN: Final = re.compile("[々〆぀-ヿ㐀-鿿豈-﫿]+")
_STATUS_CODE: Final = re.compile(
    r"\b([45]\d\d)[ -]{0,20}errors?\b|\berrors?[ -]{1,20}([45]\d\d)\b(?![ ]+tests?)"
)
# What a test is about: "3 cas d'erreur", "3 个错误用例", "code de sortie 1 en cas d'erreur".
_DESCRIBED: Final = re.compile(
    r"\berrors?[ ]{1,20}(?:tests?|checks?)\b|\btests?[ ]{1,20}of[ ]{1,20}errors?\b"
    r"|\bexit code[ :]{1,20}\d{1,3}(?=[ ]{1,20}[^\W\d])"
)
_FILLERS: Final = re.compile(
    r"\b(?:still|also|are)[ ]{1,20}(?=(?:not|no|could|untested|unverified)\b)"
)
_STATE_FIRST: Final = re.compile(
    r"\b(failed|failures|errors|passed|skipped)[ ]{1,20}"
    r"(?=(?:\d{1,9}|one|two|three|four|five)(?:[ ]{1,20}tests?)?\s*(?:[^\w\s]|$))"
)
# "Von 20 Tests bestehen 18": the verb stands between the numbers.
_PART_OF: Final = re.compile(
    r"\b[oO]f[ ]{1,20}(\d{1,9})[ ]{1,20}tests?[ ]{1,20}(failed|passed)[ ]{1,20}(\d{1,9})\b"
)
# A word next to one of these is part of a name or a path.
_OF_NAMES: Final = frozenset("_/\\@$.")
_MARKS_OF_EAST_ASIA: Final = str.maketrans(
    {"、": ", ", "。": ". ", "・": ", ", "，": ", ", "；": "; "}
)
_SPELLED_OUT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


# The same with parts of words, for texts with a letter outside of English.
_ACCENTED: Final[Mapping[str, tuple[str, ...]]] = {
    "german": (
        *("übersprung", "ausgeführt", "auszuführ", "überlass", "ungeprüft", "müsst", "dürft"),
        *("läuft", "später", "führt", "übernimm", "bleibt für", "übergeb", "zurückgest"),
        *("rückgabe", "zeitüber", "prüf", "möglich", "fehlschl"),
    ),
    "french": (
        *("échou", "échec", "réuss", "exécut", "lancé", "testé", "vérifi", "délégu", "délai"),
        *("confié", "laissé", "reporté", "trouvé", "différé", "à lancer", "implémenté"),
        *("terminé", "dépassé", "ignoré", "réservé", "corrigé", "à tester", "à faire"),
        *("impossible à", "n'a été", "écrit"),
    ),
    "spanish": (
        *("falló", "ningún", "deberí", "código de", "probó", "corrió", "corrí", "encontró"),
        *("aún no", "lanzó", "más tarde", "todavía", "está", "hará", "ejecutó", "agotó"),
    ),
    "portuguese": (
        *("não ", "código de", "será ", "serão ", "rodará", "há ", "ainda não", "suíte"),
    ),
}
_CYRILLIC: Final = re.compile("[Ѐ-ӿ]")
_OTHER_SCRIPT: Final = re.compile("[Ѐ-ӿ぀-ヿ㐀-鿿豈-﫿ｦ-ﾟ]")


def may_be_foreign(lower: str) -> bool:
    """Return whether `lower`, a text in small letters, has a letter or word of another language."""
    return _OTHER_SCRIPT.search(lower) is not None or any(
        stem in lower for stems in _ACCENTED.values() for stem in stems
    )


def translate(text: str) -> str:
    """Return `text` with the words of the tables in English; see `in_english`."""
    text = unicodedata.normalize("NFKC", text.translate(_MARKS_OF_EAST_ASIA))
    lower = text.lower()
    if _RUN.search(text) is not None:
        text = _RUN.sub(_segmented, text)
    if languages := _languages_of(lower):
        text = _replaced(text, _phrases(languages))

    # A verb may come first: "fallaron 2 pruebas", and in East Asia the state of a count as well.
    text = _DESCRIBED.sub("described-case", _STATUS_CODE.sub(r"\1\2 status", text))
    text = _PART_OF.sub(r"\3 \2 of \1 tests", text)
    return _FILLERS.sub("", _STATE_FIRST.sub(r"\1: ", text))


def _languages_of(lower: str) -> tuple[str, ...]:
    words = frozenset(letters(lower))
    found = [
        name
        for name, plain in PLAIN_WORDS.items()
        if not plain.isdisjoint(words) or any(stem in lower for stem in _ACCENTED[name])
    ]
    return (*found, "russian") if _CYRILLIC.search(lower) is not None else tuple(found)


# Languages with spaces between their words

_Phrases = Mapping[str, list[tuple[tuple[str, ...], str]]]


def _replaced(text: str, phrases: _Phrases) -> str:
    words = [each for each in _WORD.finditer(text) if not _is_of_name(text, each)]
    lower = [each[0].lower().replace("’", "'") for each in words]
    kept: list[str] = []
    start = at = 0
    while at < len(words):
        length, english = _phrase_at(text, words, lower, at, phrases)
        if not length:
            at += 1
            continue

        kept += [text[start : words[at].start()], f" {english} "]
        start = words[at + length - 1].end()
        at += length

    return "".join([*kept, text[start:]])


def _is_of_name(text: str, word: "re.Match[str]") -> bool:
    before, after = text[word.start() - 1 : word.start()], text[word.end() : word.end() + 2]
    return before in _OF_NAMES - {""} or (
        after[:1] in _OF_NAMES and (after[:1] != "." or after[1:].isalnum())
    )


def _phrase_at(
    text: str, words: list["re.Match[str]"], lower: list[str], at: int, phrases: _Phrases
) -> tuple[int, str]:
    """Return how many words the longest phrase at `at` has, 0 without one, and its English."""
    for phrase, english in phrases.get(lower[at], ()):
        end = at + len(phrase)
        if tuple(lower[at:end]) == phrase and all(
            not text[words[place].end() : words[place + 1].start()].strip(" \t")
            for place in range(at, end - 1)
        ):
            return len(phrase), english

    return 0, ""


@cache
def _phrases(languages: tuple[str, ...]) -> _Phrases:
    """Return the phrases of `languages` by their first word, the longest ones first."""
    found: dict[tuple[str, ...], str] = {}
    for language in languages:
        for words, english in _table(language).items():
            found.setdefault(tuple(_WORD.findall(words)), english)

    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase, english in sorted(found.items(), key=lambda each: -len(each[0])):
        by_first.setdefault(phrase[0], []).append((phrase, english))
    return by_first


# Languages without spaces


def _segmented(run: "re.Match[str]") -> str:
    """Return a run of characters in English words, the longest entry of a table at each place."""
    text, table, longest = run[0], *_unspaced()
    pieces: list[str] = []
    start = at = 0
    while at < len(text):
        for length in range(min(longest, len(text) - at), 0, -1):
            english = table.get(text[at : at + length])
            if english is not None:
                pieces += [text[start:at], english]
                at += length
                start = at
                break
        else:
            at += 1

    return f" {' '.join([*pieces, text[start:]])} "


@cache
def _unspaced() -> tuple[Mapping[str, str], int]:
    table = {words: english for name in _UNSPACED for words, english in _table(name).items()}
    return table, max(map(len, table))


# Tables


def _table(language: str) -> Mapping[str, str]:
    """Return the English of each entry, also of entries without their accents."""
    words: Mapping[str, str] = import_module(f"{__package__}.{language}").WORDS
    table: dict[str, str] = {}
    for english, listed in words.items():
        for entry in (each for part in listed.split("|") for each in forms(part.strip())):
            table.setdefault(entry, english)
            if language not in _UNSPACED and not entry.isascii():
                plain = entry.translate(_SPELLED_OUT) if language == "german" else _bare(entry)
                table.setdefault(plain, english)

    return table


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize(
        "NFC", "".join(c for c in decomposed if not unicodedata.combining(c))
    )
