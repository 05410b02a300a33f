"""Boxes for the principles of the protocol, and for nothing else (P-04, D-40)."""

from textwrap import wrap
from unicodedata import combining, east_asian_width

__all__ = ["BOX_WIDTH", "PRINCIPLES", "principle_box", "principles"]

BOX_WIDTH = 66
"""Characters of every line of a box, corners included."""

_EDGE = f"+{'=' * (BOX_WIDTH - 2)}+"
_INDENT = "  "
_TEXT_WIDTH = BOX_WIDTH - 2 - 2 * len(_INDENT)

PRINCIPLES = (
    (
        "SUBAGENTS ARE MEMORY-FIRST.",
        "Search before starting. Save during work. Persist after.",
        "Decisions and learnings flow through memory.",
    ),
    (
        "SUBAGENTS USE XML RESPONSE ENVELOPES.",
        "Every response ends with a <goop_report> XML block.",
        "See references/xml-response-schema.md for full format.",
    ),
    (
        "SUBAGENTS LOAD PROJECT CONTEXT.",
        "Read PROJECT_KNOWLEDGE_BASE.md for conventions.",
        "Align work with spec must-haves.",
    ),
)
"""The core principles, each a title and its lines (subagent-protocol, Core Principles)."""


def principle_box(title: str, *lines: str) -> str:
    """Return a box 66 characters wide with `title` and `lines`; longer lines are wrapped."""
    texts = [part for text in (title, *lines) for part in _wrapped(text)]
    room = BOX_WIDTH - 2 - len(_INDENT)
    # Filled by columns of a terminal, of which an icon takes two: `ljust` counts characters.
    lines_of_box = [f"|{_INDENT}{text}{' ' * (room - _width(text))}|" for text in texts]

    return "\n".join([_EDGE, *lines_of_box, _EDGE])


def principles() -> str:
    """Return the boxes of all principles with a blank line between them."""
    return "\n\n".join(principle_box(*principle) for principle in PRINCIPLES)


def _wrapped(text: str) -> list[str]:
    plain = " ".join(text.split())
    widest = _TEXT_WIDTH if _width(plain) == len(plain) else _TEXT_WIDTH // 2
    return wrap(plain, widest) or [""]


def _width(text: str) -> int:
    """Return the columns of a terminal that `text` takes."""
    return sum(
        0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text
    )
