"""Recognize template text that an agent left unchanged where a value is expected (D-22).

Agents copy the form that they were given. The shape distinguishes a copy from a real value: a slot
such as `[what was done]` is the whole value, a choice such as `high|medium|low` consists of listed
words, and the prose of the published templates is a list. Every function reads a value once, from
left to right, and the patterns have bounded repetitions, so the time is linear.
"""

import re
from collections.abc import Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.template_phrases import (
    COUNTED,
    LISTED,
    MODIFIERS,
    NO_SLOT,
    NO_SLOT_IN,
    NUMBERS,
    OPEN_NAMES,
    PHRASES,
    ROUTE_PARAMETERS,
    SHAS,
    SLOT_NAMES,
    Prose,
    words,
)

if TYPE_CHECKING:
    from goop_mcp.validation.rules import Problem, Rule

__all__ = [
    "MARKS",
    "TEMPLATE",
    "ValueKind",
    "as_warning",
    "is_template",
    "is_templating",
    "one_per_value",
    "suspects",
    "template_text",
    "value_kind",
]

MARKS: Final = re.compile(r"[|\[\]<>{}]")
"""Characters that no listed word, name or command contains."""

TEMPLATE: Final = re.compile(r"<[^<>]*>|[\w. -]+(?:\|[\w. -]+)+")
"""A whole template value for a word or a name: a slot in angle brackets, or a choice of words."""


class ValueKind(Enum):
    """The role of a value; some template text counts in one role only."""

    TEXT = "text"
    NUMBER = "number"
    PATH = "path"
    SHA = "sha"


_LETTERS: Final = frozenset(["N", "M", "X", "Y", "Z", "NN", "MM", "XX", "YY"])
_MANY_LETTERS: Final = 20
_SLOT_MARKS: Final = ("[", "{", "<", "|", "__", "%")
_NEAR: Final = 40
"""Characters before a slot in a sentence that are examined."""

_LONGEST: Final = 400
"""Characters of the longest value that can be template text as a whole."""

