"""Open an XML envelope safely: check limits, then parse strictly, without DTD and entities.

The caller's bytes never reach the parser. The envelope is cut out of a `str` at its root's `<` and
encoded here, so that no DOCTYPE, no foreign encoding and no entity declaration can occur (D-73).
"""

import re
from itertools import islice
from typing import Protocol, cast, overload

from lxml import etree
from msgspec import Struct, field

from goop_mcp.validation import xml_rules
from goop_mcp.validation.edits import apply_edits, edit_problems
from goop_mcp.validation.envelope_rules import TOO_DEEP, TOO_LARGE
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.limits import Limits, utf8_length
from goop_mcp.validation.markup import Grammar, TagPosition, XmlScan
from goop_mcp.validation.rules import Problem

__all__ = ["XmlEnvelope", "strict_parser"]

_DECLARATION_OR_HIDDEN = re.compile(r"<!(?:(DOCTYPE|ENTITY)\b|--|\[CDATA\[)", re.IGNORECASE)
_DOCTYPE_BEFORE = re.compile(
    r"<!(?:DOCTYPE|ENTITY)\b[^<>\[\]]*+(?:\[(?>(?:[^\]\"']|\"[^\"]*+\"|'[^']*+')*)\][^<>]*+)?>"
    r"(?>(?:\s|<!--(?>.*?-->)|<\?(?>.*?\?>))*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"(?<![\w:.\-])([\w:.\-]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|[“”‘’\"']?+([^\s<>]*+))"
)
_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
_DOCTYPE_WINDOW = 512 * 1024
_DECLARATIONS = 4
_TAG = re.compile(r"<(/?)[A-Za-z_][^<>]*+>")
_FEW_TAGS = 128
# A step of a path: a name, and the number of one of several elements, from 1.
_STEP = re.compile(r"([^\[\]{}]+)(?:\[([1-9][0-9]{0,8})\])?")
_START_TAG = re.compile(r"<(?>(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*)>")
_BEFORE_TEXT = re.compile(r"(?>(?:\s|<!\[CDATA\[|<!--(?>.*?-->))*)", re.DOTALL)


def _parse(text: str) -> "etree._Element":
    """Parse `text`, which must begin with the root's start tag.

    Raise XMLSyntaxError or UnicodeEncodeError if it is not well-formed.
    """
    return etree.fromstring(text.encode(), strict_parser())


class EventParser(Protocol):
    """A parser that takes a document in pieces and reports to its target."""

    def feed(self, data: bytes, /) -> object:
        """Parse the next piece."""

    def close(self) -> object:
        """End the document."""


@overload
def strict_parser() -> "etree.XMLParser": ...


@overload
def strict_parser(target: "etree.ParserTarget[None]") -> EventParser: ...


def strict_parser(
    target: "etree.ParserTarget[None] | None" = None,
) -> "etree.XMLParser | EventParser":
    """Return a parser that loads, expands and recovers nothing; it reports to `target`, if given.

    No other function of the package builds one.
    """
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        # Comments and instructions split the text of an element into pieces, of which readers see
        # the first.
        remove_comments=True,
        remove_pis=True,
        recover=False,
        # The type stubs have no target that may be None.
        target=cast("etree.ParserTarget[None]", target),
    )


class XmlEnvelope(Struct):
    """One envelope cut out of a reply; `source` begins with the root's `<`.

    `open` parses it; the tree is then in `root`. If the tree contains what the protocol does not
    allow there, the caller asks `repair` for another reading. `problems` collects the findings of
    both; their offsets count from the start of `source`.
    """

    source: str
    grammar: Grammar
    limits: Limits
    root: "etree._Element | None" = None
    problems: list[Problem] = field(default_factory=list)
    _scan: XmlScan | None = None

    def open(self, before: str) -> bool:
        """Parse the envelope unchanged; return False if it is refused or needs a repair first.

        `before` is the text before the envelope, in which a DOCTYPE may precede the root.
        """
        if self._over_limits() or self._declares(before):
            return False

        try:
            self.root = _parse(self.source)
        except (etree.XMLSyntaxError, UnicodeEncodeError):
            return False

        return not self._over_limits_when_parsed()

    @property
    def refused(self) -> bool:
        """Whether nothing more can be read of this envelope."""
        return self.root is None and bool(self.problems)

    def repair(self) -> None:
        """Escape and correct the form, listing each change, and parse again."""
        self.root = None
        scan = self.scan
        self.problems.extend(self.changes())
        if (failure := scan.failure) is not None:
            self.problems.append(
                failure.rule.problem(
                    failure.message, path=failure.path, offset=failure.offset, fix=failure.fix
                )
            )
            return

        text = apply_edits(self.source, scan.edits)
        try:
            self.root = _parse(text)
        except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
            # No edit adds or removes a line break, so lines have the same numbers in both texts.
            line = min(getattr(error, "lineno", None) or 1, text.count("\n") + 1)
            message = "the envelope is not well-formed on this line; expected matching tags"
            self.problems.append(
                xml_rules.MALFORMED.problem(message, offset=_start_of_line(self.source, line - 1))
            )
            return

        self._over_limits_when_parsed()

    def close_and_parse(self, *, drop_tail: bool) -> bool:
        """Parse a cut-off envelope after closing what is open; return False if that does not help.

        With `drop_tail`, a tag in whose middle the text ends is removed first.
        """
        scan = self.scan
        if scan.failure is not None:
            return False

        text = apply_edits(self.source, scan.edits)
        if drop_tail and scan.tail is not None:
            text = text[: len(text) - (len(self.source) - scan.tail)]

        text = text.rstrip() + "".join(f"</{name}>" for name in reversed(scan.unclosed))
        try:
            self.root = _parse(text)
        except (etree.XMLSyntaxError, UnicodeEncodeError):
            return False

        return not self._over_limits_when_parsed()

    @property
    def scan(self) -> XmlScan:
        """The scan of the source, made on first use."""
        if self._scan is None:
            # Most envelopes need no repair, and its modules take time to import.
            from goop_mcp.validation.repair import scan_xml  # noqa: PLC0415

            self._scan = scan_xml(self.source, self.grammar, depth=self.limits.depth)

        return self._scan

    def changes(self) -> list[Problem]:
        """Return the changes of the scan as problems."""
        return edit_problems(self.scan.edits, self.source, most=self.limits.findings)

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset in `source` of the element, attribute or text at `path`.

        With `found`, the place is that of the value and not of the element. A missing element has
        the place of the nearest element around it.
        """
        path, _, attribute = path.replace("[1]", "").partition("/@")
        if path.endswith("/text()") and found:
            # The text is between the elements of its parent; without it the parent is shown.
            parent = self.scan.positions.get(path.removesuffix("/text()"), TagPosition(0, 0))
            text = found.split("\n", maxsplit=1)[0].rstrip("…")[:40]
            at = self.source.find(text, parent.tag_end) if parent.tag_end else 0
            return at if at >= 0 else parent.start

        # The parser recorded the line of each element, which determines the place of an element
        # that is alone on its line. Only other places need the scan.
        located = self._position_in_tree(path)
        if located is None:
            positions, nearest = self.scan.positions, path
            while nearest and nearest not in positions:
                nearest = nearest.rpartition("/")[0]

            located = (positions[nearest] if nearest else TagPosition(0, 0)), nearest == path

        position, is_there = located
        if not is_there:
            return position.start
        if attribute:
            tag = self.source[position.start : position.tag_end]
            values = (each for each in _ATTRIBUTE.finditer(tag) if each[1].lower() == attribute)
            return next(
                (position.start + each.start(each.lastindex or 0) for each in values),
                position.start,
            )

        if found:
            before = _BEFORE_TEXT.match(self.source, position.tag_end)
            if before is not None and before.end() < len(self.source):
                return before.end()

        return position.start

    def _position_in_tree(self, path: str) -> tuple[TagPosition, bool] | None:
        """Return the position of `path`, or of the nearest element around, and which it is.

        The bool is True for the element itself. Return None if the tree does not determine the
        place.
        """
        element = self.root if self._scan is None else None
        root, *names = path.split("/")[1:] or [""]
        if element is None or root != self.grammar.root or ":" in path:
            return None

        is_there = True
        for name in names:
            step, child = _STEP.fullmatch(name), None
            # A custom rule may name any place, also one that no element can have.
            if step is not None:
                same_name = element.iterchildren(f"{{*}}{step[1]}")
                child = next(islice(same_name, int(step[2] or 1) - 1, None), None)
            if child is None:
                is_there = False
                break

            element = child

        source, line = self.source, (element.sourceline or 1) - 1
        line_start = _start_of_line(source, line)
        line_end = source.find("\n", line_start)
        text = source[line_start : line_end if line_end >= 0 else len(source)]
        tag = f"<{etree.QName(element).localname}"
        # The parser records the line on which a start tag ends. A tag that spans lines, or a second
        # one of this name, leaves open where the element begins; a comment may only mention it.
        begins_in_tag = source.rfind("<", 0, line_start) > source.rfind(">", 0, line_start)
        if text.count(tag) != 1 or "<!" in text or begins_in_tag:
            return None

        start = line_start + text.index(tag)
        end = _START_TAG.match(source, start)
        return None if end is None else (TagPosition(start, end.end()), is_there)

    def _over_limits(self) -> bool:
        """Refuse an envelope that is too large or too deeply nested to parse."""
        limits, source = self.limits, self.source
        size = utf8_length(source, limits.envelope_bytes)
        tags = source.count("<")
        if size > limits.envelope_bytes:
            self._refuse(f"envelope has {size:,} bytes; expected at most {limits.envelope_bytes:,}")
        elif tags > limits.tags:
            self._refuse(f"envelope has {tags:,} times <; expected at most {limits.tags:,}")
        else:
            # Counting tags is fast and never too low. Tags in texts make it too high, so the scan,
            # which knows them, decides.
            if tags <= _FEW_TAGS:
                return False

            deepest = depth = 0
            for tag in _TAG.finditer(source):
                if tag[1]:
                    depth -= 1
                elif not tag[0].endswith("/>"):
                    depth += 1
                    deepest = max(deepest, depth)

            if deepest <= limits.depth:
                return False

            failure = self.scan.failure
            if failure is None or failure.rule is not TOO_DEEP:
                return False

            message = f"elements nested deeper than {limits.depth}"
            self.problems.append(TOO_DEEP.problem(message, offset=0))

        return True

    def _over_limits_when_parsed(self) -> bool:
        """Refuse a tree with too many elements, too many attributes in one, or too long a text.

        The length of the source bounds each number, which saves most envelopes the walk.
        """
        limits, source, root = self.limits, self.source, self.root
        if root is None:
            return True
        if source.count("=") > limits.attributes:
            most = max(len(element.attrib) for element in root.iter())
            if most > limits.attributes:
                self._refuse(f"element has {most} attributes; expected at most {limits.attributes}")

        if (
            len(source) > limits.elements
            and (count := sum(1 for _ in root.iter())) > limits.elements
        ):
            self._refuse(f"envelope has {count:,} elements; expected at most {limits.elements:,}")

        for element in root.iter() if len(source) * 4 > limits.field_bytes else ():
            longest = max([element.text or "", *element.attrib.values()], key=len)
            size = utf8_length(str(longest), limits.field_bytes)
            if size > limits.field_bytes:
                tag = excerpt(str(element.tag), 40)
                self._refuse(
                    f"<{tag}> holds {size:,} bytes; expected at most {limits.field_bytes:,}"
                )
                break

        if any(problem.rule is TOO_LARGE for problem in self.problems):
            self.root = None
            return True

        return False

    def _refuse(self, message: str) -> None:
        self.problems.append(TOO_LARGE.problem(message, offset=0))

    def _declares(self, before: str) -> bool:
        """Refuse a DOCTYPE or ENTITY declaration in the envelope or before its root (D-73)."""
        offset = None
        if "!" in self.source and "<!" in self.source:
            offset = _declaration_in(self.source)
        if offset is None and before.rstrip().endswith(">"):
            # Each attempt may read the window to its end, so only the last few declarations are
            # tried; a declaration before the root is one of them.
            # A declaration this long would exceed the limit of an envelope anyway.
            window = before[-_DOCTYPE_WINDOW:]
            starts = [declaration.start() for declaration in _DOCTYPE.finditer(window)][
                -_DECLARATIONS:
            ]
            starts.append(window.upper().rfind("<!ENTITY"))
            leading = next(
                (at for at in starts if at >= 0 and _DOCTYPE_BEFORE.match(window, at)), None
            )
            offset = None if leading is None else leading - len(window)

        if offset is None:
            return False

        message = "a DOCTYPE or ENTITY declaration stands in or before the envelope; expected none"
        self.problems.append(xml_rules.DOCTYPE.problem(message, offset=offset))
        return True


def _declaration_in(source: str) -> int | None:
    """Return the offset of the first DOCTYPE or ENTITY declaration outside of comments and CDATA.

    A kind of section that is never closed is searched for its end once only.
    """
    hidden_until = 0
    never_closed: set[str] = set()

    for found in _DECLARATION_OR_HIDDEN.finditer(source):
        if found.start() < hidden_until or found[0] in never_closed:
            continue
        if found[1]:
            return found.start()

        end = source.find("-->" if found[0] == "<!--" else "]]>", found.end())
        if end < 0:
            never_closed.add(found[0])

        hidden_until = max(end, hidden_until)

    return None


def _start_of_line(source: str, line: int) -> int:
    """Return the offset of a line of `source`, counted from 0."""
    at = 0
    for _ in range(line):
        at = source.find("\n", at) + 1
    return at
