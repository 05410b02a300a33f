"""Recognize template text that an agent left unchanged where a value is expected (D-22).

Agents copy the form that they were given. A value that is template text as a whole says nothing,
which is an error; a slot within other text is a warning. The time is linear in the text.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.template_kinds import ValueKind, value_kind
from goop_mcp.validation.template_phrases import CHOSEN, HELD, PHRASES, SHAS, WRITTEN_TYPES, Prose
from goop_mcp.validation.template_sentences import holds_slot, is_templating, slot_in_path
from goop_mcp.validation.template_slots import MARKS, is_whole_template
from goop_mcp.validation.template_wording import asking_lines, lines_in_east_asian

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

TEMPLATE: Final = re.compile(r"<[^<>]*>|[\w. -]+(?:\|[\w. -]+)+")
"""A whole template value for a word or a name: a slot in angle brackets, or a choice of words."""

_MANY_LETTERS: Final = 20
_SLOT_MARKS: Final = ("[", "{", "<", "|", "__", "%")
_LONGEST: Final = 400
"""Characters of the longest value that can be template text as a whole."""

_LETTER: Final = re.compile(r"[NMXYZ](?!\w)(?<![A-LO-Wa-z0-9_][NMXYZ])")
_PATH_TO: Final = re.compile(r"(?i)\s*\.?/?path/to/\S*\s*\Z")

# A value without marks is template text only by how it begins or ends, apart from `(scope)` and
# some folders. The line end comes first in the pattern, because the engine searches a literal with
# memchr: it then looks at each line once, while a search for each word of `_asks` looks at each
# character. The first letters come before the words, because most lines are passed over by them.
_ASKING_START: Final = re.compile(
    r"\n(?=[tfxlpwy./#*\"'(_$@<;«‹【「『…-])(?:(?:// ?|# ?|/\* ?)?(?:todo|tbd|fixme|xxx)|lorem"
    r"|\.?/?path/|w[nx#]\.t|your[-_/]|file_?name\.|file\.ext|\.{3}\w|[*_\"'($@«‹【「『…])"
)
_ASKING_END: Final = re.compile(r"here[.\]]?\n")
_CHOICE: Final = re.compile(rf"\n(?:{'|'.join(sorted(CHOSEN))}) ?/")
_SNAKE: Final = re.compile(r"\n[a-z]{2,20}(?:_[a-z]{2,20}){1,4}\n")
_YOUR_PATH: Final = re.compile(r"/your[-_/]")
_LABELLED_NOTE: Final = re.compile(
    r"[*_]{0,2}[a-z][a-z ]{1,30}[*_]{0,2}:[*_]{0,2} (?:tbd|tba|todo)[.!]?"
)
_LOOKS_LIKE_PATH: Final = re.compile(r"[^\s/:|][^\s:|]{0,200}/[^\s:|/]{0,80}\.\w{1,6}")
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
    begins = _begins(lower)
    asking = asking_lines(lines)
    if not text.isascii():
        asking += lines_in_east_asian(lines)

    if not (marks or letter or listed or begins or asking):
        return frozenset()

    # Each value is searched only for the marks that some value has.
    found = [value for value in values for mark in marks if mark in value]
    if letter:
        found += [value for value in values if _holds_letter(value)]
    if listed or begins or asking:
        short = [value for value in values if len(value) <= _LONGEST]
        lowers = [_folded(value.lower()) for value in short]
        found += [
            value
            for value, each in zip(short, lowers, strict=True)
            if (listed and each in known)
            or (begins and _begins(each))
            or any(line in each for line in asking)
        ]

    return frozenset(found)


def _folded(lower: str) -> str:
    return " ".join(lower.split()) if "\n" in lower or "  " in lower else lower


def _begins(lower: str) -> bool:
    """Return whether `lower` begins, ends or is built as a template without marks is."""
    framed = f"\n{lower}\n"
    return (
        _ASKING_START.search(framed) is not None
        or _ASKING_END.search(framed) is not None
        # One character is searched with memchr, ten times as fast as several.
        or ("(" in lower and "(scope)" in lower)
        or ("/" in lower and (_is_open_path(lower) or _CHOICE.search(framed) is not None))
        or ("_" in lower and _SNAKE.search(framed) is not None)
        or (": t" in lower and (": tbd" in lower or ": todo" in lower))
    )


def _is_open_path(lower: str) -> bool:
    # Whole texts are searched ten times as fast as a pattern of several.
    return (
        "path/to/" in lower
        or ".../" in lower
        or ("/your" in lower and _YOUR_PATH.search(lower) is not None)
    )


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


@cache
def _phrases_and_shas(prose: Prose) -> frozenset[str]:
    return _looked_up(prose) | SHAS | WRITTEN_TYPES


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
    bare = value.strip()
    if not suspects((bare,), prose):
        return None

    lower = _folded(bare.lower()) if len(value) <= _LONGEST else ""
    if lower in _looked_up(prose):
        return None if kind is ValueKind.CONTENT and lower in HELD else Severity.ERROR
    if kind is ValueKind.SHA and lower in SHAS:
        return Severity.WARNING
    if _PATH_TO.match(value):
        return None if bare in prose.kept else Severity.ERROR
    if lower and is_whole_template(" ".join(bare.split()), kind, prose):
        return Severity.ERROR
    if lower and _LABELLED_NOTE.fullmatch(lower):
        return Severity.WARNING
    if kind is ValueKind.PATH and not any(map(str.isspace, bare)):
        # A path from the root is a route of a web service, where slots are legitimate.
        route = bare[:1] == "/" and "/path/to/" not in bare
        return Severity.WARNING if not route and slot_in_path(bare) else None
    if _LOOKS_LIKE_PATH.fullmatch(bare):
        return Severity.WARNING if slot_in_path(bare) else None
    return Severity.WARNING if holds_slot(bare) else None


def is_template(value: str, kind: ValueKind = ValueKind.TEXT) -> bool:
    """Return whether `value` is template text where a word, name, number or flag is expected."""
    return TEMPLATE.fullmatch(value) is not None or template_text(value, kind) is Severity.ERROR


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
