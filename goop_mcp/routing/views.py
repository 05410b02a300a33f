"""The common model of all protocols, so that the router never looks at native text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

__all__ = [
    "NOTHING",
    "NO_REPORT",
    "NO_REQUEST",
    "CheckView",
    "CommitView",
    "DeliverableView",
    "ErrorView",
    "FileView",
    "Issue",
    "MemoryView",
    "NextStep",
    "Option",
    "OutcomeKind",
    "PositionView",
    "Question",
    "ReportView",
    "RequestView",
]

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""The empty map: absent metrics, results, changes."""


def _nothing() -> Mapping[str, Any]:
    return NOTHING


class OutcomeKind(StrEnum):
    """What a reply comes to, whatever its protocol calls it."""

    INVALID = "invalid"
    GATE_FAILED = "gate_failed"
    WITHOUT_RESULT = "without_result"
    DONE = "done"
    DONE_WITH_REVIEW = "done_with_review"
    PARTIAL = "partial"
    BLOCKED = "blocked"
    CHECKPOINT = "checkpoint"
    QUESTIONS = "questions"
    FAILED = "failed"
    REQUEST = "request"
    FREEFORM = "freeform"
    INPUT = "input"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PositionView:
    """A position within a total; None where it is not known.

    Hooks read it, so it is not that of `messages`, which they never load.
    """

    current: int | None = None
    total: int | None = None

    @property
    def is_last(self) -> bool:
        """Whether this is n of n, with n above 0."""
        return self.total is not None and self.total > 0 and self.current == self.total


@dataclass(frozen=True, slots=True)
class FileView:
    """A file that the agent names; `action` is None where none is given."""

    path: str
    action: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class CommitView:
    """A commit that the agent names."""

    sha: str | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check that was run; `passed` is None where the reply does not say."""

    name: str
    passed: bool | None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory the agent says it saved."""

    type: str | None
    importance: float | None
    title: str = ""


@dataclass(frozen=True, slots=True)
class NextStep:
    """Who should continue, and with what."""

    agent: str | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to a question; `letter` is the agent's own, or given by position."""

    letter: str
    text: str
    recommended: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the option as JSON values."""
        return {"letter": self.letter, "text": self.text, "recommended": self.recommended}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something a person has to answer.

    `rule` is the number of a `RULE n DEVIATION`, None for any other question.
    """

    id: str
    text: str
    context: str | None = None
    default: str | None = None
    options: tuple[Option, ...] = ()
    rule: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON values."""
        return {
            "id": self.id,
            "text": self.text,
            "context": self.context,
            "default": self.default,
            "options": [option.to_dict() for option in self.options],
            "rule": self.rule,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """Something to fix before the work continues.

    `id` is the reply's own, None where it gives none.
    """

    severity: str
    type: str
    message: str
    location: str | None = None
    fix: str | None = None
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the issue as JSON values."""
        return {
            "id": self.id,
            "severity": self.severity,
            "type": self.type,
            "message": self.message,
            "location": self.location,
            "fix": self.fix,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorView:
    """Why an agent could not finish; None for whatever the reply does not say."""

    type: str | None = None
    code: str | None = None
    message: str = ""
    recoverable: bool | None = None
    strategy: str | None = None
    suggested_agent: str | None = None
    suggested_reason: str | None = None
    attempted: str | None = None
    details: Mapping[str, Any] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """What an agent has done. `result` is the part that only its protocol knows, untouched."""

    outcome: OutcomeKind
    native_status: str | None = None
    agent: str | None = None
    task_id: str | None = None
    task_name: str | None = None
    phase: str | None = None
    wave: PositionView | None = None
    task: PositionView | None = None
    spec_locked: bool | None = None
    summary: str | None = None
    files: tuple[FileView, ...] = ()
    commits: tuple[CommitView, ...] = ()
    checks: tuple[CheckView, ...] = ()
    checks_without_result: tuple[CheckView, ...] = ()
    memories: tuple[MemoryView, ...] = ()
    next: tuple[NextStep, ...] = ()
    next_command: str | None = None
    new_session: bool | None = None
    files_to_read: tuple[str, ...] = ()
    blockers: str | None = None
    ready: bool | None = None
    questions: tuple[Question, ...] = ()
    error: ErrorView | None = None
    issues: tuple[Issue, ...] = ()
    confidence: str | None = None
    confidence_notes: str | None = None
    recommendation: str | None = None
    metrics: Mapping[str, Any] = field(default_factory=_nothing)
    result: Mapping[str, Any] = field(default_factory=_nothing)
    extensions: Mapping[str, Any] = field(default_factory=_nothing)

    @property
    def is_last_task(self) -> bool:
        """Whether this is the last task of the last wave: n of n in both."""
        return (
            self.wave is not None
            and self.wave.is_last
            and self.task is not None
            and self.task.is_last
        )

    @property
    def failed_checks(self) -> tuple[CheckView, ...]:
        """The checks that were run and did not pass."""
        return tuple([check for check in self.checks if check.passed is False])


@dataclass(frozen=True, slots=True)
class DeliverableView:
    """What a request asks for; `kind` is file, decision or report; only a file has a `path`."""

    kind: str
    path: str | None
    required: bool = True
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """What one agent asks of another. `text` is the request as it may be handed on.

    `timeout` is as it was written, `timeout_seconds` what that means.
    """

    outcome: OutcomeKind
    mode: str | None = None
    intent: str | None = None
    task_summary: str | None = None
    workflow: str | None = None
    details: str | None = None
    constraints: tuple[str, ...] = ()
    deliverables: tuple[DeliverableView, ...] = ()
    backlog: str | None = None
    session_id: str | None = None
    parent: str | None = None
    target: str | None = None
    priority: str | None = None
    estimated_duration: str | None = None
    timeout: str | None = None
    timeout_seconds: float | None = None
    max_retries: int | None = None
    depends_on: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=_nothing)
    text: str = ""


NO_REPORT = ReportView(outcome=OutcomeKind.UNKNOWN)
NO_REQUEST = RequestView(outcome=OutcomeKind.UNKNOWN)
