"""Claude Code: its hooks, which are a process for each event (`goop-mcp hook claude-code`).

Those named here are loaded by the events that need them.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["in_project", "transcript"]

if TYPE_CHECKING:
    from goop_mcp.hosts.claude_code import in_project, transcript
else:
    __getattr__ = modules_on_demand(__name__, __all__)
