"""Recognize a slot that an agent left within a sentence or a path: `Research [topic]` (D-22).

A word in brackets is often code, a tag or a link. It counts where it is separate, is the name of a
slot, and no quotes stand around it.
"""

import re
from collections.abc import Sequence
from typing import Final

from goop_mcp.validation.template_kinds import ValueKind
from goop_mcp.validation.template_phrases import (
    ACTS,
    HOLDERS,
    MARKUP_NAMES,
    ORDERS,
    ROUTE_PARAMETERS,
    SUBJECTS,
    words,
)
from goop_mcp.validation.template_slots import (
    NAME_SLOT,
    bracketed,
    is_known,
    is_slots,
)

__all__ = ["holds_slot", "is_templating", "slot_in_path"]

_NEAR: Final = 40
"""Characters before a slot in a sentence that are examined."""

_REST: Final = 400
_LETTER: Final = re.compile(r"[NMXYZ](?!\w)(?<![A-LO-Wa-z0-9_][NMXYZ])")
_COUNTED_THINGS: Final = (
    "waves?|tasks?|tests?|files?|steps?|phases?|agents?|findings?|issues?|errors?|commits?"
    "|must-haves"
)
_OPEN_COUNT: Final = re.compile(
    r"\b[NMXYZ]{1,2} (?:passed|failed|skipped)\b(?= *(?:[,;.)/]|\Z))|\bXX%|: [XYZ]%(?=[\s.,)]|\Z)"
    r"|\b[XYZ]% to [XYZ]%"
    rf"|(?<!\S)[\[<](?:[NMYZnm]|XX|number|count|num)[\]>] (?:{_COUNTED_THINGS}|passed|failed)\b"
    rf"|\b(?:N[ -](?:{_COUNTED_THINGS})\b[^\n]{{0,60}}\b[MXY]"
    rf"|X[ -](?:{_COUNTED_THINGS})\b[^\n]{{0,60}}\b[YN]) (?:{_COUNTED_THINGS}|passed|passing)\b"
)
_BLANKS: Final = re.compile(r"(?<=\s)_{3,60}(?=[\s.,;]|\Z)|\bXXX\b[^\n]{1,60}\bYYY\b")
_OPEN_FORM: Final = re.compile(
    r"\[(?i:feature|component|task|agent|bug|issue|module|file|name)\] (?:has|is|was)\b"
    r"|\[(?:test )?(?:command|path|agent|file path|file name)\]:? |\[[A-Z]{2,12}-(?:ID|XX|NN|N)\]"
    r"|<(?:file|command|agent)> (?:is|was|has|exited|passed)\b"
    r"|\w{2,12}\((?:<[^<>\n]{1,40}>|\[[^\[\]\n]{1,40}\]|\{[^{}\n]{1,40}\}|#<\w{1,20}>)\)!?: "
)
_FORM: Final = re.compile(r"(?:[a-z]{2,12}(?:\([^()\n]{1,40}\))?!?|W\d{1,3}\.T\d{1,3}): (.{1,80})")
_OPEN_TASK: Final = re.compile(r"W(?:[nxX#])\.T[nmxyMXY#]: ")
_SQL: Final = re.compile(r"\b(?:select|from|join|where|columns?|tables?)\b", re.IGNORECASE)
_ROUTE_FOLDERS: Final = re.compile(r"(?:\A|/)(?:app|pages|routes|api|functions|server)/")
_ROUTED: Final = words("ts tsx js jsx mts mjs vue svelte astro mdx html")
_SERVED: Final = frozenset({"route", "page", "layout", "middleware"})
_FILE_NAMES: Final = words(
    "file filename file-name name module service item path class function component"
)
_PATH_SLOT: Final = re.compile(
    r"<[^<>/]{1,60}>|\[[^\[\]/]{1,60}\]|\{[^{}/]{1,60}\}"
    r"|__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__|%[A-Z_]{1,60}%"
)
_OPEN_PATH: Final = re.compile(
    r"\A(?:\./)?path/(?:file|filename|other|name)\b|(?:\A|/)(?:path/to/[^/]|(?:\.{3}|…)/|your/"
    r"|your[-_](?:file|module|project|feature|component|app|repo)\b|(?:file|file_?name)\.ext\Z)",
    re.IGNORECASE,
)
_FREE_SLOT: Final = re.compile(
    r"\[([^\[\]\n]{2,60})\]|\{\{([^{}\n]{2,60})\}\}|\$?\{([^{}\n]{2,60})\}|<([^<>\n]{2,60})>"
    r"|%([a-z_]{2,60})%|__([a-z]{3,60})__|[\"“”`]"
)
_TEMPLATE_LANGUAGE: Final = re.compile(
    r"(?i:jinja|mustache|handlebars|liquid|helm|twig|django|vue|angular|svelte"
    r"|interpolat|templat|f-string|icu\b)"
)
_ABOUT_SLOTS: Final = re.compile(
    r"placeholder|\bslots?\b|templat|bracket|contains|literal|unfilled|platzhalter|blanks?\b",
    re.IGNORECASE,
)
_PREPOSITIONS: Final = frozenset(
    {"at", "in", "to", "for", "of", "by", "with", "on", "from", "because"}
)
_MARKUP: Final = frozenset(
    {"tag", "tags", "element", "elements", "attribute", "node", "component", "block"}
)
_IN_ANGLES: Final = words(
    "topic feature approach finding reason insight recommendation hypothesis technology"
)
_BRACED: Final = re.compile(r"\b(?:and|in|to|for) (?:\w+ )?\{\w+\}")
_SEPARATE_WORDS: Final = re.compile(r"[\s_/-]+")


