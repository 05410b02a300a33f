"""The `<goop_report>` envelope of GoopSpec subagents, and its older forms that still occur."""

from goop_mcp.protocols.goop_report.family import GOOP_REPORT
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.protocols.goop_report.writing import write_report

__all__ = ["GOOP_REPORT", "Report", "write_report"]
