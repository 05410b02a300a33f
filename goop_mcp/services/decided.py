"""What was decided on blockers in a round, by people or, where a project lets them, by agents."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from goop_mcp.store.records import Confirmation

__all__ = ["MadeDecision", "standing_decisions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeDecision:
    """A decision on the blocker of a task.

    `id` is the number of its confirmation, `revision` that of the request. `via` says how the
    answer came, `at` when, in ISO 8601.
    """

    id: int
    task: str
    answer: str
    comment: str | None
    via: str
    at: str
    revision: int

    def __str__(self) -> str:
        """Return the decision as people read it: task, answer, comment, and who decided."""
        comment = f". {self.comment}" if self.comment else ""
        return f"{self.task}: {self.answer}{comment} ({self.via}, {self.at[:10]})"


def standing_decisions(confirmed: Iterable[Confirmation]) -> tuple[MadeDecision, ...]:
    """Return the decisions among what was confirmed in a round, oldest first.

    Those that a later one replaces do not count any more.
    """
    standing: dict[int, MadeDecision] = {}
    for each in confirmed:
        if each.action != "decide":
            continue
        given = json.loads(each.arguments)
        standing.pop(given.get("replaces", 0), None)
        standing[each.id] = MadeDecision(
            id=each.id,
            task=each.subject_key,
            # Older requests hold only the choice.
            answer=given.get("answer") or given.get("choice") or "",
            comment=given.get("comment"),
            via=each.via or "",
            at=each.answered_at or each.asked_at,
            revision=each.revision,
        )

    return tuple(standing.values())
