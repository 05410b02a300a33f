"""Rules about `<handoff>`: who continues, with what, in which session."""

from goop_mcp.protocols.goop_report.model import NextAction, Report, Status
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY
from goop_mcp.workflow.agents import KNOWN_AGENTS, SPECIAL_NEXT_AGENTS, is_agent_name
from goop_mcp.workflow.commands import KNOWN_COMMANDS, command_name

__all__ = [
    "HANDOFF_RULES",
    "NEXT_ACTION_WITHOUT_AGENT",
    "NEXT_AGENT_ALIAS",
    "READY_MISSING",
    "SESSION_FLAG_MISSING",
    "SESSION_WITHOUT_COMMAND",
]

_HANDOFF = "/goop_report/handoff"
_NEXT = f"{_HANDOFF}/next_action"
_COMMAND = f"{_HANDOFF}/next_command"
_FLAG = "<suggest_new_session>false</suggest_new_session>"
_ACTION = '<next_action agent="goop-tester">W1.T3: test the login endpoint</next_action>'
_WITH_COMMAND = COMPLETE_REPLY.replace(
    _FLAG, f"{_FLAG}\n    <next_command>/goop-accept</next_command>"
)
_NEW_SESSION = _WITH_COMMAND.replace(_FLAG, "<suggest_new_session>true</suggest_new_session>")


def _next_action(report: Report) -> NextAction | None:
    return report.handoff.next_action if report.handoff is not None else None


HANDOFF_RULES = RuleList()


READY_MISSING = HANDOFF_RULES.add(
    id="goop_report/ready-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="handoff without ready",
    why="The flag says whether the next agent can start.",
    fix="Add <ready>true</ready> or <ready>false</ready>.",
    requirements=("G-29",),
    example=Example(good="<ready>true</ready>\n", bad="", reply=COMPLETE_REPLY),
)


@HANDOFF_RULES.rule(
    id="goop_report/no-next-action",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="status other than BLOCKED and no next_action",
    why="The orchestrator routes on it; without it the work stops or goes to the wrong agent.",
    fix='Say who continues with what: <next_action agent="goop-tester">…</next_action>.',
    requirements=("G-46",),
    example=Example(good=f"{_ACTION}\n", bad="", reply=COMPLETE_REPLY),
)
def _no_next_action(report: Report, _expected: Expectations) -> Hit | None:
    # "handoff.next_action must specify which agent continues" (Validation Rules)
    if (
        report.handoff is None
        or report.handoff.next_action is not None
        or report.status in (None, Status.BLOCKED)
    ):
        return None

    return Hit(
        message=(
            f"status is {report.status} and handoff has no next_action; expected who continues with"
            " what"
        ),
        path=_NEXT,
    )


@HANDOFF_RULES.rule(
    id="goop_report/blocked-without-next-action",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="BLOCKED and no next_action, as in the specification's own example",
    why="A blocked task goes to the user anyway; naming who can help makes it quicker.",
    fix='Name who can unblock you: <next_action agent="user">…</next_action>.',
    requirements=("G-46",),
    example=Example(
        good='<next_action agent="user">Choose the payment provider</next_action>\n',
        bad="",
        reply=BLOCKED_REPLY,
    ),
)
def _blocked_without_next_action(report: Report, _expected: Expectations) -> Hit | None:
    # The seed's own BLOCKED example has none, so it is only a warning there (D-24).
    if (
        report.handoff is None
        or report.handoff.next_action is not None
        or report.status is not Status.BLOCKED
    ):
        return None

    return Hit(
        message="handoff has no next_action; expected who is to unblock the task", path=_NEXT
    )


NEXT_ACTION_WITHOUT_AGENT = HANDOFF_RULES.add(
    id="goop_report/next-action-without-agent",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="next_action has no agent",
    why="The router needs a name; it never picks one by itself.",
    fix=(
        'Name the agent: <next_action agent="goop-tester">…</next_action>, or orchestrator, or'
        " user."
    ),
    requirements=("G-30", "G-46"),
    example=Example(good=' agent="goop-tester"', bad="", reply=COMPLETE_REPLY),
)


