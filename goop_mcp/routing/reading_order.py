"""The steps in which an orchestrator reads a report, with what they found (G-48)."""

from goop_mcp.routing.views import ReportView
from goop_mcp.validation.findings import counted_noun

__all__ = ["READING_ORDER", "reading_steps"]

READING_ORDER = ("status", "blockers", "CHRONICLE.md", "next action", "session boundary")
"""What is read, in the order that the protocol prescribes."""

_SESSION = {True: "new session", False: "same session", None: "not stated"}


def reading_steps(report: ReportView) -> tuple[str, ...]:
    """Return each step with what the report says there."""
    step = report.next[0] if report.next else None
    return (
        f"status: {report.native_status or 'none'}",
        f"blockers: {'yes' if report.blockers else 'none'}",
        f"CHRONICLE.md: {counted_noun(len(report.files), 'file')},"
        f" {counted_noun(len(report.commits), 'commit')}",
        f"next action: {step.agent or 'nobody named' if step else 'none'}",
        f"session boundary: {_SESSION[report.new_session]}",
    )
