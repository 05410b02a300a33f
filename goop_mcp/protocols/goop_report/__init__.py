"""The `<goop_report>` envelope of GoopSpec subagents, and the older forms of it that are still met."""

from goop_mcp.protocols.goop_report.family import GOOP_REPORT
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.protocols.goop_report.writing import write_report

__all__ = ["GOOP_REPORT", "Report", "write_report"]
