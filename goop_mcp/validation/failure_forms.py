"""The forms in which agents say that their work failed, in the languages that they write, as data.

Every form is tried at the beginning of a line in lower case, with straight apostrophes. English
forms may go on; those of other languages are the whole line.
"""

import re
from typing import Final

__all__ = ["ELSEWHERE", "LEFT_TO_DO", "STATES", "UNABLE", "UNCHECKED"]


def _any_of(text: str) -> str:
    return f"(?:{'|'.join(text.split())})"


_IRREGULAR: Final = {
    "build": "built",
    "commit": "committed",
    "get": "got",
    "make": "made",
    "refactor": "refactored",
    "rewrite": "rewritten",
    "run": "run",
    "set": "set",
    "ship": "shipped",
    "split": "split",
    "write": "written",
}


def _participle(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"


# What cannot be found, reproduced or broken is an outcome as often as a failure.
_VERBS: Final = (
    "add adapt address apply build change commit compile complete configure continue convert create"
    " delete deliver deploy design document draft edit enable extend extract finalize finish fix"
    " generate get implement improve install integrate make merge migrate modify move optimize port"
    " prepare proceed produce publish refactor release remove rename replace resolve restore"
    " rewrite run save set ship solve split start test translate update upgrade wire write"
)
_PARTICIPLES: Final = " ".join(map(_participle, _VERBS.split()))
_DONE: Final = _any_of(
    "implemented finished completed done started written created added built fixed migrated"
    " refactored applied integrated wired converted updated complete"
)
_COULD_NOT: Final = (
    r"(?:could not|couldn't|(?:was|were|am|are) (?:not able|unable) to|(?:was|were|are)n't able to"
    r"|unable to|not able to|failed to|did(?: not|n't) manage to|did(?: not|n't) get to)"
)
_TASK: Final = (
    r"(?:(?:the|this|my|all|some|most|its) )?(?:of the )?(?:task|work|job|ticket|phase \w+"
    r"|w\d+\.t\d+|it|this)"
)
_THING: Final = (
    r"(?:(?:the|all|some|most|its|this|my) )?(?:(?:login|unit|e2e|integration|new) )?(?:build"
    r"|tests?|(?:test )?suite|ci|pipeline|compilation|implementation|code|file|migration|endpoint"
    r"|feature|lint|type ?check|server|app)"
)
_ENDS: Final = r"(?=\s*(?:[.,;:!(–—-]|\Z)|\s+(?:yet|still|due|because|as|since|and|on me)\b)"
_BE: Final = r"(?:(?:is|are|remains?|was(?= not)|were(?= not)) )?(?:still |currently |only )?"
_UNDONE: Final = (
    rf"(?:not (?:yet )?(?:fully |entirely )?{_DONE}"
    rf"|(?:only )?(?:partially|partly|half)[- ]{_DONE}|incomplete|unfinished)"
)
_OUT_OF_ORDER: Final = (
    r"(?:not (?:yet )?(?:working|passing|green|running|compiling|functional)"
    r"|broken|failing|hanging)"
)
_FAILS: Final = (
    r"(?:still )?(?:fails?|hangs?|crash(?:es|ed)?(?: (?:on|at|during) \w+)?|is failing|timed? out"
    r"|d(?:o|oes|id)(?: not|n't) (?:work|compile|build|run|start|pass|finish|terminate))"
)

UNABLE: Final = re.compile(
    "|".join(
        (
            rf"(?:(?:i|we|it|{_TASK}) )?{_COULD_NOT} (?:fully )?{_any_of(_VERBS)}\b",
            r"(?:(?:i|we) )?(?:cannot|can't) (?:finish|complete|build|compile|continue|proceed)\b",
            rf"(?:{_TASK} |the files? |files? )?(?:could not|couldn't) be (?:fully )?"
            rf"{_any_of(_PARTICIPLES)}\b",
            rf"(?:{_TASK} {_BE})?(?:still )?(?:{_UNDONE}|wip|work in progress){_ENDS}",
            rf"(?:(?:i|we|{_TASK}) )?did(?: not|n't) (?:finish|complete|succeed)\b",
            r"(?:(?:i|we) )?(?:ran out of|hit the limit of) (?:time|context|budget|tokens|turns)\b",
            r"(?:(?:i|we) )?(?:gave up|had to (?:stop|give up|abort))\b",
            r"(?:(?:i am|i'm|we are|currently|still) )blocked\b",
            r"blocked: (?:missing|no|need|waiting|cannot|can't|lack)",
            r"nothing (?:was |is |has been )?(?:done|implemented)" + _ENDS,
        )
    )
)
"""The work of the speaker is not done."""

STATES: Final = re.compile(
    "|".join(
        (
            rf"(?:still )?(?:{_OUT_OF_ORDER}|stub only|stubbed(?: out)?"
            rf"|(?:only|just) a stub){_ENDS}",
            r"skipped(?:,? (?:no time|out of time|for now|due to time)|\Z)",
            rf"{_FAILS}{_ENDS}",
            rf"{_THING} {_BE}(?:{_UNDONE}|{_OUT_OF_ORDER}|red){_ENDS}",
            rf"(?:{_THING}|it|this) {_FAILS}{_ENDS}",
            rf"{_THING} {_COULD_NOT} (?:be )?{_any_of(f'{_VERBS} {_PARTICIPLES}')}\b",
            rf"failing {_THING} remain",
        )
    )
)
"""A thing of the project does not work, which reviewers report as their own work."""

UNCHECKED: Final = re.compile(
    rf"{_COULD_NOT} (?:be )?(?:verif(?:y|ied)|validated?|check(?:ed)?|execute[d]?|load(?:ed)?)\b"
    rf"|(?:{_THING} (?:has )?)?failed[.!]?\Z"
)
"""What only the text of a check says: nothing was checked, or it failed."""

LEFT_TO_DO: Final = re.compile(
    r"(?:todo|fixme)(?:\([^()\n]{0,30}\))?\s?[:–—-] "
    rf"(?:please )?{_any_of(_VERBS)}\b"
)
"""What is left, in a text about what was done."""

_GERMAN_DONE: Final = (
    r"\w{0,12}(?:abgeschlossen|fertig|fertiggestellt|implementiert|umgesetzt|gebaut|hinzugefügt"
    r"|ergänzt|gestartet|ausgeführt|erstellt|geschrieben|behoben|kompiliert|installiert|migriert"
    r"|repariert|angelegt|geändert|aktualisiert|beendet|erledigt|angepasst|integriert)"
)
_GERMAN_VERBS: Final = (
    r"(?:abschließen|fertigstellen|implementieren|umsetzen|bauen|hinzufügen|ergänzen|starten"
    r"|ausführen|erstellen|schreiben|beheben|kompilieren|installieren|migrieren|reparieren|anlegen"
    r"|ändern|aktualisieren|beenden|erledigen|anpassen|integrieren)"
)
_FRENCH_VERBS: Final = (
    r"(?:terminer|finir|ajouter|implémenter|corriger|compiler|créer|écrire|migrer|installer)"
)
_SPANISH_VERBS: Final = (
    r"(?:terminar|completar|añadir|agregar|implementar|corregir|crear|compilar|escribir|migrar"
    r"|instalar)"
)
_PORTUGUESE_VERBS: Final = (
    r"(?:terminar|concluir|completar|adicionar|implementar|corrigir|criar|compilar|escrever|migrar"
    r"|instalar)"
)
_ITALIAN_VERBS: Final = (
    r"(?:completare|terminare|finire|aggiungere|implementare|correggere|creare|compilare|scrivere"
    r"|migrare|installare)"
)
_REASON: Final = r"(?: .*|[:,;(].*)?"

ELSEWHERE: Final = re.compile(
    "|".join(
        (
            # German
            rf"(?:[\wäöüß-]+ ){{0,4}}konnten? (?:.{{0,80}} )?nicht (?:mehr )?{_GERMAN_DONE}"
            rf"(?: werden)?{_REASON}",
            rf"(?:[\wäöüß-]+ ){{0,2}}konnten? (?:.{{0,80}} )?nicht {_GERMAN_VERBS}{_REASON}",
            rf"(?:(?:ist|noch|sind) ){{0,2}}nicht {_GERMAN_DONE}(?: geworden)?(?:[:,;].*)?",
            r"unfertig|unvollständig|(?:nur )?teilweise (?:umgesetzt|implementiert|fertig)",
            r"(?:der build|build|die kompilierung|kompilierung) (?:ist )?(?:noch )?(?:kaputt|rot"
            r"|defekt|schl[äu]gt? (?:noch )?fehl|fehlgeschlagen|gescheitert)",
            r"(?:die )?tests (?:schlagen (?:noch )?fehl|hängen|sind rot|laufen nicht)",
            r"(?:kompiliert|funktioniert|läuft|startet) (?:noch )?nicht",
            # French
            rf"(?:impossible (?:de |d')|(?:je |on )?n'ai pas pu |échec de ){_FRENCH_VERBS}\b.*",
            r"(?:pas (?:encore )?(?:terminé|fini|implémenté|fait)|inachevé|incomplet)e?",
            r"(?:la compilation|le build|les tests) (?:échoue|échouent|est cassée?"
            r"|(?:a|ont) échoué)",
            r"(?:l[ea]s? \w+ )?ne (?:compile|fonctionne|marche|passe|passent|démarre) pas"
            r"(?: encore)?",
            # Spanish
            rf"no (?:se pudo|fue posible|pude|he podido) {_SPANISH_VERBS}\b.*",
            r"(?:aún |todavía )?(?:no (?:está )?(?:terminad|implementad|completad)[oa]"
            r"|sin terminar|incomplet[oa])",
            r"(?:la (?:compilación|build)|las pruebas|los tests) (?:falla|fallan|siguen fallando"
            r"|falló|fallaron|(?:ha|han) fallado)",
            r"(?:(?:el|la|los|las) \w+ )?(?:todavía |aún )?no (?:compila|funciona|pasan?|arranca)",
            # Portuguese
            rf"não (?:foi possível|consegui) {_PORTUGUESE_VERBS}\b.*",
            r"(?:ainda )?não (?:está )?(?:terminad|implementad|concluíd)[oa]|incomplet[oa]",
            r"(?:a compilação|o build|os testes) (?:falha|falham|falhou|falharam)",
            r"(?:[ao]s? \w+ )?(?:ainda )?não (?:compila|funciona|passam?|arranca|inicia)",
            # Italian
            rf"(?:impossibile|non è stato possibile|non sono riuscito a) {_ITALIAN_VERBS}\b.*",
            r"non (?:ancora )?(?:completat|finit|implementat)[oa]|incomplet[oa]",
            r"(?:la build|la compilazione|i test) (?:fallisce|falliscono|è fallita|sono falliti)",
            r"(?:(?:il|la|i|le) \w+ )?(?:ancora )?non (?:compila|funziona|passa(?:no)?|parte)",
            # Russian
            r"не удалось (?:добавить|завершить|исправить|реализовать|закончить|собрать|создать"
            r"|написать|выполнить|запустить)(?:[ :,].*)?",
            r"(?:ещё |еще )?не (?:завершено|реализовано|сделано|готово|закончено|выполнено"
            r"|работает|компилируется|собирается)",
            r"сборка (?:сломана|падает|упала|не (?:проходит|прошла|удалась))"
            r"|тесты (?:падают|не проходят|зависают)",
            # Chinese
            r"(?:任务|工作|功能|实现|测试|构建)?(?:尚未|还未|还没|仍未|未)(?:完成|实现|通过)"
            r"|(?:构建|编译|测试)(?:失败|不通过|未通过|卡住)",
            r"(?:无法|未能|没能)(?:完成|添加|实现|修复|构建|编译|运行|创建)[^的]{0,40}",
            # Japanese
            r"未(?:完成|実装|完了)(?:です)?",
            r"(?:ビルド|テスト|コンパイル)(?:が|は|に)?失敗(?:しました|しています)?",
            r"(?:まだ)?(?:動作|動き|完成)(?:し)?(?:ません|ていません)(?:でした)?",
            r"[^の]{0,40}?(?:完成|完了|実装|追加|修正|ビルド|コンパイル|作成)できません(?:でした)?",
        )
    )
)
"""The same in other languages, as a whole line."""
