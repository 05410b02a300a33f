"""Single values of an XML envelope: legal ones are taken at once, each other one goes through a short ladder.

The first rung that fits is the only finding for the value: template text, an invisible character, wrong case, wrong
meaning (D-22). What is mended is also set in the tree, so that the tree can be written again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from lxml import etree

from goop_mcp.validation import xml_rules
from goop_mcp.validation.escaping import XML_BLANKS, visible
from goop_mcp.validation.findings import Problem, excerpt
from goop_mcp.validation.rules import Rule

__all__ = ["Element", "ValueRules", "Words", "XmlValueReader", "clean_text"]

T = TypeVar("T")
Element = etree._Element

_TRAILING_BLANK = re.compile(r"[ \t\r]\n")
_PLACEHOLDER = re.compile(r"[|\[\]<>{}]")


@dataclass(frozen=True, slots=True)
class Words(Generic[T]):
    """The words that may stand in one place, what each means, and the rule for any other word."""

    meanings: Mapping[str, T]
    otherwise: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRules:
    """The rules of one family about single values. `parts` says what to write for each part that is required."""

    missing_field: Rule
    empty_field: Rule
    placeholder_left: Rule
    value_case: Rule
    parts: Mapping[str, str]


def clean_text(text: str | None) -> str:
    """Return `text` without outer blanks and the indentation its lines share; "" when nothing of it can be seen.

    Text that begins on a line of its own keeps what its first line is indented beyond the others.
    """
    if not text:
        return ""
    bare = text.strip(XML_BLANKS)
    if not bare.isascii() and not visible(bare):
        return ""
    if "\n" not in bare:
        return bare
    before = text[: len(text) - len(text.lstrip(XML_BLANKS))]
    alone = "\n" in before
    if alone and not _TRAILING_BLANK.search(bare):
        # The usual case at once: no line is indented less than the first.
        margin = before.rpartition("\n")[2]
        if bare.count(f"\n{margin}") + (bare.count("\n\n") if margin else 0) == bare.count("\n"):
            return bare.replace(f"\n{margin}", "\n")
    lines = [line.rstrip(XML_BLANKS) for line in bare.split("\n")]
    if alone:
        lines[0] = before.rpartition("\n")[2] + lines[0]
    least = _shared_margin(lines if alone else lines[1:])
    if alone:
        return "\n".join([line[least:] for line in lines])
    return "\n".join([lines[0], *(line[least:] for line in lines[1:])])


def _shared_margin(lines: list[str]) -> int:
    """Return how many blanks all `lines` begin with in common; empty lines do not count."""
    margins = [line[: len(line) - len(line.lstrip(XML_BLANKS))] for line in lines if line]
    least, most = min(margins, default=""), max(margins, default="")
    return next((at for at, (one, other) in enumerate(zip(least, most, strict=False)) if one != other), len(least))


class XmlValueReader:
    """Reads values out of a tree. `problems` collects what was seen, `tangled` whether the tree has to be mended first.

    A tree is tangled when an element that holds text only has elements in it, or when a name is right but for its
    case or namespace: the parser took for markup what was meant as text, or the other way round.
    """

    def __init__(self, rules: ValueRules) -> None:
        """Begin without problems; `rules` are those of the family."""
        self.rules = rules
        self.problems: list[Problem] = []
        self.tangled = False

    def report(self, problem: Problem) -> None:
        """Note a problem."""
        self.problems.append(problem)

    def missing(self, path: str) -> None:
        """Note that the required element or attribute at `path` is absent."""
        parent, _, name = path.rpartition("/")
        what = f"attribute {name[1:]}" if name.startswith("@") else f"<{name}>"
        owner = parent.rpartition("/")[2].partition("[")[0]
        message = f"{what} is missing in <{owner}>; it is always required"
        self.report(self.rules.missing_field.problem(message, path=path, fix=f"Add {self.rules.parts[name]}."))

    def empty(self, path: str) -> None:
        """Note that the required element or attribute at `path` is blank."""
        name = path.rpartition("/")[2]
        what = f"attribute {name[1:]}" if name.startswith("@") else f"<{name}>"
        message = f"{what} is blank; expected a value"
        self.report(self.rules.empty_field.problem(message, path=path, fix=f"Fill in {what}."))

    def text(self, element: Element | None) -> str | None:
        """Return the text of `element`, "" when it is blank, None when there is no element."""
        if element is None:
            return None
        if len(element):
            self.tangled = True
        return clean_text(element.text)

    def required_text(self, element: Element | None, path: str) -> str | None:
        """Return the text of `element`, noting when it is absent or blank."""
        if element is None:
            self.missing(path)
            return None
        text = self.text(element)
        if not text:
            self.empty(path)
        return text

    def required_word(self, element: Element | None, path: str, words: Words[T]) -> T | None:
        """Return what a required word means; None when it cannot be read."""
        raw = self.required_text(element, path)
        if not raw or element is None:
            return None
        found = words.meanings.get(raw)
        return found if found is not None else self.odd(raw, path, words, element, None)

    def attribute_word(self, element: Element, name: str, path: str, words: Words[T]) -> T | None:
        """Return what the word in the attribute `name`, which is there, means; None when it cannot be read."""
        raw = (element.get(name) or "").strip(XML_BLANKS)
        found = words.meanings.get(raw)
        return found if found is not None else self.odd(raw, f"{path}/@{name}", words, element, name)

    def odd(self, raw: str, path: str, words: Words[T], element: Element, attribute: str | None) -> T | None:
        """Find out what is wrong with a value that is none of `words`; return what it is read as, if it is."""
        known = tuple(words.meanings)
        if _PLACEHOLDER.search(raw):
            self.placeholder(raw, path, known)
            return None
        seen = self.without_invisible(raw, path, element, attribute)
        if seen in words.meanings:
            return words.meanings[seen]
        folded = {word.lower(): word for word in known}.get(seen.lower())
        if folded is not None:
            self.mend_case(seen, folded, path, element, attribute)
            return words.meanings[folded]
        what = f"{_name_of(path)} is {excerpt(raw, 60)!r}" if raw else f"{_name_of(path)} is blank"
        message = f"{what}; expected one of {', '.join(known)}"
        self.report(words.otherwise.problem(message, path=path, found=excerpt(raw) or None, expected=known))
        return None

    def placeholder(self, raw: str, path: str, words: tuple[str, ...] | None) -> None:
        """Note that template text was left in."""
        expected = f"one of {', '.join(words)}" if words else "the real value"
        message = f"template text left in: {_name_of(path)} is {excerpt(raw, 60)!r}; expected {expected}"
        self.report(self.rules.placeholder_left.problem(message, path=path, found=excerpt(raw), expected=words))

    def without_invisible(self, raw: str, path: str, element: Element, attribute: str | None) -> str:
        """Return `raw` without invisible characters, reporting them."""
        seen = raw if raw.isascii() else visible(raw)
        if seen == raw or not seen:
            return raw
        message = f"invisible character in {excerpt(raw, 60)!r}; expected {seen!r}"
        shown = excerpt(raw)
        self.report(xml_rules.CONTROL_CHARACTER.problem(message, path=path, found=shown, before=shown, after=seen))
        _set(element, attribute, seen)
        return seen

    def mend_case(self, raw: str, proper: str, path: str, element: Element, attribute: str | None) -> None:
        """Set a word in its proper case and note it."""
        message = f"{_name_of(path)} is {excerpt(raw, 60)!r}; expected {proper!r}"
        shown = excerpt(raw)
        self.report(
            self.rules.value_case.problem(
                message,
                path=path,
                found=shown,
                expected=(proper,),
                fix=f"Write {proper}.",
                before=shown,
                after=proper,
            )
        )
        _set(element, attribute, proper)

    def name(self, raw: str, path: str, element: Element, attribute: str) -> str | None:
        """Return a name of an open list that stands in an attribute; None when template text was left in."""
        if _PLACEHOLDER.search(raw):
            self.placeholder(raw, path, None)
            return None
        return raw if raw.isascii() else self.without_invisible(raw, path, element, attribute)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2].lstrip("@").partition("[")[0]


def _set(element: Element, attribute: str | None, value: str) -> None:
    if attribute is None:
        element.text = value
    else:
        element.set(attribute, value)
