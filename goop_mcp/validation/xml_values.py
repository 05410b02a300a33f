"""Single values of an XML envelope: legal values are accepted at once, others go through checks.

The first check that applies gives the only finding for the value: template text, an invisible
character, wrong case, an alias, an unknown value (D-22). Repairs are also made in the tree, so that
the tree can be written again.
"""

import re
from collections.abc import Mapping
from typing import Generic, TypeVar

from lxml import etree
from msgspec import field

from goop_mcp.structs import DataStruct
from goop_mcp.validation import xml_rules
from goop_mcp.validation.escaping import XML_BLANKS, visible, without_emphasis
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.rules import Problem, Rule
from goop_mcp.validation.template_phrases import Prose
from goop_mcp.validation.template_text import (
    MARKS,
    ValueKind,
    suspects,
    template_text,
    value_kind,
)

__all__ = [
    "Element",
    "Words",
    "XmlValueReader",
    "XmlValueRules",
    "clean_text",
    "name_in",
    "path_of",
    "set_value",
]

T = TypeVar("T")
Element = etree._Element

# Two expressions, because libxml2 sorts a union into document order, which takes longer than both.
_TEXTS = etree.XPath("descendant::text()[normalize-space()]", smart_strings=False)
_ATTRIBUTES = etree.XPath("descendant-or-self::*/@*", smart_strings=False)
# The line end comes first, so that the engine looks at each line and not at each blank.
_TRAILING_BLANK = re.compile(r"\n(?<=[ \t\r]\n)")


class Words(DataStruct, Generic[T], frozen=True):
    """The words allowed in one place, the meaning of each, and the rule for any other word.

    `aliases` are words that are read as another one, each with the rule that reports it.
    """

    meanings: Mapping[str, T]
    otherwise: Rule
    aliases: Mapping[str, tuple[T, Rule]] = field(default_factory=dict)


class XmlValueRules(DataStruct, frozen=True, kw_only=True):
    """The rules of one family about single values.

    `parts` has an example of each required part, `prose` is that of the family's templates, and the
    elements in `lists` contain items that are numbered in paths.
    """

    missing_field: Rule
    empty_field: Rule
    placeholder_left: Rule
    slot_in_text: Rule
    value_case: Rule
    parts: Mapping[str, str]
    prose: Prose
    lists: frozenset[str]


