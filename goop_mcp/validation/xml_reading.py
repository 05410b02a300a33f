"""Read one XML envelope: unchanged if possible, repaired if necessary, partially if cut off."""

from collections.abc import Callable
from typing import Generic, TypeVar

from lxml import etree
from msgspec import Struct, field

from goop_mcp.validation.envelope_rules import CONFLICTING_DUPLICATE, ROOT_NOT_CLOSED, TRUNCATED
from goop_mcp.validation.extraction import Block
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.hosts import after_envelope
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.markup import Grammar
from goop_mcp.validation.rules import Problem
from goop_mcp.validation.safe_xml import XmlEnvelope
from goop_mcp.validation.xml_values import path_of

__all__ = ["ParsedTree", "ParsedXml", "read_xml"]

M = TypeVar("M")

_SHOWN = 60
_SEVERAL_ATTRIBUTES = etree.XPath("descendant-or-self::*[@*[2]]")
"""The elements in which one attribute can contradict another."""


class ParsedTree(Struct, Generic[M]):
    """What a family's reader made of a tree.

    `tangled`: the tree needs a repair before it can be read. `whole`: every required part is
    present.
    """

    model: M
    problems: list[Problem]
    tangled: bool
    whole: bool


class ParsedXml(Struct, Generic[M]):
    """A model or None, all problems found, and the envelope that their positions refer to.

    `partial` marks a model of an envelope that was cut off.
    """

    envelope: XmlEnvelope
    model: M | None = None
    problems: list[Problem] = field(default_factory=list)
    partial: bool = False

    @property
    def repaired(self) -> str | None:
        """The envelope as XML after all repairs, None if it had none or could not be read."""
        has_repairs = any(problem.hit.before is not None for problem in self.problems)
        if not has_repairs or self.partial or self.envelope.root is None:
            return None
        return etree.tostring(self.envelope.root, encoding="unicode")


def read_xml(
    block: Block,
    text: str,
    grammar: Grammar,
    limits: Limits,
    read_tree: "Callable[[etree._Element], ParsedTree[M]]",
) -> ParsedXml[M]:
    """Read the envelope of `block` in `text` with the family's `read_tree`."""
    envelope = XmlEnvelope(text[block.start : block.end], grammar, limits)
    parsed: ParsedXml[M] = ParsedXml(envelope)
    opened = envelope.open(text[: block.start])
    if envelope.refused:
        parsed.problems = envelope.problems
        return parsed
    if not block.complete:
        return _read_cut_off(parsed, block, text, read_tree)
    if opened and envelope.root is not None:
        tree = read_tree(envelope.root)
        if not tree.tangled:
            parsed.model, parsed.problems = tree.model, [*tree.problems, *_conflicts(envelope)]
            return parsed

    envelope.repair()
    parsed.problems = envelope.problems
    if envelope.root is not None:
        tree = read_tree(envelope.root)
        parsed.model = tree.model
        parsed.problems = [*envelope.problems, *tree.problems, *_conflicts(envelope)]

    return parsed


def _conflicts(envelope: XmlEnvelope) -> list[Problem]:
    """Return the attributes that contradict another one, or the element of their name (D-93)."""
    root = envelope.root
    if root is None:
        return []

    problems = _against_elements(root) if len(root.attrib) > 1 else []
    # XPath finds the few elements that can have a conflict several times faster than a loop, and
    # than a pattern finds a capital before an equals sign in the source.
    for element in _SEVERAL_ATTRIBUTES(root):
        # Two names can only differ by case if one of them has a capital.
        if "".join(map(str, element.keys())).islower():
            continue

        first: dict[str, str] = {}
        for key, value in element.attrib.items():
            name = str(key)
            other = first.setdefault(name.lower(), name)
            if other == name or _folded(element.attrib[other]) == _folded(value):
                continue

            message = (
                f"attributes {other} and {name} of <{etree.QName(element).localname}> have"
                " different values; expected one attribute"
            )
            path = f"{path_of(element)}/@{name.lower()}"
            problems.append(CONFLICTING_DUPLICATE.problem(message, path=path))

    return problems


