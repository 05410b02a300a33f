"""Recognize a value that is template text as a whole: a slot, a choice, a note, a form (D-22).

The shape distinguishes it from a real value: a slot such as `[what was done]` is the whole value, a
choice such as `high|medium|low` consists of listed words. Every function reads a value once, from
left to right, and the patterns have bounded repetitions, so the time is linear.
"""

import re
from typing import Final

from goop_mcp.validation.template_kinds import ValueKind
from goop_mcp.validation.template_phrases import (
    CHOSEN,
    COUNTED,
    DESCRIBED,
    LISTED,
    MARKED,
    MODIFIERS,
    NO_SLOT,
    NO_SLOT_IN,
    NOTHING,
    OPEN_NAMES,
    PHRASES,
    SLOT_NAMES,
    SUBJECTS,
    TYPE_NAMES,
    WRITTEN_TYPES,
    Prose,
    words,
)
from goop_mcp.validation.template_wording import (
    asks,
    consists_of_asking_words,
    is_numbered,
    note_asks,
)

__all__ = ["MARKS", "NAME_SLOT", "bracketed", "is_known", "is_slots", "is_whole_template"]

MARKS: Final = re.compile(r"[|\[\]<>{}]")
"""Characters that no listed word, name or command contains."""

_LETTERS: Final = frozenset(["N", "M", "X", "Y", "Z", "NN", "MM", "XX", "YY"])
_CLOSERS: Final = {"[": "]", "{": "}", "<": ">"}
_SEPARATORS: Final = frozenset(" \t\r\n,;:()/-–—•*+→.\"'")
_BETWEEN: Final = re.compile(r"[0-9]{1,3}[.)] |(?:and|or) ")
_WORD: Final = re.compile(r"[^\W\d_]+")
_CODE: Final = re.compile(r"[=;\\@]|://|->|::|\w\((?!s\))|#\d")
_TICKET: Final = re.compile(r"[A-Z]{1,10}[ -]?[0-9]+")
_EDITOR: Final = re.compile(r"([A-Za-z][A-Za-z0-9]{1,11}): \S")
_SECTION: Final = re.compile(r"[A-Za-z][\w.-]* \"[^\"]*\"")
_NAMES: Final = re.compile(r"[\w.-]+(?:, ?[\w.-]+)+")
_COMPONENT: Final = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+")
_HUMP: Final = re.compile(r"[A-Z][a-z0-9]*")
_ENVIRONMENT: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_DESCRIBING: Final = (ValueKind.SUMMARY, ValueKind.ACCOUNT, ValueKind.PLAN, ValueKind.CONTENT)
_VARIABLE: Final = re.compile(r"\$([A-Za-z][A-Za-z_]{1,60})")
_DUNDER: Final = re.compile(r"__[A-Za-z][^_\n]{0,80}(?:_[^_\n]{1,80}){0,9}__")
_PYTHON: Final = words(
    "init main name all call dict doc file class new del repr str eq hash len iter next enter exit"
    " getattr setattr slots version author tests mocks pycache future annotations path"
    " module"
)
NAME_SLOT: Final = re.compile(
    r"/?goop-(?:\[[^\[\]\s]{1,30}\]|<[^<>\s]{1,30}>|\{[^{}\s]{1,30}\})"
    r"|W(?:\[[^\[\]\s]{1,30}\]\.T\[[^\[\]\s]{1,30}\]"
    r"|<[^<>\s]{1,30}>\.T<[^<>\s]{1,30}>|\{\w{1,30}\}\.T\{\w{1,30}\})"
)
_OPEN_TASK: Final = re.compile(
    r"w(?:[nx#]|\[[^\[\]\s]{1,30}\]|<[^<>\s]{1,30}>|\{\w{1,30}\})"
    r"\.t(?:[mnyx#]|\[[^\[\]\s]{1,30}\]|<[^<>\s]{1,30}>|\{\w{1,30}\})\s*(?:[:–—-]\s*(.*))?"
)
_LABEL: Final = re.compile(r"[*_#\s]{0,4}([^\W\d_][\w -]{1,40}?)[*_]{0,2}:[*_]{0,2}\s+")
_SUBJECTS: Final = frozenset(
    {"description", "short description", "message", "commit message", "subject", "summary"}
)
_BRACKETED_LETTER: Final = re.compile(r"[\[<{]([NMYZnmyz]{1,2})[\]>}]|[<{]([Xx]{1,2})[>}]|\[(XX)\]")
_COUNTS: Final = re.compile(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]")
_WRAPPED: Final = re.compile(
    r"«([^«»]{2,60})»|‹([^‹›]{2,60})›|【([^【】]{2,60})】|「([^「」]{2,60})」|『([^『』]{2,60})』"
    r"|<%=?([^<>%]{2,60})%>|#\{([^{}]{2,60})\}|@@?([A-Za-z_ ]{2,60})@@?|\*([^*]{2,60})\*"
    r"|_([^_]{2,60})_|\.{3}([^.]{2,60})\.{3}|…([^…]{2,60})…"
    r"|<!--([^<>]{2,60})-->"
)
_FILL_IN_NAME: Final = re.compile(r"(?:your|insert|enter)[_-]([a-z]+(?:[_-][a-z]+)*)")
_QUOTED: Final = re.compile(r"\"([^\"]{2,160})\"|“([^“”]{2,160})”|'([^']{2,160})'|`([^`]{2,160})`")
_PREPOSITIONS: Final = frozenset(
    {"at", "in", "to", "for", "of", "by", "with", "on", "from", "because"}
)
_ASKING: Final = frozenset(
    {"what", "why", "how", "your", "brief", "short", "exact", "insert", "describe", "1-2", "e.g."}
)
_KNOWN_NAMES: Final = SLOT_NAMES | OPEN_NAMES
_WORDS_OF_NAMES: Final = _KNOWN_NAMES | SUBJECTS | MODIFIERS
_TOKENS: Final = re.compile(r"[\s_/-]+")
_LEAST_WORDS = 2
_TRIPLE = 3


