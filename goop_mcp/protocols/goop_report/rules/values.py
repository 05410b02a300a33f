"""Rules about single values: template text left in, case, booleans, integers.

The reader asks them in the order of `PLACEHOLDER_LEFT`, case, meaning; the first that fits is the
only finding for the value (D-22).
"""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.validation.template_text import as_warning

__all__ = [
    "NOT_AN_INTEGER",
    "NOT_A_BOOLEAN",
    "PLACEHOLDER_LEFT",
    "SLOT_IN_TEXT",
    "VALUE_CASE",
    "VALUE_RULES",
]

VALUE_RULES = RuleList()

PLACEHOLDER_LEFT = VALUE_RULES.add(
    id="goop_report/placeholder-left",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "text of a template left in: a slot, a choice, its prose; within a sentence or a path a"
        " warning"
    ),
    why=(
        "An agent that echoes the template has not reported anything. A whole value that is a slot,"
        " a choice or the prose of a template is an error; a known slot within a sentence or a path"
        " is a warning. Code, tags, ticket numbers and quoted text are none."
    ),
    fix="Replace the template text by the one value that is true.",
    requirements=("G-53",),
    example=Example(
        good="<status>COMPLETE</status>",
        bad="<status>COMPLETE|PARTIAL|BLOCKED|CHECKPOINT</status>",
        reply=COMPLETE_REPLY,
    ),
)

SLOT_IN_TEXT = as_warning(PLACEHOLDER_LEFT)
"""The same rule for a slot within other text."""

VALUE_CASE = VALUE_RULES.add(
    id="goop_report/value-case",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="a listed value or boolean in the wrong case; repaired",
    why="The word is right, so its meaning is beyond doubt; only its form is not.",
    fix="Write listed values exactly as the schema has them.",
    requirements=("G-09", "G-18"),
    example=Example(
        good="<status>COMPLETE</status>", bad="<status>complete</status>", reply=COMPLETE_REPLY
    ),
)

NOT_A_BOOLEAN = VALUE_RULES.add(
    id="goop_report/not-a-boolean",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "spec_locked, interview_complete, ready, suggest_new_session or check/@passed neither true"
        " nor false"
    ),
    why=(
        "`yes`, `1` or `partly` can be read in more than one way, and gates depend on these values."
    ),
    fix="Write true or false.",
    requirements=("G-18", "G-19", "G-28", "G-29", "G-33"),
    example=Example(
        good="<spec_locked>true</spec_locked>",
        bad="<spec_locked>yes</spec_locked>",
        reply=COMPLETE_REPLY,
    ),
)

NOT_AN_INTEGER = VALUE_RULES.add(
    id="goop_report/not-an-integer",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="wave or task counter absent or no non-negative integer",
    why="The router finds the last task of a wave and of the plan by these numbers.",
    fix=(
        'Write both numbers: <wave current="2" total="3"/>. Leave the element out when there are'
        " none."
    ),
    requirements=("G-16", "G-17"),
    example=Example(
        good='<wave current="1" total="2"/>',
        bad='<wave current="first" total="2"/>',
        reply=COMPLETE_REPLY,
    ),
)
