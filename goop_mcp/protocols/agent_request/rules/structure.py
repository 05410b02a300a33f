"""Rules about the parts of a request: absent, blank, doubled, unknown, out of order."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import REQUEST_PROMPT

__all__ = [
    "DUPLICATE_ELEMENT",
    "ELEMENT_ORDER",
    "EMPTY_FIELD",
    "EXTENSION_ELEMENT",
    "MISSING_FIELD",
    "REQUIRED_PARTS",
    "STRUCTURE_RULES",
    "UNKNOWN_ATTRIBUTE",
    "UNKNOWN_ELEMENT",
]

REQUIRED_PARTS = {
    "mode": "<mode>spawn</mode>, or conversation_only, blocking",
    "original_intent": "<original_intent>…</original_intent>, the goal of the work as a whole",
    "current_task_summary": "<current_task_summary>…</current_task_summary>, one or two sentences",
    "workflow": "<workflow>standard</workflow>, or SPIKE, TDD, none",
    "task_details": "<task_details>…</task_details>, what is to be done",
    "deliverables": (
        '<deliverables><file path="…">…</file></deliverables>, or a <decision> or a <report> in it'
    ),
    "@path": 'path="…", relative to the project',
}
"""What to write for each part that is always required."""

_INTENT = "<original_intent>Let agents prove who they are</original_intent>"
_MODE = "<mode>spawn</mode>"
_WORKFLOW = "<workflow>TDD</workflow>"
_NOTES = "<backlog_notes>Next: refresh tokens</backlog_notes>\n"

STRUCTURE_RULES = RuleList()

MISSING_FIELD = STRUCTURE_RULES.add(
    id="agent_request/missing-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="required element or file/@path absent",
    why="What is missing stays missing: no task, deliverable or path is ever made up.",
    fix="Add the missing part.",
    requirements=("H-02", "H-09", "H-10", "H-32"),
    example=Example(good=f"{_INTENT}\n", bad="", reply=REQUEST_PROMPT),
)

EMPTY_FIELD = STRUCTURE_RULES.add(
    id="agent_request/empty-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="required element blank",
    why="A blank element says no more than a missing one.",
    fix="Fill in the element.",
    requirements=("H-04", "H-05", "H-07"),
    example=Example(good=_INTENT, bad="<original_intent> </original_intent>", reply=REQUEST_PROMPT),
)

DUPLICATE_ELEMENT = STRUCTURE_RULES.add(
    id="agent_request/duplicate-element",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="an element that may stand once stands twice",
    why="Two modes contradict each other, and taking either would be a guess.",
    fix="Keep one of the two elements.",
    requirements=("H-02",),
    example=Example(good=_MODE, bad=f"{_MODE}<mode>blocking</mode>", reply=REQUEST_PROMPT),
)

ELEMENT_ORDER = STRUCTURE_RULES.add(
    id="agent_request/element-order",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="children not in the order of the schema; sorted",
    why="The schema is a sequence: tools that check by it refuse any other order.",
    fix=(
        "Write the elements in this order: mode, original_intent, current_task_summary, workflow,"
        " task_details, constraints, deliverables, backlog_notes."
    ),
    requirements=("H-02",),
    example=Example(
        good=f"{_MODE}\n", bad=f"{_NOTES}{_MODE}\n", reply=REQUEST_PROMPT.replace(f"  {_NOTES}", "")
    ),
)

UNKNOWN_ELEMENT = STRUCTURE_RULES.add(
    id="agent_request/unknown-element",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="child without a separate namespace that the schema does not have; kept",
    why="The agent that gets the request does not look for it, and the schema refuses it.",
    fix="Write it into task_details, or put the element into a separate namespace.",
    requirements=("H-16", "H-32"),
    example=Example(
        good=_NOTES, bad=f"{_NOTES}<reviewer>qa-agent</reviewer>\n", reply=REQUEST_PROMPT
    ),
)

EXTENSION_ELEMENT = STRUCTURE_RULES.add(
    id="agent_request/extension-element",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="child in a separate namespace; kept",
    why="Kinds of agents add what only they understand; others pass over it.",
    fix="Nothing to do: the element is kept.",
    requirements=("H-16",),
    example=Example(
        good=_NOTES,
        bad=(
            f"{_NOTES}<qa:coverage"
            ' xmlns:qa="http://instructor-workflow.org/qa/v1">90</qa:coverage>\n'
        ),
        reply=REQUEST_PROMPT,
    ),
)

UNKNOWN_ATTRIBUTE = STRUCTURE_RULES.add(
    id="agent_request/unknown-attribute",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="root attribute outside the known list; kept",
    why="Custom attributes must not break a request; the literal schema refuses them all the same.",
    fix="Nothing to do unless the name is a slip.",
    requirements=("H-14", "H-15"),
    example=Example(
        good='priority="high"', bad='priority="high" colour="red"', reply=REQUEST_PROMPT
    ),
)
