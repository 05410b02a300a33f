"""Checks of the installation, each error with its fix; nothing is changed."""

from goop_mcp.hosts.doctor.checks import Check, Outcome
from goop_mcp.hosts.doctor.examination import examine

__all__ = ["Check", "Outcome", "examine"]
