"""Single values of an envelope: legal ones are taken at once, each other one goes through a short ladder.

The first rung that fits is the only finding for the value: template text, an invisible character, wrong case, an alias,
wrong meaning (D-22). What is mended is also set in the tree, so that the tree can be written again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lxml import etree

from goop_mcp.protocols.goop_report.model import Counter
from goop_mcp.protocols.goop_report.rules import structure, values
from goop_mcp.validation import xml_rules
from goop_mcp.validation.escaping import XML_BLANKS, visible
from goop_mcp.validation.findings import Problem, excerpt
from goop_mcp.validation.rules import Rule

__all__ = ["BOOLEAN", "Element", "ValueReader", "Vocabulary", "clean"]

T = TypeVar("T")
Element = etree._Element

_COUNTER_PLACEHOLDERS = frozenset("NMXY")
_PLACEHOLDER = re.compile(r"[|\[\]<>{}]")
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Vocabulary(Generic[T]):
    """The words that may stand in one place, what each means, and the rule for any other word.

    `aliases` are words that are read as another one; the rule says so.
    """

    words: Mapping[str, T]
    otherwise: Rule
    aliases: Mapping[str, tuple[T, Rule]] = field(default_factory=dict)


BOOLEAN = Vocabulary({"true": True, "false": False}, values.NOT_A_BOOLEAN)


def clean(text: str | None) -> str:
    """Return `text` without outer blanks and the indentation its lines share; "" when nothing of it can be seen."""
    if not text:
        return ""
    text = text.strip(XML_BLANKS)
    if not text.isascii() and not visible(text):
        return ""
    if "\n" not in text:
        return text
    first, *rest = text.split("\n")
    indentation = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.rstrip(), *(line[indentation:].rstrip() for line in rest)])


class ValueReader:
    """Reads values out of a tree. `problems` collects what was seen, `tangled` whether the tree has to be mended first.

    A tree is tangled when an element that holds text only has elements in it, or when a name is right but for its
    case or namespace: the parser took for markup what was meant as text, or the other way round.
    """

    def __init__(self) -> None:
        """Begin without problems."""
        self.problems: list[Problem] = []
        self.tangled = False

    def report(self, problem: Problem) -> None:
        """Note a problem."""
        self.problems.append(problem)

    def missing(self, path: str) -> None:
        """Note that the required element or attribute at `path` is absent."""
        parent, _, name = path.rpartition("/")
        what = f"attribute {name[1:]}" if name.startswith("@") else f"<{name}>"
        owner = parent.rpartition("/")[2]
        self.report(
            structure.MISSING_FIELD.problem(
                f"{what} is missing in <{owner}>; it is always required",
                path=path,
                fix=f"Add {structure.MISSING_PARTS[name]}.",
            )
        )

    def empty(self, path: str) -> None:
        """Note that the required element or attribute at `path` is blank."""
        name = path.rpartition("/")[2]
        what = f"attribute {name[1:]}" if name.startswith("@") else f"<{name}>"
        self.report(
            structure.EMPTY_FIELD.problem(f"{what} is blank; expected a value", path=path, fix=f"Fill in {what}.")
        )

    def attribute(self, element: Element, name: str) -> str | None:
        """Return an attribute without outer white space; None when it is absent, also when only its case is wrong."""
        value = element.get(name)
        if value is not None:
            return value.strip(XML_BLANKS)
        if any(str(other).lower() == name for other in element.attrib):
            self.tangled = True
        return None

    def text(self, element: Element | None) -> str | None:
        """Return the text of `element`, "" when it is blank, None when there is no element."""
        if element is None:
            return None
        if len(element):
            self.tangled = True
        return clean(element.text)

    def required_text(self, element: Element | None, path: str) -> str | None:
        """Return the text of `element`, noting when it is absent or blank."""
        if element is None:
            self.missing(path)
            return None
        text = self.text(element)
        if not text:
            self.empty(path)
        return text

    def required_word(self, element: Element | None, path: str, vocabulary: Vocabulary[T]) -> T | None:
        """Return what a required word of `vocabulary` means; None when it cannot be read."""
        raw = self.required_text(element, path)
        if not raw or element is None:
            return None
        found = vocabulary.words.get(raw)
        return found if found is not None else self.odd(raw, path, vocabulary, element, None)

    def boolean(self, element: Element | None, path: str) -> bool | None:
        """Return true or false; None when absent or not readable."""
        if element is None:
            return None
        raw = self.text(element) or ""
        found = BOOLEAN.words.get(raw)
        return found if found is not None else self.odd(raw, path, BOOLEAN, element, None)

    def attribute_word(self, element: Element, name: str, path: str, vocabulary: Vocabulary[T]) -> T | None:
        """Return what the word in an attribute means; None when it cannot be read."""
        raw = element.get(name)
        found = vocabulary.words.get(raw) if raw is not None else None
        if found is not None:
            return found
        return self.odd(self.attribute(element, name) or "", f"{path}/@{name}", vocabulary, element, name)

    def odd(self, raw: str, path: str, vocabulary: Vocabulary[T], element: Element, attribute: str | None) -> T | None:
        """Find out what is wrong with a value that is no word of `vocabulary`; return what it is read as, if it is."""
        words = tuple(vocabulary.words)
        if raw in vocabulary.words:  # blanks around it were all
            return vocabulary.words[raw]
        if _PLACEHOLDER.search(raw):
            self.placeholder(raw, path, words)
            return None
        seen = self.without_invisible(raw, path, element, attribute)
        if seen in vocabulary.words:
            return vocabulary.words[seen]
        folded = {word.lower(): word for word in words}.get(seen.lower())
        if folded is not None:
            self.mend_case(seen, folded, path, element, attribute)
            return vocabulary.words[folded]
        name = path.rpartition("/")[2].lstrip("@").partition("[")[0]
        if seen.lower() in vocabulary.aliases:
            value, rule = vocabulary.aliases[seen.lower()]
            new = str(value)
            message = f"{name} is {seen!r}; expected {new!r}, which it is read as"
            self.report(rule.problem(message, path=path, found=seen, expected=words, before=seen, after=new))
            _set(element, attribute, new)
            return value
        what = f"{name} is {excerpt(raw, 60)!r}" if raw else f"{name} is absent or blank"
        message = f"{what}; expected {_one_of(words)}"
        self.report(vocabulary.otherwise.problem(message, path=path, found=excerpt(raw) or None, expected=words))
        return None

    def placeholder(self, raw: str, path: str, words: tuple[str, ...] | None) -> None:
        """Note that template text was left in."""
        name = path.rpartition("/")[2].lstrip("@").partition("[")[0]
        expected = _one_of(words) if words else "the real value"
        self.report(
            values.PLACEHOLDER_LEFT.problem(
                f"template text left in: {name} is {excerpt(raw, 60)!r}; expected {expected}",
                path=path,
                found=excerpt(raw),
                expected=words,
            )
        )

    def without_invisible(self, raw: str, path: str, element: Element, attribute: str | None) -> str:
        """Return `raw` without invisible characters, reporting them."""
        seen = raw if raw.isascii() else visible(raw)
        if seen == raw or not seen:
            return raw
        message = f"invisible character in {excerpt(raw, 60)!r}; expected {seen!r}"
        problem = xml_rules.CONTROL_CHARACTER.problem(
            message, path=path, found=excerpt(raw), before=excerpt(raw), after=seen
        )
        self.report(problem)
        _set(element, attribute, seen)
        return seen

    def mend_case(self, raw: str, proper: str, path: str, element: Element, attribute: str | None) -> None:
        """Set a word in its proper case and note it."""
        name = path.rpartition("/")[2].lstrip("@").partition("[")[0]
        self.report(
            values.VALUE_CASE.problem(
                f"{name} is {excerpt(raw, 60)!r}; expected {proper!r}",
                path=path,
                found=excerpt(raw),
                expected=(proper,),
                fix=f"Write {proper}.",
                before=excerpt(raw),
                after=proper,
            )
        )
        _set(element, attribute, proper)

    def required_name(self, element: Element | None, path: str, known: frozenset[str]) -> str | None:
        """Return a required name of an open list, as `name` does; None when it is absent, blank or template text."""
        raw = self.required_text(element, path)
        if not raw or element is None or raw in known:
            return raw or None
        return self.word_of_names(raw, path, known, element, None)

    def name(self, element: Element | None, path: str, *, known: frozenset[str] = frozenset()) -> str | None:
        """Return a name of an open list; the case of those in `known` is mended."""
        raw = self.text(element)
        if not raw or element is None or raw in known:
            return raw
        return self.word_of_names(raw, path, known, element, None)

    def word_of_names(
        self, raw: str, path: str, known: frozenset[str], element: Element, attribute: str | None
    ) -> str | None:
        """Return a name from an open list: template text is reported, the case of a known name is mended."""
        if raw in known:
            return raw
        if _PLACEHOLDER.search(raw):
            self.placeholder(raw, path, None)
            return None
        seen = self.without_invisible(raw, path, element, attribute)
        lower = seen.lower()
        if seen != lower and lower in known:
            self.mend_case(seen, lower, path, element, attribute)
            return lower
        return seen

    def counter(self, element: Element | None, path: str) -> Counter | None:
        """Return current and total of a counter element; None when there is no element."""
        if element is None:
            return None
        return Counter(current=self.number(element, "current", path), total=self.number(element, "total", path))

    def number(self, element: Element, name: str, path: str) -> int | None:
        """Return the whole number in an attribute; None when it is none."""
        raw = self.attribute(element, name) or ""
        if _is_number(raw):
            return int(raw)
        where = f"{path}/@{name}"
        if raw in _COUNTER_PLACEHOLDERS or _PLACEHOLDER.search(raw):
            self.placeholder(raw, where, None)
            return None
        seen = self.without_invisible(raw, where, element, name)
        if seen != raw and _is_number(seen):
            return int(seen)
        tag = path.rpartition("/")[2]
        what = f"{name} of <{tag}> is {excerpt(raw, 40)!r}" if raw else f"<{tag}> has no {name}"
        self.report(
            values.NOT_AN_INTEGER.problem(
                f"{what}; expected a whole number from 0", path=where, found=excerpt(raw) or None
            )
        )
        return None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS


def _set(element: Element, attribute: str | None, value: str) -> None:
    if attribute is None:
        element.text = value
    else:
        element.set(attribute, value)


def _one_of(words: tuple[str, ...]) -> str:
    return " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"  # noqa: PLR2004 - two words