@HANDOFF_RULES.rule(
    id="goop_report/next-action-without-text",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="next_action does not say what to do",
    why="The text is the instruction the next agent gets.",
    fix="Write the exact next task into next_action.",
    requirements=("G-30",),
    example=Example(good=_ACTION, bad='<next_action agent="goop-tester"/>', reply=COMPLETE_REPLY),
)
def _next_action_without_text(report: Report, _expected: Expectations) -> Hit | None:
    action = _next_action(report)
    if action is None or action.text:
        return None
    return Hit(message="next_action has no text; expected what is to be done next", path=_NEXT)


NEXT_AGENT_ALIAS = HANDOFF_RULES.add(
    id="goop_report/next-agent-alias",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="`goop-orchestrator` or `goopspec`; read as `orchestrator`",
    why="All three names mean the same; one of them is enough.",
    fix='Write agent="orchestrator".',
    requirements=("G-30",),
    example=Example(
        good='agent="goop-tester"', bad='agent="goop-orchestrator"', reply=COMPLETE_REPLY
    ),
)


@HANDOFF_RULES.rule(
    id="goop_report/unknown-next-agent",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="next agent neither goop-… nor orchestrator, user, memory-distiller",
    why="The router offers the work to the user when it does not know the agent.",
    fix="Name an agent as goop-[type], or orchestrator, or user.",
    requirements=("G-30",),
    example=Example(good='agent="goop-tester"', bad='agent="bob"', reply=COMPLETE_REPLY),
)
def _unknown_next_agent(report: Report, _expected: Expectations) -> Hit | None:
    action = _next_action(report)
    if action is None or not action.agent or action.agent in KNOWN_AGENTS:
        return None
    if action.agent in SPECIAL_NEXT_AGENTS or is_agent_name(action.agent):
        return None
    return Hit(
        message=(
            f"next agent is {excerpt(action.agent, 60)!r}; expected goop-[type], orchestrator or"
            " user"
        ),
        path=f"{_NEXT}/@agent",
        found=excerpt(action.agent),
    )


SESSION_FLAG_MISSING = HANDOFF_RULES.add(
    id="goop_report/session-flag-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="handoff without suggest_new_session",
    why="The flag marks the session boundary; without it the orchestrator stays in the session.",
    fix=f"Add {_FLAG} or true.",
    requirements=("G-33", "P-13"),
    example=Example(good=f"{_FLAG}\n", bad="", reply=COMPLETE_REPLY),
)


@HANDOFF_RULES.rule(
    id="goop_report/bad-next-command",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="next_command not of the form `/goop-…`",
    why="A person or a host runs this line as it stands.",
    fix="Write a command such as /goop-execute, or leave the element out.",
    requirements=("G-34",),
    example=Example(
        good="<next_command>/goop-accept</next_command>",
        bad="<next_command>goop-accept</next_command>",
        reply=_WITH_COMMAND,
    ),
)
def _bad_next_command(report: Report, _expected: Expectations) -> Hit | None:
    if (
        report.handoff is None
        or not report.handoff.next_command
        or command_name(report.handoff.next_command)
    ):
        return None

    return Hit(
        message=(
            f"next_command is {excerpt(report.handoff.next_command, 60)!r}; expected the form"
            " /goop-[command]"
        ),
        path=_COMMAND,
        found=excerpt(report.handoff.next_command),
    )


@HANDOFF_RULES.rule(
    id="goop_report/unknown-command",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="no known GoopSpec release has this command",
    why="The host would answer that it does not know the command.",
    fix="Write a command the package has, such as /goop-execute.",
    requirements=("G-35",),
    example=Example(
        good="<next_command>/goop-accept</next_command>",
        bad="<next_command>/goop-deploy</next_command>",
        reply=_WITH_COMMAND,
    ),
)
def _unknown_command(report: Report, _expected: Expectations) -> Hit | None:
    if report.handoff is None or not report.handoff.next_command:
        return None

    command = command_name(report.handoff.next_command)
    if command is None or command in KNOWN_COMMANDS:
        return None
    return Hit(
        message=f"command {excerpt(command, 60)} is in no known GoopSpec release",
        path=_COMMAND,
        found=excerpt(command),
    )


SESSION_WITHOUT_COMMAND = HANDOFF_RULES.add(
    id="goop_report/session-without-command",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="suggest_new_session=true and no next_command",
    why="A new session starts with nothing but this command.",
    fix="Add the command that continues the work: <next_command>/goop-execute</next_command>.",
    requirements=("G-34", "G-50"),
    example=Example(good="<next_command>/goop-accept</next_command>\n", bad="", reply=_NEW_SESSION),
)
