"""Verdicts and decisions as task states of A2A 1.0 and of MCP.

One way only; nothing is lost when the original goes into the metadata of the task.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from goop_mcp.routing.adapters import ADAPTERS, protocol_of
from goop_mcp.routing.decision import Action, Decision
from goop_mcp.routing.held_back import NOT_READY, is_held_back, waits_for_decision
from goop_mcp.routing.recovery import effective_strategy
from goop_mcp.routing.views import NO_REPORT, NOTHING, OutcomeKind, ReportView
from goop_mcp.validation.verdict import Verdict

__all__ = [
    "BY_ACTION",
    "BY_SOURCE",
    "A2AState",
    "ActionState",
    "McpTask",
    "Source",
    "SourceState",
    "TaskState",
    "decision_state",
    "verdict_state",
]

_ANY = "any"


class A2AState(StrEnum):
    """The task states of A2A 1.0 by their names on the wire."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    REJECTED = "TASK_STATE_REJECTED"
    CANCELED = "TASK_STATE_CANCELED"


class McpTask(StrEnum):
    """The states of an MCP task."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """A task's state.

    `workflow` is the state of the whole work where that differs, None where it does not.

    `message` is the status message, `parts` are data parts, `metadata` is everything else.
    """

    state: A2AState
    workflow: A2AState | None = None
    message: str | None = None
    parts: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class ActionState:
    """The task states that the first action of a decision means.

    `is_error` marks an MCP result with isError.
    """

    a2a: A2AState
    mcp: McpTask
    is_error: bool = False


_WORKING = ActionState(A2AState.WORKING, McpTask.WORKING)
_SUBMITTED = ActionState(A2AState.SUBMITTED, McpTask.WORKING)
_ASKING = ActionState(A2AState.INPUT_REQUIRED, McpTask.INPUT_REQUIRED)

BY_ACTION: Mapping[Action, ActionState] = MappingProxyType(
    {
        Action.FINISH: ActionState(A2AState.COMPLETED, McpTask.COMPLETED),
        Action.CONTINUE_NEXT: _WORKING,
        Action.RESUME_SAME: _WORKING,
        Action.RUN_PREREQUISITE: _WORKING,
        Action.FEEDBACK_LOOP: _WORKING,
        # Repairing, waiting and asking again are all work to the outside: nobody there has to act.
        Action.FIX_AND_RETRY: _WORKING,
        Action.RETRY: _WORKING,
        Action.RETRY_WITH_BACKOFF: _WORKING,
        Action.REQUEST_REPAIR: _WORKING,
        Action.SAVE_STATE: _WORKING,
        Action.NEW_SESSION: _WORKING,
        Action.WAIT: _WORKING,
        # Somebody else is asked for the first time: the task exists, and its work has not begun.
        Action.SPAWN: _SUBMITTED,
        Action.PROVIDE_CONTEXT: _SUBMITTED,
        Action.ASK_USER: _ASKING,
        Action.HUMAN_REVIEW: _ASKING,
        # Where tasks are an extension, "failed" means an error of the protocol: an agent's failure
        # is a result.
        Action.MANUAL_RESOLUTION: ActionState(A2AState.FAILED, McpTask.COMPLETED, is_error=True),
        Action.REJECT: ActionState(A2AState.REJECTED, McpTask.COMPLETED, is_error=True),
    }
)
"""Every action and its states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a task state depends on: protocol and outcome of the verdict, and the caller's facts."""

    protocol: str | None
    accepted: bool
    outcome: OutcomeKind
    report: ReportView = NO_REPORT
    repair_left: bool = True
    needs_credentials: bool = False
    cancelled: bool = False

    @property
    def strategy(self) -> str | None:
        """How a speckit error is recovered from; None for anything else."""
        return effective_strategy(self.report.error) if self.report.error else None


@dataclass(frozen=True, slots=True)
class SourceState:
    """One row: its source in text, when it fits, and the states of the task and the whole work."""

    protocol: str
    source: str
    fits: Callable[[Source], bool]
    state: A2AState
    workflow: A2AState | None = None


def _is(outcome: OutcomeKind) -> Callable[[Source], bool]:
    # A closure for a value that the tables below name often.
    return lambda source: source.outcome is outcome


def _says_success(source: Source) -> bool:
    # By the reply's own word: an outcome may be a failed gate, and the reply still says success.
    return source.report.native_status == "success"


