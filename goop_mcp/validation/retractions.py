"""Find text after an envelope that takes it back: "disregard the report above", "Correction: …"."""

import re
from collections.abc import Iterator
from typing import Final

from goop_mcp.validation.check_texts.tokens import without_quotations
from goop_mcp.validation.envelope_rules import TAKEN_BACK
from goop_mcp.validation.extraction import Block, Regions
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem

__all__ = ["retraction"]

_LOOKED_AT: Final = 8_000
_LINE: Final = 400
_WHAT: Final = (
    "(?:report|envelope|status|summary|reply|response|answer|results?|claims?|json|xml|verdict"
    "|handoff)"
)
_ABOVE: Final = "(?:above|before this|i (?:just )?(?:sent|gave|wrote))"
_EARLIER: Final = "(?:above|previous|preceding|earlier|last|first)"
_ENDS: Final = r"(?=\s*(?:[.,;:!()–—-]|\Z)|\s+(?:because|as|since|and|it|that|instead)\b)"
_DROP: Final = (
    "(?<!to )(?:disregard|ignore|discard|retract|withdraw|do not (?:use|trust|rely on)"
    "|don't (?:use|trust|rely on)|am (?:retracting|withdrawing)|retracting|withdrawing)"
)
_UNTRUE: Final = (
    "(?:(?:not|no longer) (?:correct|true|accurate|valid|right|complete)|wrong|incorrect|inaccurate"
    "|outdated|obsolete|invalid|premature|void|untrue|false|a mistake)"
)
_UNDONE: Final = (
    r"(?:(?:is|are|was|were) (?:not (?:done|complete|completed|finished|passing|working)|blocked"
    "|incomplete|unfinished|broken|(?:still )?failing|red)"
    "|(?:do|does|did)(?: not|n't) (?:pass|run|build|compile|work)|(?:still )?fails?)"
)
_FORMS: Final = (
    rf"\b{_DROP} (?:the|my|this|that|your)? ?{_EARLIER} {_WHAT}\b",
    rf"\b{_DROP} (?:the|my|this|that) (?:\w+ )?{_WHAT} {_ABOVE}",
    rf"\b{_DROP} (?:all of |everything |the |what is )above{_ENDS}",
    rf"\b{_DROP} (?:the|my|this|that) (?:report|envelope){_ENDS}",
    rf"\b(?:the|my) (?:{_EARLIER} {_WHAT}|(?:\w+ )?{_WHAT} {_ABOVE}) (?:is|was|are|were) {_UNTRUE}"
    rf"{_ENDS}",
    rf"\b(?:my|this) report (?:is|was) {_UNTRUE}{_ENDS}",
    rf"\bi (?:take|took) (?:it|that|this|the (?:report|above)) back{_ENDS}",
    # At the beginning of a line
    r"\A(?:correction|retraction|erratum)\b ?[:–—-](?! *(?:none|nothing|no\b|not needed|n/a))",
    r"\A(?:korrektur|berichtigung|corrección|rectificación|correção|retificação|rectification"
    r"|исправление|поправка|更正|訂正) ?[:：–—-](?! *(?:keine|aucune|ninguna|nenhuma|нет|无|なし))",
    r"\A(?:actually|wait|oops|sorry|hold on|scratch that)\b[ ,:.!–—-]{1,4}"
    r"(?:(?:the|this|my|it|that|all|some) ?)?(?:\d{1,6} )?(?:task|work|tests?|build|checks?"
    rf"|status)? ?{_UNDONE}\b(?! (?:on purpose|when|if|without|before))",
    # German, French, Spanish, Portuguese, Russian
    r"\b(?:den |diesen |meinen )?(?:obigen|vorigen|vorherigen|letzten) (?:bericht|report|status)"
    r" (?:bitte )?(?:ignorieren|verwerfen|nicht (?:beachten|verwenden))",
    r"\b(?:ignorieren|verwerfen) sie (?:bitte )?(?:den|meinen) (?:obigen |vorigen |letzten )?"
    r"bericht",
    r"\bder (?:obige bericht|bericht oben|obige status) (?:ist|war) (?:falsch|nicht korrekt"
    r"|ungültig|überholt|hinfällig)",
    r"\b(?:ignore[zr]?|ne (?:pas tenir|tenez pas) compte du?) ?(?:le )?(?:rapport|statut)"
    r" (?:ci-dessus|précédent)",
    r"\ble (?:rapport|statut) (?:ci-dessus|précédent) est (?:faux|erroné|incorrect|inexact)",
    r"\b(?:ignor[ae]r?|descart[ae]r?|desconsider[ae]r?) (?:el|o) (?:informe|reporte|estado"
    r"|relatório|status) (?:anterior|de arriba|acima)",
    r"\b(?:el|o) (?:informe|relatório|reporte) (?:anterior|de arriba|acima) (?:es|está|é)"
    r" (?:incorrecto|equivocado|erróneo|incorreto|errado|inválido)",
    r"\b(?:игнорируйте|не учитывайте|отзываю) (?:предыдущий |мой )?отчёт(?: выше)?(?!\w)",
    r"\b(?:отчёт выше|предыдущий отчёт) (?:неверен|ошибочен|недействителен)",
    # Chinese, Japanese
    r"忽略(?:上面|以上|上述|之前)的?(?:报告|状态|结果)|(?:上面|以上|上述)的?(?:报告|状态)"
    r"(?:有误|不正确|是错的|错误|无效|作废)",
    r"(?:上記|上|前)の(?:報告|レポート|ステータス)(?:は(?:誤り|間違い|無効|取り消)|を(?:無視|取り消|撤回))",
)
_TAKEN_BACK: Final = re.compile("|".join(_FORMS))


def retraction(text: str, block: Block, at: int) -> Problem | None:
    """Return the problem if the text from `at` says that `block` before it does not hold.

    Quotations, fences and quoted lines are left out. Of a long text the first and the last 8,000
    characters are read. Linear.
    """
    for start, line in _lines(text, at, block.end):
        spoken = without_quotations(line[:_LINE].strip("*_#- \t\r"))
        if _TAKEN_BACK.search(spoken.replace("’", "'").replace("*", "").lower()) is not None:
            found = excerpt(line.strip(), 60)
            message = (
                f"text after the envelope takes it back: {found!r}; expected one report that holds"
            )
            return TAKEN_BACK.problem(message, offset=start - block.start, found=found)

    return None


def _lines(text: str, at: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the lines from `at` that are neither quoted nor in a fence, with their offsets.

    A fence counts if it begins after `end`, that of the envelope.
    """
    spans = [(at, len(text))]
    if len(text) - at > 2 * _LOOKED_AT:
        spans = [(at, at + _LOOKED_AT), (len(text) - _LOOKED_AT, len(text))]

    fences = Regions((start, stop) for start, stop, _ in fence_spans(text) if start >= end)
    for begin, stop in spans:
        start = begin
        for line in text[begin:stop].splitlines(keepends=True):
            if not fences.hold(start, start + 1) and not line.lstrip().startswith((">", "|")):
                yield start, line
            start += len(line)
