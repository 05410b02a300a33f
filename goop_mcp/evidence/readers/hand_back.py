"""The tool with which an agent of Claude Code hands its report to the agent that started it.

The host offers it to agents of its automatic mode, and delivers one report for each task.
"""

from collections.abc import Collection
from typing import Final

from goop_mcp.evidence.readers.blocks import objects

__all__ = ["HAND_BACK_MARK", "HAND_BACK_TOOL", "handed_back"]

HAND_BACK_TOOL: Final = "SubagentHandback"
HAND_BACK_MARK: Final = b'"SubagentHandback"'
"""How a transcript names it, by which most transcripts are known to hold no call of it."""


def handed_back(content: object, *, refused: Collection[object] = ()) -> str | None:
    """Return the report that the blocks of a message hand back, None for none.

    Calls with an id in `refused` do not count: the host delivered nothing of them.
    """
    for block in reversed(objects(content)):
        given = block.get("input")
        if block.get("type") != "tool_use" or block.get("name") != HAND_BACK_TOOL:
            continue
        if block.get("id") in refused or not isinstance(given, dict):
            continue
        if isinstance(report := given.get("message"), str):
            return report

    return None
