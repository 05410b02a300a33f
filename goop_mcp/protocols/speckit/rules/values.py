"""Rules about single values."""

from goop_mcp.protocols.speckit.samples import ANALYZE_REPLY, CLARIFY_REPLY, TASKS_REPLY, TEST_REPLY
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.template_text import as_warning

__all__ = [
    "BAD_TASK_ID",
    "BAD_TIMESTAMP",
    "LOCATION_WITHOUT_LINE",
    "PLACEHOLDER_LEFT",
    "SLOT_IN_TEXT",
    "UNKNOWN_VALUE",
    "VALUE_ALIAS",
    "VALUE_CASE",
    "VALUE_RULES",
    "WRONG_TYPE",
]

VALUE_RULES = RuleList()

WRONG_TYPE = VALUE_RULES.add(
    id="speckit/wrong-type",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="a number, list, object or boolean expected, something else found",
    why="The next agent counts with the number and walks through the list.",
    fix="Write the value in the kind of JSON that the schema shows.",
    requirements=("S-10", "S-12", "S-29"),
    example=Example(good='"task_count": 3,', bad='"task_count": "3",', reply=TASKS_REPLY),
)

BAD_TIMESTAMP = VALUE_RULES.add(
    id="speckit/bad-timestamp",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="not ISO 8601 with time zone",
    why="Answers are ordered by their time, also across machines.",
    fix="Write date, time and zone: 2026-01-15T10:30:00Z.",
    requirements=("S-10", "S-12"),
    example=Example(
        good='"timestamp": "2026-01-15T10:30:00Z"',
        bad='"timestamp": "yesterday"',
        reply=CLARIFY_REPLY,
    ),
)

PLACEHOLDER_LEFT = VALUE_RULES.add(
    id="speckit/placeholder-left",
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
    requirements=("S-15",),
    example=Example(good='"agent": "clarify"', bad='"agent": "<agent-name>"', reply=CLARIFY_REPLY),
)

SLOT_IN_TEXT = as_warning(PLACEHOLDER_LEFT)
"""The same rule for a slot within other text."""

UNKNOWN_VALUE = VALUE_RULES.add(
    id="speckit/unknown-value",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="a value outside its list (severity, confidence_level, domain, overall_status …)",
    why="The next agent decides by this word.",
    fix="Write one of the listed words.",
    requirements=("S-06", "S-29", "S-32", "S-34", "S-38", "S-40", "S-42"),
    example=Example(good='"severity": "HIGH"', bad='"severity": "BLOCKER"', reply=ANALYZE_REPLY),
)

VALUE_CASE = VALUE_RULES.add(
    id="speckit/value-case",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="a listed value in the wrong case; repaired",
    why="The word is right, so its meaning is beyond doubt; only its form is not.",
    fix="Write listed values exactly as the schema has them.",
    requirements=("S-42",),
    example=Example(good='"severity": "HIGH"', bad='"severity": "high"', reply=ANALYZE_REPLY),
)

VALUE_ALIAS = VALUE_RULES.add(
    id="speckit/value-alias",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="PASS for PASSED, FAIL for FAILED and the reverse; repaired",
    why="Two fields spell the same verdict differently; each keeps its own spelling.",
    fix="Write PASSED and FAILED for tests and gates, PASS and FAIL for the compliance.",
    requirements=("S-42",),
    example=Example(
        good='"overall_status": "PASSED"', bad='"overall_status": "PASS"', reply=TEST_REPLY
    ),
)

BAD_TASK_ID = VALUE_RULES.add(
    id="speckit/bad-task-id",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="task id not `T` and three or more digits",
    why="Tasks are found in tasks.md by this id.",
    fix="Write the id as in tasks.md, such as T001.",
    requirements=("S-35",),
    example=Example(good='"task_ids": ["T001", ', bad='"task_ids": ["1", ', reply=TASKS_REPLY),
)

LOCATION_WITHOUT_LINE = VALUE_RULES.add(
    id="speckit/location-without-line",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="location not `file:line`",
    why="Whoever fixes the finding has to know where to look.",
    fix="Write file and line: tasks.md:12.",
    requirements=("S-06",),
    example=Example(
        good='"location": "tasks.md:1"', bad='"location": "tasks.md"', reply=ANALYZE_REPLY
    ),
)
