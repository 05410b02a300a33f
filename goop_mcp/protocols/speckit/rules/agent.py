"""Rules about `agent`: who answers."""

from goop_mcp.protocols.speckit.model import Response, plain_agent
from goop_mcp.protocols.speckit.samples import CLARIFY_REPLY, ERROR_REPLY
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.workflow.agents import plain_agent_name

__all__ = ["AGENT_PREFIX", "AGENT_RULES", "UNKNOWN_AGENT"]


AGENT_RULES = RuleList()


UNKNOWN_AGENT = AGENT_RULES.add(
    id="speckit/unknown-agent",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="agent not in the eleven",
    why="Projects add agents of their own; their results are not looked into.",
    fix="Write your own name as the schema has it, unless the agent is one of your project.",
    requirements=("S-16",),
    example=Example(good='"agent": "clarify"', bad='"agent": "baker"', reply=CLARIFY_REPLY),
)


AGENT_PREFIX = AGENT_RULES.add(
    id="speckit/agent-prefix",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="`speckit-plan`, `speckit.plan`; read as `plan`",
    why="Projects install the agents under such names.",
    fix="Nothing to do: the prefix is dropped.",
    requirements=("S-10",),
    example=Example(
        good='"agent": "clarify"', bad='"agent": "speckit-clarify"', reply=CLARIFY_REPLY
    ),
)


@AGENT_RULES.rule(
    id="speckit/agent-mismatch",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="agent differs from the expected one",
    why="The orchestrator would take the work of one agent for that of another.",
    fix="Answer under your own name.",
    requirements=("S-10",),
    example=Example(
        good='"agent": "tasks"',
        bad='"agent": "analyze"',
        reply=ERROR_REPLY,
        expected=Expectations(agent="tasks"),
    ),
)
def _agent_mismatch(response: Response, expected: Expectations) -> Hit | None:
    if not expected.agent or response.agent is None:
        return None

    wanted = plain_agent(plain_agent_name(expected.agent))
    if response.agent == wanted:
        return None
    return Hit(
        message=f"agent is {excerpt(response.agent, 60)!r}; expected {wanted!r}, which was invoked",
        path="/agent",
        found=excerpt(response.agent),
        expected=(wanted,),
        fix=f'Answer as yourself: "agent": "{wanted}".',
    )
