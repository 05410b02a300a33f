"""States of other sessions as callers name them, and which sessions wait for each other."""

from collections.abc import Mapping, Sequence

from goop_mcp.protocols.agent_request.sessions import find_cycle
from goop_mcp.routing.context_parts import SessionState

__all__ = [
    "cycle_through",
    "failed_sessions",
    "has_ended",
    "has_failed",
    "is_running",
    "open_sessions",
]

_ACTIVE = frozenset(
    {
        "running",
        "pending",
        "queued",
        "created",
        "starting",
        "submitted",
        "working",
        "waiting",
        "active",
    }
)
_DONE = frozenset({"done", "complete", "completed", "finished", "success", "succeeded", "ended"})
_FAILED = frozenset(
    {
        "failed",
        "failure",
        "error",
        "cancelled",
        "canceled",
        "killed",
        "timeout",
        "timed_out",
        "dead",
    }
)


def _word(state: str) -> str:
    return state.strip().lower().replace("-", "_").replace(" ", "_")


def has_ended(state: str | None) -> bool:
    """Return whether a session has left RUNNING, successfully or not; False if unknown."""
    return state is not None and _word(state) not in _ACTIVE


def has_failed(state: str) -> bool:
    """Return whether a session in this state ended without success."""
    return _word(state) in _FAILED


def is_running(state: str) -> bool:
    """Return whether a session runs or is about to."""
    return not has_ended(state)


def open_sessions(wanted: Sequence[str], known: Mapping[str, SessionState]) -> tuple[str, ...]:
    """Return those of `wanted` that are neither done nor failed; unknown sessions are open."""
    return tuple(
        [
            name
            for name in wanted
            # A dependency counts as over only in a state that is known to be final: a start that is
            # too early cannot be undone.
            if name not in known or _word(known[name].state) not in _DONE | _FAILED
        ]
    )


def failed_sessions(wanted: Sequence[str], known: Mapping[str, SessionState]) -> tuple[str, ...]:
    """Return those of `wanted` that failed."""
    return tuple([name for name in wanted if name in known and has_failed(known[name].state)])


def cycle_through(
    session: str | None, depends_on: Sequence[str], known: Mapping[str, SessionState]
) -> tuple[str, ...]:
    """Return the sessions that form a cycle when `session` waits for `depends_on`, or ()."""
    start = session or ""
    return find_cycle(
        start,
        {**{name: state.depends_on for name, state in known.items()}, start: tuple(depends_on)},
    )
