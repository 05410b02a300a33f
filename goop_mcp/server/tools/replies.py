"""The tools that judge a reply: by itself, and by the project it was written in."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

import goop_mcp
from goop_mcp import services
from goop_mcp.server.answers import decision_answer, verdict_answer
from goop_mcp.server.models import AnyObject, DecisionModel, ProtocolChoice, VerdictModel
from goop_mcp.server.short_answers import SHOWN_OF_AN_ENVELOPE, Detail
from goop_mcp.server.telemetry import count_verdict
from goop_mcp.server.tools.progress import progress_reporter
from goop_mcp.services.project_expectations import judge_text
from goop_mcp.services.reply_sources import find_reply
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from goop_mcp.context import AppContext
    from goop_mcp.routing import RoutingContext

__all__ = [
    "JUDGED_AT_ONCE",
    "LONGEST_AT_ONCE",
    "LOOKING",
    "WORKSPACE_ARGUMENT",
    "AgentName",
    "Attempt",
    "DetailLevel",
    "Iteration",
    "JudgingMode",
    "KeptOf",
    "Known",
    "LastKept",
    "MaxIterations",
    "PhaseName",
    "PreviousRules",
    "ProtocolName",
    "ReplyFile",
    "ReplyText",
    "ReplyTools",
    "ReportNumber",
    "routing_context",
]

_LONGEST_PATH: Final = 4095
LOOKING: Final = "looking for the files that the reply names"

ReplyText = Annotated[
    str | None,
    Field(
        description="The agent's complete reply, unchanged.",
        max_length=DEFAULT_LIMITS.text_bytes,
    ),
]
ReportNumber = Annotated[
    int | None, Field(description="Instead of text: number of a recorded report.")
]
ReplyFile = Annotated[
    str | None,
    Field(
        description="Instead of text: a path in the project.",
        max_length=_LONGEST_PATH,
    ),
]
KeptOf = Annotated[
    str | None,
    Field(
        description="Instead of text, with last: whose last reply, kept by hooks.",
        max_length=200,
    ),
]
LastKept = Annotated[bool, Field(description="true with agent.", strict=True)]
ProtocolName = Annotated[ProtocolChoice, Field(description="Of the envelope; auto detects it.")]
JudgingMode = Annotated[
    Literal["lenient", "strict"],
    Field(description="strict: a repair is an error."),
]
AgentName = Annotated[
    str | None,
    Field(
        description="Who was asked, such as goop-executor.",
        max_length=200,
    ),
]
PhaseName = Annotated[
    str | None,
    Field(description="Workflow phase, such as execute.", max_length=200),
]
WithClaims = Annotated[
    bool,
    Field(
        description="Also verify files, commits, state and memories it names.",
        strict=True,
    ),
]
DetailLevel = Annotated[Detail, Field(description="full: nothing left out.")]
Attempt = Annotated[
    int, Field(description="Which attempt at the same request this is.", ge=1, le=1000)
]
Iteration = Annotated[
    int, Field(description="How often feedback was given on this edge.", ge=0, le=1000)
]
MaxIterations = Annotated[
    int | None,
    Field(description="The limit in the feedback that was sent; null: the default.", ge=0, le=1000),
]
PreviousRules = Annotated[
    list[Annotated[str, Field(max_length=200)]] | None,
    Field(description="Rules that the last rejected reply broke; null: none.", max_length=100),
]
Known = Annotated[
    AnyObject | None,
    Field(description="What else you know, above all stored state_changes."),
]


JUDGED_AT_ONCE: Final = frozenset({"validate_report", "route_next_action"})
"""Tools that judge on the event loop, except long replies, claims to verify or custom rules."""
WORKSPACE_ARGUMENT: Final = "check_workspace"
LONGEST_AT_ONCE: Final = 16_384
"""Characters of a reply that takes less time to judge than to hand to another thread.

