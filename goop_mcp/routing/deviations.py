"""`RULE n DEVIATION: …` blockers and their options (G-52)."""

import re

from goop_mcp.routing.views import Option, Question

__all__ = ["names_decision", "parse_deviations"]

_DEVIATION = re.compile(r"\bRULE\s{1,3}([1-4])\s{1,3}DEVIATION\s{0,3}:", re.IGNORECASE)
_RULE_4 = re.compile(r"\bRULE\s{0,3}4\b", re.IGNORECASE)
_OPTIONS = re.compile(r"\bOptions?\s{0,3}:", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z0-9])([A-Z])\)\s")
# An option that the agent does not recommend holds the same word.
_RECOMMENDED = re.compile(r"(?<!not )(?<!n't )\brecommended\b", re.IGNORECASE)
_JOINTS = " ,;-*•("
_EMPHASIS = "**"


def names_decision(blockers: str) -> bool:
    """Return whether `blockers` leave a decision to the user: RULE 4, or options to choose from."""
    return _RULE_4.search(blockers) is not None or any(
        each.options for each in parse_deviations(blockers)
    )


def parse_deviations(blockers: str) -> tuple[Question, ...]:
    """Return one question per deviation in `blockers`, and one for options without a deviation.

    The options are those lettered A), B), … after `Options:`. Options that the agent recommends are
    marked, and the first of them is the default. A deviation without options is a question without
    options. Empty when the text names neither. Bold type is removed.
    """
    blockers = blockers.replace(_EMPHASIS, "")
    marks = list(_DEVIATION.finditer(blockers))
    if not marks:
        return _question(1, None, blockers) if _OPTIONS.search(blockers) else ()

    ends = [*(mark.start() for mark in marks[1:]), len(blockers)]
    questions: list[Question] = []
    for mark, end in zip(marks, ends, strict=True):
        questions += _question(len(questions) + 1, int(mark[1]), blockers[mark.end() : end])

    return tuple(questions)


def _question(number: int, rule: int | None, text: str) -> tuple[Question, ...]:
    asked = _OPTIONS.search(text)
    options = _options(text[asked.end() :]) if asked else ()
    if rule is None and not options:
        return ()

    words = text[: asked.start()] if asked and options else text
    recommended = next((option.text for option in options if option.recommended), None)

    return (
        Question(
            id=f"q{number}",
            text=" ".join(words.split()),
            default=recommended,
            options=options,
            rule=rule,
        ),
    )


def _options(text: str) -> tuple[Option, ...]:
    """Return the options lettered in order from A; a letter out of order is part of a text."""
    # Letters must appear in order. A text such as "see B) above" then stays part of its option, and
    # every option keeps the letter by which the user will answer.
    marks: list[re.Match[str]] = []
    for mark in _LETTER.finditer(text):
        if ord(mark[1]) == ord("A") + len(marks):
            marks.append(mark)

    ends = [*(mark.start() for mark in marks[1:]), len(text)] if marks else []

    options: list[Option] = []
    for mark, end in zip(marks, ends, strict=True):
        words = " ".join(text[mark.end() : end].split()).rstrip(_JOINTS)
        # "A) keep it, or B) drop it": the conjunction belongs to neither option.
        joint = next((each for each in (" or", " and") if words.endswith(each)), "")
        words = words.removesuffix(joint).rstrip(_JOINTS)
        if words:
            recommended = _RECOMMENDED.search(words) is not None
            options.append(Option(mark[1], words, recommended=recommended))

    return tuple(options)
