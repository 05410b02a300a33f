"""The tools for the project as a whole: record what an agent did, and show the project's status."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from goop_mcp import services
from goop_mcp.memory.times import utc_now, written
from goop_mcp.server.answers import recorded_answer, status_answer
from goop_mcp.server.models import RecordedModel, StatusModel
from goop_mcp.server.telemetry import count_verdict
from goop_mcp.server.tools.progress import progress_reporter
from goop_mcp.server.tools.replies import (
    LOOKING,
    AgentName,
    Attempt,
    DetailLevel,
    Iteration,
    JudgingMode,
    KeptOf,
    Known,
    LastKept,
    MaxIterations,
    PhaseName,
    PreviousRules,
    ProtocolName,
    ReplyFile,
    ReplyText,
    ReportNumber,
    routing_context,
)
from goop_mcp.services.reply_sources import find_reply

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["ProjectTools"]

_ClaimsChecked = Annotated[
    bool,
    Field(
        description="Only if what it names is real; false: project elsewhere.",
        strict=True,
    ),
]


_Run = Annotated[str | None, Field(description="Also a run of a graph.", max_length=200)]


class ProjectTools:
    """Records reports and shows the project's status; clients read the methods' docstrings."""

    def __init__(self, application: "AppContext") -> None:
        """Work on the project of `application`."""
        self._application = application

    def record_report(
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
        check_workspace: _ClaimsChecked = True,
        detail: DetailLevel = "short",
        ctx: Context[Any, Any],
    ) -> Annotated[CallToolResult, RecordedModel]:
        """Validate an agent's reply, decide what happens next, and record it if it is accepted.

        Use it when you orchestrate a GoopSpec project. It counts attempts, and brings CHRONICLE.md,
        ADL.md, state.json and HANDOFF.md up to date; what people wrote stays, and secrets are
        redacted. A rejected reply is only counted; the same report again is a duplicate.
        """
        if check_workspace:
            self._application.require_folder()

        known = routing_context(
            expected_agent=expected_agent,
            phase=expected_phase,
            attempt=attempt,
            iteration=iteration,
            max_iterations=max_iterations,
            previous_rules=previous_rules or [],
            context=context,
        )
        reply = find_reply(
            self._application, text=text, report=report, file=file, agent=agent, last=last
        )
        if report is not None:
            services.recorded_reports.require_present(self._application.store, report)

        recorded = services.record_report.record_report(
            reply.text,
            known,
            self._application.writing_context(),
            protocol=protocol,
            mode=mode,
            check_workspace=check_workspace,
            looked=progress_reporter(ctx, LOOKING),
            rules=self._application.rules,
            now=written(utc_now()),
        )
        count_verdict(recorded.verdict, expected_agent=known.expected_agent)
        if agent is not None:
            # Several agents of one name may have replied: the caller has to see which one this is.
            remark = f"This is {reply.source}."
            recorded = replace(recorded, remarks=(remark, *recorded.remarks))

        return recorded_answer(recorded, detail)

    def project_status(
        self, run: _Run = None, *, detail: DetailLevel = "short"
    ) -> Annotated[CallToolResult, StatusModel]:
        """Show the project's status: phase, gates, waves, tasks, blockers and what to run next.

        Use it when you begin or are unsure where the work is. It says what the next gate
        lacks, and where documents and reports disagree. Changes nothing.
        """
        status = services.project_status.project_status(self._application.project_context)
        page = None if run is None else services.runs.run_page(self._application.store, run)
        return status_answer(status, detail, run=page)
