"""The typed models of speckit: the input of an agent, and its answer."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import field

from goop_mcp.structs import DataStruct
from goop_mcp.validation.plain_values import plain_values
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "AGENTS",
    "DERIVED_STRATEGIES",
    "ERROR_TYPES",
    "PREFIXES",
    "SEVERITIES",
    "STRATEGIES",
    "AgentInput",
    "ErrorDetail",
    "FeedbackContext",
    "Issue",
    "Response",
    "Status",
    "SuggestedAction",
    "WorkflowContext",
    "plain_agent",
]

Values = Mapping[str, JsonValue]

AGENTS = (
    "specify",
    "clarify",
    "research",
    "plan",
    "checklist",
    "tasks",
    "analyze",
    "implement",
    "test",
    "review",
    "taskstoissues",
)
SEVERITIES = ("CRITICAL", "HIGH", "MEDIUM", "LOW")
"""From the worst down; this is also the order in which issues are fixed (S-07)."""

ERROR_TYPES = (
    "PrerequisiteError",
    "ValidationError",
    "QualityGateFailure",
    "ConstitutionViolationError",
    "BranchExistsError",
    "TimeoutError",
    "ExternalServiceError",
)
STRATEGIES = (
    "run_prerequisite_agent",
    "feedback_loop",
    "fix_and_retry",
    "ask_user",
    "manual_resolution",
)
DERIVED_STRATEGIES = ("retry_with_backoff", "retry")
"""Asked for by the table of error types, absent from the table of strategies (D-44)."""

PREFIXES = ("speckit-", "speckit.", "/speckit.", "/speckit-", "speckit:")
_FILES = (
    *(
        "spec_file",
        "research_cache_file",
        "plan_file",
        "research_file",
        "data_model_file",
        "contracts_dir",
    ),
    *("quickstart_file", "checklist_file", "tasks_file", "analysis_report"),
)


def plain_agent(name: str) -> str:
    """Return `name` without the prefix under which projects install the agent (D-48)."""
    # Nearly every name is plain, and one call compares all prefixes.
    if name.startswith(PREFIXES):
        return name[len(next(each for each in PREFIXES if name.startswith(each))) :]
    return name


class Status(StrEnum):
    """Whether the agent did its work (S-13). What the work found is in the result (D-45)."""

    SUCCESS = "success"
    ERROR = "error"


class SuggestedAction(DataStruct, frozen=True, kw_only=True):
    """The agent to run first, and why (S-12, S-26)."""

    agent: str | None
    reason: str | None = None
    extensions: Values = field(default_factory=dict)


class ErrorDetail(DataStruct, frozen=True, kw_only=True):
    """What went wrong (S-12). `type` and `recovery_strategy` may be in no table."""

    type: str | None
    code: str | None
    message: str | None
    recoverable: bool | None
    recovery_strategy: str | None
    details: Values | None = None
    suggested_action: SuggestedAction | None = None
    extensions: Values = field(default_factory=dict)


class Response(DataStruct, frozen=True, kw_only=True):
    """An agent's answer.

    None stands for a value that is absent or could not be read, never for a default.

    `result` holds the agent's own fields and whatever else it put there (S-16), `extensions` what
    the envelope does not have. `partial` marks an answer that was cut off; nothing may be routed on
    it (D-16).
    """

    agent: str | None
    status: Status | None
    timestamp: str | None = None
    execution_time_ms: int | float | None = None
    result: Values | None = None
    error: ErrorDetail | None = None
    extensions: Values = field(default_factory=dict)
    partial: bool = False

    @property
    def next_steps(self) -> tuple[str, ...]:
        """The next agents, in order; empty also when there are none (S-11)."""
        steps = (self.result or {}).get("next_steps")
        return (
            tuple(step for step in steps if isinstance(step, str))
            if isinstance(steps, list)
            else ()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values under the specification's names."""
        return plain_values(self)


class Issue(DataStruct, frozen=True, kw_only=True):
    """Something that a later agent asks to have fixed (S-06)."""

    severity: str | None
    type: str | None
    message: str | None
    location: str | None
    recommendation: str | None
    extensions: Values = field(default_factory=dict)


class FeedbackContext(DataStruct, frozen=True, kw_only=True):
    """Why an agent is called again (S-05). `iteration` counts from 1."""

    feedback_from: str | None
    iteration: int | None
    max_iterations: int | None
    issues_to_fix: tuple[Issue, ...]
    extensions: Values = field(default_factory=dict)

    @property
    def by_severity(self) -> tuple[Issue, ...]:
        """The issues, the worst first, each severity in the order given (S-07)."""
        ranks = {severity: rank for rank, severity in enumerate(SEVERITIES)}
        return tuple(
            sorted(
                self.issues_to_fix, key=lambda issue: ranks.get(issue.severity or "", len(ranks))
            )
        )


class WorkflowContext(DataStruct, frozen=True, kw_only=True):
    """Where an agent works (S-02).

    `previous_results` holds the answers so far by agent, as far as they were passed.
    """

    workflow_id: str | None
    feature_id: str | None
    feature_dir: str | None
    previous_results: Mapping[str, Values] = field(default_factory=dict)
    extensions: Values = field(default_factory=dict)

    @property
    def files(self) -> dict[str, str]:
        """The files that earlier agents name in their results, by field; later ones win (S-03)."""
        found: dict[str, str] = {}
        for answer in self.previous_results.values():
            result = answer.get("result")
            for values in (answer, result if isinstance(result, dict) else {}):
                found.update(
                    {name: path for name in _FILES if isinstance(path := values.get(name), str)}
                )

        return found


class AgentInput(DataStruct, frozen=True, kw_only=True):
    """The input of an agent: its contexts, each None when absent, and the user's request (S-01)."""

    workflow_context: WorkflowContext | None = None
    feedback_context: FeedbackContext | None = None
    user_request: str | None = None
    partial: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the input as JSON values under the specification's names."""
        return plain_values(self)
