"""Which recovery of a speckit error counts when its fields disagree (S-17 to S-27)."""

from collections.abc import Mapping
from types import MappingProxyType

from goop_mcp.routing.views import ErrorView

__all__ = ["STRATEGIES_BY_CAUTION", "STRATEGY_OF_TYPE", "effective_strategy"]

STRATEGIES_BY_CAUTION = (
    "manual_resolution",
    "ask_user",
    "run_prerequisite_agent",
    "feedback_loop",
    "fix_and_retry",
    "retry_with_backoff",
    "retry",
)
"""Every strategy, the safest first: where two contradict each other, the safer one counts."""

STRATEGY_OF_TYPE: Mapping[str, str] = MappingProxyType(
    {
        "PrerequisiteError": "run_prerequisite_agent",
        "ValidationError": "fix_and_retry",
        "QualityGateFailure": "feedback_loop",
        "ConstitutionViolationError": "manual_resolution",
        "BranchExistsError": "ask_user",
        "TimeoutError": "retry",
        "ExternalServiceError": "retry_with_backoff",
    }
)
"""What each type of error asks for by itself (speckit-agent-response, Error Types)."""


def effective_strategy(error: ErrorView) -> str | None:
    """Return the strategy that counts, None where neither type nor strategy is known.

    recoverable=false stops every automatic recovery (S-27); an unknown strategy gives way to that
    of the type.
    """
    if error.recoverable is False:
        return "manual_resolution"

    asked = {STRATEGY_OF_TYPE.get(error.type or ""), error.strategy}

    return next((strategy for strategy in STRATEGIES_BY_CAUTION if strategy in asked), None)
