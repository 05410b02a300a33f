"""Rules about what is asked for: the summary of the task, its constraints, its deliverables."""

from itertools import pairwise

from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import REQUEST_PROMPT

__all__ = ["CONSTRAINTS_UNREADABLE", "EMPTY_CONSTRAINTS", "NO_DELIVERABLES", "TASK_RULES"]

_SHORTEST, _LONGEST = 10, 500
_KINDS = ("file", "decision", "report")
_SUMMARY = "<current_task_summary>Add POST /login and its tests</current_task_summary>"
_CONSTRAINT = "<constraint>No new dependencies</constraint>"
_DECISION = "<decision>Whether the database has to change</decision>"
_FILE = '<file path="src/login.py" required="true">The endpoint</file>'
_DELIVERABLES = f"""<deliverables>
    {_FILE}
    {_DECISION}
  </deliverables>"""


TASK_RULES = RuleList()


@TASK_RULES.rule(
    id="agent_request/summary-length",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="current_task_summary outside 10 to 500 characters",
    why="The summary is what people and schedulers read: one or two sentences.",
    fix="Say in one or two sentences what this task is; the rest belongs in task_details.",
    requirements=("H-05",),
    example=Example(
        good=_SUMMARY,
        bad="<current_task_summary>Summary</current_task_summary>",
        reply=REQUEST_PROMPT,
    ),
)
def _summary_length(request: Request, _expected: Expectations) -> Hit | None:
    # "Non-empty string, 10-500 chars recommended" (section 2.2)
    summary = request.current_task_summary
    if not summary or _SHORTEST <= len(summary) <= _LONGEST:
        return None
    return Hit(
        message=(
            f"current_task_summary has {len(summary)} characters; expected {_SHORTEST} to"
            f" {_LONGEST}"
        ),
        path="/agent_request/current_task_summary",
        found=excerpt(summary, 80),
    )


EMPTY_CONSTRAINTS = TASK_RULES.add(
    id="agent_request/empty-constraints",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="constraints container without a constraint",
    why="No constraints and forgotten constraints look the same.",
    fix="Leave the container out, or add a <constraint>.",
    requirements=("H-08",),
    example=Example(good=_CONSTRAINT, bad="", reply=REQUEST_PROMPT),
)


CONSTRAINTS_UNREADABLE = TASK_RULES.add(
    id="agent_request/constraints-unreadable",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="constraints exist and could not be read; an empty list is used and reported",
    why="An agent that sees no constraints acts as if there were none. Somebody has to know.",
    fix="Write each constraint as <constraint>…</constraint>.",
    requirements=("H-34",),
    example=Example(good=_CONSTRAINT, bad="No new dependencies", reply=REQUEST_PROMPT),
)


NO_DELIVERABLES = TASK_RULES.add(
    id="agent_request/no-deliverables",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="deliverables container without file, decision or report",
    why="Without a deliverable nobody can see when the task is done.",
    fix="Add at least one <file>, <decision> or <report>.",
    requirements=("H-09",),
    example=Example(good=_DELIVERABLES, bad="<deliverables/>", reply=REQUEST_PROMPT),
)


@TASK_RULES.rule(
    id="agent_request/deliverable-order",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="legal here; the literal XSD wants file, decision, report in this order",
    why="Tools that check by the literal schema refuse the request.",
    fix="Name all files first, then the decisions, then the reports.",
    requirements=("H-11",),
    example=Example(
        good=_DECISION, bad=f"<report>Coverage</report>\n    {_DECISION}", reply=REQUEST_PROMPT
    ),
)
def _deliverable_order(request: Request, _expected: Expectations) -> Hit | None:
    kinds = [each.kind for each in request.deliverables or ()]
    for number, (one, other) in enumerate(pairwise(kinds), 2):
        if _KINDS.index(other) < _KINDS.index(one):
            return Hit(
                message=(
                    f"<{other}> stands after <{one}>; legal, but the literal schema wants file,"
                    " decision, report"
                ),
                path=f"/agent_request/deliverables/{other}[{kinds[:number].count(other)}]",
            )

    return None
