"""Recognize text that asks for a value instead of giving one: "brief summary of the task" (D-22).

Such a text consists of words of templates only, so one word about the work itself is enough to
pass. How much it takes to be template text depends on the field: "list of changes" may well be what
a file holds, and never what an agent did.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, reduce
from operator import or_
from typing import Final

from goop_mcp.validation.template_kinds import ValueKind
from goop_mcp.validation.template_phrases import NUMBERED, words
from goop_mcp.validation.template_words import (
    ARTICLES,
    DESCRIPTIONS,
    EAST_ASIAN,
    STARTS,
    WORD_ROLES,
    WordRole,
)

__all__ = [
    "asking_lines",
    "asks",
    "consists_of_asking_words",
    "is_numbered",
    "lines_in_east_asian",
    "note_asks",
]


_MOST_WORDS, _LONGEST = 16, 160
_CONTENT_ROLES: Final = (
    WordRole.HEAD | WordRole.CHANGE | WordRole.THING | WordRole.WHAT | WordRole.NEXT | WordRole.ASK
)
_ABOUT_WORK: Final = WordRole.CHANGE | WordRole.THING | WordRole.OF
_GERMAN: Final = frozenset({"wurde", "wurden", "wird", "gemacht", "geändert", "ist", "hat"})
"""With one of these, `was` is no verb but German for what."""

_QUESTIONS: Final = words(
    "what why how was warum wie wer que qué cómo quoi pourquoi cosa perché что почему как wat"
    " waarom"
)
_VAGUE_ORDERS: Final = frozenset({"state", "list", "note", "include", "put", "give", "mention"})
_DETERMINERS: Final = frozenset(
    {"the", "a", "an", "any", "your", "all", "each", "what", "why", "how", "brief", "short"}
)
_ACCOUNTS: Final = (ValueKind.SUMMARY, ValueKind.ACCOUNT)
_POINTING: Final = words(
    "this it you your was were did done changed went happened wurde wurden fait hizo foi sido было"
    " сделано svolto fatto gedaan is"
)
"""The words by which a question means the report itself: "how to fix it", "what was done"."""

_HELP: Final = frozenset({"fix", "fixed", "resolve", "address", "next", "you"})
"""Of what a recommendation has to say how; other texts with `how` are guides."""

_OF_A_CHANGE: Final = words(
    "done changed implemented built modified added accomplished created updated gemacht geändert"
    " fait hizo feito fatto"
)
_BRIEF: Final = re.compile(
    r"(?:an? )?(?:brief|short|concise|(?:one|two|1|2|1-2|2-3)[- ](?:sentence|paragraph|line)s?)"
    r"(?: [a-z-]{1,30}){0,2} (?:summary|description|explanation|overview|assessment|account)"
    r"(?: (?:of|about|on|for|that|why|what|how|focusing|describing|\()[^.!?\d/`]{0,120})?\.?"
)
_STATED_BY: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|added|shown|sent|written|posted|updated|published|created|now"
    r"|but|not|didn['’]t)\b"
)
_ABOUT: Final = WordRole.OF | WordRole.WHAT | WordRole.IF
_AHEAD: Final = WordRole.CHANGE | WordRole.THING
_NOTE: Final = re.compile(
    r"(?:(?://|#|<!--|/\*|--|;|\[|\()\s{0,3})?(?:todo|tbd|tba|tbc|fixme|xxx)(?:\([^()]{0,30}\))?"
    r"[\])]?([ :–—…!.-]{0,5})(.{0,160}+)",
    re.DOTALL,
)
_NONE: Final = re.compile(
    r"\b(?:none|n/a)(?:,? or\b| ?/ )|\bor \"?(?:none|n/a)\b|\bif (?:any|applicable|needed)\b"
)
_OUTSIDE: Final = " .:!…*_`\"'“”„«»()（）。：！【】「」-–—"
_BEFORE: Final = _OUTSIDE.replace("-", "")
_FOREIGN_TO_WORDS: Final = re.compile(r"[^\w\s.,:;?()'’\"“”/–-]|\w[.:;]\w")
_FIRST_WORDS: Final = frozenset(
    f"{word}{end}" for word in STARTS | ARTICLES | NUMBERED for end in ("", ",", ":")
)
_NUMBERED: Final = re.compile(r"([a-z]{3,20}) ?[#-]?[0-9]{1,2}")
_PLAIN: Final = str.maketrans("–’", "-'")
_SPLIT: Final = re.compile(r"[\s/,;:?()\"“”]+|\.(?:\s|\Z)|\s[–-]\s")


def asking_lines(lines: Iterable[str]) -> list[str]:
    """Return those of `lines`, in lower case, that consist of words of templates; usually none.

    Every line of every reply passes here, so that the first word decides about most of them.
    """
    first = [line for line in lines if " " in line and line[: line.find(" ")] in _FIRST_WORDS]
    return [line for line in first if _may_ask(line)]


def _may_ask(line: str) -> bool:
    last = line[line.rfind(" ") + 1 :].strip(_OUTSIDE + "?")
    # The last word shows most of the lines to be about something.
    if last in WORD_ROLES:
        return consists_of_asking_words(line) or is_brief(line)
    return is_numbered(line) if last.isdigit() else is_brief(line)


def consists_of_asking_words(lower: str) -> bool:
    """Return whether `lower`, text in lower case, consists of words of templates only."""
    words = _words(lower)
    if words is None:
        return bool(_east_asian_roles(lower))
    return any(WORD_ROLES[word] & _CONTENT_ROLES for word in words)


def asks(lower: str, kind: ValueKind, *, orders: bool = False) -> bool:
    """Return whether `lower`, a whole value in lower case, asks for what belongs in its field.

    `orders`: the envelope asks another agent for work.
    """
    if orders and kind is not ValueKind.GOAL:
        kind = ValueKind.ORDER

    roles = _east_asian_roles(lower)
    if roles:
        return _asks_in_east_asian(roles, kind)

    words = _words(lower)
    if words is None:
        return kind is ValueKind.SUMMARY and is_brief(lower)
    # A question is a value: `What should the next step be?`
    if lower.rstrip(_OUTSIDE).endswith("?") and kind is not ValueKind.SUMMARY:
        return False

    start = next((at for at, word in enumerate(words) if word not in ARTICLES), 0)
    return _Wording(words[start:], lower).asks(kind)


def note_asks(lower: str, kind: ValueKind) -> bool:
    """Return whether `lower` is a note such as TODO with nothing but the request for a value.

    "TODO: add retries" is work that is left.
    """
    note = _NOTE.fullmatch(lower.removesuffix("-->").removesuffix("*/"))
    if note is None:
        return False

    rest = note[2].strip(_OUTSIDE)
    if not rest or rest in ("this", "complete this", "write", "add", "fill", "replace"):
        return True

    words = _words(rest)
    if words is None:
        return bool(_east_asian_roles(rest))

    wording = _Wording(words, rest)
    separate = bool(note[1].strip())
    return (separate or len(words) > 1) and wording.asks_in_note(kind, separate=separate)


class _Wording:
    """A text that consists of words of templates; `first` and `every` are their roles."""

    def __init__(self, words: Sequence[str], text: str) -> None:
        """Look up the roles of `words`, which stand in `text`."""
        roles = [WORD_ROLES[word] for word in words]
        self.words = words
        self.first = roles[0]
        self.every = reduce(or_, roles)
        after = roles[1] if len(roles) > 1 else WordRole(0)
        self.fills = WordRole.FILL in self.every
        self.nothing = _NONE.search(text) is not None
        self.strong = (
            self.fills or self.nothing or bool(self.every & (WordRole.BRIEF | WordRole.YOU))
        )
        # "Fix the error" and "Added the description" are work, "Test output here" is not.
        work = bool(self.first & (WordRole.WORK | WordRole.DONE))
        self.works = work and WordRole.HEAD not in after
        self.adds_a_value = work and WordRole.HEAD in after and WordRole.DONE not in self.first
        self.orders = _orders(words, roles)
        self.names = WordRole.HEAD in self.every
        # A text that is about something names it first: "name of the file", "any of the names".
        about = next((at for at, role in enumerate(roles) if at and role & _ABOUT), None)
        self.about = about is not None and any(WordRole.HEAD in role for role in roles[:about])
        self.plain = "," not in text
        self.states = _states(roles) and _GERMAN.isdisjoint(words)

    def asks(self, kind: ValueKind) -> bool:
        """Return whether a whole value of `kind` asks for a value."""
        if self.works and not (self.fills and self.names):
            return False
        if self.states:
            return False
        if self.nothing:
            return self.names or self.orders or bool(self.every & (WordRole.WHAT | WordRole.NEXT))
        if kind is ValueKind.ORDER:
            return self.fills and self.names
        if WordRole.FILL in self.first and WordRole.WHAT in self.every:
            return True
        if self.orders:
            return self._orders_a_value(kind)
        if WordRole.TOPIC in self.every and not self.strong:
            return False
        if WordRole.WHAT in self.first and WordRole.HEAD not in self.first:
            return self.words[0] in _QUESTIONS and self._asks_what(kind)
        return self._names_a_value(kind)

    def asks_in_note(self, kind: ValueKind, *, separate: bool) -> bool:
        """Return whether a text after TODO asks for a value; `separate`: after a colon or dash."""
        plans = kind in (ValueKind.PLAN, ValueKind.ORDER, ValueKind.GOAL)
        if self.orders:
            vague = WordRole.NEXT | WordRole.WHAT | WordRole.YOU | WordRole.FILL
            named = bool(self.every & vague) or not self.every & _ABOUT_WORK
            return not plans or len(self.words) == 1 or named
        if not separate:
            return self.fills or (self.adds_a_value and not plans)
        if self.works:
            return self.fills or (self.names and (not plans or not self.every & _ABOUT_WORK))
        return not plans or bool(self.every & (_CONTENT_ROLES | WordRole.FILL) & ~WordRole.THING)

    def _orders_a_value(self, kind: ValueKind) -> bool:
        """Return whether an order such as "describe what was done" means this very field."""
        if kind is ValueKind.PLAN:
            return WordRole.NEXT in self.every or (self.fills and self.names)
        if kind in (ValueKind.TEXT, ValueKind.GOAL):
            asked = self.names or WordRole.WHAT in self.every
            return asked and (self.fills if kind is ValueKind.GOAL else self.strong)
        if kind is ValueKind.CONTENT:
            own = bool(self.every & (WordRole.WHAT | WordRole.YOU | WordRole.CHANGE))
            return (own and WordRole.THING not in self.every) or (self.fills and self.names)
        return len(self.words) > 1

    def _asks_what(self, kind: ValueKind) -> bool:
        """Return whether a text such as "what was done" asks, and is no title of a guide."""
        if kind is ValueKind.GOAL or (kind is ValueKind.TEXT and not self.strong):
            return False
        first, *rest = self.words
        if first == "was" and _GERMAN.isdisjoint(rest):
            return False
        if first == "how":
            return not _HELP.isdisjoint(rest)
        if kind is ValueKind.CONTENT:
            named = "this" in rest or not _OF_A_CHANGE.isdisjoint(rest)
            return named and first not in ("why", "warum")
        if rest == ["did", "it"]:
            return False
        return WordRole.NEXT in self.every or not _POINTING.isdisjoint(rest)

    def _names_a_value(self, kind: ValueKind) -> bool:
        """Return whether a text such as "brief summary of the task" only names what is wanted."""
        ahead = WordRole.NEXT in self.every
        if kind is ValueKind.PLAN and ahead:
            starts = WordRole.NEXT in self.first and bool(self.every & _AHEAD)
            return starts or self.names or self.fills or bool(WORD_ROLES[self.words[-1]] & _AHEAD)
        if not self.names:
            return False
        account = kind in _ACCOUNTS
        if account and WordRole.HEAD in WORD_ROLES[self.words[-1]] and len(self.words) > 1:
            # "Task summary", "Test output", "Specific observation"
            return self.plain
        if kind is ValueKind.CONTENT:
            return self.fills or self._names_a_change()
        if self.strong:
            return True
        return self.about and self.plain and (account or kind is ValueKind.GOAL or ahead)

    def _names_a_change(self) -> bool:
        """Return whether a text means the change itself, not what a file may be about."""
        if self.strong and len(self.words) <= len(("brief", "description")):
            return True

        named = self.strong or not DESCRIPTIONS.isdisjoint(self.words[:2])
        own = bool(self.every & (WordRole.CHANGE | WordRole.WHAT))
        other = WordRole.THING | WordRole.TOPIC
        return named and ("this" in self.words or (own and not self.every & other))


def _orders(words: Sequence[str], roles: Sequence[WordRole]) -> bool:
    """Return whether a text is an order to write, such as "describe …" and "please list …"."""
    at = 1 if len(roles) > 1 and roles[0] & (WordRole.BRIEF | WordRole.YOU) else 0
    if WordRole.ASK not in roles[at]:
        return False
    # "List of the changes" and "state files" are names.
    following = words[at + 1] if len(words) > at + 1 else "the"
    return words[at] not in _VAGUE_ORDERS or following in _DETERMINERS


def _states(roles: Sequence[WordRole]) -> bool:
    """Return whether a verb makes a statement: "the summary is new", not "what was done"."""
    for role in roles:
        if role & (WordRole.WHAT | WordRole.IF) and (WordRole.VERB not in role or role is roles[0]):
            return False
        if WordRole.VERB in role:
            return True

    return False


@cache
def _words_of(role: WordRole) -> re.Pattern[str]:
    return re.compile("|".join(sorted(EAST_ASIAN[role].split(), key=len, reverse=True)))


_EAST_ASIAN_LETTER: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_EAST_ASIAN: Final = re.compile(
    "(?:"
    + "|".join(sorted(" ".join(EAST_ASIAN.values()).split(), key=len, reverse=True))
    + r"|[0-9〜~\-–、 ])+"
)


def _east_asian_roles(lower: str) -> WordRole:
    """Return the roles of the words of `lower` if all of them are words of templates, else none."""
    found = WordRole(0)
    if lower.isascii() or len(lower) > _LONGEST or _EAST_ASIAN_LETTER.search(lower) is None:
        return found

    bare = lower.strip(_OUTSIDE)
    if _EAST_ASIAN.fullmatch(bare) is not None:
        for role in EAST_ASIAN:
            if _words_of(role).search(bare):
                found |= role

    return found


def is_brief(lower: str) -> bool:
    """Return whether `lower` only asks for a brief text: "short summary of the key findings"."""
    bare = lower.strip(_OUTSIDE + "()")
    # What was done is named by a verb outside of the question.
    named = _STATED_BY.search(bare.partition(" what ")[0]) is not None
    return _BRIEF.fullmatch(bare) is not None and not named


def is_numbered(lower: str) -> bool:
    """Return whether `lower` is an item of a template's list: "action 1", "finding 2"."""
    item = _NUMBERED.fullmatch(lower)
    return item is not None and item[1] in NUMBERED


def lines_in_east_asian(lines: Iterable[str]) -> list[str]:
    """Return those of `lines` in Chinese, Japanese or Korean that consist of words of templates."""
    return [line for line in lines if _east_asian_roles(line)]


def _asks_in_east_asian(roles: WordRole, kind: ValueKind) -> bool:
    if WordRole.HEAD not in roles:
        return False
    return bool(roles & (WordRole.FILL | WordRole.BRIEF)) or kind in _ACCOUNTS


def _words(lower: str) -> list[str] | None:
    """Return the words of `lower` if all of them are words of templates, None otherwise."""
    bare = lower.lstrip(_BEFORE).rstrip(_OUTSIDE)
    if not bare or len(bare) > _LONGEST or _FOREIGN_TO_WORDS.search(bare) is not None:
        return None

    words = [word.removesuffix("'s") for word in _SPLIT.split(bare.translate(_PLAIN)) if word]
    if not words or len(words) > _MOST_WORDS:
        return None
    return words if WORD_ROLES.keys() >= set(words) else None
