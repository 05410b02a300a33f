"""The icons of the visual style, and its version (V-01, V-06, V-07, V-18)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

__all__ = [
    "KNOWN_ICONS",
    "PHASE_ICONS",
    "PRIMARY_ICON",
    "SEPARATOR",
    "STYLE_VERSION",
    "StatusIcon",
    "phase_label",
]

STYLE_VERSION = "0.2.0"
"""The version of the visual style; it counts for itself, apart from the envelope's."""

PRIMARY_ICON = "🔮"

SEPARATOR = "·"
"""U+00B7, middle dot; a blank stands on both sides."""

PHASE_ICONS: Mapping[str, str] = MappingProxyType(
    {
        "discuss": "💬",
        "plan": "📋",
        "research": "🔬",
        "specify": "📜",
        "execute": "⚡",
        "accept": "✅",
        "idle": "🔮",
    }
)


class StatusIcon(StrEnum):
    """What the style puts before a status."""

    COMPLETE = "✓"
    PENDING = "⏳"
    BLOCKED = "✗"
    LOCKED = "🔒"
    UNLOCKED = "🔓"
    WARNING = "⚠️"
    SUCCESS = "✨"
    ERROR = "❌"


KNOWN_ICONS = (*(icon.value for icon in StatusIcon), *PHASE_ICONS.values())
"""Every icon a status bullet may have."""


def phase_label(phase: str) -> str:
    """Return a phase with its icon (`⚡ Execute`); one the style does not know has no icon."""
    icon = PHASE_ICONS.get(phase.lower())
    return f"{icon} {phase.capitalize()}" if icon else phase
