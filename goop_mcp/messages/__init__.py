"""Messages for people in the GoopSpec visual style, and its checker (V-01 to V-18)."""

from goop_mcp.messages.icons import STYLE_VERSION
from goop_mcp.messages.rendering import (
    Choice,
    Position,
    TaskLine,
    decision_required,
    gate_blocked,
    gate_passed,
    notice,
    phase_complete,
    phase_start,
    progress,
    session_handoff,
    status_display,
    table,
    warning,
)
from goop_mcp.messages.rules import VISUAL_STYLE_RULES, check_message

__all__ = [
    "STYLE_VERSION",
    "VISUAL_STYLE_RULES",
    "Choice",
    "Position",
    "TaskLine",
    "check_message",
    "decision_required",
    "gate_blocked",
    "gate_passed",
    "notice",
    "phase_complete",
    "phase_start",
    "progress",
    "session_handoff",
    "status_display",
    "table",
    "warning",
]
