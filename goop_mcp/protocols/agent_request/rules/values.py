"""Rules about single values: template text, listed words, booleans, attributes of a known kind."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import REQUEST_PROMPT
from goop_mcp.validation.template_text import as_warning

__all__ = [
    "BAD_ATTRIBUTE_VALUE",
    "NOT_A_BOOLEAN",
    "PLACEHOLDER_LEFT",
    "SLOT_IN_TEXT",
    "UNKNOWN_MODE",
    "UNKNOWN_WORKFLOW",
    "VALUE_CASE",
    "VALUE_RULES",
]

_MODE = "<mode>spawn</mode>"
_WORKFLOW = "<workflow>TDD</workflow>"

VALUE_RULES = RuleList()

PLACEHOLDER_LEFT = VALUE_RULES.add(
    id="agent_request/placeholder-left",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "text of a template left in: a slot, a choice, its prose; within a sentence or a path a"
        " warning"
    ),
    why=(
        "A template that was not filled in asks for nothing; the agent would have to guess. A known"
        " slot within a sentence or a path is a warning, an unfilled `{{slot}}` an error wherever"
        " it stands outside of code."
    ),
    fix="Replace the template text by the real value.",
    requirements=("H-65",),
    example=Example(good=_MODE, bad="<mode>spawn|blocking</mode>", reply=REQUEST_PROMPT),
)

SLOT_IN_TEXT = as_warning(PLACEHOLDER_LEFT)
"""The same rule for a slot within other text."""

UNKNOWN_MODE = VALUE_RULES.add(
    id="agent_request/unknown-mode",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="mode outside spawn, conversation_only, blocking",
    why=(
        "The mode decides whether a session is opened and whether the parent waits; none is"
        " guessed."
    ),
    fix="Choose spawn, conversation_only or blocking.",
    requirements=("H-03", "H-38"),
    example=Example(good=_MODE, bad="<mode>invalid-mode</mode>", reply=REQUEST_PROMPT),
)

UNKNOWN_WORKFLOW = VALUE_RULES.add(
    id="agent_request/unknown-workflow",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="workflow outside SPIKE, TDD, standard, none",
    why="The workflow decides whether the agent may change production code; none is guessed.",
    fix="Choose SPIKE, TDD, standard or none.",
    requirements=("H-06",),
    example=Example(good=_WORKFLOW, bad="<workflow>HOTFIX</workflow>", reply=REQUEST_PROMPT),
)

VALUE_CASE = VALUE_RULES.add(
    id="agent_request/value-case",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="mode, workflow or boolean in the wrong case; repaired",
    why="Other readers compare the words letter by letter.",
    fix="Write the value as it is listed.",
    requirements=("H-03", "H-06", "H-18"),
    example=Example(good=_WORKFLOW, bad="<workflow>tdd</workflow>", reply=REQUEST_PROMPT),
)

NOT_A_BOOLEAN = VALUE_RULES.add(
    id="agent_request/not-a-boolean",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="required neither true, false, 1 nor 0",
    why="Whether a missing file holds the work up depends on it.",
    fix='Write required="true" or required="false".',
    requirements=("H-10", "H-18"),
    example=Example(good='required="true"', bad='required="yes"', reply=REQUEST_PROMPT),
)

BAD_ATTRIBUTE_VALUE = VALUE_RULES.add(
    id="agent_request/bad-attribute-value",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="known attribute with a value of the wrong kind",
    why="A scheduler that reads the attribute would pass over it.",
    fix="Write a value of the kind that the message names, or leave the attribute out.",
    requirements=("H-14",),
    example=Example(good='priority="high"', bad='priority="urgent"', reply=REQUEST_PROMPT),
)
