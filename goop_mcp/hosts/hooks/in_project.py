"""What a hook does in a project that configures it: verify claims, record accepted reports."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.routing import RoutingContext
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.judgements import count_judgement, judgement_of
from goop_mcp.services.record_report import Judged, record_report
from goop_mcp.services.stop_hooks.judging import AgentTurn, Allow, Block
from goop_mcp.services.stop_hooks.policy import StopPolicy
from goop_mcp.settings import read_settings
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.agents import plain_agent_name

__all__ = ["InProject"]

# The agent waits for the hook, and somebody else's checkout may hold a database that blocks.
_DATABASE_SECONDS: Final = 5.0


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
        self._settings = replace(settings, rules=rules, database_seconds=_DATABASE_SECONDS)
        self._policy = policy

    def judge(self, text: str, expected: Expectations) -> Verdict:
        """Return the verdict on a report, its claims about the project verified.

        Raises GoopError.
        """
        with AppContext(self._settings) as application:
            return check_workspace(
                text,
                self._settings.project,
                store=application.store,
                protocol=self._policy.protocol,
                mode=self._policy.mode,
                expected=expected,
                rules=application.rules,
            )

    def record(self, turn: AgentTurn, outcome: Block | Allow, *, session: str | None) -> str | None:
        """Record an accepted report, count any other one.

        Returns a sentence for the user when an accepted report could not be recorded. Raises
        GoopError when a rejected one could not be counted, which is only logged.
        """
        judged = Judged(
            surface="hook", number=outcome.number, ended=getattr(outcome, "ended", None)
        )
        with AppContext(self._settings) as application:
            if outcome.verdict is not None and not outcome.verdict.accepted:
                judgement = judgement_of(
                    outcome.verdict,
                    surface=judged.surface,
                    now=written(utc_now()),
                    agent=turn.agent and plain_agent_name(turn.agent),
                    session_id=session,
                    number=judged.number,
                    ended=judged.ended,
                )
                count_judgement(application.store, judgement)
                return None

            return self._record(turn, application, judged, session=session)

    def _record(
        self, turn: AgentTurn, application: AppContext, judged: Judged, *, session: str | None
    ) -> str | None:
        try:
            recorded = record_report(
                turn.text,
                RoutingContext(expected_agent=turn.expected.agent, session_id=session),
                application.writing_context(),
                protocol=self._policy.protocol,
                mode=self._policy.mode,
                check_workspace=self._policy.check_workspace,
                judged=judged,
                rules=application.rules,
                now=written(utc_now()),
            )
        except GoopError as error:
            return f"goop-mcp accepted a report and could not record it: {error}"

        if recorded.status == "rejected":
            return f"goop-mcp accepted a report and did not record it: {recorded.decision.message}"
        return None
