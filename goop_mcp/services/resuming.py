"""Collect what a new session must know of the last one, for the prompt resume_session."""

from collections.abc import Mapping, Sequence
from typing import Any

from goop_mcp.messages.quoting import code, line
from goop_mcp.workspace.documents.handoff import Handoff, NextTask, read_handoff

__all__ = ["resume_values"]

_MOST_LISTED = 20
_LOCKED = {True: "locked", False: "not locked", None: "locked or not is unknown"}


def resume_values(text: str | None) -> Mapping[str, Any]:
    """Return the values of the prompt for `text`, that of HANDOFF.md; each value is one line.

    `found` is False without a text.
    """
    if text is None:
        return {"found": False}

    handoff = read_handoff(text)

    return {
        "found": True,
        "generated": _line(handoff.generated),
        "phase": _line(handoff.phase),
        "locked": _LOCKED[handoff.spec_locked],
        "wave": _line(handoff.wave),
        "task": _line(handoff.task),
        "command": handoff.command,
        "context": _line(handoff.context),
        "next_task": _next_task(handoff.next_task),
        "files": [code(path) for path in handoff.files_to_read[:_MOST_LISTED]],
        "blockers": _lines(handoff.blockers),
        "lists": _lists(handoff),
    }


def _lists(handoff: Handoff) -> list[tuple[str, list[str]]]:
    """Return the other lists of the handoff, each with a title, without empty ones."""
    commits = [f"{each.sha} {each.subject}" for each in handoff.commits]
    lists = [
        ("Done in the last session", [each.name for each in handoff.completed]),
        ("Decided", handoff.decisions),
        ("Still to be decided", handoff.pending_decisions),
        ("Beware", handoff.gotchas),
        ("Commits", commits),
        ("Memories saved", handoff.memories),
    ]

    return [(title, _lines(texts)) for title, texts in lists if texts]


def _next_task(task: NextTask | None) -> str:
    if task is None:
        return ""

    parts = [
        ("", task.task),
        ("files: ", ", ".join(task.files)),
        ("do: ", task.action),
        ("verify: ", task.verify),
    ]
    return "; ".join(f"{name}{line(text)}" for name, text in parts if text)


def _lines(texts: Sequence[str]) -> list[str]:
    return [line(text) for text in texts[:_MOST_LISTED]]


def _line(text: str | None) -> str:
    return line(text) if text else ""
