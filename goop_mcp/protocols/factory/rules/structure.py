"""Rules about the parts of a reply: its form, its status, what is absent."""

from msgspec.structs import replace

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "MARKDOWN_FORBIDDEN",
    "MARKDOWN_REPLY",
    "MISSING_FIELD",
    "NO_ENVELOPE",
    "STRUCTURE_RULES",
    "UNKNOWN_STATUS",
]

STRUCTURE_RULES = RuleList()

NO_ENVELOPE = STRUCTURE_RULES.add(
    id="factory/no-envelope",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="neither JSON nor one of the known Markdown reports; never a success",
    why="The orchestrator verifies the status; without one nothing counts as done.",
    fix="Send only the JSON object; the rest of the reply is kept.",
    requirements=("F-10", "F-26"),
    example=Example(good=FACTORY_REPLY, bad="Done.", reply=FACTORY_REPLY),
)

MARKDOWN_REPLY = STRUCTURE_RULES.add(
    id="factory/markdown-reply",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="read from Markdown (policy `markdown=forbid` makes it an error)",
    why=(
        "Agents may answer in plain Markdown for backward compatibility; it carries less than JSON."
    ),
    fix="Answer with the JSON object of the schema.",
    requirements=("F-01", "F-25"),
    example=Example(
        good=FACTORY_REPLY,
        bad=(
            "Task complete.\n\nDeliverables:\n- .roomodes\n\nSummary:\nBuilt the modes of the"
            " pipeline.\n"
        ),
        reply=FACTORY_REPLY,
    ),
)

MISSING_FIELD = STRUCTURE_RULES.add(
    id="factory/missing-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="status; deliverable path; question id or question; error.type; error.message",
    why="What is missing stays missing: no status is ever made up, least of all success.",
    fix="Add the missing field.",
    requirements=("F-10", "F-11", "F-12", "F-13"),
    example=Example(good='  "status": "success",\n', bad="", reply=FACTORY_REPLY),
)

UNKNOWN_STATUS = STRUCTURE_RULES.add(
    id="factory/unknown-status",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="status outside success, questions, failure",
    why="The router acts on the status, and nothing becomes success by default.",
    fix="Choose the one status that is true.",
    requirements=("F-10",),
    example=Example(good='"status": "success"', bad='"status": "ok"', reply=FACTORY_REPLY),
)

MARKDOWN_FORBIDDEN = replace(MARKDOWN_REPLY, lenient=Severity.ERROR, strict=Severity.ERROR)
"""The same rule under the policy `markdown=forbid`."""