_LETTER: Final = re.compile(r"[NMXYZ](?!\w)(?<![A-LO-Wa-z0-9_][NMXYZ])")
_PATH_TO: Final = re.compile(r"(?i)\s*\.?/?path/to/\S*\s*\Z")
_CLOSERS: Final = {"[": "]", "{": "}", "<": ">"}
_SEPARATORS: Final = frozenset(" \t\r\n,;:()/-–—•*+→.\"'")
_BETWEEN: Final = re.compile(r"[0-9]{1,3}[.)] |(?:and|or) ")
_WORD: Final = re.compile(r"[^\W\d_]+")
_CODE: Final = re.compile(r"[=;\\@]|://|->|::|\w\((?!s\))")
_TICKET: Final = re.compile(r"[A-Z]{1,10}[ -]?[0-9]+")
_NAMES: Final = re.compile(r"[\w.-]+(?:, ?[\w.-]+)+")
_DUNDER: Final = re.compile(r"__[A-Za-z][^_\n]{0,80}(?:_[^_\n]{1,80}){0,9}__")
_PYTHON: Final = words(
    "init main name all call dict doc file class new del repr str eq hash len iter next enter exit"
    " getattr setattr slots version author tests mocks pycache future annotations path module"
)
_NAME_SLOT: Final = re.compile(
    r"/?goop-(?:\[[^\[\]\s]{1,30}\]|<[^<>\s]{1,30}>|\{[^{}\s]{1,30}\})"
    r"|W(?:\[[^\[\]\s]{1,30}\]\.T\[[^\[\]\s]{1,30}\]"
    r"|<[^<>\s]{1,30}>\.T<[^<>\s]{1,30}>|\{\w{1,30}\}\.T\{\w{1,30}\})"
)
_NOTE: Final = re.compile(r"(?:todo|tbd|fixme|xxx)[ :–—-]{1,5}")
_SUBJECTS: Final = frozenset(
    {"description", "short description", "message", "commit message", "subject", "summary"}
)
_BRACKETED_LETTER: Final = re.compile(r"[\[<{]([NMYZnmyz]{1,2})[\]>}]|[<{]([Xx]{1,2})[>}]|\[(XX)\]")
_COUNTS: Final = re.compile(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]")
_OPEN_COUNT: Final = re.compile(
    r"\b[NMXYZ]{1,2} (?:passed|failed|skipped)\b(?= *(?:[,;.)/]|\Z))|\bXX%|: [XYZ]%(?=[\s.,)]|\Z)"
    r"|\b[XYZ]% to [XYZ]%|[\[<{][NMXYZnm]{1,2}[\]>}] (?:tests? )?(?:passed|failed|skipped)\b"
)
_ROUTE_FOLDERS: Final = re.compile(r"(?:\A|/)(?:app|pages|routes|api)/")
_PATH_SLOT: Final = re.compile(
    r"<[^<>/]{1,60}>|\[[^\[\]/]{1,60}\]|\{[^{}/]{1,60}\}"
    r"|__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__|%[A-Z_]{1,60}%"
)
_FREE_SLOT: Final = re.compile(
    r"\[([^\[\]\n]{2,60})\]|\{\{([^{}\n]{2,60})\}\}|\$?\{([^{}\n]{2,60})\}|<([^<>\n]{2,60})>"
    r"|%([a-z_]{2,60})%|__([a-z]{3,60})__|[\"“”`]"
)
_TEMPLATE_LANGUAGE: Final = re.compile(
    r"(?i:jinja|mustache|handlebars|liquid|helm|twig|django|vue|angular|svelte"
    r"|interpolat|templat|f-string|icu\b)"
)
_PREPOSITIONS: Final = frozenset(
    {"at", "in", "to", "for", "of", "by", "with", "on", "from", "because"}
)
_ASKING: Final = frozenset(
    {"what", "why", "how", "your", "brief", "short", "exact", "insert", "describe", "1-2", "e.g."}
)
_MARKUP: Final = frozenset(
    {"tag", "tags", "element", "elements", "attribute", "node", "component", "block"}
)
_IN_ANGLES: Final = words("topic feature approach finding reason insight recommendation hypothesis")
_KNOWN_NAMES: Final = SLOT_NAMES | OPEN_NAMES
_TOKENS: Final = re.compile(r"[\s_/-]+")
_LEAST_WORDS, _MOST_WORDS = 2, 8

# A value without marks is template text only by how it begins or ends, apart from `(scope)`. The
# line end comes first in the pattern, because the engine searches a literal with memchr: it then
# looks at each line once, while a search for each word of `_asks` looks at each character. The
# first letters come before the words, because most lines are passed over by them.
_ASKING_START: Final = re.compile(r"\n(?=[tfxlp./])(?:todo|tbd|fixme|xxx|lorem|\.?/?path/to/)")
_ASKING_END: Final = re.compile(r"here[.\]]?\n")

_KINDS: Final = (
    (ValueKind.PATH, frozenset({"path", "file", "dir", "directory", "folder"})),
    (ValueKind.SHA, frozenset({"sha", "hash", "commit"})),
    (ValueKind.NUMBER, NUMBERS),
)


@lru_cache(maxsize=512)
def value_kind(name: str) -> ValueKind:
    """Return the role of a value by the name of its attribute, element or key."""
    last = name.lower().replace("-", "_").rpartition("_")[2]
    return next((kind for kind, names in _KINDS if last in names), ValueKind.TEXT)


_NO_PROSE: Final = Prose()


