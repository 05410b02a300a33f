"""The clauses with which a summary says that something is not done."""

import re
from typing import Final

from goop_mcp.validation.check_texts import vocabulary
from goop_mcp.validation.check_texts.languages import in_english

__all__ = ["admitted_by"]

_CHECKED: Final = (
    "(?:tests?|test cases?|test suites?|specs?|checks?|suites?|builds?|ci|pipeline|lint"
    "|type ?checks?)"
)
_COUNTED: Final = "|".join(
    sorted(
        vocabulary.ADJECTIVES
        | vocabulary.ARTICLES
        | vocabulary.NUMBERS.keys()
        | {"some", "several", "few", "many", "most", "all", "these", "other", "of", "them", "my"}
    )
)
_FEW: Final = rf"(?:(?:\d{{1,6}}|{_COUNTED}) )"
_STILL: Final = "(?:still|currently|for now|so far|at the moment)"
_FORMS: Final = (
    rf"{_FEW}{{0,4}}{_CHECKED} (?:(?:is|are|do|does) )?still (?:(?:is|are|do|does) )?"
    r"(?:not (?:pass|passing|green|work|working|compile|run)|fail(?:s|ing|ed)?|red|broken"
    r"|crash(?:es|ing)?|hang(?:s|ing)?)",
    rf"{_FEW}{{0,4}}(?:of them )?still (?:fail|fails|failing|red|broken)",
    rf"(?:{_STILL} )?(?:only|just|merely) (?:a |an )?(?:\w+ )?(?:stub|placeholder|skeleton)s?",
    rf"(?:[\w'./-]+ ){{1,6}}(?:is|are|remains?|stays?) (?:{_STILL} )?(?:only|just|merely) "
    r"(?:a |an )?(?:\w+ )?(?:stub|placeholder|skeleton)s?",
    rf"(?:[\w'./-]+ ){{1,6}}(?:is|are) {_STILL} (?:a |an )?(?:stub|placeholder|skeleton)s?",
    r"(?:still )?not (?:yet (?:implemented|finished|done|working|complete)"
    r"|(?:implemented|finished|done|working|complete) yet)",
    r"(?:[\w'./-]+ ){1,6}(?:is|are) (?:still not (?:yet )?|not yet )"
    r"(?:implemented|finished|done|working|complete|written|wired up)",
    r"(?:[\w'./-]+ ){1,6}(?:is|are) not (?:implemented|finished|done|working|complete|written) yet",
    r"(?:[\w'./-]+ ){1,6}(?:is|are|remains?) still (?:incomplete|unfinished|missing|broken)",
    r"(?:[\w'./-]+ ){1,6}still (?:needs?|has|have) to be (?:implemented|finished|written|fixed)",
    r"(?:[\w'./-]+ ){1,6}(?:still does(?: not|n't)|does(?: not|n't)) (?:work|compile|build|run)"
    r" yet",
)
_TAIL: Final = rf"(?: (?:{_STILL}|yet|there|(?:in|on|under|with|at) [^,;]{{1,60}}))?"
_LEAD: Final = "(?:(?:but|however|though|although|and|yet|note|unfortunately|sadly|while) )?"
_ADMITTED: Final = re.compile(f"{_LEAD}(?:{'|'.join(_FORMS)}){_TAIL}")
_COUNT_ELSEWHERE: Final = re.compile(
    rf"{_LEAD}(?:(?:still )?{_FEW}{{1,3}}(?:tests? )?(?:still )?failed(?: tests?)?(?: still)?"
    rf"|(?:still )?failed:? {_FEW}{{1,3}}(?:tests?)?|only a stub|not yet implemented)"
)
_STILL_ELSEWHERE: Final = re.compile(
    r"\b(?:noch|weiterhin|encore|toujours|todavía|todavia|aún|siguen|ainda|continuam|ещё|еще"
    r"|по-прежнему|stub|platzhalter|заглушка)\b|[仍还桩]|占位|まだ|依然|スタブ"
)
# Why it is no contradiction: words of something else, as it was agreed, or no longer true.
_EXPLAINED: Final = re.compile(
    r"\b(?:if|when|whenever|where|which|that|who|unless|until|without|before|previously|earlier"
    r"|was|were|had|used to|instead|replac\w*|no longer|not only|expected|plan\w*|agreed|specified"
    r"|request\w*|asked|intended|design|purpose|later|next|follows?|follow-up|waves?|phases?"
    r"|w\d{1,4}|t\d{1,4}|scope|unrelated|pre-?existing|main|master|upstream|known|already|fixed"
    r"|flaky|quarantin\w*|xfail|returns?|shows?|says?|answers?|messages?|marks?|marked|lists?|listed"
    r"|rejects?|throws?|raises?|warns?|\d{3}|issues?|tickets?|deferred|separate\w*|despite|now|users?"
    r"|no|none|nothing|zero|what|why|how|document\w*|reports?|detects?|finds?|found|handles?|ensures?|even|as)\b|#\d"
)
_SENTENCES: Final = re.compile(r"[.!?](?=\s|\Z)|\n|[。！？]")
_CLAUSES: Final = re.compile(r"[,;:()，；：、（）–—]|\s-\s|\b(?:but|aber|mais|pero|mas|но)\b|但")


def admitted_by(text: str) -> str | None:
    """Return the part of `text`, without quotations, that says that something is not done."""
    for sentence in _SENTENCES.split(text):
        if _EXPLAINED.search(sentence.lower()) is not None:
            continue

        clauses = [each.strip() for each in _CLAUSES.split(sentence) if each.strip()]
        for number, clause in enumerate(clauses):
            words = " ".join(clause.lower().replace("’", "'").split())
            if _ADMITTED.fullmatch(words) is not None:
                return clause
            # What follows in words that no table has may explain it.
            if number == len(clauses) - 1 and _STILL_ELSEWHERE.search(words) is not None:
                english = in_english(clause)
                plain = " ".join((english or "").lower().split())
                if _COUNT_ELSEWHERE.fullmatch(plain) is not None:
                    return clause

    return None
