"""Test talk of other languages in the words of the English runners; a table for each language.

English texts are not looked at, and a table is loaded when a text has a mark of its language.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Final

__all__ = ["PLAIN_WORDS", "forms", "in_english", "letters", "may_be_foreign"]

# Words by which a text with Latin letters is known to be in a language: what it has if it is about
# failures or about tests that did not run, and no English text has.
_PLAIN: Final[Mapping[str, str]] = {
    "german": """
        alle ausgefuehrt ausstehend beendet bestanden bestehen delegiert durchgefallen durchgelaufen
        erfolgreich fehler fehlerfrei fehlerhaft fehlern fehlgeschlagen[,e,en,er,es] fehlt
        funktioniert gefunden gelaufen gescheitert kein[,e,en,er] laeuft laufen nicht noch
        scheitern schlagen schlug sind sollte[,n] spaeter testet ueberlassen uebersprungen
        ungetestet verschoben abdeckung bisher platzhalter testabdeckung zeilenabdeckung vertagt
        wird wurde[,n]
    """,
    "french": """
        couverture seulement attente aucun[,e] chargera devrai[t,ent] disponible
        echec[,s] echoue[,e,s,es,nt] erreur[,s] fonctionne lancer passent
        retour reussi[,e,s,es] seront sortie teste[,e]
        testera tourner tournera tourneront
    """,
    "spanish": """
        cobertura agotado aplazad[o,a] aprobad[o,a,os,as] codigo deberia[,n] dejad[o,a] delegad[o,a]
        disponible ejecutad[o,a,os,as] ejecutar ejecutaron encontrad[o,a,os,as] encontraron
        errores falla[,n,ndo,ron,s] fallid[o,a,os,as] fallo[,s] funciona hubo ningun[,a,o]
        omitid[o,a,os,as] pasad[a,as] pasan pasaron pendiente[,s] probad[o,a,os,as] probar
        prueba[,s] pude pudo quedan salida superad[o,a,os,as] verificad[o,a]
    """,
    "portuguese": """
        cobertura adiad[o,a] aprovad[o,a,os,as]
        consegui deixado delegado depois deve[,m] deveria[,m]
        erros esgotado executad[o,a,os,as] executar falha[,m,ndo,ram,s] falhou
        ignorad[o,a,os,as] nenhum[,a] passam passaram passou pendente[,s] pude puderam
        reprovad[o,a,os,as] rodar rodaram rodou testada testado testar teste testes
    """,
}


def forms(entry: str) -> Iterator[str]:
    """Yield the forms of an entry: `fallid[o,a]` is fallido and fallida."""
    stem, bracket, rest = entry.partition("[")
    if not bracket:
        yield entry
        return
    endings, _, after = rest.partition("]")
    for ending in endings.split(","):
        yield from forms(stem + ending + after)


PLAIN_WORDS: Final = {
    name: frozenset(form for entry in words.split() for form in forms(entry))
    for name, words in _PLAIN.items()
}
_ALL_PLAIN: Final = frozenset().union(*PLAIN_WORDS.values())
letters: Final = re.compile("[a-z]{4,}").findall


def may_be_foreign(lower: str) -> bool:
    """Return whether `lower`, a text in small letters, has a mark of another language."""
    if not _ALL_PLAIN.isdisjoint(letters(lower)):
        return True
    return not lower.isascii() and bool(_translating().may_be_foreign(lower))


def _translating() -> ModuleType:
    """Return what most texts do not need: they are English, and have no letters but those."""
    return import_module(f"{__name__}.translating")


def in_english(text: str) -> str | None:
    """Return `text` with the words of the tables in English, None without a mark of a language.

    The words that no table has stay as they are, and the lines stay lines. Linear.
    """
    if not may_be_foreign(text.lower()):
        return None

    translated: str = _translating().translate(text)
    return translated