def suspects(values: Sequence[str], prose: Prose) -> frozenset[str]:
    """Return those of `values`, which have no outer blanks, that `template_text` has to examine.

    Most replies have none. This exists only for speed: all values are searched together before each
    is searched alone, so that a reply without template text costs one search.
    """
    text = "\n".join(values)
    lower = text.lower()
    known = _phrases_and_shas(prose)
    lines = lower.split("\n")
    listed = not known.isdisjoint(lines)
    if not listed and (len(lines) > len(values) or "  " in text):
        # Blanks and line ends within a value count as one blank.
        listed = any(
            " ".join(value.lower().split()) in known
            for value in values
            if len(value) <= _LONGEST and ("\n" in value or "  " in value)
        )

    marks = [mark for mark in _SLOT_MARKS if mark in text]
    letter = _holds_letter(text)
    framed = f"\n{lower}\n"
    asks = (
        _ASKING_START.search(framed) is not None
        or _ASKING_END.search(framed) is not None
        # One character is searched with memchr, ten times as fast as several.
        or ("(" in lower and "(scope)" in lower)
    )
    if not (marks or letter or listed or asks):
        return frozenset()

    # Each value is searched only for the marks that some value has.
    found = [value for value in values for mark in marks if mark in value]
    if letter:
        found += [value for value in values if _holds_letter(value)]
    if listed or asks:
        found += [
            value
            for value in values
            if len(value) <= _LONGEST
            and ((listed and _folded(value.lower()) in known) or (asks and _asks(value.lower())))
        ]

    return frozenset(found)


def _folded(lower: str) -> str:
    return " ".join(lower.split()) if "\n" in lower or "  " in lower else lower


def _is_marked(text: str) -> bool:
    """Return whether `text` has a character or letter of template slots, choices or counts."""
    for mark in _SLOT_MARKS:
        if mark in text:
            return True

    return _holds_letter(text)


def _holds_letter(text: str) -> bool:
    """Return whether `text` has a separate letter that stands for a number.

    The letters are searched one by one as long as they are few, as in most texts, which is ten
    times as fast as the pattern.
    """
    for letter in "NMXYZ":
        at, looked = text.find(letter), 0
        while at >= 0:
            if looked == _MANY_LETTERS:
                return _LETTER.search(text) is not None

            after = text[at + 1 : at + 2]
            if not after.isalnum() and _LETTER.match(text, at) is not None:
                return True

            at, looked = text.find(letter, at + 1), looked + 1

    return False


def _asks(lower: str) -> bool:
    """Return whether `lower` has the words of a template without marks."""
    return (
        " here" in lower
        or "todo" in lower
        or "tbd" in lower
        or "xxx" in lower
        or "fixme" in lower
        or "lorem" in lower
        or "path/to/" in lower
        or "(scope)" in lower
    )


@cache
def _phrases_and_shas(prose: Prose) -> frozenset[str]:
    return _looked_up(prose) | SHAS


@cache
def _looked_up(prose: Prose) -> frozenset[str]:
    """Return the phrases with the punctuation that they may end with."""
    phrases = PHRASES | prose.phrases
    ended = frozenset(f"{phrase}{end}" for phrase in phrases for end in ("", ".", ":", "!", "..."))
    return ended | frozenset(f"({phrase})" for phrase in phrases)


def template_text(
    value: str, kind: ValueKind = ValueKind.TEXT, prose: Prose = _NO_PROSE
) -> Severity | None:
    """Return the severity of template text in `value`, None if it has none.

    A whole value is an error, a slot within other text a warning.
    """
    # The order matters: a value that is a template as a whole says nothing, which is an error, and
    # only the rest of the values is searched for single slots, which are warnings.
    if len(value) <= _LONGEST and _folded(value.strip().lower()) in _looked_up(prose):
        return Severity.ERROR
    if kind is ValueKind.SHA and value.strip().lower() in SHAS:
        return Severity.WARNING
    if not _is_marked(value) and (len(value) > _LONGEST or not _asks(value.lower())):
        return None
    if _PATH_TO.match(value):
        return None if value.strip() in prose.kept else Severity.ERROR
    if len(value) <= _LONGEST and _is_whole(" ".join(value.split()), kind):
        return Severity.ERROR
    if kind is ValueKind.PATH and not any(map(str.isspace, value)):
        # A path from the root is a route of a web service, where slots are legitimate.
        return Severity.WARNING if value[0] != "/" and _slot_in_path(value) else None

    return Severity.WARNING if _holds_slot(value) else None


