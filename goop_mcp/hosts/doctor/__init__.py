"""Checks of the installation, each error with its fix; nothing is changed."""

from goop_mcp.hosts.doctor.checks import CheckOutcome, CheckResult
from goop_mcp.hosts.doctor.examination import examine

__all__ = ["CheckOutcome", "CheckResult", "examine"]