def is_whole_template(value: str, kind: ValueKind, prose: Prose) -> bool:
    """Return whether all of `value`, with its white space folded, is template text."""
    lower = value.lower()
    if lower.startswith(("lorem ipsum dolor", "type(scope):", "type(scope)!:")):
        return True
    if ("|" in value and _is_choice(value)) or ("/" in value and _is_slash_choice(lower)):
        return True
    if NAME_SLOT.fullmatch(value) or _is_subject(value) or note_asks(lower, kind):
        return True

    if is_numbered(lower) and kind is not ValueKind.CONTENT and not prose.orders:
        return True

    task = _OPEN_TASK.fullmatch(lower)
    if task is not None and (task[1] is None or consists_of_asking_words(task[1])):
        return True
    filled_in = _FILL_IN_NAME.fullmatch(lower)
    if filled_in is not None and is_known(filled_in[1], strict=False):
        return True
    if asks(lower, kind, orders=prose.orders):
        return lower.rstrip(".:!") not in prose.kept
    if lower in WRITTEN_TYPES and kind is not ValueKind.TEXT:
        return True
    if kind in _DESCRIBING and "_" in value and _ENVIRONMENT.fullmatch(value):
        return is_known(value, strict=False)

    return _is_in_marks(value, kind, prose) or is_slots(value, kind) or _is_count(value, kind)


def _is_in_marks(value: str, kind: ValueKind, prose: Prose) -> bool:
    """Return whether `value` is one slot in the marks of a shell, a macro language or a text."""
    if value.startswith("${"):
        inner = value[2:-1]
        return value.endswith("}") and value[2:3] != "{" and _is_filled_in_by_hand(inner, "{")
    if value.startswith("%") and value.endswith("%"):
        inner = value[1:-1]
        letters = inner.replace("_", "").replace(" ", "")
        return inner[:1].isalpha() and letters.isalnum() and _is_filled_in_by_hand(inner, "%")
    if value.startswith("__"):
        inner = value[2:-2]
        if not value.strip("_"):
            return len(value) > len("__")
        if _DUNDER.fullmatch(value) is None or inner.lower() in NO_SLOT:
            return False
        # Names of Python and bold text in Markdown have two underscores on each side as well.
        return inner not in _PYTHON and (" " not in inner or inner[0].islower() or inner.isupper())

    variable = _VARIABLE.fullmatch(value)
    if variable is not None:
        return is_known(variable[1], strict="_" not in variable[1])

    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is not None:
        inner = next(group for group in wrapped.groups() if group is not None).strip()
        return is_known(inner, strict=True) or _is_phrase(inner, kind, prose)

    quoted = _QUOTED.fullmatch(value)
    return quoted is not None and _is_phrase(
        next(group for group in quoted.groups() if group is not None), kind, prose
    )


def _is_phrase(inner: str, kind: ValueKind, prose: Prose) -> bool:
    lower = inner.strip().lower().rstrip(".")
    return lower in PHRASES or lower in prose.phrases or asks(lower, kind, orders=prose.orders)


def _is_filled_in_by_hand(inner: str, opener: str) -> bool:
    """Return whether a variable is one of a template, not of the environment such as `HOME`."""
    if _ENVIRONMENT.fullmatch(inner):
        return is_known(inner, strict="_" not in inner)
    return opener == "%" or _is_slot("{", inner)