def _against_elements(root: "etree._Element") -> list[Problem]:
    """Return the attributes of `root` that contradict the first element of their name."""
    attributes = [(str(name), str(name).lower(), value) for name, value in root.attrib.items()]
    wanted = [f"{{*}}{plain}" for _, plain, _ in attributes if plain.isidentifier()]
    first: dict[str, etree._Element] = {}
    # One walk for all names, in C: it yields only the elements that have one of them.
    for element in root.iter(*wanted) if wanted else ():
        first.setdefault(etree.QName(element).localname, element)

    problems = []
    for name, plain, value in attributes if first else ():
        found = first.get(plain)
        text = found.text if found is not None and len(found) == 0 else None
        if text is not None and text.strip() and _folded(text) != _folded(str(value)):
            message = (
                f"attribute {name} of <{etree.QName(root).localname}> is"
                f" {excerpt(str(value), _SHOWN)!r}, but <{plain}> is {excerpt(text, _SHOWN)!r};"
                " expected one of them"
            )
            path = f"/{etree.QName(root).localname}/@{plain}"
            problems.append(
                CONFLICTING_DUPLICATE.problem(message, path=path, found=excerpt(str(value)))
            )

    return problems


def _folded(text: str | bytes) -> str:
    return " ".join(str(text).split()).casefold()


def _read_cut_off(
    parsed: ParsedXml[M],
    block: Block,
    text: str,
    read_tree: "Callable[[etree._Element], ParsedTree[M]]",
) -> ParsedXml[M]:
    """Close the root if only its end tag is missing; otherwise read what is there (D-16).

    Only the end tag is missing if every required part is present and no text precedes the end,
    which could be the beginning of another part. What is read otherwise is marked as partial.
    """
    envelope = parsed.envelope
    scan = envelope.scan
    only_root = (
        scan.tail is None and len(scan.unclosed) == 1 and after_envelope(text, block.end) is None
    )
    tree_is_whole = False
    if envelope.close_and_parse(drop_tail=True) and envelope.root is not None:
        tree = read_tree(envelope.root)
        parsed.model, tree_is_whole = tree.model, tree.whole
        text_between = any(child.tail and child.tail.strip() for child in envelope.root)
        if only_root and tree.whole and not text_between:
            end_tag = f"</{envelope.grammar.root}>"
            source = envelope.source.rstrip()
            last_line = source[-40:].rpartition("\n")[2]
            problem = ROOT_NOT_CLOSED.problem(
                f"{end_tag} is missing; everything else is there",
                path=f"/{envelope.grammar.root}",
                offset=max(len(source) - 1, 0),
                before=last_line,
                after=f"{last_line}\n{end_tag}",
                fix=f"End the envelope with {end_tag}.",
            )
            parsed.problems = [*envelope.changes(), *tree.problems, problem]
            return parsed

    parsed.partial = True
    not_closed = (
        scan.tail is None and len(scan.unclosed) == 1 and parsed.model is not None and tree_is_whole
    )
    parsed.problems = [_truncated(envelope, block, text, not_closed=not_closed)]

    return parsed


def _truncated(envelope: XmlEnvelope, block: Block, text: str, *, not_closed: bool) -> Problem:
    """Return where the envelope stops.

    `not_closed`: all of it is there, and only the root's end tag was not found.
    """
    end_tag = f"</{envelope.grammar.root}>"
    unclosed = envelope.scan.unclosed
    last = max(len(envelope.source.rstrip()) - 1, 0)
    if not_closed:
        message = (
            f"{end_tag} is missing after the last part of the envelope; expected it before any"
            " other text"
        )
        fix = f"Send the whole envelope again and end it with {end_tag}."
        return TRUNCATED.problem(message, path=f"/{envelope.grammar.root}", offset=last, fix=fix)

    line = text.count("\n", 0, block.start + last) + 1
    where = unclosed[-1] if unclosed else envelope.grammar.root
    message = (
        f"the envelope is cut off at line {line}, inside <{where}>; expected {end_tag} at its end"
    )

    return TRUNCATED.problem(
        message, path=f"/{'/'.join(unclosed)}" if unclosed else None, offset=last
    )
