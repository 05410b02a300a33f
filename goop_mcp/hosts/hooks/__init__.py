"""Hooks of Claude Code, Codex and OpenCode, a process for each event (`goop-mcp hook claude-code`).

The modules named here are loaded only by the events that need them.
"""

from goop_mcp.on_demand import modules_on_demand

__all__ = ["answers", "events", "hook", "in_project", "rule_output", "transcript"]

TYPE_CHECKING = False  # that of `typing` takes too long to load

if TYPE_CHECKING:
    from goop_mcp.hosts.hooks import answers, events, hook, in_project, rule_output, transcript
else:
    __getattr__ = modules_on_demand(__name__, __all__)