# The first row that fits counts: facts of the caller, then rejections, then what the report says.
# Rows of all protocols stand between those of one, where their order matters.
BY_SOURCE = (
    SourceState(
        # A caller that cancelled is not asked anything else, whatever the report says.
        _ANY,
        "cancelled by the caller",
        lambda source: source.cancelled,
        A2AState.CANCELED,
    ),
    SourceState(
        _ANY,
        "next agent needs credentials",
        lambda source: source.needs_credentials,
        A2AState.AUTH_REQUIRED,
    ),
    SourceState("agent_request", "accepted", _is(OutcomeKind.REQUEST), A2AState.SUBMITTED),
    SourceState("agent_request", "no XML block", _is(OutcomeKind.FREEFORM), A2AState.SUBMITTED),
    SourceState("agent_request", "rejected", lambda source: not source.accepted, A2AState.REJECTED),
    SourceState(
        "goop_report",
        # Before the rows for rejected verdicts: strict mode rejects this report, but its content
        # says what to do, and the task continues.
        "COMPLETE with a failed check",
        _is(OutcomeKind.GATE_FAILED),
        A2AState.WORKING,
    ),
    SourceState(
        _ANY,
        "rejected verdict, repair left",
        lambda source: not source.accepted and source.repair_left,
        A2AState.WORKING,
    ),
    SourceState(
        _ANY,
        "rejected verdict, repair used up",
        lambda source: not source.accepted,
        A2AState.INPUT_REQUIRED,
    ),
    SourceState(
        "goop_report",
        "COMPLETE with a real blocker or ready=false, status message = blockers",
        lambda source: is_held_back(source.outcome, source.report),
        A2AState.INPUT_REQUIRED,
    ),
    SourceState(
        "goop_report",
        "PARTIAL or CHECKPOINT with a blocker that names a decision, status message = blockers",
        lambda source: waits_for_decision(source.outcome, source.report),
        A2AState.INPUT_REQUIRED,
    ),
    SourceState(
        # The agent has not done what it was asked: the task goes on, whatever its status says.
        _ANY,
        "COMPLETE or success with a passed check that shows no result",
        _is(OutcomeKind.WITHOUT_RESULT),
        A2AState.WORKING,
    ),
    SourceState(
        "goop_report", "COMPLETE, checks passed or none", _is(OutcomeKind.DONE), A2AState.COMPLETED
    ),
    SourceState("goop_report", "PARTIAL", _is(OutcomeKind.PARTIAL), A2AState.WORKING),
    SourceState(
        "goop_report",
        "CHECKPOINT, `metadata.checkpoint` = true",
        _is(OutcomeKind.CHECKPOINT),
        A2AState.WORKING,
    ),
    SourceState(
        "goop_report",
        "BLOCKED, status message = blockers",
        _is(OutcomeKind.BLOCKED),
        A2AState.INPUT_REQUIRED,
    ),
    # Completed as a task, since the agent did what it was asked; the gate holds the work back.
    SourceState(
        "speckit",
        "success with failed gate",
        _is(OutcomeKind.GATE_FAILED),
        A2AState.COMPLETED,
        workflow=A2AState.WORKING,
    ),
    SourceState("speckit", "success", _says_success, A2AState.COMPLETED),
    SourceState(
        "speckit",
        "error, manual_resolution or recoverable false",
        lambda source: (
            source.outcome is OutcomeKind.FAILED and source.strategy == "manual_resolution"
        ),
        A2AState.FAILED,
    ),
    SourceState(
        "speckit",
        "error, automatic recovery left",
        lambda source: (
            source.outcome is OutcomeKind.FAILED
            and source.strategy not in (None, "ask_user", "manual_resolution")
        ),
        A2AState.WORKING,
    ),
    SourceState(
        "speckit",
        # What is left of the failures: a question to the user, or no strategy that is known.
        "error, ask_user",
        _is(OutcomeKind.FAILED),
        A2AState.INPUT_REQUIRED,
    ),
    SourceState(
        "factory",
        "success with verdict BLOCKING",
        _is(OutcomeKind.GATE_FAILED),
        A2AState.COMPLETED,
        workflow=A2AState.WORKING,
    ),
    SourceState("factory", "success, also with verdict", _says_success, A2AState.COMPLETED),
    SourceState(
        "factory",
        "questions, one data part per question",
        _is(OutcomeKind.QUESTIONS),
        A2AState.INPUT_REQUIRED,
    ),
    SourceState(
        "factory",
        "failure, not recoverable",
        lambda source: (
            source.outcome is OutcomeKind.FAILED
            and source.report.error is not None
            and source.report.error.recoverable is False
        ),
        A2AState.FAILED,
    ),
    SourceState("factory", "failure, recoverable", _is(OutcomeKind.FAILED), A2AState.WORKING),
    SourceState(_ANY, "anything else", lambda _source: True, A2AState.INPUT_REQUIRED),
)
"""Every source and its states, in the order in which they are tried."""


def verdict_state(
    verdict: Verdict,
    *,
    repair_left: bool = True,
    needs_credentials: bool = False,
    cancelled: bool = False,
) -> TaskState:
    """Return the A2A state of the task that ended with `verdict`.

    `repair_left` is whether a rejected reply may be sent again; a context for an agent never is,
    as no agent can repair it. A verdict that no row places asks for input.
    """
    protocol = protocol_of(verdict)
    # A protocol may be named that this program cannot route.
    adapter = ADAPTERS.get(protocol or "")
    view = NO_REPORT if adapter is None else adapter.read(verdict)
    source = Source(
        protocol=protocol,
        accepted=verdict.accepted,
        outcome=view.outcome,
        report=view if isinstance(view, ReportView) else NO_REPORT,
        repair_left=repair_left and (adapter is None or adapter.asks_for_repair(verdict)),
        needs_credentials=needs_credentials,
        cancelled=cancelled,
    )
    # The last row fits everything, so there always is one.
    row = next(
        row for row in BY_SOURCE if row.protocol in (_ANY, source.protocol) and row.fits(source)
    )

    report = source.report
    # Questions go out only with the state that lets somebody answer them.
    asks = row.state is A2AState.INPUT_REQUIRED
    # Blockers first: they are what a person can remove.
    message = report.blockers or (report.error.message if report.error else None)
    if message is None and is_held_back(source.outcome, report):
        message = NOT_READY
    return TaskState(
        state=row.state,
        workflow=row.workflow,
        message=message if asks else None,
        # Data parts, so that a client can show each question as a form.
        parts=tuple([question.to_dict() for question in report.questions]) if asks else (),
        metadata={"checkpoint": True} if source.outcome is OutcomeKind.CHECKPOINT else NOTHING,
    )


def decision_state(decision: Decision, *, tasks_are_extension: bool = True) -> ActionState:
    """Return the states that the first action of `decision` means.

    Before tasks were an extension of MCP, an agent's failure was a failed task.
    """
    # The first action decides: those after it depend on its result.
    found = BY_ACTION[decision.actions[0]]
    if found.a2a is A2AState.FAILED and not tasks_are_extension:
        return ActionState(A2AState.FAILED, McpTask.FAILED)
    return found
