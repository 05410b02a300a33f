"""Rules about JSON syntax, for every protocol that is written in JSON."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.rules import Example, RuleList

__all__ = ["DUPLICATE_KEY", "JSON_RULES", "LOOSE_SYNTAX", "MALFORMED"]

_STATUS = '"status": "success",'

JSON_RULES = RuleList()

MALFORMED = JSON_RULES.add(
    id="json/malformed",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "no JSON, even after the repairs of `json/loose-syntax`; also NaN and Infinity, integers of"
        " more than 40 digits and halves of surrogate pairs"
    ),
    why=(
        "If the text has more than one reading, or none, a guess could change what the agent"
        " reported."
    ),
    fix=(
        "Send one JSON object: keys and texts in double quotes, a comma between members, numbers"
        " without quotes."
    ),
    requirements=("S-09", "F-26"),
    example=Example(good=_STATUS, bad='"status": success,', reply=FACTORY_REPLY),
)

LOOSE_SYNTAX = JSON_RULES.add(
    id="json/loose-syntax",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "comments, trailing commas, `...`, keys without quotes, single or typographic quotes,"
        " Python literals, raw line breaks in strings, in otherwise readable JSON; repaired. Also"
        " an object or a text around the envelope, a backslash that escapes nothing, and an"
        " unescaped quote where only one reading is possible"
    ),
    why=(
        "The content is clear, but no JSON parser reads it. The repair keeps every letter of every"
        " text."
    ),
    fix=(
        "Write plain JSON: double quotes, no comments, no trailing comma, no `...`, true, false and"
        " null."
    ),
    requirements=("S-15", "F-26"),
    example=Example(good=_STATUS, bad='"status": "success", // all is done', reply=FACTORY_REPLY),
)

DUPLICATE_KEY = JSON_RULES.add(
    id="json/duplicate-key",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="the same key twice in one object",
    why="Two statuses contradict each other, and readers differ in which one they take.",
    fix="Keep one of the two members.",
    requirements=("S-13", "F-10"),
    example=Example(
        good=_STATUS, bad='"status": "failure", "status": "success",', reply=FACTORY_REPLY
    ),
)
