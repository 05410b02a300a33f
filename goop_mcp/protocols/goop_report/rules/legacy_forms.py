"""Rules about older and sibling forms of the report, and the checklist that ends an execution."""

from goop_mcp.validation.findings import Severity
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = [
    "CHECKLIST_GAP",
    "LEGACY_FORM_RULES",
    "LEGACY_RESPONSE",
    "MARKDOWN_SECTIONS",
    "OTHER_ROOT",
]

_MEMORY = COMPLETE_REPLY[
    COMPLETE_REPLY.index("  <memory>") : COMPLETE_REPLY.index("  <verification>")
]
_ENVELOPE_FIX = (
    'Report in the current form: a <goop_report version="0.1.6"> block at the end of the reply.'
)


LEGACY_FORM_RULES = RuleList()

LEGACY_RESPONSE = LEGACY_FORM_RULES.add(
    id="subagent_protocol/legacy-response",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="the JSON of protocol 0.1.3; converted, `failed` becomes BLOCKED",
    why="Old agents still answer so. The form cannot say who continues.",
    fix=_ENVELOPE_FIX,
    requirements=("P-09", "P-10"),
    example=Example(
        good=COMPLETE_REPLY,
        bad='{"status": "complete", "summary": "Added the login endpoint"}',
        reply=COMPLETE_REPLY,
    ),
)

MARKDOWN_SECTIONS = LEGACY_FORM_RULES.add(
    id="subagent_protocol/markdown-sections",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="the five sections STATUS, SUMMARY, ARTIFACTS, VERIFICATION, NEXT; converted",
    why="Packages of profile v1 answer so. What the sections cannot say stays absent.",
    fix=_ENVELOPE_FIX,
    requirements=("P-08",),
    example=Example(
        good=COMPLETE_REPLY,
        bad="## STATUS\ncomplete\n\n## SUMMARY\nAdded the login endpoint.\n",
        reply=COMPLETE_REPLY,
    ),
)

OTHER_ROOT = LEGACY_FORM_RULES.add(
    id="subagent_protocol/other-root",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches=(
        "a sibling root such as `<debug_report>`; converted where the status is in the table, else"
        " an error of its own (`goop_report/unknown-status`)"
    ),
    why="Some agents of the packages have a root element of their own.",
    fix=_ENVELOPE_FIX,
    requirements=("P-08",),
    example=Example(
        good=COMPLETE_REPLY,
        bad="<debug_report><status>BUG FIXED</status><summary>Off by one.</summary></debug_report>",
        reply=COMPLETE_REPLY,
    ),
)

CHECKLIST_GAP = LEGACY_FORM_RULES.add(
    id="subagent_protocol/checklist-gap",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="an item of the envelope checklist is missing",
    why=(
        "The protocol closes with a checklist: status, summary, files, commit, memory, next action,"
        " session flag."
    ),
    fix="Add the section when there is something to report.",
    requirements=("P-12", "P-13"),
    example=Example(good=_MEMORY, bad="", reply=COMPLETE_REPLY),
)
