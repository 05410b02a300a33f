"""What a hook does with a project when that asks for it: hold claims against it, and record what was accepted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from goop_mcp.composition import Application
from goop_mcp.errors import GoopError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.operations.check_workspace import check_workspace
from goop_mcp.operations.judgements import count_judgement, judgement_of
from goop_mcp.operations.record_report import Judged, record_report
from goop_mcp.operations.stopping.judging import Allow, Block, Turn
from goop_mcp.operations.stopping.policy import StopPolicy
from goop_mcp.routing import RoutingContext
from goop_mcp.settings import read_settings
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.agents import plain_agent_name

__all__ = ["InProject"]

# A turn waits for the hook, and the project may be somebody else's checkout.
_DATABASE_SECONDS: Final = 5.0


class InProject:
    """The project of one event, and what it wants.

    `rules` are the places of rules that were brought along.
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
        """Return the verdict on a report together with what it claims of the project.

        Raises GoopError.
        """
        with Application(self._settings) as application:
            return check_workspace(
                text,
                self._settings.project,
                store=application.store,
                protocol=self._policy.protocol,
                mode=self._policy.mode,
                expected=expected,
                rules=application.rules,
            )

    def record(self, turn: Turn, outcome: Block | Allow, *, session: str | None) -> str | None:
        """Record an accepted report, count any other, and return a sentence for the person where that went wrong.

        That a rejected one was not counted is only logged.
        """
        judged = Judged(
            surface="hook", number=outcome.number, ended=getattr(outcome, "ended", None)
        )
        with Application(self._settings) as application:
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
        self, turn: Turn, application: Application, judged: Judged, *, session: str | None
    ) -> str | None:
        try:
            recorded = record_report(
                turn.text,
                RoutingContext(expected_agent=turn.expected.agent, session_id=session),
                application.writing_workplace(),
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