def is_template(value: str, kind: ValueKind = ValueKind.TEXT) -> bool:
    """Return whether `value` is template text where a word, name, number or flag is expected."""
    return TEMPLATE.fullmatch(value) is not None or template_text(value, kind) is Severity.ERROR


def is_templating(text: str) -> bool:
    """Return whether `text` mentions a template language, whose slots are meant literally."""
    return _TEMPLATE_LANGUAGE.search(text) is not None


def as_warning(rule: "Rule") -> "Rule":
    """Return the same rule for a slot within other text, which is a warning in both modes."""
    return replace(rule, lenient=Severity.WARNING, strict=Severity.WARNING)


def one_per_value(problems: "Sequence[Problem]") -> "Sequence[Problem]":
    """Return `problems` with one for each value that has template text; repairs of it stay.

    A slot within other text is a warning and gives way to an error, and to a variable in a path.
    """
    left = {
        _value_of(problem): problem for problem in reversed(problems) if _is_placeholder(problem)
    }
    left.pop(None, None)
    if not left:
        return problems

    for problem in problems:
        found = left.get(_value_of(problem))
        if found is None or _is_placeholder(problem) or found.rule.lenient is Severity.ERROR:
            continue
        if problem.rule.strict is Severity.ERROR or problem.rule.family == "path":
            del left[_value_of(problem)]

    kept: list[Problem] = []
    for problem in problems:
        found = left.get(_value_of(problem))
        if _is_placeholder(problem) and problem.hit.path is not None:
            if found is problem:
                kept.append(problem)
        elif found is None or problem.hit.before is not None:
            kept.append(problem)

    return kept


def _is_placeholder(problem: "Problem") -> bool:
    return problem.rule.id.endswith("/placeholder-left")


def _value_of(problem: "Problem") -> str | None:
    path = problem.hit.path
    return None if path is None else path.replace("[1]", "")


# Whole values


def _is_whole(value: str, kind: ValueKind) -> bool:
    """Return whether all of `value`, with its white space folded, is template text."""
    lower = value.lower()
    if lower.startswith(("lorem ipsum dolor", "type(scope):", "type(scope)!:")):
        return True
    if lower.endswith(("here", "here.", "here]")) and _asks_here(lower):
        return True
    if "|" in value and _is_choice(value):
        return True
    if _NAME_SLOT.fullmatch(value) or _is_subject(value) or _is_note(lower):
        return True

    # One slot in the marks of a shell or a macro language.
    if value.startswith("${"):
        return value.endswith("}") and value[2:3] != "{" and _is_slot("{", value[2:-1])
    if value.startswith("%"):
        inner = value[1:-1]
        letters = inner.replace("_", "").replace(" ", "")
        return value.endswith("%") and inner[:1].isalpha() and letters.isalnum()
    if value.startswith("__"):
        inner = value[2:-2]
        if _DUNDER.fullmatch(value) is None or inner.lower() in NO_SLOT:
            return False
        # Names of Python and bold text in Markdown have two underscores on each side as well.
        return inner not in _PYTHON and (" " not in inner or inner[0].islower() or inner.isupper())

    return _is_slots(value, kind) or _is_count(value, kind)


def _is_subject(value: str) -> bool:
    """Return whether `value` is the form of a commit subject: `feat(<scope>): <description>`."""
    head, colon, rest = value.partition("): ")
    scope = head.rpartition("(")[2].lower()
    return (
        bool(colon)
        and scope.strip("<>[]{}") == "scope"
        and (_bracketed(rest) or rest.lower() in _SUBJECTS)
    )


