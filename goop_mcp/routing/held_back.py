"""When a valid report must not be followed by the next step: something blocks it (D-90)."""

from goop_mcp.routing.deviations import names_decision
from goop_mcp.routing.views import OutcomeKind, ReportView

__all__ = ["NOT_READY", "is_held_back", "waits_for_decision"]

NOT_READY = "the report says ready=false and names no blocker"
"""The blocker where the report does not name one."""


def is_held_back(outcome: OutcomeKind, report: ReportView) -> bool:
    """Return whether a finished task is not to be followed by the next one."""
    finished = outcome in (OutcomeKind.DONE, OutcomeKind.WITHOUT_RESULT)
    return finished and (report.blockers is not None or report.ready is False)


def waits_for_decision(outcome: OutcomeKind, report: ReportView) -> bool:
    """Return whether unfinished work cannot continue before the user has decided."""
    return outcome in (OutcomeKind.PARTIAL, OutcomeKind.CHECKPOINT) and names_decision(
        report.blockers or ""
    )
