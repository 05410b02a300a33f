"""The words with which templates ask for a value, in the languages that agents write, as data.

A text that consists of these words only, such as "brief summary of the task", says nothing of its
own. The words have a role each; one word may have several, and the languages share one table,
because a word of another language in between adds nothing of its own.
"""

from collections.abc import Iterator
from enum import IntFlag, auto
from typing import Final

from goop_mcp.validation.template_phrases import words

__all__ = ["ARTICLES", "DESCRIPTIONS", "EAST_ASIAN", "STARTS", "WORD_ROLES", "WordRole"]


class WordRole(IntFlag):
    """What a word does in the text of a template."""

    HEAD = auto()
    """What is asked for: summary, reason."""
    BRIEF = auto()
    """How long it has to be: short, one-line, sentences."""
    YOU = auto()
    """Who has to write it."""
    FILL = auto()
    """Where to write it, or when: here, insert, optional."""
    ASK = auto()
    """An order to write: describe, summarize."""
    WHAT = auto()
    """A question word, after which a verb does not make a statement."""
    IF = auto()
    """A word after which a verb does not make a statement either: if, that, when."""
    NEXT = auto()
    """What is asked for lies ahead: next, suggested."""
    CHANGE = auto()
    """A thing that only a report speaks of: the change, the work, this file."""
    THING = auto()
    """A thing that a report or a file of the project may be about."""
    TOPIC = auto()
    """A thing that a text may name without asking: it counts only next to a demanded length."""
    OF = auto()
    """A preposition between what is asked for and what it is about."""
    VERB = auto()
    """A verb that makes a statement of a text: is, was."""
    WORK = auto()
    """An order to work: with it a text begins that is a task."""
    DONE = auto()
    """A word with which an account of work begins: added, fixed."""
    OTHER = auto()
    """Articles, participles and other words between the rest."""


