"""Turn what a host keeps of an agent's work into an `AgentActivity`.

Every reader is written from records of the real host, and names the versions that it was tested
with: another version may mean other things by the same words, so that nothing read from it could be
used as a proof.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["claude_code", "codex", "histories", "opencode"]

if TYPE_CHECKING:
    from goop_mcp.evidence.readers import claude_code, codex, histories, opencode
else:
    __getattr__ = modules_on_demand(__name__, __all__)
