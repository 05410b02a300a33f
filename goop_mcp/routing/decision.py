"""The decision: what happens next, in the shape that every interface shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypedDict

from goop_mcp.routing.views import NOTHING, Issue, Question
from goop_mcp.validation.verdict import Verdict

__all__ = ["Action", "Decision", "DecisionFields", "Retry", "SessionResult"]


class Action(StrEnum):
    """The closed list of what a caller is asked to do."""

    CONTINUE_NEXT = "continue_next"
    RESUME_SAME = "resume_same"
    RUN_PREREQUISITE = "run_prerequisite"
    FEEDBACK_LOOP = "feedback_loop"
    FIX_AND_RETRY = "fix_and_retry"
    RETRY = "retry"
    RETRY_WITH_BACKOFF = "retry_with_backoff"
    ASK_USER = "ask_user"
    MANUAL_RESOLUTION = "manual_resolution"
    HUMAN_REVIEW = "human_review"
    SAVE_STATE = "save_state"
    NEW_SESSION = "new_session"
    REQUEST_REPAIR = "request_repair"
    SPAWN = "spawn"
    PROVIDE_CONTEXT = "provide_context"
    WAIT = "wait"
    REJECT = "reject"
    FINISH = "finish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Another attempt: its number `attempt` and the last one allowed, the first request being 1.

    `delay_seconds` is how long to wait before it, `message` what it is for.
    """

    attempt: int
    max_attempts: int
    delay_seconds: int = 0
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the retry as JSON values."""
        return {
            "attempt": self.attempt,
            "max_attempts": self.max_attempts,
            "delay_seconds": self.delay_seconds,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """The outcome of one session of a batch; `result` is None if it has none."""

    session_id: str
    state: str
    result: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {"session_id": self.session_id, "state": self.state, "result": self.result}


class DecisionFields(TypedDict, total=False):
    """What a row sets in a decision, in addition to rule, actions, reason and message."""

    next_agent: str | None
    instruction: str | None
    next_command: str | None
    files_to_read: tuple[str, ...]
    new_session: bool | None
    blockers: tuple[str, ...]
    questions: tuple[Question, ...]
    retry: Retry | None
    state_changes: Mapping[str, Any]
    flags: tuple[str, ...]
    issues: tuple[Issue, ...]
    results: tuple[SessionResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens next. The caller carries `actions` out from left to right.

    A field that the row does not name is None or empty. `rule` is the row of docs/routing.md,
    `reason` one sentence, `message` is ready to be shown. `state_changes` are counters and fields
    of the next context, to be stored by the caller. `steps` list in which order the report was read
    (G-48). `issues` are for a feedback loop, worst first, `results` are those of a finished batch
    in its order.
    """

    actions: tuple[Action, ...]
    rule: str
    reason: str = field(repr=False)
    message: str = field(repr=False)
    verdict: Verdict
    next_agent: str | None = None
    instruction: str | None = field(default=None, repr=False)
    next_command: str | None = None
    files_to_read: tuple[str, ...] = ()
    new_session: bool | None = None
    blockers: tuple[str, ...] = field(default=(), repr=False)
    questions: tuple[Question, ...] = field(default=(), repr=False)
    retry: Retry | None = field(default=None, repr=False)
    state_changes: Mapping[str, Any] = field(default_factory=lambda: NOTHING, repr=False)
    steps: tuple[str, ...] = field(default=(), repr=False)
    flags: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = field(default=(), repr=False)
    results: tuple[SessionResult, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as JSON values, with the keys of the specification and ours."""
        return {
            "actions": [action.value for action in self.actions],
            "next_agent": self.next_agent,
            "instruction": self.instruction,
            "next_command": self.next_command,
            "files_to_read": list(self.files_to_read),
            "new_session": self.new_session,
            "blockers": list(self.blockers),
            "questions": [question.to_dict() for question in self.questions],
            "retry": None if self.retry is None else self.retry.to_dict(),
            "rule": self.rule,
            "reason": self.reason,
            "message": self.message,
            "verdict": self.verdict.to_dict(),
            "state_changes": {
                name: dict(value) if isinstance(value, Mapping) else value
                for name, value in self.state_changes.items()
            },
            "steps": list(self.steps),
            "flags": list(self.flags),
            "issues": [issue.to_dict() for issue in self.issues],
            "results": [result.to_dict() for result in self.results],
        }
