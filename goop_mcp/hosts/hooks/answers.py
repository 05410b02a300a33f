"""Answer the event of a hook in the form that hosts expect; `{}` allows everything."""

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from goop_mcp import services
from goop_mcp.errors import GoopError, RuleFailedError, RuleRefusedError
from goop_mcp.hosts import hooks
from goop_mcp.hosts.hooks.events import HookEvent
from goop_mcp.recording.state_folder import state_folder as own_state_folder
from goop_mcp.services import stop_hooks
from goop_mcp.services.held_settings import HeldSettings, KeptSession
from goop_mcp.services.small_files import read_whole

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import Evidence, EvidenceSource
    from goop_mcp.hosts.hooks.in_project import InProject
    from goop_mcp.services.stop_hooks.attempt_storage import AttemptFile, DecisionFile
    from goop_mcp.services.stop_hooks.judged_by import JudgedBy
    from goop_mcp.services.stop_hooks.judging import AgentTurn, Allow, BlockedStop, Judge
    from goop_mcp.validation.expectations import Profile
    from goop_mcp.validation.rules import Rule

__all__ = ["EVENTS", "answer_event"]

Answer: TypeAlias = Mapping[str, object]
_Remarks: TypeAlias = tuple[str, ...]
"""Sentences for the host's log."""


_TO_THE_USER: Final = "systemMessage"
_PROJECT_VARIABLES: Final = ("GOOP_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_DELEGATING_TOOLS: Final = ("Agent", "Task")
_A_COMMAND: Final = "goop-plan.md"
_LONGEST_ID = 200
_LONGEST_LINK = 4096
_NOTIFICATION: Final = "<task-notification>"
_TASK_ID: Final = re.compile(r"\s*<task-id>(?P<id>[^<\s]{1,200})</task-id>")
_MOST_NOTIFICATIONS: Final = 50


class _Session:
    """What an event is answered from: the project, its configuration, the environment."""

    def __init__(
        self,
        event: HookEvent,
        environment: Mapping[str, str],
        *,
        host: str,
        rules: tuple[str, ...],
    ) -> None:
        named = next(
            (environment[name] for name in _PROJECT_VARIABLES if environment.get(name)), None
        )
        self.project = named or event.folder or os.curdir
        self.event, self.environment, self.host = event, environment, host
        # Only at the start of a session no agent has worked yet, and could have changed them.
        begins = event.name == "SessionStart" and event.source != "compact"
        self.held = HeldSettings(
            self.project,
            kept=KeptSession(state_folder(environment), event.root[:_LONGEST_ID])
            if event.root
            else None,
            base=None if begins else self._base,
            rules=rules,
        )
        self.policy = self.held.policy()

    def _base(self) -> str:
        """Return the commit with which the agent of the event began, as far as it is known."""
        kept = stop_hooks.task_bases.base_of(
            state_folder(self.environment), self.event.agent_id or ""
        )
        return "HEAD" if kept is None else kept.commit

    @property
    def profile(self) -> "Profile":
        """The profile that the project's reports follow."""
        return self.held.profile()

    @property
    def judged_by(self) -> "JudgedBy":
        """What the replies of agents are judged by."""
        return stop_hooks.judged_by.JudgedBy(self.policy, self.profile)

    @property
    def has_goopspec(self) -> bool:
        """Whether the project has a folder `.goopspec/`."""
        return stop_hooks.profile.has_goopspec(self.project)

    @property
    def rules(self) -> "tuple[Rule, ...]":
        """The custom rules that the hook's command line names; raise RuleRefusedError.

        A project cannot name rules here: they are code, and it may be somebody else's checkout.
        """
        named = self.held.rules()
        return services.load_rules.load_rules(named) if named else ()


def answer_event(
    event: HookEvent,
    environment: Mapping[str, str],
    *,
    host: str,
    rules: tuple[str, ...] = (),
) -> tuple[Answer, _Remarks]:
    """Return the answer to `event` of the host, and sentences for the host's log.

    `rules` name modules or files with custom rules. An unknown event is allowed: hosts add new
    ones.
    """
    answer = _ANSWERS.get(event.name)
    if answer is None:
        return {}, ()

    # Made here and not in each answer: an unknown event costs no reading of the policy.
    session = _Session(event, environment, host=host, rules=rules)
    response, remarks = answer(session)
    # Last, because it depends on the event what of the settings is looked at.
    if (line := session.held.message()) is not None:
        shown = [str(response[_TO_THE_USER])] if _TO_THE_USER in response else []
        response = {**response, _TO_THE_USER: "\n".join([*shown, f"goop-mcp: {line}"])}
        remarks = (*remarks, line)

    return response, (*session.held.remarks, *remarks)


def _answer_stop(session: _Session, *, main: bool) -> tuple[Answer, _Remarks]:
    """Judge the last message of an agent that stops, and send it back if it is not accepted."""
    event, policy = session.event, session.policy
    if main and event.busy:
        # The main agent waits for its subagents, and stops again when they are done.
        return {}, ()
    # Most subagents of most projects end here, after one look at the policy.
    if not main and not policy.requires_report(event.agent_type or ""):
        return {}, ()

    text, remarks = _last_message(event)
    if text is None:
        return {}, remarks

    judging = stop_hooks.judging
    turn = judging.AgentTurn(
        agent=event.agent_type,
        text=text,
        main=main,
        again=event.active,
        # The attempts are counted for each agent and prompt: a new prompt starts at 0.
        key=_agent_key(event, event.agent_id or "main") + (event.prompt_id or "")[:_LONGEST_ID],
        agents=policy.agents,
        profile=session.profile,
        severities=policy.severities,
    )
    # Decided by the text too: a main agent in a talk with a person need not report.
    if not judging.must_report(turn, policy):
        return {}, remarks

    # Read lazily: only claims need it, and a transcript has megabytes.
    evidence = _evidence(session, event.agent_id, event.transcript, text)
    try:
        judge, problems = _judge(session, evidence)
        outcome = judging.judge_turn(
            turn,
            policy,
            attempts=_attempts(session.environment),
            judge=judge,
            rules=session.rules,
            evidence=evidence,
        )
    except (RuleFailedError, RuleRefusedError) as error:
        # Few people read the host's log, but the user has to know that reports are not judged.
        return {_TO_THE_USER: f"goop-mcp did not judge a report and allows it: {error}"}, ()

    # The reply of a main agent is on the screen already.
    unkept = () if main else _keep(session, turn, outcome)
    message, unrecorded = _record(session, turn, outcome, verified=judge is not None)

    return (
        {**message, **judging.hook_answer(outcome)},
        (*remarks, *problems, *unkept, *unrecorded),
    )


def _evidence(
    session: _Session, agent_id: str | None, transcript: str | None, report: str | None
) -> "EvidenceSource | None":
    """Return what reads what the agent did until its `report`, None where nothing can be read.

    It is read with the judgement: a message without an envelope claims nothing.
    """
    event = session.event
    # Only the plugin of OpenCode sends the session, the other hosts write a file.
    readable = event.session_work is not None or (transcript and session.host != "opencode")
    if session.policy.evidence == "off" or not readable:
        return None

    def observe() -> "Evidence":
        base = stop_hooks.task_bases.base_of(state_folder(session.environment), agent_id or "")
        return hooks.transcript.observe(
            event.session_work, transcript, report, host=session.host, base=base
        )

    return observe


def _judge(session: _Session, evidence: "EvidenceSource | None") -> "tuple[Judge | None, _Remarks]":
    """Return the judge that verifies claims, None where the text alone is judged (F-15)."""
    policy = session.policy
    # Recorded runs are rows of the project: where they are required, the text alone would send
    # every report back.
    # Without the folder there is no project to compare claims with.
    in_project = policy.check_workspace or policy.require_evidence == "recorded"
    if not in_project or not session.held.has_goopspec():
        return None, ()
    if session.event.folder and _is_another_checkout(session.event.folder, session.project):
        return None, ("the agent works in another checkout, so that its claims are not verified",)

    try:
        return partial(_in_project(session).judge, evidence=evidence), ()
    except GoopError as error:
        return None, (f"the claims of the report are not verified: {error}",)


def _is_another_checkout(folder: str, project: str) -> bool:
    """Whether `folder` belongs to a worktree or a repository other than that of `project`.

    What an agent wrote there is not in the project yet, and is no false claim.
    """
    # Links are resolved: a folder of the project may be reached by another name.
    repository = services.repositories.repository_above(folder)
    if repository is None or repository == services.repositories.repository_above(project):
        return False

    # A submodule of the project is part of it; a worktree in one of its folders is not.
    try:
        # The file `.git` of a submodule or worktree is one short line.
        link = read_whole(f"{repository}{os.sep}.git", most=_LONGEST_LINK) or b""
        is_worktree = b"/worktrees/" in link
    except OSError:
        is_worktree = False

    # `os.path` instead of pathlib, which is slow to import.
    return is_worktree or not repository.startswith(os.path.realpath(project) + os.sep)


def _in_project(session: _Session) -> "InProject":
    return hooks.in_project.InProject(
        session.project,
        session.judged_by,
        session.environment,
        rules=session.held.rules(),
    )


def _keep(session: _Session, turn: "AgentTurn", outcome: "BlockedStop | Allow") -> _Remarks:
    """Keep the reply of a subagent, so that nobody has to write it out again to have it recorded.

    Also one that is sent back: it is the agent's last reply if no other follows.
    """
    if not session.policy.keep_replies or not session.has_goopspec:
        return ()

    try:
        # Without the prompt's id: an agent has one last reply, whatever it was asked.
        key = _agent_key(session.event, session.event.agent_id or "")
        # A project that records its reports gets a database with the first one in any case.
        creates = session.policy.record and outcome.verdict is not None and outcome.verdict.accepted
        _in_project(session).keep(turn.text, agent=turn.agent or "", key=key, creates=creates)
    except GoopError as error:
        return (f"the reply of the agent is not kept: {error}",)

    return ()


def _record(
    session: _Session, turn: "AgentTurn", outcome: "BlockedStop | Allow", *, verified: bool
) -> tuple[Answer, _Remarks]:
    """Record an accepted report if the project configures it, and count any other one.

    Without that a rejected one is counted only for the decisions about its task, where the project
    has a database. Returns a message to the user when an accepted report could not be recorded, and
    for OpenCode the line to the orchestrator, which receives it by another event in Claude Code.
    """
    # Nothing was judged, as when the agent was asked too often.
    if outcome.verdict is None or outcome.number is None:
        return {}, ()
    if not session.policy.record and (outcome.verdict.accepted or not session.has_goopspec):
        return {}, ()

    try:
        recorded = _in_project(session).record(
            turn, outcome, session=session.event.session, verified=verified
        )
    except GoopError as error:
        return {}, (str(error),)

    if recorded.problem is not None:
        return {_TO_THE_USER: recorded.problem}, ()
    # The main agent reads its own decision from the tool that it calls.
    if recorded.line is None or turn.main:
        return {}, ()
    # Our plugin adds it to the result of the task. In Claude Code this answer would make the
    # subagent go on.
    if session.host == "opencode":
        return _context(session, recorded.line), ()
    if session.host == "claude-code" and session.event.agent_id is not None:
        key = _agent_key(session.event, session.event.agent_id)
        _decisions(session.environment).keep(key, recorded.line)

    return {}, ()


def _last_message(event: HookEvent) -> tuple[str | None, _Remarks]:
    """Return the agent's last message, from the event or else from the transcript."""
    if event.message is not None:
        return event.message, ()

    # Older versions of the host send no message with the event.
    try:
        text = hooks.transcript.last_message(event.transcript) if event.transcript else None
    except OSError as error:
        reason = error.strerror or error
        return None, (f"the transcript cannot be read ({reason}); the turn passed unread",)

    if text is None:
        return None, ("the event holds no message of the agent; the turn passed unread",)
    return text, ()


# Cut: ids come from the host, and become names of files.
def _agent_key(event: HookEvent, agent_id: str) -> str:
    return f"{(event.session or '')[:_LONGEST_ID]}\n{agent_id[:_LONGEST_ID]}\n"


def _answer_subagent_start(session: _Session) -> tuple[Answer, _Remarks]:
    """Give a subagent that must report the form of the report."""
    event, policy = session.event, session.policy
    agent = event.agent_type or ""
    if not policy.requires_report(agent):
        return {}, ()

    # A plugin of OpenCode knows the session of the agent, which is its only id.
    id = event.agent_id or event.session
    if policy.evidence != "off" and session.has_goopspec and id is not None:
        # The report is judged by the commit and the changed files with which the agent begins.
        # Without them it is judged all the same, so that no error of keeping them is shown.
        with suppress(OSError, GoopError):
            base = _in_project(session).base()
            if base is not None:
                stop_hooks.task_bases.keep_base(state_folder(session.environment), id, base)

    if not policy.inform:
        return {}, ()

    text = stop_hooks.briefing.brief_subagent(agent, session.judged_by, project=session.project)

    return _context(session, text), ()


def _answer_session_start(session: _Session) -> tuple[Answer, _Remarks]:
    """Brief the main agent in a GoopSpec project; report a configuration problem to the user."""
    remarks = session.held.remarks
    message = {_TO_THE_USER: "goop-mcp: " + "; ".join(remarks)} if remarks else {}
    if not session.policy.inform or not session.has_goopspec:
        return message, ()

    # The commands of our plugin have its prefix, unless somebody installed the commands as well.
    environment = session.environment
    prefixed = bool(environment.get("CLAUDE_PLUGIN_ROOT"))
    if prefixed:
        home = environment.get("HOME") or environment.get("USERPROFILE") or session.project
        own = environment.get("CLAUDE_CONFIG_DIR") or f"{home}{os.sep}.claude"
        prefixed = not any(
            os.access(f"{folder}{os.sep}commands{os.sep}{_A_COMMAND}", os.R_OK)
            for folder in (f"{session.project}{os.sep}.claude", own)
        )

    text = stop_hooks.briefing.brief_main_agent(session.project, prefixed=prefixed)

    return {**message, **_context(session, text)}, ()


def _answer_tool_use(session: _Session) -> tuple[Answer, _Remarks]:
    """Mark the report of a finished subagent if it is not accepted: its task is not done."""
    event, policy = session.event, session.policy
    agent = event.result_agent
    if (
        event.tool not in _DELEGATING_TOOLS
        or agent is None
        or event.result is None
        or not policy.requires_report(agent)
    ):
        return {}, ()

    # To verify the claims once more would start git for each report. The attempts show which agents
    # ended with a report that was not accepted.
    key = None if event.result_agent_id is None else _agent_key(event, event.result_agent_id)
    verified = key is not None and _attempts(session.environment).passed_unaccepted(key)
    line = None if key is None else _decisions(session.environment).take(key)
    if line is not None and not verified:
        return _context(session, line), ()

    mark, remarks = _unaccepted(
        session, agent, event.result, agent_id=event.result_agent_id if verified else None
    )

    return (_context(session, mark) if mark else {}), remarks


def _answer_prompt(session: _Session) -> tuple[Answer, _Remarks]:
    """State what became of the reports of subagents that ran in the background.

    Such a report comes as a prompt that holds the task's id and not the agent's name. The id is
    that of the agent, so that its attempts show whether it had to report. One prompt may hold the
    reports of several.
    """
    # A prompt that a person typed costs one comparison.
    prompt = session.event.prompt or ""
    if not prompt.lstrip().startswith(_NOTIFICATION):
        return {}, ()

    texts: list[str] = []
    remarks: _Remarks = ()
    for part in prompt.split(_NOTIFICATION)[1 : _MOST_NOTIFICATIONS + 1]:
        task = _TASK_ID.match(part)
        if task is None:
            continue

        key = _agent_key(session.event, task["id"])
        line = _decisions(session.environment).take(key)
        if _attempts(session.environment).passed_unaccepted(key):
            mark, more = _unaccepted(session, None, part, agent_id=task["id"])
            texts += [mark] if mark else []
            remarks += more
        elif line is not None:
            texts.append(line)

    return (_context(session, "\n".join(texts)) if texts else {}), remarks


def _answer_task(session: _Session) -> tuple[Answer, _Remarks]:
    """Block a task once that is called completed without an accepted report in this round.

    Silent for every task of the host that does not name a task of the blueprint.
    """
    event = session.event
    if not session.policy.tasks or not session.has_goopspec:
        return {}, ()

    # Hosts have tasks of their own for everything; only those that name one of the plan are ours.
    subject, description = event.task_subject or "", event.task_description or ""
    if not any(services.task_gate.task_ids_in(text) for text in (subject, description)):
        return {}, ()

    try:
        answer = _in_project(session).judge_task(subject, description)
        if answer is None or answer.report is not None:
            return {}, ()

        refusals = stop_hooks.attempt_storage.RefusalFile(
            state_folder(session.environment), now=time.time()
        )
        key = f"{session.project}\n{(event.session or '')[:_LONGEST_ID]}\n{answer.task}"
        # A second time the host would ask for ever: the agent may have no way to get a report.
        if refusals.count(key, most=1):
            return {}, ()
    except (GoopError, OSError) as error:
        return {}, (f"a completed task was not checked: {error}",)

    reason = (
        f"{answer.task} has no accepted report in this round. Call record_report with the report of"
        " its agent, then complete the task again. This is asked once."
    )

    return {"decision": "block", "reason": reason}, ()


def _unaccepted(
    session: _Session, agent: str | None, report: str, *, agent_id: str | None
) -> tuple[str | None, _Remarks]:
    """Return the mark of a report that is not accepted, None for one that is.

    `agent_id` is that of an agent whose claims have to be verified again, None for one whose text
    alone is judged.
    """
    turn = stop_hooks.judging.AgentTurn(
        agent=agent,
        text=report,
        main=False,
        again=False,
        key="",
        agents=session.policy.agents,
        profile=session.profile,
        severities=session.policy.severities,
    )
    verdict = stop_hooks.judging.judge_text(turn, session.policy, rules=session.rules)
    remarks: _Remarks = ()
    # Evidence is only asked where the text alone accepts: reading a transcript takes longer.
    if verdict.accepted and agent_id is not None:
        # Claude Code keeps the transcripts of subagents in a folder named like that of the session.
        folder, _, suffix = (session.event.transcript or "").rpartition(".")
        transcript = None
        if suffix == "jsonl" and agent_id.isalnum():
            transcript = f"{folder}{os.sep}subagents{os.sep}agent-{agent_id}.jsonl"

        evidence = _evidence(session, agent_id, transcript, None)
        judge, remarks = _judge(session, evidence)
        verdict = (
            stop_hooks.judging.judge_text(
                turn, session.policy, rules=session.rules, evidence=evidence
            )
            if judge is None
            else judge(turn.text, turn.expected)
        )

    if verdict.accepted:
        return None, remarks

    errors = stop_hooks.judging.describe_errors(verdict)
    name = stop_hooks.judging.shown_name(agent) if agent else "this agent"
    text = (
        f"goop-mcp: the report of {name} is not accepted: {errors}. Its task is not done, whatever"
        " the reply says. Give its text to route_next_action, which says who continues, or start"
        " again."
    )

    return text, remarks


def _context(session: _Session, text: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": session.event.name, "additionalContext": text}}


def _decisions(environment: Mapping[str, str]) -> "DecisionFile":
    return stop_hooks.attempt_storage.DecisionFile(state_folder(environment), now=time.time())


def _attempts(environment: Mapping[str, str]) -> "AttemptFile":
    return stop_hooks.attempt_storage.AttemptFile(state_folder(environment), now=time.time())


_ANSWERS: Final[Mapping[str, Callable[[_Session], tuple[Answer, _Remarks]]]] = {
    "SubagentStop": partial(_answer_stop, main=False),
    "Stop": partial(_answer_stop, main=True),
    "SubagentStart": _answer_subagent_start,
    "SessionStart": _answer_session_start,
    "PostToolUse": _answer_tool_use,
    "UserPromptSubmit": _answer_prompt,
    "TaskCompleted": _answer_task,
}
"""The function that answers each event.

A hook is a process an event, so each function loads the modules that only it needs.
"""

EVENTS: Final = tuple(_ANSWERS)
"""The names of the events that are answered."""


def state_folder(environment: Mapping[str, str]) -> str:
    """Return the folder that the host gives a plugin, else this program's; it need not exist.

    It is never in the project, which is shared with others and may be read-only or untrusted.
    """
    return environment.get("CLAUDE_PLUGIN_DATA") or own_state_folder(environment)
