"""The states of tasks, gates and runs, and when a step may begin. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from goop_mcp.delegation.parts import When

__all__ = [
    "ENDED",
    "MOVES",
    "MOVING",
    "RUN_ENDED",
    "WITH_REPORT",
    "NeededStep",
    "RunState",
    "TaskState",
    "may_move",
    "readiness",
    "state_of_run",
]

TaskState = Literal[
    "waiting",
    "ready",
    "running",
    "retrying",
    "input_required",
    "accepted",
    "failed",
    "skipped",
    "cancelled",
]
RunState = Literal["running", "waiting_for_person", "finished", "failed", "cancelled"]

ENDED: Final[frozenset[str]] = frozenset({"accepted", "failed", "skipped", "cancelled"})
"""States of tasks that nothing follows by itself; only a person or feedback begins again."""

RUN_ENDED: Final[frozenset[str]] = frozenset({"finished", "failed", "cancelled"})

MOVING: Final[frozenset[str]] = frozenset({"ready", "running", "retrying"})
"""States of tasks that go on without a person."""

WITH_REPORT: Final[frozenset[str]] = frozenset({"accepted", "input_required"})
"""States of tasks that may have ended with a report: what it was, or that it waits for a person."""

# Waiting again, from any state: feedback, a changed graph, or a person who runs a task again.
MOVES: Final[Mapping[str, frozenset[str]]] = {
    # Accepted at once is what an earlier run has the result of.
    "waiting": frozenset({"ready", "skipped", "cancelled", "input_required", "accepted"}),
    "ready": frozenset({"running", "input_required", "waiting", "skipped", "cancelled", "failed"}),
    "running": frozenset(
        {"accepted", "retrying", "input_required", "failed", "cancelled", "waiting", "ready"}
    ),
    "retrying": frozenset({"ready", "running", "waiting", "failed", "cancelled"}),
    "input_required": frozenset(
        {"ready", "accepted", "failed", "skipped", "waiting", "cancelled", "input_required"}
    ),
    "accepted": frozenset({"waiting"}),
    "failed": frozenset({"waiting", "ready"}),
    "skipped": frozenset({"waiting", "ready"}),
    "cancelled": frozenset({"waiting", "ready"}),
}
"""From each state of a task those that it may be moved to."""


class NeededStep(NamedTuple):
    """A step that another one needs: its state, and whether its failure is allowed."""

    state: str
    optional: bool = False


def may_move(start: str, target: str) -> bool:
    """Whether a task may go from `start` to `target`."""
    return target in MOVES.get(start, ())


def readiness(when: When, needs: Iterable[NeededStep]) -> Literal["ready", "waiting", "skipped"]:
    """Return whether a step may begin, has to wait, or never can."""
    needed = list(needs)
    ended = [each for each in needed if each.state in ENDED]
    if when == "ended":
        return "ready" if len(ended) == len(needed) else "waiting"

    if when == "any":
        # One is enough, and it does not wait for the others.
        if not needed or any(each.state == "accepted" for each in needed):
            return "ready"
        return "skipped" if len(ended) == len(needed) else "waiting"

    # An optional step that failed counts as done; one that was skipped or cancelled does too.
    if any(each.state != "accepted" and not each.optional for each in ended):
        return "skipped"
    return "ready" if len(ended) == len(needed) else "waiting"


def state_of_run(counts: Mapping[str, int], *, failures: int, cancelled: bool) -> RunState:
    """Return the state of a run whose tasks are in the states of `counts`.

    `failures` counts the tasks that failed or met the deadline of the run, and are not optional.
    `cancelled` is whether a person cancelled the run.
    """
    open_states = {state for state, count in counts.items() if count and state not in ENDED}
    if not open_states:
        return "cancelled" if cancelled else "failed" if failures else "finished"
    # What waits for a step that waits for a person waits for that person as well.
    return (
        "running"
        if open_states & MOVING or "input_required" not in open_states
        else "waiting_for_person"
    )
