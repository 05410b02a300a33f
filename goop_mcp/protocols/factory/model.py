"""The typed model of a Factory reply (factory-response-schemas)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import field

from goop_mcp.structs import DataStruct
from goop_mcp.validation.plain_values import plain_values
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "CONFIDENCES",
    "DELIVERABLE_TYPES",
    "ERROR_TYPES",
    "HINTS",
    "BlockingIssue",
    "CriticVerdict",
    "Deliverable",
    "ErrorDetail",
    "FactoryQuestion",
    "PartialWork",
    "Reply",
    "Status",
]

Values = Mapping[str, JsonValue]

CONFIDENCES = ("high", "medium", "low")
DELIVERABLE_TYPES = ("architecture", "rules", "config", "skill")
ERROR_TYPES = ("missing_input", "invalid_config", "ambiguous_requirements", "technical_error")
HINTS = ("ready_for_review", "proceed_to_build", "return_to_architect")


class Status(StrEnum):
    """How the task stands (F-10)."""

    SUCCESS = "success"
    QUESTIONS = "questions"
    FAILURE = "failure"


class CriticVerdict(StrEnum):
    """What the critic says. It outranks the status (F-23)."""

    PASS = "PASS"  # noqa: S105 - a word of the specification
    BLOCKING = "BLOCKING"


class Deliverable(DataStruct, frozen=True, kw_only=True):
    """A file that the agent says it delivers; `path` is relative to the workspace (F-14)."""

    path: str | None
    type: str | None = None
    description: str | None = None
    extensions: Values = field(default_factory=dict)


class FactoryQuestion(DataStruct, frozen=True, kw_only=True):
    """Something the agent has to know; `default` is what it would take itself (F-06)."""

    id: str | None
    question: str | None
    context: str | None = None
    default: str | None = None
    options: tuple[str, ...] = ()
    extensions: Values = field(default_factory=dict)


class PartialWork(DataStruct, frozen=True, kw_only=True):
    """What is done already, and what waits for an answer (F-06)."""

    completed: tuple[str, ...] = ()
    blocked_on: tuple[str, ...] = ()
    extensions: Values = field(default_factory=dict)


class ErrorDetail(DataStruct, frozen=True, kw_only=True):
    """Why the task failed (F-07, F-08)."""

    type: str | None
    message: str | None
    recoverable: bool | None = None
    extensions: Values = field(default_factory=dict)


class BlockingIssue(DataStruct, frozen=True, kw_only=True):
    """Something to fix before the work may go on (F-22)."""

    id: str | None = None
    category: str | None = None
    title: str | None = None
    description: str | None = None
    resolution: str | None = None
    extensions: Values = field(default_factory=dict)


class Reply(DataStruct, frozen=True, kw_only=True):
    """A Factory reply.

    None stands for a value that is absent or could not be read, never for a default.

    `deliverables`, `questions` and `blocking_issues` are None when absent and empty when they are
    there without an item. `confidence` and `next_action` may be in no list.
    `unreadable` names the fields that are there and could not be read. `partial` marks a reply that
    was cut off; nothing may be routed on it (D-16).
    """

    status: Status | None
    confidence: str | None = None
    confidence_notes: str | None = None
    deliverables: tuple[Deliverable, ...] | None = None
    summary: str | None = None
    metrics: Values | None = None
    next_action: str | None = None
    verdict: CriticVerdict | None = None
    requirements_checked: int | None = None
    concerns: tuple[str, ...] = ()
    blocking_issues: tuple[BlockingIssue, ...] | None = None
    questions: tuple[FactoryQuestion, ...] | None = None
    partial_work: PartialWork | None = None
    recommendation: str | None = None
    error: ErrorDetail | None = None
    attempted: str | None = None
    extensions: Values = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    partial: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON values under the specification's names."""
        return plain_values(self)
