"""Rules about what an agent is given."""

from goop_mcp.protocols.speckit.model import AgentInput
from goop_mcp.protocols.speckit.samples import FEEDBACK_INPUT, WORKFLOW_INPUT
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "CONTEXT_RULES",
]


CONTEXT_RULES = RuleList()


@CONTEXT_RULES.rule(
    id="speckit/feature-dir-differs",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="feature_dir is not `specs/<feature_id>/`",
    why="Agents look for the files of the feature in that folder.",
    fix="Write specs/, the feature_id and a slash.",
    requirements=("S-02",),
    example=Example(
        good='"feature_dir": "specs/007-oauth-login/"',
        bad='"feature_dir": "features/7/"',
        reply=WORKFLOW_INPUT,
    ),
)
def _feature_dir_differs(given: AgentInput, _expected: Expectations) -> Hit | None:
    context = given.workflow_context
    if (
        context is None
        or not context.feature_id
        or not context.feature_dir
        or "<" in context.feature_dir
    ):
        return None

    wanted = f"specs/{context.feature_id}/"
    if context.feature_dir.rstrip("/") == wanted.rstrip("/"):
        return None
    return Hit(
        message=(
            f"feature_dir is {excerpt(context.feature_dir, 60)!r}; expected {excerpt(wanted, 60)!r}"
        ),
        path="/workflow_context/feature_dir",
        found=excerpt(context.feature_dir),
        expected=(wanted,),
    )


@CONTEXT_RULES.rule(
    id="speckit/feedback-exhausted",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="iteration greater than max_iterations",
    why="The same findings went back and forth often enough; a person has to decide.",
    fix="Ask the user instead of calling the agent again.",
    requirements=("S-08",),
    example=Example(good='"iteration": 1', bad='"iteration": 3', reply=FEEDBACK_INPUT),
)
def _feedback_exhausted(given: AgentInput, _expected: Expectations) -> Hit | None:
    context = given.feedback_context
    if context is None or context.iteration is None or context.max_iterations is None:
        return None
    if context.iteration <= context.max_iterations:
        return None
    return Hit(
        message=(
            f"iteration is {context.iteration} of {context.max_iterations}; expected no more than"
            " that"
        ),
        path="/feedback_context/iteration",
        found=str(context.iteration),
    )
