"""Rules about single values."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.template_text import as_warning

__all__ = ["PLACEHOLDER_LEFT", "SLOT_IN_TEXT", "VALUE_CASE", "VALUE_RULES", "WRONG_TYPE"]

VALUE_RULES = RuleList()

VALUE_CASE = VALUE_RULES.add(
    id="factory/value-case",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="a listed value in the wrong case; repaired",
    why="The word is right, so its meaning is beyond doubt; only its form is not.",
    fix="Write listed values exactly as the schema has them.",
    requirements=("F-10",),
    example=Example(good='"status": "success"', bad='"status": "Success"', reply=FACTORY_REPLY),
)

WRONG_TYPE = VALUE_RULES.add(
    id="factory/wrong-type",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="list, object or text expected, something else found",
    why="The orchestrator walks through the list; of another kind of value it can make nothing.",
    fix="Write the value in the kind of JSON that the schema shows.",
    requirements=("F-02", "F-06", "F-07"),
    example=Example(
        good='"summary": "Designed a data pipeline with four agents"',
        bad='"summary": ["Designed a data pipeline with four agents"]',
        reply=FACTORY_REPLY,
    ),
)

PLACEHOLDER_LEFT = VALUE_RULES.add(
    id="factory/placeholder-left",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "text of a template left in: a slot, a choice, its prose; within a sentence or a path a"
        " warning"
    ),
    why=(
        "An agent that echoes the template has not answered. A known slot within a sentence or a"
        " path is a warning."
    ),
    fix="Replace the template text by the one value that is true.",
    requirements=("F-02", "F-08"),
    example=Example(
        good='"confidence": "high"', bad='"confidence": "high|medium|low"', reply=FACTORY_REPLY
    ),
)

SLOT_IN_TEXT = as_warning(PLACEHOLDER_LEFT)
"""The same rule for a slot within other text."""