def is_templating(text: str) -> bool:
    """Return whether `text` mentions a template language, whose slots are meant literally."""
    return _TEMPLATE_LANGUAGE.search(text) is not None


def slot_in_path(path: str) -> bool:
    """Return whether a folder or file in `path` is a slot and not a route parameter."""
    if _OPEN_PATH.search(path) is not None:
        return True

    routed = _ROUTE_FOLDERS.search(path)
    for match in _PATH_SLOT.finditer(path):
        slot, inner = match[0], match[0][1:-1]
        # `pages/[id].tsx` and `routes/{user}` are names that web frameworks give to real files.
        if slot[0] == "[":
            served = path.rpartition(".")[2].lower() in _ROUTED
            in_route = routed is not None and routed.end() <= match.start() and served
            if in_route or not is_known(inner.lstrip("#-"), strict=False):
                continue
            if path.startswith(("(", "]"), match.end()) or _is_parameter(inner, path):
                continue

        if slot[0] == "<" and path[: match.start()][-1:].isalnum():
            continue
        if slot[0] == "{" and (
            "," in inner
            or path[: match.start()].endswith("$")
            or inner.strip().startswith("cookiecutter.")
        ):
            continue
        if len(inner) > 1 and any(map(str.isalpha, slot)):
            return True

    return False


def _is_parameter(inner: str, path: str) -> bool:
    """Return whether a name in brackets may be a parameter of a file that a framework serves."""
    last = path.rpartition("/")[2].lower()
    if inner.lower() not in ROUTE_PARAMETERS or "." not in last:
        return inner.lower() in ROUTE_PARAMETERS

    stem, _, suffix = last.rpartition(".")
    # A page may lie in a folder with any name in brackets; other code is not served from one.
    named = stem == f"[{inner.lower()}]" or (suffix in ("ts", "js") and stem not in _SERVED)
    return suffix in _ROUTED and not (named and inner.lower() in _FILE_NAMES)


def holds_slot(value: str) -> bool:
    """Return whether a sentence of `value` has a known slot, outside of code and quotes."""
    if '"' not in value and "`" not in value:
        if _LETTER.search(value) and _OPEN_COUNT.search(value):
            return True
        marked = "[" in value or "<" in value or "{" in value
        if marked and (_OPEN_COUNT.search(value) or _OPEN_FORM.match(value)):
            return True

        form = _FORM.fullmatch(value)
        if form is not None and bracketed(form[1]) and is_known(form[1][1:-1], strict=False):
            return True

    if _OPEN_TASK.match(value):
        return True

    fence = ""
    for line in value.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        elif not fence and _slot_in_line(line):
            return True

    return False