def _is_note(lower: str) -> bool:
    """Return whether a note such as TODO is followed only by the request to fill in a value."""
    start = _NOTE.match(lower)
    rest = lower[start.end() :].rstrip(". ") if start is not None else ""
    if rest.startswith(("add ", "write ")):
        return SLOT_NAMES.issuperset(word for word in rest.split()[1:] if word not in MODIFIERS)
    return rest in PHRASES or rest in ("fill", "replace", "add", "write", "complete this", "this")


def _asks_here(lower: str) -> bool:
    """Return whether a value such as `insert the summary here` asks to be replaced."""
    words = lower.strip("[]<>{}.").split()
    if not _LEAST_WORDS < len(words) <= _MOST_WORDS:
        return words[:1] == ["insert"]

    prefixes = {"insert", "enter", "your", "fill"}
    start = words[1] if words[0].strip(":-") in ("todo", "tbd") else words[0]
    if start in ("add", "put", "write", "describe"):
        # "Add retry logic here" is a task.
        names = [word for word in words[words.index(start) + 1 : -1] if word not in MODIFIERS]
        return bool(names) and SLOT_NAMES.issuperset(names)

    return start in prefixes or words[-2:] == ["goes", "here"] or words[1] == "your"


def _is_choice(value: str) -> bool:
    """Return whether `value` is a choice of listed words.

    If the first is "none", the others may also describe what to write instead.
    """
    bare = (
        value[1:-1]
        if value[0] in "[({<" and value[-1] in "])}>" and value.count(value[0]) == 1
        else value
    )
    items = [item.strip() for item in bare.rstrip(".").split("|")]
    if not all(items):
        return False
    unlisted = [each for each in items if each.lower() not in LISTED and not _bracketed(each)]
    if items[0].lower() not in ("none", "n/a"):
        return not unlisted

    # `None | int in the signature` is code: what describes a value begins with a word for one.
    described = [item.lower().split() for item in unlisted if item is not items[0]]
    return all(
        len(words) > 1 and (words[0] in _KNOWN_NAMES or words[0] in MODIFIERS)
        for words in described
    )


def _bracketed(value: str) -> bool:
    """Return whether `value` is one slot in brackets or braces."""
    close = _CLOSERS.get(value[:1])
    return close is not None and value.endswith(close) and _is_slot(value[0], value[1:-1])


def _is_slots(value: str, kind: ValueKind) -> bool:
    """Return whether `value` consists of slots with nothing but separators between them."""
    at, found, length = 0, False, len(value)
    while at < length:
        opener = value[at]
        if opener in _SEPARATORS:
            at += 1
            continue

        close = _CLOSERS.get(opener)
        if close is None:
            between = _BETWEEN.match(value, at)
            if between is None:
                return False

            at = between.end()
            continue

        width = 1
        # {{{…}}} at most
        while value.startswith(opener * (width + 1), at) and width < 3:  # noqa: PLR2004
            width += 1

        end = value.find(close * width, at + width)
        inner = value[at + width : end]
        if end < 0 or not _is_slot(opener, inner, kind):
            return False
        if opener == "[" and width > 1 and not _is_known(inner, strict=False):
            return False

        at, found = end + width, True

    return found