def clean_text(text: str | None) -> str:
    """Return `text` without outer blanks and without the indentation that its lines share.

    Return "" if none of it is visible. If the text begins on a new line, its first line keeps what
    it is indented beyond the others.
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

    # All margins begin with whatever the least and the greatest of them begin with in common.
    margins = [
        line[: len(line) - len(line.lstrip(XML_BLANKS))]
        for line in (lines if alone else lines[1:])
        if line
    ]
    least, most = min(margins, default=""), max(margins, default="")
    pairs = enumerate(zip(least, most, strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), len(least))
    if alone:
        return "\n".join([line[shared:] for line in lines])
    return "\n".join([lines[0], *(line[shared:] for line in lines[1:])])


class XmlValueReader:
    """Reads values out of a tree.

    `problems` collects the findings, `tangled` is set if the tree needs a repair first.

    A tree is tangled if an element that should contain only text has elements in it, or if a name
    has the wrong case or namespace: the parser read as markup what was meant as text, or the other
    way round.
    """

    clean = staticmethod(clean_text)

    def __init__(self, rules: XmlValueRules) -> None:
        """Begin without problems; `rules` are those of the family."""
        self.rules = rules
        self.problems: list[Problem] = []
        self.tangled = False

    def report(self, problem: Problem) -> None:
        """Record a problem."""
        self.problems.append(problem)

    def missing(self, path: str) -> None:
        """Report that the required element or attribute at `path` is absent."""
        parent, _, name = path.rpartition("/")
        what = f"attribute {name[1:]}" if name.startswith("@") else f"<{name}>"
        owner = parent.rpartition("/")[2].partition("[")[0]
        message = f"{what} is missing in <{owner}>; it is always required"
        self.report(
            self.rules.missing_field.problem(
                message, path=path, fix=f"Add {self.rules.parts[name]}."
            )
        )

    def empty(self, path: str) -> None:
        """Report that the required element or attribute at `path` is blank."""
        name = path.rpartition("/")[2]
        what = f"attribute {name[1:]}" if name.startswith("@") else f"<{name}>"
        message = f"{what} is blank; expected a value"
        self.report(self.rules.empty_field.problem(message, path=path, fix=f"Fill in {what}."))

    def attribute(self, element: Element, name: str) -> str | None:
        """Return an attribute without outer white space, None if it is absent.

        An attribute whose name has the wrong case counts as absent and sets `tangled`.
        """
        value = element.get(name)
        if value is not None:
            return value.strip(XML_BLANKS)
        # Not reported here: the repair renames it, reports that with its position, and the tree is
        # read again.
        # A name in another case has a capital, which one call over all names excludes.
        others = [*map(str, element.keys())]
        if others and not "".join(others).islower():
            self.tangled = self.tangled or name in map(str.lower, others)
        return None

    def text(self, element: Element | None) -> str | None:
        """Return the text of `element`, "" if it is blank, None if there is no element."""
        if element is None:
            return None
        # Markup in a text was meant as text: the repair escapes it, and the tree is read again.
        if len(element):
            self.tangled = True
        return self.clean(element.text)

    def required_text(self, element: Element | None, path: str) -> str | None:
        """Return the text of `element`, and report it if it is absent or blank."""
        if element is None:
            self.missing(path)
            return None

        text = self.text(element)
        if not text:
            self.empty(path)
        return text

    def required_word(self, element: Element | None, path: str, words: Words[T]) -> T | None:
        """Return the meaning of a required word, None if it cannot be read."""
        raw = self.required_text(element, path)
        if not raw or element is None:
            return None

        found = words.meanings.get(raw)
        return found if found is not None else self.odd(raw, path, words, element, None)

    def attribute_word(self, element: Element, name: str, path: str, words: Words[T]) -> T | None:
        """Return the meaning of the word in the attribute `name`, None if it cannot be read."""
        written = element.get(name)
        found = words.meanings.get(written) if written is not None else None
        if found is None:
            raw = self.attribute(element, name) or ""
            found = words.meanings.get(raw)

        return (
            found if found is not None else self.odd(raw, f"{path}/@{name}", words, element, name)
        )

    def odd(
        self, raw: str, path: str, words: Words[T], element: Element, attribute: str | None
    ) -> T | None:
        """Report what is wrong with a value that is not in `words`; return its meaning or None."""
        known = tuple(words.meanings)
        if _is_template_word(raw):
            self.placeholder(raw, path, known)
            return None

        # In this order: a zero-width space may hide in a word of wrong case or in an alias.
        seen = self.without_invisible(raw, path, element, attribute)
        if seen in words.meanings:
            return words.meanings[seen]

        bare = without_emphasis(seen).lower()
        folded = {word.lower(): word for word in known}.get(bare)
        if folded is not None:
            self.repair_case(seen, folded, path, element, attribute)
            return words.meanings[folded]
        if bare in words.aliases:
            value, rule = words.aliases[bare]
            new = str(value)
            message = f"{name_in(path)} is {seen!r}; expected {new!r}, which it is read as"
            self.report(
                rule.problem(message, path=path, found=seen, expected=known, before=seen, after=new)
            )
            set_value(element, attribute, new)
            return value

        what = (
            f"{name_in(path)} is {excerpt(raw, 60)!r}"
            if raw
            else f"{name_in(path)} is absent or blank"
        )
        message = f"{what}; expected {_one_of(known)}"
        self.report(
            words.otherwise.problem(message, path=path, found=excerpt(raw) or None, expected=known)
        )

        return None

    def placeholder(self, raw: str, path: str, words: tuple[str, ...] | None) -> None:
        """Report that template text was left in."""
        expected = _one_of(words) if words else "the real value"
        message = (
            f"template text left in: {name_in(path)} is {excerpt(raw, 60)!r}; expected {expected}"
        )
        self.report(
            self.rules.placeholder_left.problem(
                message, path=path, found=excerpt(raw), expected=words
            )
        )

    def template_texts(self, root: Element) -> None:
        """Report the template text in all texts and attributes of `root`, schema or not."""
        values = [*map(str.strip, _TEXTS(root)), *map(str.strip, _ATTRIBUTES(root))]
        suspected = suspects(values, self.rules.prose)
        if not suspected:
            return

        for element in root.iter(etree.Element):
            text = element.text
            if text and text.strip() in suspected:
                kind = value_kind(str(element.tag), has_attributes=bool(element.attrib))
                self._template_text(text, element, "text()" if len(element) else "", kind)

            for name, value in element.attrib.items():
                text = str(value).strip()
                # A single word of a template's prose is a name in an attribute: `to="description"`.
                if text in suspected and not (text.isalpha() and text in self.rules.prose.phrases):
                    self._template_text(text, element, f"@{name}", value_kind(str(name)))

            tail = element.tail
            if (
                tail
                and tail.strip() in suspected
                and element is not root
                and (parent := element.getparent()) is not None
            ):
                self._template_text(tail, parent, "text()", ValueKind.TEXT)

    def _template_text(self, value: str, element: Element, step: str, kind: ValueKind) -> None:
        weight = template_text(value, kind, self.rules.prose)
        if weight is None:
            return

        path = path_of(element, self.rules.lists)
        path = f"{path}/{step}" if step else path
        if any(
            each.hit.path == path and each.rule.lenient is Severity.ERROR for each in self.problems
        ):
            return

        rule = self.rules.placeholder_left if weight is Severity.ERROR else self.rules.slot_in_text
        what = "is" if weight is Severity.ERROR else "holds a slot:"
        message = (
            f"template text left in: {name_in(path)} {what} {excerpt(value, 60)!r}; expected the"
            " real value"
        )
        self.report(rule.problem(message, path=path, found=excerpt(value.strip())))

    def without_invisible(
        self, raw: str, path: str, element: Element, attribute: str | None
    ) -> str:
        """Return `raw` without invisible characters, reporting them."""
        seen = raw if raw.isascii() else visible(raw)
        if seen == raw or not seen:
            return raw

        message = f"invisible character in {excerpt(raw, 60)!r}; expected {seen!r}"
        shown = excerpt(raw)
        self.report(
            xml_rules.CONTROL_CHARACTER.problem(
                message, path=path, found=shown, before=shown, after=seen
            )
        )
        set_value(element, attribute, seen)

        return seen

    def repair_case(
        self, raw: str, proper: str, path: str, element: Element, attribute: str | None
    ) -> None:
        """Correct the case of a word and report it."""
        message = f"{name_in(path)} is {excerpt(raw, 60)!r}; expected {proper!r}"
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
        set_value(element, attribute, proper)

    def listed_name(
        self,
        raw: str,
        path: str,
        element: Element,
        attribute: str | None,
        known: frozenset[str] = frozenset(),
    ) -> str | None:
        """Return a name of an open list, with the case of those in `known`.

        Return None if the name is template text.
        """
        if raw in known:
            return raw
        if _is_template_word(raw):
            self.placeholder(raw, path, None)
            return None

        seen = self.without_invisible(raw, path, element, attribute)
        lower = seen.lower()
        if seen != lower and lower in known:
            self.repair_case(seen, lower, path, element, attribute)
            return lower

        return seen


def _is_template_word(raw: str) -> bool:
    # A plain word is reported as unknown instead: it may be in another list, as `todo` is.
    plain = raw.isalpha() and raw.islower()
    return MARKS.search(raw) is not None or (not plain and template_text(raw) is Severity.ERROR)


def path_of(element: Element, lists: frozenset[str] = frozenset()) -> str:
    """Return the path of `element`; items of `lists`, and elements that repeat, have numbers."""
    steps: list[str] = []
    each: Element | None = element
    while each is not None:
        parent = each.getparent()
        name = etree.QName(each).localname
        # Counted only for a finding: the paths of all elements together would be quadratic.
        number = 1 + len(list(each.itersiblings(str(each.tag), preceding=True)))
        listed = parent is not None and etree.QName(parent).localname in lists
        steps.append(f"{name}[{number}]" if listed or number > 1 else name)
        each = parent

    return "/" + "/".join(reversed(steps))


def name_in(path: str) -> str:
    """Return the name of the element or attribute at `path`."""
    return path.rpartition("/")[2].lstrip("@").partition("[")[0]


def set_value(element: Element, attribute: str | None, value: str) -> None:
    """Set the text of `element`, or its `attribute`."""
    if attribute is None:
        element.text = value
    else:
        element.set(attribute, value)


def _one_of(words: tuple[str, ...]) -> str:
    # Two words
    return " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"  # noqa: PLR2004
