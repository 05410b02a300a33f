"""Rules about `<agent>`: who reports."""

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.workflow.agents import (
    KNOWN_AGENTS,
    is_agent_name,
    may_report_as,
    plain_agent_name,
    same_agent,
)

__all__ = ["AGENT_RULES"]

_PATH = "/goop_report/agent"
_GOOD = "<agent>goop-executor</agent>"


AGENT_RULES = RuleList()


@AGENT_RULES.rule(
    id="goop_report/bad-agent-name",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "agent is not `goop-[type]` nor `memory-distiller`, and the project has no agent of that"
        " name"
    ),
    why="The name is how the orchestrator knows whose work this is.",
    fix=(
        "Write your own agent name, such as goop-executor; a project lists names of its own in"
        " .goopspec/hooks.json."
    ),
    requirements=("G-10", "G-11"),
    example=Example(good=_GOOD, bad="<agent>executor</agent>", reply=COMPLETE_REPLY),
)
def _bad_agent_name(report: Report, expected: Expectations) -> Hit | None:
    if (
        not report.agent
        or report.agent in KNOWN_AGENTS
        or may_report_as(report.agent, expected.agents)
    ):
        return None

    plain = plain_agent_name(report.agent).removeprefix("goop-")
    named = f"goop-{plain.replace('_', '-').replace(' ', '-')}"
    fix = f"Write <agent>{named}</agent>." if named in KNOWN_AGENTS else None

    return Hit(
        message=(
            f"agent is {excerpt(report.agent, 60)!r}; expected the form goop-[type] in lower case"
        ),
        path=_PATH,
        found=excerpt(report.agent),
        fix=fix,
    )


@AGENT_RULES.rule(
    id="goop_report/unknown-agent",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="well-formed agent name that no known GoopSpec release has",
    why="Projects add agents of their own.",
    fix="Nothing to do unless the name is a slip.",
    requirements=("G-11",),
    example=Example(good=_GOOD, bad="<agent>goop-baker</agent>", reply=COMPLETE_REPLY),
)
def _unknown_agent(report: Report, _expected: Expectations) -> Hit | None:
    if not report.agent or report.agent in KNOWN_AGENTS or not is_agent_name(report.agent):
        return None
    return Hit(
        message=f"agent {excerpt(report.agent, 60)} is in no known GoopSpec release",
        path=_PATH,
        found=excerpt(report.agent),
    )


@AGENT_RULES.rule(
    id="goop_report/agent-mismatch",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="agent differs from the expected one",
    why=(
        "A report of another agent is a copied template or a mix-up; acting on it credits the wrong"
        " work."
    ),
    fix="Report under the name by which you were invoked.",
    requirements=("G-42",),
    example=Example(
        good="<agent>goop-executor</agent>",
        bad="<agent>goop-planner</agent>",
        reply=COMPLETE_REPLY,
        expected=Expectations(agent="goop-executor"),
    ),
)
def _agent_mismatch(report: Report, expected: Expectations) -> Hit | None:
    # "Agent must match the subagent_type that was invoked" (Validation Rules)
    if not expected.agent or not report.agent or same_agent(report.agent, expected.agent):
        return None

    wanted = plain_agent_name(expected.agent)
    wanted = wanted if may_report_as(wanted, expected.agents) else f"goop-{wanted}"

    return Hit(
        message=f"agent is {excerpt(report.agent, 60)!r}; expected {wanted!r}, which was invoked",
        path=_PATH,
        found=excerpt(report.agent),
        expected=(wanted,),
        fix=f"Report as yourself: <agent>{wanted}</agent>.",
    )
