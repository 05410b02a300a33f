"""Changes of counters that the caller should store, and contexts with what was stored."""

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Final

from goop_mcp.routing.context import RoutingContext
from goop_mcp.routing.context_parts import Counters
from goop_mcp.routing.decision import Retry
from goop_mcp.workflow.task_ids import same_task

__all__ = ["another_try", "apply_changes", "counted", "of_task", "progressed", "with_stored"]

# Rejections of a critic and retries of a session count over the whole work: progress of one task
# must not grant further ones. Prerequisites are a mapping and reset separately.
_ON_PROGRESS = tuple(
    name
    for name in Counters.__dataclass_fields__
    if name not in ("prerequisites", "critic_rejections", "session_retries")
)

_NUMBERS: Final = tuple(each.name for each in fields(Counters) if each.name != "prerequisites")
_FIRST: Final = {"attempt": 1, "iteration": 0}
"""The numbers of a context besides its counters, each with its value before anything happened."""

_MOST_NUMBER: Final = 1_000_000
_MOST_NAMES: Final = 100
_LONGEST_NAME: Final = 200


def counted(**counters: object) -> dict[str, Any]:
    """Return the state changes that set `counters` to these values."""
    return {"counters": counters}


def progressed(counters: Counters) -> dict[str, Any]:
    """Return the state changes after progress: whatever has counted is back at 0."""
    reset: dict[str, Any] = {name: 0 for name in _ON_PROGRESS if getattr(counters, name)}
    if counters.prerequisites:
        reset["prerequisites"] = {}
    return {"counters": reset, "previous_rules": [], "attempt": 1}


def another_try(used: int, limit: int, *, delay: int = 0, message: str = "") -> Retry:
    """Return the try after `used` of `limit` retries; the first request is attempt 1."""
    return Retry(attempt=used + 2, max_attempts=limit + 1, delay_seconds=delay, message=message)


def of_task(context: RoutingContext, task_id: str | None) -> RoutingContext:
    """Return `context` for a report of `task_id`: partials of another task do not count for it."""
    if task_id is None:
        return context
    if context.task_id is not None and not same_task(context.task_id, task_id):
        context = replace(context, counters=replace(context.counters, partials=0))

    return replace(context, task_id=task_id)


def with_stored(context: RoutingContext, stored: Mapping[str, Any]) -> RoutingContext:
    """Return `context` with the larger of its own numbers and of those in `stored`.

    `stored` is a result of `apply_changes` as JSON; anything else in it counts as absent. The rules
    that failed last are the caller's, or else the stored ones.
    """
    kept = _read(stored)
    given = context.counters
    numbers = {name: max(getattr(given, name), kept["counters"].get(name, 0)) for name in _NUMBERS}
    runs = kept["counters"].get("prerequisites", {})
    prerequisites = {
        name: max(given.prerequisites.get(name, 0), runs.get(name, 0))
        for name in (*given.prerequisites, *runs)
    }

    return replace(
        context,
        attempt=max(context.attempt, kept.get("attempt", 1)),
        iteration=max(context.iteration, kept.get("iteration", 0)),
        previous_rules=context.previous_rules or tuple(kept.get("previous_rules", ())),
        counters=Counters(**numbers, prerequisites=MappingProxyType(prerequisites)),
    )


def apply_changes(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `stored` after the `state_changes` of a decision, without what is as at the start.

    At most 100 prerequisites and 100 failed rules are kept.
    """
    before = _read(stored)
    counters = {**before["counters"], **changes.get("counters", {})}

    return _read({**before, **changes, "counters": counters}, shown=True)


def _read(values: Mapping[str, Any], *, shown: bool = False) -> dict[str, Any]:
    """Return the numbers, counters and rules in `values` that a context can have.

    With `shown` the counters are absent if there are none, as for the database.
    """
    read: dict[str, Any] = {
        name: number
        for name, first in _FIRST.items()
        if (number := _number(values.get(name))) > first
    }
    rules = values.get("previous_rules")
    if isinstance(rules, list | tuple) and rules:
        read["previous_rules"] = [each for each in rules if _is_name(each)][-_MOST_NAMES:]

    counters = values.get("counters")
    counters = counters if isinstance(counters, Mapping) else {}
    kept: dict[str, Any] = {
        name: number for name in _NUMBERS if (number := _number(counters.get(name)))
    }
    runs = counters.get("prerequisites")
    if isinstance(runs, Mapping):
        counts = [(name, _number(each)) for name, each in runs.items() if _is_name(name)]
        if some := {name: number for name, number in counts if number}:
            kept["prerequisites"] = dict(list(some.items())[-_MOST_NAMES:])

    if kept or not shown:
        read["counters"] = kept

    return read


def _number(value: object) -> int:
    # bool is a subclass of int, and `true` is not a count.
    usable = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return min(value, _MOST_NUMBER) if usable and isinstance(value, int) else 0


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME
