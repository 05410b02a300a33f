"""Answer the event of a hook in the form that hosts expect; `{}` allows everything."""

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from goop_mcp import services
from goop_mcp.errors import GoopError, RuleFailedError, RuleRefusedError
from goop_mcp.hosts import hooks
from goop_mcp.hosts.hooks.events import HookEvent
from goop_mcp.recording.state_folder import state_folder as own_state_folder
from goop_mcp.services import stop_hooks
from goop_mcp.services.held_settings import HeldSettings, KeptSession
from goop_mcp.services.small_files import read_whole
from goop_mcp.validation.stop_reasons import stop_reason_of

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import Evidence, EvidenceSource
    from goop_mcp.evidence.readers.endings import Ending
    from goop_mcp.hosts.hooks.in_project import InProject
    from goop_mcp.services.stop_hooks.attempt_storage import AttemptFile, DecisionFile
    from goop_mcp.services.stop_hooks.attempts import TurnState
    from goop_mcp.services.stop_hooks.judged_by import JudgedBy
    from goop_mcp.services.stop_hooks.judging import AgentTurn, Allow, BlockedStop, Judge
    from goop_mcp.validation.expectations import Profile
    from goop_mcp.validation.rules import Rule
    from goop_mcp.validation.stop_reasons import StopReason

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
_RESULT: Final = re.compile(r"<result>\n?(?P<text>.*)</result>", re.DOTALL)
_MOST_NOTIFICATIONS: Final = 50
_WITHHELD: Final = (
    "goop-mcp: the host withheld the report of {name}, so that you have not received it. Do not"
    " count its task as done by this result: look at what it did, or ask it again."
)
_FLAGGED: Final = (
    "goop-mcp: the host delivered the report of {name} with a security warning. Read the warning"
    " before you act on the report."
)


_DOUBT: Final = (
    "goop-mcp accepted the report of {name}, and it claims more than its first reply, or lacks text"
    " that an earlier one had. Ask it what it found and ran before you count its task as done."
)


class _Reply(NamedTuple):
    """What a host delivers of an agent, by which channel, and why the model stopped."""

    text: str
    channel: Literal["message", "call", "delivered"] = "message"
    ending: "StopReason | None" = None


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
        # Why what an agent did could not be read, once that is known (D-105).
        self.unread = ""
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
    def is_project(self) -> bool:
        """Whether claims can be verified in the project."""
        return stop_hooks.profile.is_project(self.project)

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

    reply, unread = _last_reply(session, main=main)
    if reply is None:
        shown = {} if main else {_TO_THE_USER: f"goop-mcp: {unread}"}
        return shown, (unread,)

    judging = stop_hooks.judging
    turn = _turn(session, reply, main=main)
    # Decided by the text too: a main agent in a talk with a person need not report.
    if not judging.must_report(turn, policy):
        return {}, ()

    try:
        outcome, verified, problems = _outcome(session, turn, event.transcript)
    except (RuleFailedError, RuleRefusedError) as error:
        return _not_judged(error), ()

    # The reply of a main agent is on the screen already.
    unkept = () if main else _keep(session, turn, outcome)
    message, unrecorded = _record(session, turn, outcome, verified=verified)

    return (
        {**message, **judging.hook_answer(outcome)},
        (*problems, *unkept, *unrecorded),
    )


def _outcome(
    session: _Session, turn: "AgentTurn", transcript: str | None
) -> "tuple[BlockedStop | Allow, bool, _Remarks]":
    """Judge `turn`; return what becomes of it, whether its claims were verified, and remarks.

    Raises RuleFailedError and RuleRefusedError.
    """
    # Read lazily: only claims need it, and a transcript has megabytes.
    evidence = _evidence(session, session.event.agent_id, transcript, turn.text)
    judge, why_not = _judge(session, evidence)
    outcome = stop_hooks.judging.judge_turn(
        turn,
        session.policy,
        attempts=_attempts(session.environment),
        judge=judge,
        rules=session.rules,
        evidence=evidence,
    )
    if not isinstance(outcome, stop_hooks.judging.Allow) or outcome.verdict is None:
        return outcome, judge is not None, ()

    outcome = outcome._replace(
        verdict=services.unverified.with_unverified(outcome.verdict, why_not)
    )
    outcome, remarks = _with_notices(session, turn, outcome)

    return outcome, judge is not None, remarks


def _with_notices(
    session: _Session, turn: "AgentTurn", outcome: "Allow"
) -> "tuple[Allow, _Remarks]":
    """Add what a person should see of an accepted reply, each kind once in a session."""
    notices = stop_hooks.notices
    found = notices.notices_of(turn, outcome.verdict, session.unread)
    if not found:
        return outcome, ()

    file = notices.NoticeFile(own_state_folder(session.environment), now=time.time())
    shown, remarks = file.show(session.project, session.event.root or "", found)

    return outcome._replace(message=notices.joined(outcome.message, shown)), remarks


def _turn(session: _Session, reply: _Reply, *, main: bool) -> "AgentTurn":
    """Return the turn of the event's agent, which ends with `reply`."""
    event, policy = session.event, session.policy
    return stop_hooks.judging.AgentTurn(
        agent=event.agent_type,
        text=reply.text,
        main=main,
        again=event.active,
        # The attempts are counted for each agent and prompt: a new prompt starts at 0.
        key=_agent_key(event, event.agent_id or "main") + (event.prompt_id or "")[:_LONGEST_ID],
        agents=policy.agents,
        profile=session.profile,
        severities=policy.severities,
        channel=reply.channel,
        ending=reply.ending,
    )


def _answer_hand_back(session: _Session) -> tuple[Answer, _Remarks]:
    """Refuse a report that an agent hands back by a tool, where it is not accepted.

    The host delivers the first one that is not refused, and no other for the same task.
    """
    event, policy = session.event, session.policy
    if event.hand_back is None or not policy.requires_report(event.agent_type or ""):
        return {}, ()

    # The transcript that the event names is that of the main agent.
    transcript = _transcript_of(event, event.agent_id or "")
    turn = _turn(session, _Reply(event.hand_back, "call"), main=False)
    try:
        outcome, _, problems = _outcome(session, turn, transcript)
    except (RuleFailedError, RuleRefusedError) as error:
        return _not_judged(error), ()

    answer = stop_hooks.judging.hook_answer(outcome)
    reason = answer.get("reason")
    if reason is None:
        return answer, problems

    refusal = {
        "hookEventName": event.name,
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }
    shown = {_TO_THE_USER: answer[_TO_THE_USER]} if _TO_THE_USER in answer else {}

    return {**shown, "hookSpecificOutput": refusal}, problems


def _not_judged(error: GoopError) -> Answer:
    # Few people read the host's log, but the user has to know that reports are not judged.
    return {_TO_THE_USER: f"goop-mcp did not judge a report and allows it: {error}"}


def _evidence(
    session: _Session, agent_id: str | None, transcript: str | None, report: str | None
) -> "EvidenceSource | None":
    """Return what reads what the agent did until its `report`, None where nothing can be read.

    It is read with the judgement: a message without an envelope claims nothing.
    """
    event = session.event
    if session.policy.evidence == "off":
        return None
    # Only the plugin of OpenCode sends the session, the other hosts write a file.
    if event.session_work is None and (not transcript or session.host == "opencode"):
        session.unread = f"{session.host} of an unknown version names no transcript"
        return None

    @cache
    def observe() -> "Evidence":
        base = stop_hooks.task_bases.base_of(state_folder(session.environment), agent_id or "")
        seen = hooks.transcript.observe(
            event.session_work, transcript, report, host=session.host, base=base
        )
        if seen.activity is not None and seen.activity.unreadable:
            session.unread = stop_hooks.notices.why_unread(seen.activity, session.host)
        return seen

    return observe


