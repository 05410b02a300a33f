"""Turn what a host keeps of an agent's work into an `AgentActivity`.

Every reader is written from records of the real host, and goes by the form of what it reads: what
it does not know and may show work makes the activity incomplete, so that nothing is based on it.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["claude_code", "codex", "histories", "opencode"]

if TYPE_CHECKING:
    from goop_mcp.evidence.readers import claude_code, codex, histories, opencode
else:
    __getattr__ = modules_on_demand(__name__, __all__)
