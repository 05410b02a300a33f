"""The tool for hooks of hosts, which ask the running server instead of starting a process."""

import json
import logging
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.evidence.corrections import Correction
from goop_mcp.memory.times import utc_now, written
from goop_mcp.recording.state_folder import state_folder
from goop_mcp.server.answers import answer
from goop_mcp.server.telemetry import count_verdict
from goop_mcp.services.stop_hooks.attempt_storage import AttemptsInMemory
from goop_mcp.services.stop_hooks.judged_by import JudgedBy
from goop_mcp.services.stop_hooks.judging import (
    AgentTurn,
    Allow,
    BlockedStop,
    hook_answer,
    judge_turn,
    must_report,
    why_unverified,
)
from goop_mcp.services.stop_hooks.notices import NoticeFile, joined, notices_of
from goop_mcp.services.stop_hooks.policy import CLAIM_SECONDS, read_policy
from goop_mcp.services.stop_hooks.profile import is_project, read_profile
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workspace.git import files_state
from goop_mcp.workspace.layout import FOLDER

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["HookAnswerModel", "HookTools"]

_log = logging.getLogger(__name__)

_LONGEST_TEXT = 4 * 1024 * 1024
_Event = Annotated[
    Literal["SubagentStop", "Stop"],
    Field(
        description=(
            "Whose turn ends: SubagentStop for an agent that was started, Stop for the main one."
        )
    ),
]
_Text = Annotated[str, Field(description="The agent's last message.", max_length=_LONGEST_TEXT)]
_Word = Annotated[
    str, Field(description="As the host gives it; empty where it gives none.", max_length=1_000)
]


class HookAnswerModel(BaseModel):
    """What the host does: nothing, continue the agent with a reason, or show the user a message."""

    decision: Literal["block"] | None = Field(
        default=None, description="block: the agent continues; null: it may stop."
    )
    reason: str | None = Field(default=None, description="The agent's prompt when it continues.")
    # The host defines this name.
    systemMessage: str | None = Field(default=None, description="Shown to the user.")  # noqa: N815


class HookTools:
    """Judges turns for one host; attempts are counted for as long as the server runs."""

    def __init__(self, application: "AppContext") -> None:
        """Judge by the policy and the rules of the project of `application`."""
        self._application = application
        self._attempts = AttemptsInMemory()

    def hook_check(
        self,
        event: _Event,
        text: _Text,
        *,
        agent_id: _Word = "",
        agent_type: _Word = "",
        active: _Word = "",
        session_id: _Word = "",
        prompt_id: _Word = "",
    ) -> Annotated[CallToolResult, HookAnswerModel]:
        """Answer a hook of the host.

        For hooks of type mcp_tool only; agents use validate_report.
        """
        output = self._judged(
            event,
            text,
            agent_id=agent_id,
            agent_type=agent_type,
            active=active,
            session_id=session_id,
            prompt_id=prompt_id,
        )
        held = self._application.held_settings
        if held is not None and (line := held.message()) is not None:
            shown = [output["systemMessage"]] if "systemMessage" in output else []
            output["systemMessage"] = "\n".join([*shown, f"goop-mcp: {line}"])

        return answer(json.dumps(output), output)

    def _judged(
        self,
        event: str,
        text: str,
        *,
        agent_id: str,
        agent_type: str,
        active: str,
        session_id: str,
        prompt_id: str,
    ) -> dict[str, str]:
        """Return the answer to the hook; the arguments are those of `hook_check`."""
        here = self._application
        project = str(here.settings.project)
        judged_by = here.judged_by() or JudgedBy(read_policy(project)[0])
        policy = judged_by.policy
        turn = AgentTurn(
            agent=agent_type or None,
            text=text,
            main=event == "Stop",
            again=active == "true",
            key="\n".join((session_id, agent_id or "main", prompt_id)),
            agents=policy.agents,
            profile=judged_by.profile or read_profile(project),
            severities=policy.severities,
        )
        if not must_report(turn, policy):
            return {}

        def judge(text: str, expected: Expectations, correction: Correction) -> Verdict:
            correction.look_at(partial(files_state, here.settings.project))
            return services.check_workspace.check_workspace(
                text,
                here.settings.project,
                store=here.store,
                protocol=policy.protocol,
                mode=policy.mode,
                expected=expected,
                seconds=CLAIM_SECONDS,
                rules=here.rules,
                judged_by=judged_by,
                correction=correction,
            )

        held = here.held_settings
        in_project = is_project(project) if held is None else held.is_project()
        why_not = why_unverified(policy, in_project=in_project)
        outcome = judge_turn(
            turn,
            policy,
            attempts=self._attempts,
            judge=None if why_not else judge,
            rules=here.rules,
        )
        outcome = self._with_notices(turn, outcome, session_id, why_not)
        keeps = event == "SubagentStop" and policy.keep_replies and here.files.exists(FOLDER)
        if keeps and here.store.exists():
            # As a hook does: that nothing can be kept is no reason to stop the agent.
            try:
                services.kept_replies.keep_reply(
                    here.writing_store(),
                    text,
                    agent=agent_type,
                    key=f"{session_id}\n{agent_id}",
                    now=written(utc_now()),
                )
            except GoopError as error:
                _log.warning("the reply of the agent is not kept: %s", error)

        if outcome.verdict is not None and outcome.number is not None:
            count_verdict(outcome.verdict, expected_agent=turn.expected.agent)
            if here.files.exists(FOLDER):
                services.counters.count_turn(
                    here.store,
                    turn,
                    outcome,
                    session=session_id or None,
                    keeps_judgement=policy.record,
                    shown_in=here.writing_context,
                    now=written(utc_now()),
                )

        return hook_answer(outcome)

    def _with_notices(
        self, turn: AgentTurn, outcome: BlockedStop | Allow, session: str, why_not: str
    ) -> BlockedStop | Allow:
        """Add what a person should see of an accepted reply, each kind once in a session."""
        if not isinstance(outcome, Allow) or outcome.verdict is None:
            return outcome

        verdict = services.unverified.with_unverified(outcome.verdict, why_not)
        found = notices_of(turn, verdict, "")
        if not found:
            return outcome

        file = NoticeFile(state_folder(os.environ), now=time.time())
        shown, _ = file.show(str(self._application.settings.project), session, found)
        return outcome._replace(verdict=verdict, message=joined(outcome.message, shown))
