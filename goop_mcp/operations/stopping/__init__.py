"""May an agent end its turn? What a host's hooks ask before a report reaches whoever waits for it.

A hook is a process an event: what one answer needs is loaded by that answer.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["attempt_file", "briefing", "judging", "profile"]

if TYPE_CHECKING:
    from goop_mcp.operations.stopping import attempt_file, briefing, judging, profile
else:
    __getattr__ = modules_on_demand(__name__, __all__)
