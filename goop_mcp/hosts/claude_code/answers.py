"""From an event to the answer that the host understands; {} lets everything pass (HOSTS, 1.2)."""

import os
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from goop_mcp import operations
from goop_mcp.errors import GoopError, RuleFailedError, RuleRefusedError
from goop_mcp.hosts import claude_code
from goop_mcp.hosts.claude_code.events import HookEvent
from goop_mcp.hosts.claude_code.state_folder import state_folder
from goop_mcp.operations import stopping
from goop_mcp.operations.stopping.policy import read_policy
from goop_mcp.validation.findings import excerpt

if TYPE_CHECKING:
    from goop_mcp.hosts.claude_code.in_project import InProject
    from goop_mcp.operations.stopping.attempt_file import AttemptFile
    from goop_mcp.operations.stopping.judging import Allow, Block, Turn
    from goop_mcp.validation.expectations import Profile
    from goop_mcp.validation.rules import Rule

__all__ = ["EVENTS", "answer_event"]

Answer: TypeAlias = Mapping[str, object]
_Remarks: TypeAlias = tuple[str, ...]

_PROJECT_VARIABLES: Final = ("GOOP_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_DELEGATING_TOOLS: Final = ("Agent", "Task")
_MOST_OF_AN_ID = 200
_MOST_OF_A_NAME = 100
_NOTICE: Final = re.compile(r"\s*<task-notification>\s*<task-id>(?P<id>[^<\s]{1,200})</task-id>")


class _Session:
    """What an event is answered from: the project, its wishes, the environment."""

    def __init__(
        self, event: HookEvent, environment: Mapping[str, str], rules: tuple[str, ...]
    ) -> None:
        named = next(
            (environment[name] for name in _PROJECT_VARIABLES if environment.get(name)), None
        )
        self.project = named or event.folder or os.curdir
        self.event, self.environment, self.named_rules = event, environment, rules
        self.policy, self.remarks = read_policy(self.project)

    @property
    def profile(self) -> "Profile":
        """Which form the reports of the project have."""
        return stopping.profile.read_profile(self.project)

    @property
    def rules(self) -> "tuple[Rule, ...]":
        """The rules that the command of the hook names, and nothing in the project.

        Raises RuleRefusedError.
        """
        return operations.load_rules.load_rules(self.named_rules) if self.named_rules else ()


def answer_event(
    event: HookEvent, environment: Mapping[str, str], *, rules: tuple[str, ...] = ()
) -> tuple[Answer, _Remarks]:
    """Return the answer to `event` and sentences for whoever looks into the host's log.

    `rules` are the places of rules that were brought along. An event that is not known is let pass:
    hosts add new ones.
    """
    answer = _ANSWERS.get(event.name)
    if answer is None:
        return {}, ()

    session = _Session(event, environment, rules)
    said, remarks = answer(session)

    return said, (*session.remarks, *remarks)


def _answer_stop(session: _Session, *, main: bool) -> tuple[Answer, _Remarks]:
    event, policy = session.event, session.policy
    if main and event.busy:
        return {}, ()  # the main agent waits for its subagents, and stops again when they are done
    if not main and not policy.requires_report(event.agent_type or ""):
        return {}, ()

    text, remarks = _last_words(event)
    if text is None:
        return {}, remarks

    judging = stopping.judging
    turn = judging.Turn(
        agent=event.agent_type,
        text=text,
        main=main,
        again=event.active,
        key=_key(event),
        agents=policy.agents,
        profile=session.profile,
    )
    if not judging.must_report(turn, policy):
        return {}, remarks

    judge = _in_project(session).judge if policy.check_workspace else None

    try:
        outcome = judging.judge_turn(
            turn, policy, attempts=_attempts(session.environment), judge=judge, rules=session.rules
        )
    except (RuleFailedError, RuleRefusedError) as error:
        # The host's log is read by few; that reports pass without having been judged is for the
        # person to know.
        return {"systemMessage": f"goop-mcp lets a report pass that was not judged: {error}"}, ()

    told, faults = _record(session, turn, outcome)

    return judging.hook_answer(outcome) or told, (*remarks, *faults)


def _in_project(session: _Session) -> "InProject":
    return claude_code.in_project.InProject(
        session.project, session.policy, session.environment, rules=session.named_rules
    )


def _record(session: _Session, turn: "Turn", outcome: "Block | Allow") -> tuple[Answer, _Remarks]:
    """Record an accepted report where the project wants it, and count any other.

    The person is told when an accepted one could not be recorded.
    """
    if not session.policy.record or outcome.verdict is None or outcome.number is None:
        return {}, ()

    try:
        told = _in_project(session).record(turn, outcome, session=session.event.session)
    except GoopError as error:
        return {}, (str(error),)

    return ({"systemMessage": told} if told else {}), ()


def _last_words(event: HookEvent) -> tuple[str | None, _Remarks]:
    if event.message is not None:
        return event.message, ()

    try:
        text = claude_code.transcript.last_words(event.transcript) if event.transcript else None
    except OSError as error:
        return None, (
            (
                f"the transcript cannot be read ({error.strerror or error}); the turn was let pass"
                " unread"
            ),
        )

    return text, (
        ()
        if text is not None
        else ("the event holds no message of the agent; the turn was let pass unread",)
    )


def _key(event: HookEvent) -> str:
    """Name the agent and the prompt that it works on: each prompt of a session starts anew."""
    return _agent_key(event, event.agent_id or "main") + (event.prompt_id or "")[:_MOST_OF_AN_ID]


def _agent_key(event: HookEvent, agent_id: str) -> str:
    return f"{(event.session or '')[:_MOST_OF_AN_ID]}\n{agent_id[:_MOST_OF_AN_ID]}\n"


def _start_of_subagent(session: _Session) -> tuple[Answer, _Remarks]:
    agent = session.event.agent_type or ""
    if not session.policy.inform or not session.policy.requires_report(agent):
        return {}, ()
    words = stopping.briefing.brief_subagent(agent, session.policy, project=session.project)
    return _context(session, words), ()


def _start_of_session(session: _Session) -> tuple[Answer, _Remarks]:
    """Tell the main agent, in a project of GoopSpec only; a file that cannot be used is told to the person."""
    told = {"systemMessage": "goop-mcp: " + "; ".join(session.remarks)} if session.remarks else {}
    # Pathlib is slow to load
    folder = os.path.join(session.project, ".goopspec")  # noqa: PTH118
    # As above
    if not session.policy.inform or not os.path.isdir(folder):  # noqa: PTH112
        return told, ()
    return {**told, **_context(session, stopping.briefing.brief_main_agent(session.project))}, ()


def _after_tool(session: _Session) -> tuple[Answer, _Remarks]:
    """Mark a report that came through although it is not accepted, so that nobody takes its task for done."""
    event, policy = session.event, session.policy
    agent = event.result_agent
    if (
        event.tool not in _DELEGATING_TOOLS
        or agent is None
        or event.result is None
        or not policy.requires_report(agent)
    ):
        return {}, ()

    return _mark_unaccepted(session, agent, event.result), ()


def _before_prompt(session: _Session) -> tuple[Answer, _Remarks]:
    """Mark the report of a subagent that ran in the background: it comes as a prompt, without the agent's name."""
    notice = _NOTICE.match(session.event.prompt or "")
    if notice is None:
        return {}, ()
    if not _attempts(session.environment).passed_unaccepted(
        _agent_key(session.event, notice["id"])
    ):
        return {}, ()
    return _mark_unaccepted(session, None, session.event.prompt or ""), ()


def _mark_unaccepted(session: _Session, agent: str | None, report: str) -> Answer:
    turn = stopping.judging.Turn(
        agent=agent,
        text=report,
        main=False,
        again=False,
        key="",
        agents=session.policy.agents,
        profile=session.profile,
    )
    verdict = stopping.judging.judge_text(turn, session.policy, rules=session.rules)
    if verdict.accepted:
        return {}

    errors = stopping.judging.describe_errors(verdict)
    name = excerpt(agent, _MOST_OF_A_NAME) if agent else "this agent"
    words = (
        f"goop-mcp: the report of {name} is not accepted: {errors}. Its task is not done, whatever"
        " the reply says. Give its text to route_next_action, which says who continues, or start"
        " anew."
    )

    return _context(session, words)


def _context(session: _Session, words: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": session.event.name, "additionalContext": words}}


def _attempts(environment: Mapping[str, str]) -> "AttemptFile":
    return stopping.attempt_file.AttemptFile(state_folder(environment), now=time.time())


_ANSWERS: Final[Mapping[str, Callable[[_Session], tuple[Answer, _Remarks]]]] = {
    "SubagentStop": partial(_answer_stop, main=False),
    "Stop": partial(_answer_stop, main=True),
    "SubagentStart": _start_of_subagent,
    "SessionStart": _start_of_session,
    "PostToolUse": _after_tool,
    "UserPromptSubmit": _before_prompt,
}
"""Each event that is answered. A hook is a process an event: what one answer needs is loaded by that answer."""

EVENTS: Final = tuple(_ANSWERS)
"""The names of the events that are answered."""
