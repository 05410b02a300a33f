"""Rules about XML syntax, for every protocol that is written in XML."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = [
    "ATTRIBUTE_QUOTES",
    "CONTROL_CHARACTER",
    "DOCTYPE",
    "MALFORMED",
    "NAME_CASE",
    "UNESCAPED",
    "UNKNOWN_NAMESPACE",
    "XML_RULES",
]

_SUMMARY = "<summary>Added the login endpoint.</summary>"

XML_RULES = RuleList()

MALFORMED = XML_RULES.add(
    id="xml/malformed",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="not well-formed, and escaping stray characters does not help",
    why=(
        "Where tags do not match there is more than one reading, and a guess could move text into"
        " the wrong field."
    ),
    fix="Close every element with its own end tag, in the order in which they were opened.",
    requirements=("H-31", "H-38"),
    example=Example(good="</summary>", bad="", reply=COMPLETE_REPLY),
)

UNESCAPED = XML_RULES.add(
    id="xml/unescaped",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "stray `&`, or `<` that begins no known tag; escaped; also HTML entities such as"
        " `&nbsp;` (written as the character) and a CDATA section that is not one"
    ),
    why=(
        "Text about code is full of `&` and `<`. Escaping keeps every letter; a recovering parser"
        " would drop or move text."
    ),
    fix="Write & as &amp; and < as &lt; in text and attribute values.",
    requirements=("H-31", "G-01"),
    example=Example(
        good=_SUMMARY, bad="<summary>a && b, List<int></summary>", reply=COMPLETE_REPLY
    ),
)

DOCTYPE = XML_RULES.add(
    id="xml/doctype",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "any DOCTYPE or ENTITY declaration in the envelope or directly before its root; refused"
        " before parsing"
    ),
    why="Entities can read files, reach the network or blow up in memory. No envelope needs them.",
    fix="Remove the DOCTYPE and every ENTITY declaration; write the text itself.",
    requirements=("H-59", "H-60"),
    example=Example(
        good='<goop_report version="0.1.6">',
        bad=(
            '<!DOCTYPE foo [<!ENTITY xxe SYSTEM "file:///etc/passwd">]>\n<goop_report'
            ' version="0.1.6">'
        ),
        reply=COMPLETE_REPLY,
    ),
)

UNKNOWN_NAMESPACE = XML_RULES.add(
    id="xml/unknown-namespace",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="root in a namespace the protocol does not know; read by local names",
    why="A parser that looks for the plain names would find nothing.",
    fix="Remove the namespace and its prefix from the envelope.",
    requirements=("G-08", "H-17"),
    example=Example(
        good='<goop_report version="0.1.6">',
        bad='<goop_report xmlns="urn:x" version="0.1.6">',
        reply=COMPLETE_REPLY,
    ),
)

NAME_CASE = XML_RULES.add(
    id="xml/name-case",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="element or attribute name right but for its case; repaired",
    why="XML names are case-sensitive; other readers would miss the element.",
    fix="Write the names of elements and attributes in lower case, as in the schema.",
    requirements=("G-08",),
    example=Example(
        good="<status>COMPLETE</status>", bad="<Status>COMPLETE</Status>", reply=COMPLETE_REPLY
    ),
)

ATTRIBUTE_QUOTES = XML_RULES.add(
    id="xml/attribute-quotes",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "attribute value without quotes, with typographic quotes or with one quote missing where"
        " only one reading is possible; repaired"
    ),
    why="The value is clear, but no XML parser reads it.",
    fix='Put every attribute value between straight double quotes: name="tests".',
    requirements=("G-01", "H-31"),
    example=Example(
        good='<check name="tests" passed="true">',
        bad="<check name=tests passed=“true”>",
        reply=COMPLETE_REPLY,
    ),
)

CONTROL_CHARACTER = XML_RULES.add(
    id="xml/control-character",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "character that XML 1.0 forbids (terminal colours, NUL); removed. Also an invisible"
        " character in a tag or in a listed value"
    ),
    why="Pasted terminal output carries characters that no XML document may hold.",
    fix="Leave out terminal colours and other control characters.",
    requirements=("H-31",),
    example=Example(
        good=_SUMMARY, bad="<summary>\x1b[32mok\x1b[0m</summary>", reply=COMPLETE_REPLY
    ),
)