def _judge(session: _Session, evidence: "EvidenceSource | None") -> "tuple[Judge | None, str]":
    """Return the judge that verifies claims, or None and why the text alone is judged (D-106)."""
    policy = session.policy
    # Recorded runs are rows of the project: where they are required, the text alone would send
    # every report back.
    policy = policy._replace(
        check_workspace=policy.check_workspace or policy.require_evidence == "recorded"
    )
    in_project = policy.check_workspace and session.held.is_project()
    if why_not := stop_hooks.judging.why_unverified(policy, in_project=in_project):
        return None, why_not
    if session.event.folder and _is_another_checkout(session.event.folder, session.project):
        return None, "the agent works in another checkout"

    try:
        return partial(_in_project(session).judge, evidence=evidence), ""
    except GoopError as error:
        return None, str(error)


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
    accepted = outcome.verdict.accepted
    doubt = None
    if accepted and getattr(outcome, "doubtful", False):
        doubt = _DOUBT.format(name=stop_hooks.judging.shown_name(turn.agent or "the agent"))
    if not session.policy.record and (accepted or not session.has_goopspec):
        return _to_orchestrator(session, turn, doubt), ()

    try:
        recorded = _in_project(session).record(
            turn, outcome, session=session.event.session, verified=verified
        )
    except GoopError as error:
        return {}, (str(error),)

    if recorded.problem is not None:
        return {_TO_THE_USER: recorded.problem}, ()
    lines = [each for each in (recorded.line, doubt) if each is not None]
    return _to_orchestrator(session, turn, "\n".join(lines) or None), ()


def _to_orchestrator(session: _Session, turn: "AgentTurn", line: str | None) -> Answer:
    """Hand on what the orchestrator has to know of the report, now or with the result."""
    # The main agent reads its own decision from the tool that it calls.
    if line is None or turn.main:
        return {}
    # Our plugin adds it to the result of the task. In Claude Code this answer would make the
    # subagent go on.
    if session.host == "opencode":
        return _context(session, line)
    if session.host == "claude-code" and session.event.agent_id is not None:
        _decisions(session.environment).keep(
            _agent_key(session.event, session.event.agent_id), line
        )
    return {}


def _last_reply(session: _Session, *, main: bool) -> tuple[_Reply | None, str]:
    """Return what the host delivers of the agent, None with a sentence where it cannot be read."""
    event = session.event
    known = event.message is not None or event.silent
    judging, policy, stated = stop_hooks.judging, session.policy, event.message or ""
    # A host may name the last block of a message whose report stands in an earlier one.
    is_part = bool(stated) and not judging.has_mark(stated, policy)
    is_part = is_part and judging.is_required(event.agent_type, policy, main=main)
    # A main agent hands nothing back, and most of its messages are not judged.
    if known and main and session.host != "opencode" and not is_part:
        return _Reply(stated), ""

    ending, reason = None, "the event does not hold it, and names no transcript"
    try:
        # Where the event has the message, a late line is no reason to wait.
        ending = hooks.transcript.ending_of(
            event.session_work,
            event.transcript,
            host=session.host,
            patient=is_part or not known,
            last=stated if is_part else "",
        )
    except OSError as error:
        reason = f"the transcript cannot be read ({error.strerror or error})"

    if ending is None:
        if known:
            return _Reply(stated), ""
        name = stop_hooks.judging.shown_name(event.agent_type or "the main agent")
        return None, f"the reply of {name} passed unread: {reason}"

    if ending.handed_back is not None:
        return _Reply(ending.handed_back, "delivered"), ""

    # Older versions of the host send no message with the event, and newer ones none of an agent
    # that wrote none.
    is_whole = event.message is None or (is_part and hooks.transcript.ends_with(ending, stated))
    text = ending.message if is_whole else stated

    return _Reply(text, ending=stop_reason_of(ending.stop_reason)), ""


