"""Repair the form of an XML envelope, and never change its meaning (D-13, D-14).

`scan_xml` reads the markup of one envelope once and keeps the stack of open elements. Whatever is
not markup of the protocol is text and gets escaped; names get their proper case; attribute values
get their quotes. Each change is an `Edit`. Where tags do not match, the scan stops with a
`Failure`, because a recovering parser would move text into another field (D-14). The scan also
records where each element begins, which gives findings their line and column.

Why it is correct: an edit only changes how a character is written, never which element a text
belongs to. Only names of the grammar open or close elements; any other `<` is either an extension
with an end tag within its parent (D-15) or text. The edited envelope has to pass the strict parser,
so a mistake of the scan leads to a refusal and not to a wrong reading.

Why it is linear: the position only moves forward, a search for a terminator that failed is not
repeated (`find_end`), and every look ahead for a tag uses an index of all tags that is built once
(`next_end_tag`). Windows bound what is examined around a quoted tag.
"""

import re
from bisect import bisect_left

from msgspec import Struct, field

from goop_mcp.validation import xml_rules
from goop_mcp.validation.attribute_values import find_value
from goop_mcp.validation.edits import Edit
from goop_mcp.validation.envelope_rules import TOO_DEEP
from goop_mcp.validation.escaping import (
    FORBIDDEN,
    INVISIBLE,
    STRAY,
    escape_attribute,
    escaped,
    forbidden_runs,
)
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.markup import Failure, Grammar, TagPosition, XmlScan
from goop_mcp.validation.rules import Rule

__all__ = ["scan_xml"]

