"""The reading that scripts made after section 4.3 of the specification expect, key by key."""

from typing import TypedDict

from goop_mcp.protocols.agent_request.model import Request

__all__ = ["Deliverables", "HandoffValues", "as_handoff"]


class Deliverables(TypedDict):
    """What is to be delivered; a file is its path and what it should hold."""

    files: list[tuple[str | None, str]]
    decisions: list[str]
    reports: list[str]


class HandoffValues(TypedDict):
    """A request under the names of the specification's own parser."""

    mode: str | None
    original_intent: str | None
    task_summary: str | None
    workflow: str | None
    task_details: str | None
    constraints: list[str]
    deliverables: Deliverables
    backlog_notes: str | None


def as_handoff(request: Request) -> HandoffValues:
    """Return `request` under exactly the keys that the specification's parser gives (H-23)."""
    deliverables = request.deliverables or ()
    return {
        "mode": request.mode,
        "original_intent": request.original_intent,
        "task_summary": request.current_task_summary,
        "workflow": request.workflow,
        "task_details": request.task_details,
        "constraints": list(request.constraints or ()),
        "deliverables": {
            "files": [(each.path, each.text) for each in deliverables if each.kind == "file"],
            "decisions": [each.text for each in deliverables if each.kind == "decision"],
            "reports": [each.text for each in deliverables if each.kind == "report"],
        },
        "backlog_notes": request.backlog_notes,
    }