def _is_slot(opener: str, inner: str, kind: ValueKind = ValueKind.TEXT) -> bool:
    """Return whether `inner`, the text in brackets, is a slot and not a status, JSON or code."""
    text = inner.strip().rstrip("?:")
    lower = text.lower()
    if not text or lower in NO_SLOT or lower in NO_SLOT_IN[opener] or _WORD.search(text) is None:
        return False
    if MARKS.search(text.replace("|", "")) or _CODE.search(text) or text[-1] == "/":
        return False
    if len(text) == 1:
        return text in "NMXYnmxy" if kind is ValueKind.NUMBER else text in "NMY" and opener != "<"
    if not text[0].isalpha() and not ((text[0].isdigit() or text[0] == "~") and " " in text):
        return False
    # `[PROJ-123]` is the number of a ticket, `[a-z]` a part of a regular expression.
    if opener == "[" and (_TICKET.fullmatch(text) or _is_character_class(text)):
        return False
    # `<K, V>` are type parameters, `[i, j]` indices.
    if all(len(word) == 1 for word in _WORD.findall(text)):
        return False
    if _NAMES.fullmatch(text):
        return not SLOT_NAMES.isdisjoint(lower.replace(",", " ").split())
    if " " not in text and "." in text and opener in "[<":
        return "/" in text
    # A list of strings is data, and `<T extends Comparable>` is Java.
    if "," in text and ('"' in text or ("'" in text and " '" in text)):
        return False
    if opener == "<" and (" extends " in text or " super " in text):
        return False

    # `{retries: 3}` and `{"a.b": …}` are objects; after a longer text the colon is punctuation.
    key, colon, rest = text.partition(":")

    return not (
        opener == "{"
        and colon
        and " " not in key
        and (len(rest.split()) <= _LEAST_WORDS or "." in key)
    )


def _is_character_class(text: str) -> bool:
    """Return whether `text` is a character class of a regular expression: `a-z`, `A-Za-z0-9_`."""
    at, ranges = 0, 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and text[at].isalnum() and text[at + 2 : at + 3].isalnum():
            at, ranges = at + 3, ranges + 1
        elif text[at].isalnum() or text[at] == " ":
            return False
        else:
            at += 1

    return ranges > 0


def _is_count(value: str, kind: ValueKind) -> bool:
    """Return whether `value` is a count with letters for numbers: `N passed, M failed`, `XX%`."""
    if kind is ValueKind.NUMBER and value in ("0.X", "0.N", "0.x"):
        return True

    # `[n] passed` and `N passed` are the same form: brackets and case of the letter are folded
    # first.
    capitals = _BRACKETED_LETTER.sub(lambda each: (each[1] or each[2] or each[3]).upper(), value)
    pieces = _COUNTS.findall(capitals)
    words = [piece for piece in pieces if piece[0].isalpha()]
    letters = sum(word in _LETTERS for word in words)
    # "N+1" is the name of a problem.
    if (
        not letters
        or "N+1" in value
        or any(word not in _LETTERS and word.lower() not in COUNTED for word in words)
    ):
        return False

    if any(not piece[0].isalnum() and piece not in ",./%~-:()+" for piece in pieces):
        return False
    return (
        kind is ValueKind.NUMBER
        or len(words) > letters
        or "%" in pieces
        or "~" in pieces
        or "/" in pieces
    )


# Slots within other text


def _slot_in_path(path: str) -> bool:
    """Return whether a folder or file in `path` is a slot and not a route parameter."""
    routed = _ROUTE_FOLDERS.search(path)
    for match in _PATH_SLOT.finditer(path):
        slot, inner = match[0], match[0][1:-1]
        # `pages/[id].tsx` and `routes/{user}` are names that web frameworks give to real files.
        if slot[0] == "[":
            if (routed is not None and routed.end() <= match.start()) or not _is_known(
                inner, strict=False
            ):
                continue

            if inner.lower() in ROUTE_PARAMETERS or path.startswith("(", match.end()):
                continue

        if slot[0] == "<" and path[: match.start()][-1:].isalnum():
            continue
        if slot[0] == "{" and ("," in inner or inner.strip().startswith("cookiecutter.")):
            continue
        if len(inner) > 1 and _WORD.search(slot):
            return True

    return False