# The names and values in these patterns are possessive, and the attributes of a tag are one atomic
# group: a tag with many attributes that fails at its last one fails after a single pass.
_S = "[ \t\r\n]"
_CLEAN = "\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff<&"
_NAME = re.compile(r"[A-Za-z_][\w.\-]*+(?::[A-Za-z_][\w.\-]*+)?")
_ATTRIBUTE = (
    rf"(?<!{_S}){_S}++([A-Za-z_][\w.\-:]*+){_S}*+={_S}*+(?:\"[^\"{_CLEAN}]*+\"|'[^'{_CLEAN}]*+')"
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_REST_OF_TAG = re.compile(rf"((?>(?:{_ATTRIBUTE.replace('([A', '(?:[A')})*)){_S}*+(/?)>")
_NAMESPACE = r"\sxmlns:{prefix}\s*=\s*[\"']([^\"'<>]*)[\"']"
_END_TAG = re.compile(rf"</{_S}*+([A-Za-z_][\w.\-]*+(?::[A-Za-z_][\w.\-]*+)?){_S}*+>")
_ANY_START_TAG = re.compile(r"<(?:[A-Za-z_][\w.\-]*+:)?([A-Za-z_][\w.\-]*+)")
_ANY_END_TAG = re.compile(r"</[ \t\r\n]*+(?:[A-Za-z_][\w.\-]*+:)?([A-Za-z_][\w.\-]*+)")
_MANY = 1_000
_NAME_IN_PATH = 80  # a hostile name must not be repeated in the path of every element inside it
_QUOTE_WINDOW = 500


def scan_xml(source: str, grammar: Grammar, *, depth: int) -> XmlScan:
    """Scan the envelope `source`, which begins with the root's start tag.

    More than `depth` open elements are a failure.
    """
    scanner = _Scanner(source, grammar, depth)
    try:
        scanner.run()
    except _StopScan as stop:
        scanner.result.failure = stop.failure

    scanner.result.unclosed = [element.name for element in scanner.stack]

    return scanner.result


class _StopScan(Exception):  # noqa: N818 - a jump out of the scan, not an error
    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class _Open(Struct):
    name: str
    written: str
    kind: str  # "text", "container" or "free" (an extension, in which anything may stand)
    path: str
    start: int
    counts: dict[str, int] = field(default_factory=dict)

    def path_of_child(self, name: str) -> str:
        """Return the path of a child; inside an extension it is the path of the extension."""
        if self.kind == "free":
            return self.path

        name = name[:_NAME_IN_PATH]
        number = self.counts[name] = self.counts.get(name, 0) + 1
        return f"{self.path}/{name}" if number == 1 else f"{self.path}/{name}[{number}]"


class _Scanner:
    def __init__(self, source: str, grammar: Grammar, depth: int) -> None:
        self.source = source
        self.grammar = grammar
        self.depth = depth
        self.result = XmlScan()
        self.stack: list[_Open] = []
        self.prefix = ""
        # Every document may use this prefix without declaring it; the parser refuses all others.
        self.prefixes = {"xml"}
        # Terminators that do not occur any more: a text of many `<!--` and no `-->` would otherwise
        # be read to its end for each of them.
        self.absent: set[str] = set()
        self.end_tags: dict[str, list[int]] | None = None
        self.start_tags: dict[str, list[int]] | None = None
        self.last_opening, self.last_closing = source.rfind("<"), source.rfind(">")
        # Whether no text of the envelope needs escaping, so that texts can be skipped.
        self.plain = not ("&" in source or "]]>" in source or FORBIDDEN.search(source))

    def run(self) -> None:
        source, position = self.source, 0
        while self.result.tail is None:
            at = source.find("<", position)
            if at < 0:
                break
            if at > position:
                self.text(position, at)

            # Whatever `markup` decides, it returns an offset after `at`: this is what makes the
            # scan linear.
            position = self.markup(at)

        if self.result.tail is None and position < len(source):
            self.text(position, len(source))

    # Text

    @property
    def path(self) -> str:
        return self.stack[-1].path if self.stack else f"/{self.grammar.root}"

    def edit(self, start: int, end: int, new: str, rule: Rule | None, message: str = "") -> None:
        self.result.edits.append(Edit(start, end, new, rule, message, self.path))

    def fail(
        self, offset: int, message: str, *, rule: Rule = xml_rules.MALFORMED, fix: str | None = None
    ) -> _StopScan:
        return _StopScan(Failure(rule, offset, message, self.path, fix))

    def text(self, start: int, end: int) -> None:
        """Escape what a text may not contain literally."""
        if self.plain:
            return

        chunk = self.source[start:end]
        if FORBIDDEN.search(chunk):
            self.remove_forbidden(chunk, start)
        if "&" in chunk or "]]>" in chunk:
            self.escape_text(chunk, start)

    def remove_forbidden(self, chunk: str, start: int) -> None:
        message = f"control character in {self.where()}; expected none"
        for first, end in forbidden_runs(chunk):
            self.edit(start + first, start + end, "", xml_rules.CONTROL_CHARACTER, message)

    def escape_text(self, chunk: str, start: int) -> None:
        if chunk.count("&") > _MANY:
            self.escape_at_once(chunk, start)
            return

        # The same text is used for all edits of a kind, which saves memory where there are many.
        where, messages = self.where(), dict[str, str]()
        for stray in STRAY.finditer(chunk):
            new, message = escaped(stray)
            message = messages.setdefault(message, f"{message} in {where}")
            self.edit(start + stray.start(), start + stray.end(), new, xml_rules.UNESCAPED, message)

    def escape_at_once(self, chunk: str, start: int) -> None:
        """Escape a text with many strays in one edit, which bounds the memory by its size."""
        new = STRAY.sub(lambda stray: escaped(stray)[0], chunk)
        if new != chunk:
            message = f"unescaped & in many places in {self.where()}; expected &amp;"
            self.edit(start, start + len(chunk), new, xml_rules.UNESCAPED, message)

    def where(self) -> str:
        return f"<{self.stack[-1].name}>" if self.stack else "the envelope"

    def escape(self, at: int) -> int:
        """Escape the `<` at `at`, which does not begin markup."""
        message = f"unescaped < in {self.where()}; expected &lt;"
        self.edit(at, at + 1, "&lt;", xml_rules.UNESCAPED, message)
        return at + 1

    # Markup

    def markup(self, at: int) -> int:
        """Process the `<` at `at` and return the offset after the markup that it begins."""
        source = self.source
        following = source[at + 1 : at + 2]
        if following == "/":
            return self.end_tag(at)
        if following == "!":
            return self.comment_or_cdata(at)
        if following == "?":
            # An XML declaration belongs before the root: within the envelope it is quoted text.
            end = self.find_end("?>", at)
            named = _NAME.match(source, at + 2)
            proper = end >= 0 and named is not None and named[0].lower() != "xml"

            return end + 2 if proper else self.escape(at)

        name = _NAME.match(source, at + 1)
        if name is None:
            if not following and self.stack:
                # A `<` as the last character may begin any tag. Escaping it would make a text of
                # it and hide that the envelope is cut off.
                self.result.tail = at
                return at

            return self.escape(at)

        return self.start_tag(at, name)

    def find_end(self, mark: str, after: int) -> int:
        """Return the offset of the next `mark`, -1 if there is none.

        A failed search is remembered: an offset further on cannot succeed.
        """
        if mark in self.absent:
            return -1

        end = self.source.find(mark, after)
        if end < 0:
            self.absent.add(mark)
        return end

    def comment_or_cdata(self, at: int) -> int:
        source = self.source
        if source.startswith("<!--", at):
            end = self.find_end("-->", at + 4)
            if end >= 0:
                body = source[at + 4 : end]
                # What was commented out is no part of the report, so it is not escaped into a text.
                # Its line breaks stay: lines have the same numbers before and after the repair.
                if "--" in body or body.endswith("-") or FORBIDDEN.search(body):
                    message = "comment that is not well-formed; left out"
                    self.edit(at, end + 3, "\n" * body.count("\n"), xml_rules.UNESCAPED, message)

                return end + 3
        elif source.startswith("<![CDATA[", at):
            end = self.find_end("]]>", at)
            if end >= 0:
                if FORBIDDEN.search(source, at, end):
                    self.remove_forbidden(source[at:end], at)
                return end + 3

        return self.escape(at)

    def end_tag(self, at: int) -> int:
        tag = _END_TAG.match(self.source, at)
        if tag is None:
            return self.unfinished(at, _ANY_END_TAG.match(self.source, at))

        written = tag[1]
        name = self.local(written)
        top = self.stack[-1] if self.stack else None
        if top is not None and name.lower() == top.name.lower():
            self.stack.pop()
            proper = f"</{top.name}>"
            if tag[0] != proper and tag[0].rstrip(" \t\r\n>") != proper[:-1]:
                self.close_properly(tag, top, proper)
            return tag.end()

        # An end tag without an open element is text. So is one inside a text that has its own end
        # tag later. Otherwise the end tag of the innermost element is missing.
        if top is None or not any(
            element.name.lower() == name.lower() for element in self.stack[:-1]
        ):
            return self.escape(at)
        # Prose in a text quotes the end tags of its ancestors, and its own end tag still follows.
        if top.kind == "text" and self.end_of_text(top, at) is not None:
            return self.escape(at)

        raise self.never_closed(top, at, f"</{name}>")

    def never_closed(self, element: _Open, at: int, before: str) -> _StopScan:
        """Return the failure of an element that is open at `at`; it names a misspelt end tag."""
        # The element's own end tag is there only if it is hidden, as in a comment.
        misspelt = next(
            (
                tag
                for tag in _END_TAG.finditer(self.source, element.start, at)
                if self.local(tag[1]).lower() != element.name.lower()
            ),
            None,
        )
        if misspelt is not None and element.kind == "text":
            message = (
                f"<{element.name}> opened here ends with {excerpt(misspelt[0], 40)}; expected"
                f" </{element.name}>"
            )
            return self.fail(element.start, message, fix=f"Write </{element.name}> as its end tag.")

        line = self.source.count("\n", element.start, at)
        lines = f", {line} lines earlier," if line > 1 else ""
        message = f"<{element.name}> opened here{lines} is not closed before {before}"

        return self.fail(
            element.start, message, fix=f"Close <{element.name}> with </{element.name}>."
        )

    def end_of_text(self, element: _Open, at: int) -> int | None:
        """Return where the text of `element` ends after `at`.

        Return None if the next such end tag belongs to a later element of the same name.
        """
        end = self.next_end_tag(element.name, at)
        if end is None:
            return None

        opening = self.next_start_tag(element.name, at + 1)
        return end if opening is None or opening > end else None

    def close_properly(self, tag: re.Match[str], top: _Open, proper: str) -> None:
        """Write an end tag like its start tag; the error is reported there, or else here."""
        # One error, one finding: the prefix is reported at the root, the case at the start tag.
        if self.prefix and tag[1].startswith(self.prefix):
            rule = None
        else:
            rule = None if top.written != top.name else xml_rules.NAME_CASE

        self.edit(
            tag.start(),
            tag.end(),
            proper,
            rule,
            f"end tag {excerpt(tag[0], 40)}; expected {proper}",
        )

    def unfinished(self, at: int, name: re.Match[str] | None) -> int:
        """Process a tag that has no `>`: the envelope is cut off in it, or it is text."""
        if self.last_closing < at and self.last_opening == at and self.stack:
            self.result.tail = at
            return at

        # The tag may stand for itself or for a quoted one; a known name without `>` is not escaped,
        # because the element it was meant to open or close would become text.
        if (
            name is not None
            and self.local(name[0].lstrip("</ \t\r\n")).lower() in self.grammar.names
        ):
            raise self.fail(at, f"tag {excerpt(name[0], 40)} has no closing >")

        return self.escape(at)

    def local(self, name: str) -> str:
        """Return `name` without the prefix of the root."""
        return name[len(self.prefix) :] if self.prefix and name.startswith(self.prefix) else name

    def start_tag(self, at: int, name: re.Match[str]) -> int:
        if not self.stack:
            return self.root_tag(at, name)

        parent = self.stack[-1]
        written = name[0]
        plain = self.local(written)
        # Within an extension the agent chooses the names, and one that equals a name of the grammar
        # means something else there.
        proper = self.grammar.names.get(plain.lower()) if parent.kind != "free" else None
        if parent.kind == "text":
            return self.tag_in_text(at, plain, proper, parent)
        if proper is None and not self.is_extension(at, plain, name.end(), parent):
            return self.escape(at)
        if proper is None or proper == plain:
            proper = plain
            # The prefix of the root is removed everywhere, but reported only at the root.
            if plain != written:
                self.edit(at + 1, name.end(), plain, None)
        else:
            message = f"element is <{excerpt(plain, 40)}>; expected <{proper}>"
            self.edit(at + 1, name.end(), proper, xml_rules.NAME_CASE, message)

        kind = self.kind_of(proper) if parent.kind == "container" else "free"

        return self.open(at, name.end(), proper, written, kind)

    def root_tag(self, at: int, name: re.Match[str]) -> int:
        prefix, _, plain = name[0].rpartition(":")
        root = self.grammar.root
        if prefix:
            self.prefix = f"{prefix}:"
            message = f"root <{name[0]}> has a prefix; expected <{root}>"
            declared = _NAMESPACE.format(prefix=re.escape(prefix))
            tag = re.compile(declared).search(
                self.source, name.end(), self.source.find(">", name.end()) + 1
            )
            known = tag is not None and tag[1] in self.grammar.namespaces
            self.edit(
                at + 1, name.end(), root, None if known else xml_rules.UNKNOWN_NAMESPACE, message
            )
        elif plain != root:
            message = f"element is <{plain}>; expected <{root}>"
            self.edit(at + 1, name.end(), root, xml_rules.NAME_CASE, message)

        return self.open(at, name.end(), root, name[0], "container")

    def kind_of(self, name: str) -> str:
        if name in self.grammar.text_only:
            return "text"
        return "container" if name in self.grammar.containers else "free"

    def tag_in_text(self, at: int, plain: str, proper: str | None, parent: _Open) -> int:
        """Escape a tag inside an element that contains only text, unless an end tag is missing.

        The text reaches to its own end tag. A known tag in it is a quotation, except where it shows
        that this end tag belongs elsewhere, or where a whole element may have slipped into the
        text. Both have two readings and are failures.
        """
        if proper is None:
            return self.escape(at)

        end = self.end_of_text(parent, at)
        # Two texts of the same name in a row: the end tag of the first is missing, and where it
        # ends would be a guess.
        if proper == parent.name and not self.is_bare_mention(at, plain, parent):
            raise self.never_closed(parent, at, f"the next <{proper}>")
        if end is None:
            raise self.never_closed(parent, at, f"<{proper}>")

        inner = self.next_end_tag(proper, at)
        if inner is not None and inner < end and not self.stands_elsewhere(proper, at, inner, end):
            message = f"element <{plain}> stands inside <{parent.name}>; expected text only"
            raise self.fail(
                at, message, fix=f"Move <{plain}> out of <{parent.name}>, or write &lt;{plain}&gt;."
            )

        return self.escape(at)

    def stands_elsewhere(self, name: str, at: int, inner: int, end: int) -> bool:
        """Return whether the element quoted at `at`, in a text up to `end`, also exists itself.

        An element quoted in the middle of a sentence is then text; without text around it, it may
        have been put there by mistake. The windows keep the cost of each quotation constant.
        """
        source = self.source
        before = source[max(at - _QUOTE_WINDOW, self.stack[-1].start) : at].rpartition("\n")[2]
        after = source[source.find(">", inner) + 1 : min(end, inner + _QUOTE_WINDOW)]
        if (
            inner - at > _QUOTE_WINDOW
            or "\n" in source[at:inner]
            or not before.strip()
            or not after.strip()
        ):
            return False

        first = self.next_start_tag(name, 0)

        return (first is not None and first < self.stack[-1].start) or self.next_start_tag(
            name, end
        ) is not None

    def is_bare_mention(self, at: int, plain: str, parent: _Open) -> bool:
        """Return whether a tag named like its parent lacks what the real one has.

        That is its attributes or its case: `<file>` within `<file path="...">` is a mention.
        """
        position = self.result.positions.get(parent.path)
        # Two characters are the brackets of a tag without attributes.
        has_attributes = (
            position is not None and position.tag_end - position.start > len(parent.written) + 2
        )
        rest = self.source[at + 1 + len(plain) : at + 3 + len(plain)]
        return plain != parent.name or rest == "/>" or (has_attributes and rest[:1] == ">")

    def is_extension(self, at: int, plain: str, name_end: int, parent: _Open) -> bool:
        """Return whether an unknown tag ends within its parent and has no unknown prefix (D-15)."""
        prefix, _, bare = plain.rpartition(":")
        rest = _REST_OF_TAG.match(self.source, name_end)
        if (
            prefix
            and prefix not in self.prefixes
            and (rest is None or f"xmlns:{prefix}" not in rest[1])
        ):
            return False

        # A tag that closes itself needs no end tag, and prose writes no `/>`.
        if rest is not None and rest[2]:
            return True

        end = self.next_end_tag(bare, at)
        if end is None:
            return False

        # An end tag that comes after that of the parent cannot close an element inside it: the tag
        # is text, such as the `<T>` of a type parameter.
        ceiling = self.next_end_tag(parent.name.rpartition(":")[2], at)

        return ceiling is None or end < ceiling or bare == parent.name

    def next_end_tag(self, name: str, after: int) -> int | None:
        if self.end_tags is None:
            self.end_tags = _offsets(_ANY_END_TAG, self.source)
        return _next(self.end_tags, name, after)

    def next_start_tag(self, name: str, after: int) -> int | None:
        if self.start_tags is None:
            self.start_tags = _offsets(_ANY_START_TAG, self.source)
        return _next(self.start_tags, name, after)

    def open(self, at: int, name_end: int, name: str, written: str, kind: str) -> int:
        """Read the attributes of a start tag, record its position and put it on the stack."""
        path = self.stack[-1].path_of_child(name) if self.stack else f"/{name}"
        element = _Open(name, written, kind, path, at)
        # On the stack before anything is checked, because a failure names the innermost element.
        self.stack.append(element)
        if len(self.stack) > self.depth:
            raise self.fail(at, f"elements nested deeper than {self.depth}", rule=TOO_DEEP)
        if self.source.startswith(">", name_end):
            self.result.positions.setdefault(path, TagPosition(at, name_end + 1))
            return name_end + 1

        rest = _REST_OF_TAG.match(self.source, name_end)
        if rest is None:
            if self.last_closing < name_end:
                # No `>` follows at all: the text ends within this tag, which opened nothing yet.
                self.stack.pop()
                self.result.tail = at
                return at

            end, closed = self.repair_attributes(name_end)
        else:
            end, closed = rest.end(), bool(rest[2])
            if rest[1]:
                self.check_names(
                    [(m[1], m.start(1), m.end()) for m in _ATTRIBUTES.finditer(rest[1])], name_end
                )

        # All elements inside an extension have its path, and the extension itself comes first.
        self.result.positions.setdefault(path, TagPosition(at, end))
        if closed:
            self.stack.pop()
        return end

    # Attributes

    def check_names(self, attributes: list[tuple[str, int, int]], base: int) -> None:
        """Correct the case of attribute names, remove foreign namespaces, refuse doubled names."""
        seen: set[str] = set()
        is_root = len(self.stack) == 1

        for name, start, end in attributes:
            lower = name.lower()
            proper = (
                lower
                if lower in self.grammar.attributes and self.stack[-1].kind != "free"
                else name
            )
            if proper in seen:
                # Which of the two values was meant is unknown, and one of them would be lost.
                raise self.fail(
                    base + start,
                    f"attribute {name} stands twice in one tag",
                    fix=f"Write {name} once.",
                )

            seen.add(proper)
            if name.startswith("xmlns"):
                self.namespace(name, base + start, base + end, is_root=is_root)
            elif proper != name:
                message = f"attribute is {name}; expected {proper}"
                self.edit(
                    base + start, base + start + len(name), proper, xml_rules.NAME_CASE, message
                )

    def namespace(self, name: str, start: int, end: int, *, is_root: bool) -> None:
        prefix = name[6:]
        value = self.source[start:end].partition("=")[2].strip(" \t\r\n\"'")
        if not prefix and is_root and value in self.grammar.namespaces:
            return
        if is_root and (not prefix or f"{prefix}:" == self.prefix):
            message = (
                f"root is in a namespace: {excerpt(self.source[start:end], 60)}; expected none"
            )
            # With a prefix it is the root's own, and the root tag was reported already.
            rule = None if prefix else xml_rules.UNKNOWN_NAMESPACE
            self.edit(start, end, "", rule, message)
        elif prefix:
            self.prefixes.add(prefix)

    def repair_attributes(self, position: int) -> tuple[int, bool]:
        """Repair the attributes of a tag; return its end and whether it closes itself."""
        source = self.source
        found: list[tuple[str, int, int]] = []

        while True:
            position = self.skip_blanks(position)
            if source.startswith("/>", position) or source.startswith(">", position):
                self.check_names(found, 0)
                closed = source[position] == "/"
                return position + 1 + closed, closed

            name = _NAME.match(source, position)
            if name is None:
                raise self.fail(
                    position, f"start tag of <{self.stack[-1].name}> is not well-formed"
                )

            at = self.skip_blanks(name.end())
            if not source.startswith("=", at):
                message = (
                    f"attribute {excerpt(name[0], 40)} of <{self.stack[-1].name}> has no value"
                )
                raise self.fail(
                    position, message, fix="Give the attribute a value between double quotes."
                )

            position = self.repair_value(name[0], self.skip_blanks(at + 1))
            found.append((name[0], name.start(), position))

    def skip_blanks(self, position: int) -> int:
        """Skip white space, and replace other blank or invisible characters by plain blanks."""
        source = self.source
        while position < len(source):
            character = source[position]
            if INVISIBLE.match(character) or FORBIDDEN.match(character):
                message = (
                    f"invisible character in the tag <{self.stack[-1].name}>; expected a blank"
                )
                self.edit(position, position + 1, " ", xml_rules.CONTROL_CHARACTER, message)
            elif character not in " \t\r\n":
                break

            position += 1

        return position

    def repair_value(self, name: str, at: int) -> int:
        """Read one attribute value, repair its quotes if possible, and return its end."""
        source = self.source
        value = find_value(source, at)
        if value is None:
            raise self.fail(
                at,
                f"attribute {excerpt(name, 40)} of <{self.stack[-1].name}> has no readable value",
            )

        if value.quoted:
            self.escape_value(name, value.start, value.end)
            if source[value.after] not in " \t\r\n/>":
                message = f"no blank after the value of attribute {excerpt(name, 40)}; expected one"
                self.edit(value.after, value.after, " ", xml_rules.ATTRIBUTE_QUOTES, message)

            return value.after

        # The value is rewritten as a whole, so that one edit covers a wrong quote and what it
        # hides; edits must not overlap.
        new = '"' + escape_attribute(source[value.start : value.end]) + '"'
        shown = excerpt(source[at : value.after], 40)
        message = f"value of attribute {excerpt(name, 40)} is {shown}; expected {excerpt(new, 40)}"
        self.edit(at, value.after, new, xml_rules.ATTRIBUTE_QUOTES, message)
        return value.after

    def escape_value(self, name: str, start: int, end: int) -> None:
        """Escape what the value of the attribute `name` may not contain literally."""
        value = self.source[start:end]
        for first, last in forbidden_runs(value):
            message = (
                f"control character in attribute {excerpt(name, 40)} of {self.where()}; expected"
                " none"
            )
            self.edit(start + first, start + last, "", xml_rules.CONTROL_CHARACTER, message)

        for stray in STRAY.finditer(value):
            if stray[0] != "]]>":
                new, message = escaped(stray)
                self.edit(
                    start + stray.start(),
                    start + stray.end(),
                    new,
                    xml_rules.UNESCAPED,
                    f"{message} in an attribute",
                )

        at = value.find("<")
        while at >= 0:
            message = "unescaped < in an attribute; expected &lt;"
            self.edit(start + at, start + at + 1, "&lt;", xml_rules.UNESCAPED, message)
            at = value.find("<", at + 1)


def _offsets(pattern: re.Pattern[str], source: str) -> dict[str, list[int]]:
    """Return the offsets of all tags by name in lower case."""
    offsets: dict[str, list[int]] = {}
    for tag in pattern.finditer(source):
        offsets.setdefault(tag[1].lower(), []).append(tag.start())
    return offsets


def _next(offsets: dict[str, list[int]], name: str, after: int) -> int | None:
    found = offsets.get(name.lower(), [])
    index = bisect_left(found, after)
    return found[index] if index < len(found) else None