def _transcript_of(event: HookEvent, agent_id: str) -> str | None:
    """Return the path of a subagent's transcript, None if the event does not show it."""
    # Claude Code keeps them in a folder named like the transcript of the session.
    folder, _, suffix = (event.transcript or "").rpartition(".")
    if suffix != "jsonl" or not agent_id.isalnum():
        return None
    return f"{folder}{os.sep}subagents{os.sep}agent-{agent_id}.jsonl"


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
    if policy.evidence != "off" and session.is_project and id is not None:
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
    rejected = None if key is None else _attempts(session.environment).unaccepted(key)
    line = None if key is None else _decisions(session.environment).take(key)
    name = stop_hooks.judging.shown_name(agent)
    if event.delivery == "withheld":
        lines = [line] if line else []
        return _context(session, "\n".join([*lines, _WITHHELD.format(name=name)])), ()

    lines = [_FLAGGED.format(name=name)] if event.delivery == "flagged" else []
    report = _handed_back_by(event) if event.elsewhere else event.result
    remarks: _Remarks = ()
    if line is not None and rejected is None:
        lines.append(line)
    # A report that cannot be read was judged when it was handed back.
    elif report is not None or rejected is not None:
        mark = _unaccepted(
            session,
            agent,
            report or event.result,
            agent_id=event.result_agent_id,
            rejected=rejected,
        )
        lines += [mark] if mark else []

    return (_context(session, "\n".join(lines)) if lines else {}), remarks


def _handed_back_by(event: HookEvent) -> str | None:
    """Return what the agent of a tool's result handed back, None if its transcript is not read."""
    ending = _ending_of_agent(event, event.result_agent_id)
    return None if ending is None else ending.handed_back


def _ending_of_agent(event: HookEvent, agent_id: str | None) -> "Ending | None":
    """Return how a subagent of the session ended, None if its transcript is not read."""
    with suppress(OSError):
        return hooks.transcript.ending_of(
            None, _transcript_of(event, agent_id or ""), host="claude-code", patient=False
        )

    return None


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
        rejected = _attempts(session.environment).unaccepted(key)
        if rejected is not None:
            reply = found["text"] if (found := _RESULT.search(part)) is not None else part
            mark = _unaccepted(session, None, reply, agent_id=task["id"], rejected=rejected)
            texts += [mark] if mark else []
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
    session: _Session,
    agent: str | None,
    report: str,
    *,
    agent_id: str | None,
    rejected: "TurnState | None",
) -> str | None:
    """Return the mark of a report that is not accepted, None for one that is.

    `rejected` is the attempt of the agent with this id that ended so, whose claims have to be
    verified again; None for one whose text alone is judged.
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
    # Evidence is only asked where the text alone accepts: reading a transcript takes longer.
    if verdict.accepted and agent_id is not None and rejected is not None:
        correction = stop_hooks.corrections.correction_after(rejected)
        transcript = _transcript_of(session.event, agent_id)
        evidence = _evidence(session, agent_id, transcript, None)
        judge, _ = _judge(session, evidence)
        verdict = (
            stop_hooks.judging.judge_text(
                turn,
                session.policy,
                rules=session.rules,
                evidence=evidence,
                correction=correction,
            )
            if judge is None
            else judge(turn.text, turn.expected, correction)
        )

    if verdict.accepted:
        return None

    before = _lines_before(session, agent_id, report)
    errors = stop_hooks.judging.describe_errors(verdict, lines_before=before)
    name = stop_hooks.judging.shown_name(agent) if agent else "this agent"
    return (
        f"goop-mcp: the report of {name} is not accepted: {errors}. Its task is not done, whatever"
        " the reply says. Give its text to route_next_action, which says who continues, or start"
        " again."
    )


def _lines_before(session: _Session, agent_id: str | None, delivered: str) -> int:
    """Return how many lines a host put before the reply that the agent wrote.

    The mark names a line as the feedback to the agent did, for which the host leaves out blank
    lines at the beginning.
    """
    begin = len(delivered) - len(delivered.lstrip())
    ending = _ending_of_agent(session.event, agent_id)
    if ending is not None:
        own = (ending.handed_back or ending.message).strip()
        begin = max(begin, delivered.find(own) if own else 0)
    return delivered.count("\n", 0, begin)


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
    "PreToolUse": _answer_hand_back,
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
