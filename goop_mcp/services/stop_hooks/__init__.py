"""Answers to the stop hooks of hosts: whether an agent may end its turn with its last message.

A hook starts a process for each event, so that each answer loads only the modules it needs.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = [
    "attempt_storage",
    "briefing",
    "corrections",
    "judged_by",
    "judging",
    "notices",
    "profile",
    "task_bases",
]

if TYPE_CHECKING:
    from goop_mcp.services.stop_hooks import (
        attempt_storage,
        briefing,
        corrections,
        judged_by,
        judging,
        notices,
        profile,
        task_bases,
    )
else:
    __getattr__ = modules_on_demand(__name__, __all__)
