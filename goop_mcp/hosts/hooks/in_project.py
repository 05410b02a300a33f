"""What a hook does in a GoopSpec project: verify claims, record accepted reports."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import goop_mcp
from goop_mcp import services
from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.stop_hooks.judging import AgentTurn, Allow, Block
from goop_mcp.services.stop_hooks.policy import CLAIM_SECONDS, StopPolicy
from goop_mcp.settings import SettingsError, read_settings
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.agents import plain_agent_name
from goop_mcp.workspace.git import GitError, Repository

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import EvidenceSource
    from goop_mcp.services.record_report import Judged

__all__ = ["InProject"]

# The agent waits for the hook, and somebody else's checkout may hold a database that blocks.
_DATABASE_SECONDS_TO_RECORD: Final = 5.0


class InProject:
    """The project of one event, with its policy.

    `rules` name modules or files with custom rules.
    """

    def __init__(
        self,
        project: str,
        policy: StopPolicy,
        environment: Mapping[str, str],
        *,
        rules: tuple[str, ...],
    ) -> None:
        settings = read_settings(environment, project=project)
        self._settings = replace(settings, rules=rules, database_seconds=CLAIM_SECONDS)
        self._policy = policy

    def head(self) -> str | None:
        """Return the id of the commit that is checked out, None if git cannot give it."""
        repository = Repository(self._settings.project, until=time.monotonic() + CLAIM_SECONDS)
        try:
            return repository.head()
        except GitError:
            return None

    def judge(
        self,
        text: str,
        expected: Expectations,
        *,
        evidence: "EvidenceSource | None" = None,
    ) -> Verdict:
        """Return the verdict on a report, its claims about the project verified in two seconds.

        `evidence` is what is known about the agent's work apart from its report. Raises
        RuleFailedError and RuleRefusedError.
        """
        with AppContext(self._settings) as application:
            try:
                store = application.store
            except SettingsError:
                # The claims about memories are not checked then; all others still are.
                store = None

            return check_workspace(
                text,
                self._settings.project,
                store=store,
                protocol=self._policy.protocol,
                mode=self._policy.mode,
                expected=expected,
                seconds=CLAIM_SECONDS,
                rules=application.rules,
                evidence=evidence,
                require=self._policy.require_evidence,
            )

    def keep(self, text: str, *, agent: str, key: str, creates: bool) -> None:
        """Keep `text` as the last reply of the `agent` with this `key`. Raises GoopError.

        Without a database nothing is kept, unless `creates`: somebody else's checkout gets none.
        """
        settings = replace(self._settings, database_seconds=_DATABASE_SECONDS_TO_RECORD)
        with AppContext(settings) as application:
            if not creates and not application.store.exists():
                return

            services.kept_replies.keep_reply(
                application.store,
                text,
                agent=agent,
                key=key,
                now=written(utc_now()),
            )

    def record(
        self, turn: AgentTurn, outcome: Block | Allow, *, session: str | None, verified: bool
    ) -> str | None:
        """Record an accepted report, count any other one if the project has a database.

        `verified` states that the claims were part of the judgement. Returns a sentence for the
        user when an accepted report could not be recorded. Raises GoopError when a rejected one
        could not be counted, which is only logged.
        """
        # Most hooks only judge, and need neither the router nor what writes the documents.
        judged = services.record_report.Judged(
            surface="hook", number=outcome.number, ended=getattr(outcome, "ended", None)
        )
        settings = replace(self._settings, database_seconds=_DATABASE_SECONDS_TO_RECORD)
        with AppContext(settings) as application:
            if outcome.verdict is not None and not outcome.verdict.accepted:
                self._count(turn, outcome.verdict, application, judged, session=session)
                return None

            return self._record(
                turn, outcome, application, judged, session=session, verified=verified
            )

    def _count(
        self,
        turn: AgentTurn,
        verdict: Verdict,
        application: AppContext,
        judged: "Judged",
        *,
        session: str | None,
    ) -> None:
        if not application.store.exists():
            return

        judgement = services.judgements.judgement_of(
            verdict,
            surface=judged.surface,
            now=written(utc_now()),
            agent=turn.agent and plain_agent_name(turn.agent),
            session_id=session,
            number=judged.number,
            ended=judged.ended,
        )
        context = goop_mcp.RoutingContext(expected_agent=turn.expected.agent, session_id=session)
        services.counters.count_reply(
            application.store,
            verdict,
            context,
            partial(goop_mcp.route, verdict),
            text=turn.text,
            surface=judged.surface,
            judgement=lambda _decision: judgement if self._policy.record else None,
        )

    def _record(
        self,
        turn: AgentTurn,
        outcome: Block | Allow,
        application: AppContext,
        judged: "Judged",
        *,
        session: str | None,
        verified: bool,
    ) -> str | None:
        try:
            recorded = services.record_report.record_report(
                turn.text,
                goop_mcp.RoutingContext(expected_agent=turn.expected.agent, session_id=session),
                application.writing_context(),
                protocol=self._policy.protocol,
                mode=self._policy.mode,
                check_workspace=verified,
                verdict=outcome.verdict,
                judged=judged,
                rules=application.rules,
                now=written(utc_now()),
            )
        except GoopError as error:
            return f"goop-mcp accepted a report and could not record it: {error}"

        if recorded.status == "rejected":
            return f"goop-mcp accepted a report and did not record it: {recorded.decision.message}"
        return None
