"""What a new session has to know of the last one, laid out for the prompt resume_session."""

from collections.abc import Mapping, Sequence
from typing import Any

from goop_mcp.messages.quoting import code, line
from goop_mcp.workspace.documents.handoff import Handoff, NextTask, read_handoff

__all__ = ["resume_values"]

_MOST_LISTED = 20
_LOCKED = {True: "locked", False: "not locked", None: "locked or not is unknown"}


def resume_values(text: str | None) -> Mapping[str, Any]:
    """Return what the prompt needs of `text`, that of HANDOFF.md; each value is one line.

    `found` is False where there is none.
    """
    if text is None:
        return {"found": False}

    handoff = read_handoff(text)

    return {
        "found": True,
        "generated": _said(handoff.generated),
        "phase": _said(handoff.phase),
        "locked": _LOCKED[handoff.spec_locked],
        "wave": _said(handoff.wave),
        "task": _said(handoff.task),
        "command": handoff.command,
        "context": _said(handoff.context),
        "next_task": _next_task(handoff.next_task),
        "files": [code(path) for path in handoff.files_to_read[:_MOST_LISTED]],
        "blockers": _lines(handoff.blockers),
        "lists": _lists(handoff),
    }


def _lists(handoff: Handoff) -> list[tuple[str, list[str]]]:
    """Return what else is worth knowing, each list with its title; empty ones are left out."""
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


def _said(text: str | None) -> str:
    return line(text) if text else ""
