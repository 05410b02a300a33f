"""The input of all contenders: the same replies, and a model of the same shape if they need it."""

import json
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["PROMPT", "TWO_BAD", "VALID", "Reply", "arguments_of", "in_prose"]

PROMPT: Final = "Design the pipeline and report what you made."


class Deliverable(BaseModel):
    """Something that was made."""

    path: str
    type: Literal["architecture", "rules", "config", "skill"]
    description: str = ""


class Reply(BaseModel):
    """A Factory agent's report of success, as a user of these libraries would describe it."""

    model_config = ConfigDict(extra="allow")

    status: Literal["success", "questions", "failure"]
    confidence: Literal["high", "medium", "low"] = "high"
    deliverables: list[Deliverable]
    summary: str
    metrics: dict[str, int] = {}
    next_action: str


def _values() -> dict[str, Any]:
    folder = ".factory/runs/20260121-a1b2/artifacts"
    return {
        "status": "success",
        "confidence": "high",
        "deliverables": [
            {
                "path": f"{folder}/part_{number}.md",
                "type": "architecture",
                "description": (
                    f"Part {number} of the design, with its agents and what they hand over"
                ),
            }
            for number in range(1, 9)
        ],
        "summary": "Designed a data pipeline with four agents",
        "metrics": {"agents_defined": 4, "estimated_files": 6},
        "next_action": "ready_for_review",
    }


def in_prose(values: object) -> str:
    """Return the reply as a model writes it: a line of prose, then the envelope in a fence."""
    return f"The design is ready for review.\n\n```json\n{json.dumps(values, indent=2)}\n```\n"


def arguments_of(reply: str) -> str:
    """Return the envelope of a reply alone, which is what a model sends where a tool is called."""
    return reply.split("```")[1].removeprefix("json").strip()


def _unknown_status() -> dict[str, Any]:
    return _values() | {"status": "done"}


def _pathless() -> dict[str, Any]:
    values = _values()
    del values["deliverables"][3]["path"]
    return values


VALID: Final = (in_prose(_values()),)
"""One valid reply."""

TWO_BAD: Final = (in_prose(_unknown_status()), in_prose(_pathless()), in_prose(_values()))
"""A status that does not exist, then a deliverable without its path, then a valid reply."""
