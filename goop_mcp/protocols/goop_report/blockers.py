"""The meaning of `<blockers>`: a real blocker, or none in whatever form and language (D-91).

All readers share one list, so that BLOCKED without a blocker and COMPLETE with one agree on it.
"""

import unicodedata
from typing import Final

__all__ = ["is_open_slot", "real_blocker"]

_LONGEST = 200
"""A longer text says more than that nothing blocks."""

_EDGES = " \t\r\n.!。．！;,:*_`\"'“”„«»‘’()[]{}<>/|#>~-–—−‐•·→✓✔✅🟢👍"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _texts(text: str) -> frozenset[str]:
    return frozenset(
        " ".join(each.split()) for line in text.split("\n") for each in line.split("|")
    )


# Whole texts, in lower case and without what stands around them: English, then language by
# language.
_NONE: Final = _texts("""
    none | nothing | no | nope | nil | null | n/a | n.a | na | n a | not applicable | 0 | zero
    false | empty | undefined | all clear | unblocked | not blocked | nothing blocking
    nothing blocks | nothing blocks me | nothing is blocking | nothing is blocked | clear | -
    keine | keiner | kein | nichts | keine blocker | kein blocker | keine blockaden | entfällt
    keine hindernisse | keine probleme | derzeit keine | zurzeit keine | aktuell keine
    momentan keine | keine bekannt | nicht blockiert | geen | niets | geen blokkades
    geen blockers | n.v.t | nvt | ingen | inga | inget | ingenting | intet
    ingen blokkeringer | inga hinder | inga blockerare | ingen blockers | inga blockers | ei
    ei mitään | ei ole | ei esteitä | engar | ekkert
    aucun | aucune | aucun blocage | aucun bloqueur | aucun obstacle | rien | néant
    sans objet | pas de blocage | pas de bloqueur | ninguno | ninguna | nada | sin bloqueos
    sin bloqueo | ningún bloqueo | ningun bloqueo | no hay | no hay bloqueos
    no hay bloqueadores | sin obstáculos | nenhum | nenhuma | nenhum bloqueio | sem bloqueios
    sem bloqueio | não há | nessuno | nessuna | niente | nessun blocco | nessun blocker | cap
    cap bloqueig | niciunul | niciuna | nimic
    brak | żadne | żaden | nic | brak blokad | brak przeszkód | žádné | žádný | žiadne
    žiadny | нет | нету | отсутствуют | отсутствует | ничего | нет блокеров | нет препятствий
    без блокеров | блокеров нет | немає | відсутні | жодних | няма | нема | nema | ništa | nič
    nėra | nav | puudub
    なし | 無し | 無 | 特になし | ありません | ブロッカーなし | ブロッカーはありません
    該当なし | 没有 | 沒有 | 无 | 暂无 | 暫無 | 无阻塞 | 無阻塞 | 没有阻塞 | 无阻塞项 | 无阻碍
    无障碍 | 没有障碍 | 无问题 | 目前没有 | 目前无 | 없음 | 없습니다 | 없다 | 차단 요소 없음
    해당 없음 | yok | hiçbiri | hiç | engel yok | engelleyici yok
    nincs | semmi | nincsenek | κανένα | καμία | κανένας | τίποτα | אין | ללא | لا يوجد
    لا شيء | لا توجد | هیچ | ندارد | कोई नहीं | नहीं | không | không có | tidak ada | tiada
    ไม่มี | wala
""")

# "No known blockers at this time", "None currently": a word that denies, a word for what blocks,
# and fillers.
_DENIALS: Final = frozenset({"no", "none", "nothing", "nil", "zero", "0", "without", "not"})
_ALONE: Final = frozenset({"none", "nothing", "nil", "zero", "0"})
_OBSTACLES: Final = _words("""
    blocker blockers blocking block blocks blocked blockage blockages impediment impediments
    obstacle obstacles issue issues problem problems hindrances concerns showstopper
    showstoppers
""")
_FILLERS: Final = _words("""
    there are is were was have has had i we currently current known active open outstanding
    remaining remain remains at this the time moment point now right so far yet as of today
    any more further new identified found encountered noted present exist exists left
    unresolved major critical technical external hard in me us it my our way stands
    anymore detected reported observed to report that know
    for
""")

# "None - ready for review": what may follow without being a blocker.
_READY: Final = _words("""
    ready for to proceed proceeding continue next task phase wave review step steps all
    everything dependencies dependency resolved tests test pass passes passed passing green
    done complete completed finished works is are in place good go can start the handoff merge
    acceptance verification work clear and checks on track moving forward ahead safe agent
    with goop-tester goop-verifier goop-executor planned as
""")
_SEPARATORS: Final = ".;,—–:(\n-"


def real_blocker(text: str) -> str | None:
    """Return `text`, or None where it means none: "None", "No blockers at this time", "[]"."""
    # Order of the tests: whole texts first, then sentences word by word, then a denial followed by
    # good news. Whatever is left over counts as a blocker, because a false blocker costs a question
    # and a missed one lets broken work pass as done.
    if len(text) > _LONGEST:
        return text

    # NFKC turns full-width letters and ligatures into plain ones; casefold also handles ß and İ.
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    bare = folded.strip(_EDGES)
    if bare in _NONE:
        return None
    if not bare:
        # Brackets, dashes and ticks say none; other marks, such as a question mark, say nothing.
        return None
    if _denies(bare):
        return None

    at = next((at for at, char in enumerate(bare) if char in _SEPARATORS), -1)
    head, rest = bare[:at].strip(_EDGES), bare[at:].strip(_EDGES)

    # "None - ready for review" says none; "None, but the key is missing" does not.
    says_none = (
        at > 0
        and (head in _NONE or _denies(head))
        and all(word in _READY for word in _bare_words(rest))
    )
    return None if says_none else text


def is_open_slot(text: str) -> bool:
    """Return whether `text` only stands for a blocker that was never filled in: "?", "TBD"."""
    bare = text.strip().strip("?.!()[]* ").lower()
    return (
        bool(text.strip())
        and bare in ("", "tbd", "tba", "todo", "xxx")
        and ("?" in text or bool(bare))
    )


def _denies(text: str) -> bool:
    """Return whether each word of `text` belongs to a statement that nothing blocks."""
    words = _bare_words(text)
    denials = [word for word in words if word in _DENIALS]
    # One denial exactly: "no tests, no database" lists what is missing, and "nothing is not
    # blocked" means the opposite.
    if len(denials) != 1 or not all(
        word in _DENIALS or word in _OBSTACLES or word in _FILLERS for word in words
    ):
        return False

    # "not" denies only the word that means blocking; "not now" says nothing about blockers.
    if denials[0] == "not":
        return "blocked" in words or "blocking" in words
    return denials[0] in _ALONE or any(word in _OBSTACLES for word in words)


def _bare_words(text: str) -> list[str]:
    return [word for part in text.split() if (word := part.strip(_EDGES))]