def _is_subject(value: str) -> bool:
    """Return whether `value` is the form of a commit subject: `feat(<scope>): <description>`."""
    head, colon, rest = value.partition("): ")
    scope = head.rpartition("(")[2].lower()
    return (
        bool(colon)
        and scope.strip("<>[]{}") == "scope"
        and (bracketed(rest) or rest.lower() in _SUBJECTS or consists_of_asking_words(rest.lower()))
    )


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
    unlisted = [each for each in items if each.lower() not in LISTED and not bracketed(each)]
    if items[0].lower() not in NOTHING:
        return not unlisted

    # `None | int in the signature` is code: what describes a value consists of words for it.
    return all(
        each.lower() in DESCRIBED or _describes(each.lower())
        for each in unlisted
        if each is not items[0]
    )


def _describes(lower: str) -> bool:
    words = lower.split()
    return len(words) > 1 and (
        words[0] in _KNOWN_NAMES or words[0] in MODIFIERS or consists_of_asking_words(lower)
    )


def _is_slash_choice(lower: str) -> bool:
    """Return whether `lower` is a choice of statuses: `pass/fail`, `high/medium/low`."""
    items = [item.strip() for item in lower.split("/")]
    return len(items) > 1 and all(item in CHOSEN for item in items)


def bracketed(value: str) -> bool:
    """Return whether `value` is one slot in brackets or braces."""
    close = _CLOSERS.get(value[:1])
    return close is not None and value.endswith(close) and _is_slot(value[0], value[1:-1])


def is_slots(value: str, kind: ValueKind) -> bool:
    """Return whether `value` consists of slots with nothing but separators between them."""
    label = _LABEL.match(value)
    at = label.end() if label is not None and label[0][:1] == "*" else 0
    found, length = False, len(value)
    while at < length:
        opener = value[at]
        if opener in _SEPARATORS or not (opener.isascii() or opener.isalnum()):
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
        while value.startswith(opener * (width + 1), at) and width < _TRIPLE:
            width += 1

        end = value.find(close * width, at + width)
        inner = value[at + width : end]
        if end < 0 or not _is_slot(opener, inner, kind):
            return False
        if opener == "[" and width > 1 and not is_known(inner, strict=False):
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
    if opener == "[" and _is_mark(text):
        return False
    # `<K, V>` are type parameters, `[i, j]` indices.
    if all(len(word) == 1 for word in _WORD.findall(text)):
        return False
    if _NAMES.fullmatch(text):
        return not SLOT_NAMES.isdisjoint(lower.replace(",", " ").split())
    if " " not in text and "." in text and opener in "[<":
        return "/" in text
    # A list of strings is data.
    if "," in text and ('"' in text or ("'" in text and " '" in text)):
        return False
    if opener == "<":
        return not _is_code_in_angles(text, kind)
    return opener != "{" or not _is_object(text)


def _is_mark(text: str) -> bool:
    """Return whether text in brackets is a mark: `PROJ-123`, `a-z`, `output truncated`."""
    if _TICKET.fullmatch(text) or _is_character_class(text):
        return True
    # `jc: added a test` is the note of an editor, `color "grep"` a section of a configuration.
    note = _EDITOR.match(text)
    if note is not None and not is_known(note[1], strict=False) and note[1].lower() not in PHRASES:
        return True
    if _SECTION.fullmatch(text) is not None:
        return True

    words = text.lower().replace("\xa0", " ").split()
    return not MARKED.isdisjoint(words) and _ASKING.isdisjoint(words)


def _is_code_in_angles(text: str, kind: ValueKind) -> bool:
    """Return whether text in angle brackets is Java, a type or a component: `UserCard`."""
    if " extends " in text or " super " in text:
        return True
    if kind is ValueKind.TEXT and text.lower() in TYPE_NAMES:
        return True
    if _COMPONENT.fullmatch(text) is None:
        return False

    humps = [hump.lower() for hump in _HUMP.findall(text)]
    return not all(hump in _KNOWN_NAMES or hump in MODIFIERS for hump in humps)


def _is_object(text: str) -> bool:
    """Return whether text in braces is an object: `retries: 3`, `"a.b": …`.

    After a longer text the colon is punctuation.
    """
    key, colon, rest = text.partition(":")
    return bool(colon) and " " not in key and (len(rest.split()) <= _LEAST_WORDS or "." in key)


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


def is_known(name: str, *, strict: bool) -> bool:
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
    return consists_of_asking_words(lower) or (
        all(token in _WORDS_OF_NAMES for token in tokens)
        and any(token not in MODIFIERS for token in tokens)
    )
