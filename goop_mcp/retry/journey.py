"""The steps of a workflow as data, each with its outcome and its decision."""

from dataclasses import dataclass, field
from typing import Literal

from goop_mcp.retry.attempts import Outcome
from goop_mcp.routing import Decision

__all__ = ["Journey", "JourneyEnd", "Step"]

JourneyEnd = Literal[
    "finish",
    "ask_user",
    "human_review",
    "manual_resolution",
    "new_session",
    "spawn",
    "provide_context",
    "wait",
    "reject",
    "unknown_agent",
    "no_progress",
    "limit",
    "agent_error",
    "interrupted",
    "deadline",
    "budget",
    "cancelled",
]
"""The action of the last decision that is not ours to carry out, or what kept us from going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One agent was asked with `prompt`.

    `decision` is None when the call was cancelled meanwhile.
    """

    agent: str
    prompt: str = field(repr=False)
    outcome: Outcome
    decision: Decision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """All steps in order, why they ended, and that in one sentence for a person."""

    steps: tuple[Step, ...]
    stopped_because: JourneyEnd
    reason: str = field(repr=False)

    @property
    def finished(self) -> bool:
        """Whether the router reported the work as done."""
        return self.stopped_because == "finish"

    @property
    def decision(self) -> Decision | None:
        """The last decision: its questions, blockers and message are what to show to a person."""
        return self.steps[-1].decision if self.steps else None