It takes 20 ms at worst, where every part of it is repaired.
"""


class ReplyTools:
    """Judges replies of agents that work on a project; clients read the methods' docstrings."""

    def __init__(self, application: "AppContext") -> None:
        """Verify claims by the project and the memory of `application`."""
        self._application = application

    async def validate_report(
        self,
        text: ReplyText = None,
        *,
        report: ReportNumber = None,
        file: ReplyFile = None,
        agent: KeptOf = None,
        last: LastKept = False,
        protocol: ProtocolName = "auto",
        mode: JudgingMode = "lenient",
        expected_agent: AgentName = None,
        expected_phase: PhaseName = None,
        check_workspace: WithClaims = False,
        detail: DetailLevel = "short",
        ctx: Context[Any, Any],
    ) -> Annotated[CallToolResult, VerdictModel]:
        """Validate the envelope of a reply: <goop_report>, <agent_request>, speckit or Factory.

        Use it on every reply of a subagent before acting on it, and on your own report before
        sending it. It names every error with line and fix: send the feedback back, or fix your
        report by it. Form is repaired; a missing status or a cut-off reply never is.
        """
        expected = Expectations(agent=expected_agent, phase=expected_phase)
        here, rules = self._application, self._application.rules
        find = partial(
            find_reply, here, text=text, report=report, file=file, agent=agent, last=last
        )

        # Read within the judging function, as a report or file is read on the worker thread.
        def judged() -> CallToolResult:
            reply = find().text
            if check_workspace:
                here.require_folder()
                verdict = services.check_workspace.check_workspace(
                    reply,
                    here.settings.project,
                    store=here.store,
                    protocol=protocol,
                    mode=mode,
                    expected=expected,
                    rules=rules,
                    looked=progress_reporter(ctx, LOOKING),
                    judged_by=here.judged_by(),
                )
            else:
                verdict = judge_text(
                    reply,
                    here.settings.project,
                    protocol=protocol,
                    mode=mode,
                    expected=expected,
                    rules=rules,
                    judged_by=here.judged_by(),
                )

            # Counted with the agent that was expected: an unreadable reply names none itself.
            count_verdict(verdict, expected_agent=expected_agent)
            # Hosts keep the answers of tools.
            shown = services.shareable_verdicts.shareable_verdict(
                verdict, reply, of_envelope=SHOWN_OF_AN_ENVELOPE if detail == "short" else None
            )
            return verdict_answer(shown, detail)

        return await self._answered(judged, text, check_workspace=check_workspace)

    async def route_next_action(
        self,
        text: ReplyText = None,
        *,
        report: ReportNumber = None,
        file: ReplyFile = None,
        agent: KeptOf = None,
        last: LastKept = False,
        protocol: ProtocolName = "auto",
        mode: JudgingMode = "lenient",
        expected_agent: AgentName = None,
        expected_phase: PhaseName = None,
        attempt: Attempt = 1,
        iteration: Iteration = 0,
        max_iterations: MaxIterations = None,
        previous_rules: PreviousRules = None,
        context: Known = None,
        check_workspace: WithClaims = False,
        detail: DetailLevel = "short",
        ctx: Context[Any, Any],
    ) -> Annotated[CallToolResult, DecisionModel]:
        """Validate an agent's reply and decide what happens next: who continues, with which prompt.

        Use it when you orchestrate and nothing is to be recorded. It never continues after a
        rejected reply, a failed check or a blocking verdict. It remembers nothing: store
        state_changes, and give them as context with the next call.
        """
        # One object for all that is known: its names are those of the library, so that new ones
        # need no new argument.
        known = routing_context(
            expected_agent=expected_agent,
            phase=expected_phase,
            attempt=attempt,
            iteration=iteration,
            max_iterations=max_iterations,
            previous_rules=previous_rules or [],
            context=context,
        )
        route = partial(
            services.route_reply.route_reply,
            context=known,
            protocol=protocol,
            mode=mode,
            home=self._application.settings.project,
            rules=self._application.rules,
        )

        here = self._application
        find = partial(
            find_reply, here, text=text, report=report, file=file, agent=agent, last=last
        )

        def routed() -> CallToolResult:
            reply, judged_by = find().text, here.judged_by()
            if check_workspace:
                here.require_folder()
                decision = route(
                    reply,
                    project=here.settings.project,
                    store=here.store,
                    looked=progress_reporter(ctx, LOOKING),
                    judged_by=judged_by,
                )
            else:
                decision = route(reply, judged_by=judged_by)

            count_verdict(decision.verdict, expected_agent=known.expected_agent)
            return decision_answer(
                services.shareable_verdicts.shareable_decision(decision, reply), detail
            )

        return await self._answered(routed, text, check_workspace=check_workspace)

    async def _answered(
        self, judge: Callable[[], CallToolResult], text: str | None, *, check_workspace: bool
    ) -> CallToolResult:
        """Return the result of `judge`, run on a worker thread unless it is known to be quick."""
        # How long custom rules take is not known, nor how long a reply without its text is read.
        at_once = (
            text is not None
            and len(text) <= LONGEST_AT_ONCE
            and not check_workspace
            and not self._application.rules
        )
        return judge() if at_once else await anyio.to_thread.run_sync(judge)


def routing_context(
    *, context: Mapping[str, object] | None, **arguments: object
) -> "RoutingContext":
    """Return the routing context of a tool call; names in `context` override the arguments.

    Raises ContextError if a value cannot be used.
    """
    return goop_mcp.RoutingContext.from_dict({**arguments, **(context or {})})
