"""The workbench: pages in a browser that show what agents claim next to what proves it.

Its modules need Starlette and Jinja2, and are loaded on first use.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["audit_report", "local", "stats_report", "team"]

if TYPE_CHECKING:
    from goop_mcp.workbench import audit_report, local, stats_report, team
else:
    __getattr__ = modules_on_demand(__name__, __all__)
