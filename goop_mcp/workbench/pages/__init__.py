"""The pages of the workbench, in the order of the navigation."""

from typing import Final

from goop_mcp.workbench.pages import agents, check, handoff, memory, now, reports, runs
from goop_mcp.workbench.visits import WorkbenchAction, WorkbenchPage

__all__ = ["ROUTES"]

ROUTES: Final[tuple[WorkbenchPage | WorkbenchAction, ...]] = (
    *now.ROUTES,
    *reports.ROUTES,
    *check.ROUTES,
    *handoff.ROUTES,
    *runs.ROUTES,
    *agents.ROUTES,
    *memory.ROUTES,
)
"""Every page and action. A page with a label is in the navigation, in this order."""