def _holds_slot(value: str) -> bool:
    """Return whether a sentence of `value` has a known slot, outside of code and quotes."""
    if (
        _LETTER.search(value)
        and '"' not in value
        and "`" not in value
        and _OPEN_COUNT.search(value)
    ):
        return True

    fence = ""
    for line in value.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        elif not fence and _is_marked(line) and _slot_in_line(line):
            return True

    return False


def _slot_in_line(line: str) -> bool:
    named = ("goop-" in line or ".T" in line) and '"' not in line and "`" not in line
    if named and any(_NAME_SLOT.fullmatch(token.rstrip(".,;:!")) for token in line.split()):
        return True

    # A slot between quotes is what the text is about, not what was left in it.
    quoted = ""
    for match in _FREE_SLOT.finditer(line):
        mark = match[0]
        if mark in '"“”`':
            quoted = "" if quoted and mark in (quoted, "”") else (quoted or mark)
            continue
        if quoted or not _stands_free(line, match.start(), match.end()):
            continue
        if _names_slot(line, match):
            # In a text about a template language, its slots are meant literally.
            return match[1] is not None or match[4] is not None or not is_templating(line)

    return False


def _stands_free(line: str, start: int, end: int) -> bool:
    """Return whether a slot is a separate word after another one, not the tag of a subject."""
    before, after = line[max(start - _NEAR, 0) : start], line[end : end + 1]
    if after and not after.isspace() and after not in ".,;!?)":
        return False
    if before.endswith("("):
        return after == ")"
    if not before.strip() or not before[-1].isspace():
        return False

    last = before.split()[-1]
    if last[-1] in ":." or last in ("-", "*", "•"):
        # Text after it makes it the tag of a subject.
        return _closes(line, end)

    return not last.startswith("-") and last[-1] not in "]}>)="


def _closes(line: str, end: int) -> bool:
    """Return whether only other slots follow a slot."""
    rest = line[end : end + _LONGEST].strip(" .,;!)-–—")
    return not rest or _is_slots(rest, ValueKind.TEXT)


def _names_slot(line: str, match: re.Match[str]) -> bool:
    """Return whether a slot in a line has the name of a slot.

    A name that is also a usual word for a number, a file or a tag needs more evidence.
    """
    name = next(group for group in match.groups() if group is not None).strip()
    closes = _closes(line, match.end())
    words = line[max(match.start() - _NEAR, 0) : match.start()].split()
    last = words[-1].lower().rstrip(":") if words else ""
    if match[1] is not None:
        return _is_known(name, strict=True) or (
            closes
            and (last in _PREPOSITIONS or words[-1].endswith(":"))
            and _is_known(name, strict=False)
        )

    if match[4] is not None:
        following = line[match.end() :].split()[:1]
        if following and following[0].lower().strip(".,") in _MARKUP:
            return False
        # Names with underscores are elements of prompts and configuration files.
        return name in _IN_ANGLES or (
            "_" not in name and len(_TOKENS.split(name)) > 1 and _is_known(name, strict=True)
        )

    return _is_known(name, strict=True)


def _is_known(name: str, *, strict: bool) -> bool:
    """Return whether `name` consists of words for slots; `strict`: of words without another use."""
    lower = name.strip().lower()
    tokens = [token for token in _TOKENS.split(lower) if token]
    if not tokens or lower in NO_SLOT:
        return False
    if len(tokens) >= _LEAST_WORDS and lower.split()[0] in _ASKING:
        return True
    if len(tokens) > _LEAST_WORDS and tokens[0] in SLOT_NAMES and tokens[1] in _PREPOSITIONS:
        return True
    if len(tokens) > 1 and tokens[-1].isdigit():
        # `task 1` and `file-2` are numbered slots.
        tokens = tokens[:-1]
    if len(tokens) == 1:
        return tokens[0] in (SLOT_NAMES if strict else _KNOWN_NAMES)
    return all(token in _KNOWN_NAMES or token in MODIFIERS for token in tokens) and any(
        token in _KNOWN_NAMES for token in tokens
    )