_ENGLISH: Final = {
    WordRole.HEAD: (
        "summary description explanation overview title name reason rationale justification note"
        " notes message statement outcome result results output list recommendation suggestion"
        " instructions question questions answer answers details detail text content comment"
        " evidence proof observation observations sentence sentences assessment reasoning analysis"
        " insight insights takeaway takeaways conclusion paragraph impact feedback snippet purpose"
        " info"
    ),
    WordRole.BRIEF: (
        "brief briefly short concise one-line one-liner one-sentence two-sentence single-sentence"
        " single-line one-paragraph 1-sentence 2-sentence 1-2 1-3 2-3 1-2-sentence plain-language"
        " human-readable max sentence sentences words"
    ),
    WordRole.YOU: "you your you've you'd please",
    WordRole.FILL: ("here insert enter goes fill filled optional optionally applicable"),
    WordRole.ASK: (
        "describe explain summarize summarise paste state write provide give put specify mention"
        " list include"
    ),
    WordRole.WHAT: "what why how who which where",
    WordRole.IF: "if that when whether because once",
    WordRole.NEXT: "next following suggested recommended continuation future upcoming follow-up",
    WordRole.CHANGE: (
        "change changes work deliverable artifact document task changed issue concern criterion"
        " problem diff finding"
    ),
    WordRole.THING: (
        "tasks file files blocker blockers block issues bug error errors failure findings"
        " concerns decision decisions deliverables action actions agent agents memory memories"
        " commit command commands check checks verification goal goals implementation feature"
        " approach criteria requirement requirements option choice session user orchestrator parent"
        " documentation progress status step steps constraint constraints deletion context reader"
        " attempt objective fix test tests everything anything something accomplishments"
        " accomplishment risk risks gap gaps coverage"
    ),
    WordRole.TOPIC: (
        "code quality field plan design review conflict tradeoff dependency dependencies component"
        " components function functions module pull request pr ticket project system"
        " problems pattern patterns technology key caveats method case cases behavior behaviour"
    ),
    WordRole.OF: "of for about describing explaining summarizing summarising stating on",
    WordRole.VERB: "is are was were has have had did does will must should can could would",
    WordRole.WORK: (
        "fix test add continue start review check run update create delete remove decide ask"
        " document report commit merge finish complete implement resolve use address handle"
    ),
    WordRole.DONE: (
        "added fixed updated created removed deleted changed implemented built wrote made"
        " completed finished documented reported resolved tested checked"
    ),
    WordRole.OTHER: (
        "the a an this these those each any all some it its to in with by from and or as at be"
        " been being do done accomplished modified delivered written found tried attempted happened"
        " happen happens need needs needed came come comes previous current last other saved"
        " overall original specific exact exactly detailed clear concrete actionable human readable"
        " machine blocking blocks blocked left remaining related relevant main key own new full one"
        " two three first second third number per during after not high low medium confidence"
        " in-depth high-level manual manually achieved produced required expected possible learned"
        " decided chosen matters matter important later tbd step-by-step under me so far go none"
        " answered success verified reviewed researched analyzed analysed discovered investigated"
        " observed requested know exists exist proves well executive led few additional encountered"
        " imperative plain simple general works given made achieve longer than more less short-term"
        " performed e.g i.e etc prevents prevented they them"
    ),
}
_GERMAN: Final = {
    WordRole.HEAD: (
        "satz sätze sätzen zusammenfassung beschreibung erklärung begründung titel name ausgabe"
        " testausgabe ergebnis grund hinweis überblick fehlerbeschreibung aufgabenbeschreibung"
        " kurzbeschreibung kurzfassung fehlermeldung nachricht anmerkungen"
    ),
    WordRole.BRIEF: "kurz kurze kurzer kurzen knappe knapper satz sätze sätzen stichpunkte",
    WordRole.YOU: "dein deine deiner deinen ihre ihr du",
    WordRole.FILL: "hier einfügen eintragen einsetzen ausfüllen auszufüllen ausgefüllt",
    WordRole.ASK: "beschreibe beschreiben nenne nennen erkläre fasse",
    WordRole.WHAT: "was warum wie wer",
    WordRole.IF: "ob falls",
    WordRole.NEXT: "nächste nächsten nächster nächstes",
    WordRole.CHANGE: "änderung änderungen arbeit aufgabe",
    WordRole.THING: (
        "aufgaben datei dateien blocker blockers blockade blockierung fehler fehlers schritt"
        " schritte schritts test tests befehl befehls agent agenten ziel ziels"
    ),
    WordRole.OF: "der des von zu zur zum über für",
    WordRole.VERB: "ist sind war waren hat haben",
    WordRole.OTHER: (
        "die das dem den ein eine einer eines im mit und oder wurde wurden wird gemacht geändert"
        " dessen arbeiten getan erledigt erledigten zusammen getan umgesetzt umgesetzten"
        " durchgeführt durchgeführten genaue noch nach bis genauer getroffen gespeichert keine"
        " keiner kein"
    ),
}
_FRENCH: Final = {
    WordRole.HEAD: "phrases résumé description explication titre raison motif justification sortie",
    WordRole.BRIEF: "brève brièvement bref courte court concise concis phrases",
    WordRole.YOU: "vous votre vos",
    WordRole.FILL: "ici insérer insérez saisir compléter remplir renseigner",
    WordRole.ASK: "décrire décrivez résumer résumez expliquer indiquer",
    WordRole.WHAT: "qui que quoi pourquoi",
    WordRole.NEXT: "prochaine prochain suivante suivant",
    WordRole.CHANGE: "changement changements modification modifications travail tâche",
    WordRole.THING: "tâches fichier fichiers blocage blocages erreur étape action agent",
    WordRole.OF: "de du des d'une pour sur",
    WordRole.VERB: "est sont",
    WordRole.OTHER: (
        "le la les un une en à par ce cette effectué effectuée effectués réalisé réalisée réalisés"
        " été a fait faite exacte précise et ou aucun aucune"
    ),
}
_SPANISH: Final = {
    WordRole.HEAD: (
        "frase frases oraciones resumen descripción explicación título motivo razón salida"
    ),
    WordRole.BRIEF: "breve brevemente corta corto concisa frase frases oraciones",
    WordRole.YOU: "tu su usted",
    WordRole.FILL: "aquí insertar inserte introduzca rellenar completar",
    WordRole.ASK: "describe describa describir escribe escriba resume explique explica",
    WordRole.WHAT: "qué que cómo",
    WordRole.NEXT: "siguiente próxima próximo",
    WordRole.CHANGE: "cambio cambios trabajo tarea",
    WordRole.THING: "tareas archivo archivos bloqueo bloqueos error paso acción agente",
    WordRole.OF: "de del para sobre",
    WordRole.VERB: "es son",
    WordRole.OTHER: (
        "el la los las un una en por lo se hizo realizado realizada realizados hecho hecha exacta y"
        " o ninguno ninguna"
    ),
}
_PORTUGUESE: Final = {
    WordRole.HEAD: "resumo descrição explicação título motivo razão saída",
    WordRole.BRIEF: "breve curta curto concisa frase frases",
    WordRole.YOU: "seu sua você",
    WordRole.FILL: "aqui insira inserir preencher",
    WordRole.ASK: "descreva descrever resuma explique",
    WordRole.NEXT: "próxima próximo seguinte",
    WordRole.CHANGE: "mudança mudanças alteração alterações trabalho tarefa",
    WordRole.THING: "tarefas arquivo arquivos bloqueio erro passo ação agente",
    WordRole.OF: "da do das dos para sobre",
    WordRole.OTHER: "os as um uma em foi feito feita realizado realizada e ou nenhum nenhuma exata",
}
_ITALIAN: Final = {
    WordRole.HEAD: "frasi riepilogo riassunto descrizione spiegazione titolo motivo ragione",
    WordRole.BRIEF: "breve concisa conciso frase frasi",
    WordRole.YOU: "tuo tua suo sua",
    WordRole.FILL: "qui inserisci inserire compilare",
    WordRole.ASK: "descrivi descrivere riassumi spiega",
    WordRole.WHAT: "cosa perché",
    WordRole.NEXT: "prossima prossimo successiva",
    WordRole.CHANGE: "modifica modifiche lavoro attività",
    WordRole.THING: "file errore blocco passo azione agente",
    WordRole.OF: "di della delle dei degli dell'attività",
    WordRole.OTHER: (
        "il lo gli una uno in svolto svolta fatto fatta è stato stata e o nessuno nessuna"
    ),
}
_RUSSIAN: Final = {
    WordRole.HEAD: (
        "предложения предложение предложений описание сводка резюме итог причина заголовок"
        " название пояснение"
    ),
    WordRole.BRIEF: "краткое краткая краткий кратко предложения предложение предложений",
    WordRole.YOU: "ваш ваше ваша вы",
    WordRole.FILL: "здесь вставьте вставить заполните заполнить введите",
    WordRole.ASK: "опишите описать укажите напишите",
    WordRole.WHAT: "что почему как",
    WordRole.NEXT: "следующей следующего следующая следующий",
    WordRole.CHANGE: "изменения изменений изменение работы задачи задача",
    WordRole.THING: "файла ошибки блокировки шага шаг действия агента",
    # The genitive does without a preposition.
    WordRole.OF: "о об для изменений работы задачи файла ошибки блокировки",
    WordRole.OTHER: "в и или было сделано была выполнена выполненной выполненных нет",
}
_DUTCH: Final = {
    WordRole.HEAD: "samenvatting beschrijving uitleg titel reden",
    WordRole.BRIEF: "korte kort beknopte zin zinnen",
    WordRole.YOU: "jouw uw",
    WordRole.FILL: "hier invullen invoegen",
    WordRole.ASK: "beschrijf",
    WordRole.WHAT: "wat waarom",
    WordRole.NEXT: "volgende",
    WordRole.CHANGE: "wijziging wijzigingen werk taak",
    WordRole.OF: "van voor",
    WordRole.OTHER: "de het een gedaan er is",
}
_LANGUAGES: Final = (
    _ENGLISH,
    _GERMAN,
    _FRENCH,
    _SPANISH,
    _PORTUGUESE,
    _ITALIAN,
    _RUSSIAN,
    _DUTCH,
)


