"""Values that only a report has, in addition to the words and names of every XML envelope."""

from goop_mcp.protocols.goop_report.model import Counter
from goop_mcp.protocols.goop_report.rules import structure, values
from goop_mcp.validation.escaping import XML_BLANKS, visible
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.template_phrases import GOOP_REPORT_PROSE
from goop_mcp.validation.template_text import MARKS, ValueKind, is_template
from goop_mcp.validation.xml_values import Element, Words, XmlValueReader, XmlValueRules

__all__ = ["BOOLEAN", "ReportValueReader", "clean"]

_MOST_DIGITS = 9
_RULES = XmlValueRules(
    missing_field=structure.MISSING_FIELD,
    empty_field=structure.EMPTY_FIELD,
    placeholder_left=values.PLACEHOLDER_LEFT,
    slot_in_text=values.SLOT_IN_TEXT,
    value_case=values.VALUE_CASE,
    parts=structure.MISSING_PARTS,
    prose=GOOP_REPORT_PROSE,
    lists=frozenset({"files", "commits", "memory", "verification", "files_to_read"}),
)

BOOLEAN = Words({"true": True, "false": False}, values.NOT_A_BOOLEAN)


def clean(text: str | None) -> str:
    """Return `text` without outer blanks and shared indentation; "" if nothing is visible."""
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


class ReportValueReader(XmlValueReader):
    """Reads the values of a report out of its tree."""

    clean = staticmethod(clean)

    def __init__(self) -> None:
        """Begin without problems."""
        super().__init__(_RULES)

    def boolean(self, element: Element | None, path: str) -> bool | None:
        """Return true or false; None when absent or not readable."""
        if element is None:
            return None

        raw = self.text(element) or ""
        found = BOOLEAN.meanings.get(raw)
        return found if found is not None else self.odd(raw, path, BOOLEAN, element, None)

    def required_name(
        self, element: Element | None, path: str, known: frozenset[str]
    ) -> str | None:
        """Return a required name of an open list, as `name` does; None when absent or blank."""
        raw = self.required_text(element, path)
        if not raw or element is None or raw in known:
            return raw or None
        return self.listed_name(raw, path, element, None, known)

    def name(
        self, element: Element | None, path: str, *, known: frozenset[str] = frozenset()
    ) -> str | None:
        """Return a name of an open list; the case of those in `known` is repaired."""
        raw = self.text(element)
        if not raw or element is None or raw in known:
            return raw
        return self.listed_name(raw, path, element, None, known)

    def counter(self, element: Element | None, path: str) -> Counter | None:
        """Return current and total of a counter element; None when there is no element."""
        if element is None:
            return None
        return Counter(
            current=self.number(element, "current", path), total=self.number(element, "total", path)
        )

    def number(self, element: Element, name: str, path: str) -> int | None:
        """Return the whole number in an attribute; None for any other text."""
        raw = self.attribute(element, name) or ""
        if _is_number(raw):
            return int(raw)

        where = f"{path}/@{name}"
        if MARKS.search(raw) or is_template(raw, ValueKind.NUMBER):
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