def _slot_in_line(line: str) -> bool:
    named = ("goop-" in line or ".T" in line) and '"' not in line and "`" not in line
    if named and any(NAME_SLOT.fullmatch(token.rstrip(".,;:!")) for token in line.split()):
        return True
    if ("___" in line or "XXX" in line) and _BLANKS.search(line) and not _ABOUT_SLOTS.search(line):
        return True

    names = 0
    # A slot between quotes is what the text is about, not what was left in it.
    quoted = ""
    for match in _FREE_SLOT.finditer(line):
        mark = match[0]
        if mark in '"“”`':
            quoted = "" if quoted and mark in (quoted, "”") else (quoted or mark)
            continue
        if quoted or line.startswith("(", match.end()):
            continue

        found = _stands_free(line, match.start(), match.end()) and _names_slot(line, match)
        names += not found and mark[0] == "[" and _is_separate(line, match) and _is_name(match[1])
        # Columns of a database are written in brackets as well, several at a time.
        if found or (names > 1 and _SQL.search(line) is None):
            # In a text about slots, or about a template language, they are meant literally.
            return _ABOUT_SLOTS.search(line) is None and _TEMPLATE_LANGUAGE.search(line) is None

    return False


def _begins_order(words: Sequence[str]) -> bool:
    """Return whether the last of `words` begins a statement, or continues one that forbids it."""
    before = words[-2].lower() if len(words) > 1 else ":"
    return before[-1] in ":.;" or before in ("to", "and", "not", "cannot", "then", "please")


def _is_separate(line: str, match: re.Match[str]) -> bool:
    before, after = line[match.start() - 1 : match.start()], line[match.end() : match.end() + 1]
    return (not before.strip() or before in "(*") and (not after.strip() or after in ".,;:!?)*")


def _is_name(name: str) -> bool:
    return is_known(name, strict=False) or name.strip().lower() in SUBJECTS


def _stands_free(line: str, start: int, end: int) -> bool:
    """Return whether a slot is a separate word after another one, not the tag of a subject."""
    before, after = line[max(start - _NEAR, 0) : start], line[end : end + 1]
    if after and not after.isspace() and after not in ".,;!?)":
        return False
    if before.endswith("("):
        return after == ")"
    if not before.strip() or not before[-1].isspace():
        return False

    last = before.split()[-1].rstrip("*_")
    if last[-1:] in (":", ".", "") or last in ("-", "•"):
        # Text after it makes it the tag of a subject.
        return _closes(line, end)

    return not last.startswith("-") and last[-1] not in "]}>)="


def _closes(line: str, end: int) -> bool:
    """Return whether only other slots follow a slot."""
    rest = line[end : end + _REST].strip(" .,;!)-–—*_")
    return not rest or is_slots(rest, ValueKind.TEXT)


def _names_slot(line: str, match: re.Match[str]) -> bool:
    """Return whether a slot in a line has the name of a slot.

    A name that is also a usual word for a number, a file or a tag needs more evidence.
    """
    name = next(group for group in match.groups() if group is not None).strip()
    words = line[max(match.start() - _NEAR, 0) : match.start()].split()
    last = words[-1].lower().strip(":*_") if words else ""
    following = [word.lower().strip(".,;") for word in line[match.end() :].split(None, 1)[:1]]
    lower = name.lower()
    is_name = lower in SUBJECTS or is_known(name, strict=True)
    is_object = (
        (last in ACTS or (last in ORDERS and _begins_order(words)))
        and following[:1] != [""]
        and (lower in SUBJECTS or is_known(name, strict=False))
        and not (following and following[0] in HOLDERS)
    )
    if match[1] is not None:
        # "The [server] section" names a thing of a file.
        if following and following[0] in HOLDERS and " " not in name:
            return False
        return (
            is_known(name, strict=True)
            or is_object
            or (
                (last in _PREPOSITIONS or words[-1].endswith(":"))
                and _closes(line, match.end())
                and is_known(name, strict=False)
            )
        )

    if match[4] is not None:
        if following and following[0] in _MARKUP:
            return False
        # Names with underscores are elements of prompts and configuration files.
        several = "_" not in name and len(_SEPARATE_WORDS.split(name)) > 1
        return (
            lower in _IN_ANGLES
            or (several and is_known(name, strict=True))
            or (is_object and is_name and lower not in MARKUP_NAMES)
        )

    # Two objects in braces are no text with variables: "Refactored {module} and updated {file}".
    in_route = lower in ROUTE_PARAMETERS - _FILE_NAMES
    return is_known(name, strict=True) or (
        is_object and not in_route and _BRACED.search(line, match.end()) is not None
    )
