"""Rules about the parts of a report: absent, blank, doubled, unknown; and its version."""

import re

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = [
    "DUPLICATE_ELEMENT",
    "EMPTY_FIELD",
    "EXTENSION_ELEMENT",
    "MISSING_FIELD",
    "MISSING_PARTS",
    "NO_ENVELOPE",
    "STRUCTURE_RULES",
    "WRITTEN_VERSION",
]

WRITTEN_VERSION = "0.1.6"

MISSING_PARTS = {
    "status": "<status>COMPLETE|PARTIAL|BLOCKED|CHECKPOINT</status>, the one that is true",
    "agent": "<agent>goop-[type]</agent>, your own name",
    "state": "<state><phase>execute</phase></state>, with the phase you work in",
    "phase": "<phase>execute</phase>, or plan, specify, accept, research",
    "summary": "<summary>…</summary>, one or two sentences on what was done",
    "handoff": (
        '<handoff><ready>…</ready><next_action agent="…">…</next_action>'
        "<suggest_new_session>…</suggest_new_session></handoff>"
    ),
    "@path": 'path="…", relative to the project',
    "@type": 'type="decision", or observation, or note',
    "@passed": 'passed="true" or passed="false"',
}
"""What to write for each part that is always required."""

_OLDEST, _NEWEST = (0, 1, 4), (0, 2, 9)
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})")
_ROOT = '<goop_report version="0.1.6">'


STRUCTURE_RULES = RuleList()


NO_ENVELOPE = STRUCTURE_RULES.add(
    id="goop_report/no-envelope",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="goop_report asked for and none found",
    why=(
        "Every agent response must include the block. Without it the orchestrator would have to"
        " guess."
    ),
    fix="End the reply with the envelope; `goop-mcp prompt goop_report` shows its form.",
    requirements=("G-01", "P-02", "P-08"),
    example=Example(
        good=COMPLETE_REPLY, bad="## TASK COMPLETE\n\nDone. All tests pass.", reply=COMPLETE_REPLY
    ),
)


MISSING_FIELD = STRUCTURE_RULES.add(
    id="goop_report/missing-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "required element or attribute absent: status, agent, state, state/phase, summary, handoff;"
        " file path; saved type; check passed"
    ),
    why="What is missing stays missing: no status, agent or hand-over is ever made up.",
    fix="Add the missing part.",
    requirements=("G-20", "G-22", "G-26", "G-28", "G-36"),
    example=Example(
        good="<summary>Added the login endpoint.</summary>\n", bad="", reply=COMPLETE_REPLY
    ),
)


EMPTY_FIELD = STRUCTURE_RULES.add(
    id="goop_report/empty-field",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="required element present but blank",
    why="A blank element says no more than a missing one.",
    fix="Fill in the element.",
    requirements=("G-21", "G-36"),
    example=Example(
        good="<summary>Added the login endpoint.</summary>",
        bad="<summary> </summary>",
        reply=COMPLETE_REPLY,
    ),
)


DUPLICATE_ELEMENT = STRUCTURE_RULES.add(
    id="goop_report/duplicate-element",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="an element that may stand once stands twice",
    why="Two statuses contradict each other, and taking either would be a guess.",
    fix="Keep one of the two elements.",
    requirements=("G-09", "G-36"),
    example=Example(
        good="<status>COMPLETE</status>",
        bad="<status>BLOCKED</status><status>COMPLETE</status>",
        reply=COMPLETE_REPLY,
    ),
)


@STRUCTURE_RULES.rule(
    id="goop_report/version-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="root without version",
    why="The envelope is read by the same rules, but a reader cannot know which form was meant.",
    fix=f'Write the version at the root: <goop_report version="{WRITTEN_VERSION}">.',
    requirements=("G-06",),
    example=Example(good=_ROOT, bad="<goop_report>", reply=COMPLETE_REPLY),
)
def _version_missing(report: Report, _expected: Expectations) -> Hit | None:
    if report.version:
        return None
    return Hit(
        message=f"the root has no version; expected {WRITTEN_VERSION} or another",
        path="/goop_report",
    )


@STRUCTURE_RULES.rule(
    id="goop_report/unknown-version",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="version outside 0.1.4 to 0.2.9; read by the same rules",
    why="A newer package may have changed the form; so far none has.",
    fix="Nothing to do unless the version is a slip.",
    requirements=("G-05", "G-06"),
    example=Example(good=_ROOT, bad='<goop_report version="0.3.0">', reply=COMPLETE_REPLY),
)
def _unknown_version(report: Report, _expected: Expectations) -> Hit | None:
    # G-06: versions 0.1.4 to 0.2.9 share one structure.
    if not report.version or report.version == WRITTEN_VERSION:
        return None

    number = _VERSION.fullmatch(report.version)
    if number and _OLDEST <= (int(number[1]), int(number[2]), int(number[3])) <= _NEWEST:
        return None
    return Hit(
        message=(
            f"version is {excerpt(report.version, 40)!r}; expected 0.1.4 to 0.2.9; read by the same"
            " rules"
        ),
        path="/goop_report/@version",
        found=report.version,
    )


EXTENSION_ELEMENT = STRUCTURE_RULES.add(
    id="goop_report/extension-element",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="element the schema does not have; kept in `extensions` and written back",
    why="Agents add evidence, comparisons, recommendations. Nothing they say is lost.",
    fix="Nothing to do: the element is kept.",
    requirements=("G-08",),
    example=Example(
        good="<memory>\n",
        bad="<evidence>see the log</evidence>\n  <memory>\n",
        reply=COMPLETE_REPLY,
    ),
)