def _roles() -> Iterator[tuple[str, WordRole]]:
    for language in _LANGUAGES:
        for role, listed in language.items():
            for word in listed.split():
                yield word, role


def _merged() -> dict[str, WordRole]:
    merged: dict[str, WordRole] = {}
    for word, role in _roles():
        merged[word] = merged.get(word, role) | role
    return merged


WORD_ROLES: Final = _merged()
"""All words of templates, each with its roles."""

ARTICLES: Final = words(
    "please bitte a an the this your der die das eine un une una um uma le la el il"
)
"""What may stand before the word with which such a text begins."""

DESCRIPTIONS: Final = words(
    "description explanation beschreibung erklärung explication descripción explicación descrição"
    " explicação descrizione spiegazione описание beschrijving"
)
"""What a report writes about a change, and a file seldom holds."""

STARTS: Final = frozenset(
    word
    for word, role in WORD_ROLES.items()
    if role
    & (
        WordRole.HEAD
        | WordRole.BRIEF
        | WordRole.YOU
        | WordRole.FILL
        | WordRole.ASK
        | WordRole.WHAT
        | WordRole.NEXT
    )
) | words(
    "exact exactly specific detailed clear high-level overall executive one-paragraph additional"
    " any implementation issue change changes finding concern specific genaue human test command"
    " task memory error step-by-step file one two none manual commit blocker blockers"
)
"""The first words of such texts; few other texts begin with them."""

EAST_ASIAN: Final = {
    WordRole.HEAD: (
        "摘要 概要 描述 说明 总结 概述 标题 原因 要約 説明 概略 タイトル 理由 요약 설명 제목 이유"
    ),
    WordRole.BRIEF: (
        "简要 简短 简单 简洁 一句话 句话 一两句 简 簡単な 簡潔な 簡単に 短い 文で 文の"
        " 간단한 간략한 짧은"
    ),
    WordRole.FILL: (
        "请 填写 填入 输入 在此 此处 这里 待 ここに ここへ 記入 入力 してください 書いて 書く"
        " 여기에 입력 작성"
    ),
    WordRole.OTHER: (
        "任务 变更 更改 改动 工作 内容 步骤 文件 错误 阻塞 问题 下一步 本次 完成 所做 已 做 了"
        " 什么 的 和 或 与 此 该 变化 タスク 変更 作業 次の ファイル エラー の を に は で が 何"
        " した 行った 작업 변경 다음 내용 의 을 를 한 하세요"
    ),
}
"""The same for languages without blanks between words, where the words are cut out one by one."""
