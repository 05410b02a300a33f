"""Statistics of recorded attempts: how often agents have to be asked, and for which faults."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from goop_mcp.memory.times import written
from goop_mcp.store.interface import Store
from goop_mcp.store.records import StoredAttempt

__all__ = ["AttemptCounts", "AttemptStatistics", "count_attempts"]

_NOBODY = "(not named)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCounts:
    """How the calls of one agent or week went.

    `calls` were made with `attempts` messages; `accepted` of them ended with an accepted reply,
    `accepted_at_once` with the first reply that came. `seconds` and `tokens` are those of all
    attempts; unknown tokens count as none.
    """

    calls: int
    attempts: int
    accepted: int
    accepted_at_once: int
    seconds: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStatistics:
    """What was recorded: `by_rule` counts the replies that broke it, most often first; weeks are those of ISO 8601."""

    total: AttemptCounts
    by_rule: Mapping[str, int]
    by_repair: Mapping[str, int]
    by_agent: Mapping[str, AttemptCounts]
    by_week: Mapping[str, AttemptCounts]


def count_attempts(store: Store, *, since: datetime | None = None) -> AttemptStatistics:
    """Return the statistics of all attempts, or of those since a time.

    Raises the errors of the store.
    """
    earliest = None if since is None else written(since)
    attempts = store.read(lambda reading: reading.attempts(since=earliest))

    return AttemptStatistics(
        total=_counts(attempts),
        by_rule=dict(Counter(rule for each in attempts for rule in each.rules).most_common()),
        by_repair=dict(Counter(rule for each in attempts for rule in each.repairs).most_common()),
        by_agent=_grouped(attempts, _agent),
        by_week=_grouped(attempts, _week),
    )


def _grouped(
    attempts: Iterable[StoredAttempt], key: Callable[[StoredAttempt], str]
) -> dict[str, AttemptCounts]:
    groups: defaultdict[str, list[StoredAttempt]] = defaultdict(list)
    for attempt in attempts:
        groups[key(attempt)].append(attempt)

    return {name: _counts(groups[name]) for name in sorted(groups)}


def _counts(attempts: Sequence[StoredAttempt]) -> AttemptCounts:
    replies: defaultdict[str, list[bool]] = defaultdict(list)
    for each in attempts:
        if each.result in ("accepted", "rejected"):
            replies[each.call_id].append(each.result == "accepted")

    return AttemptCounts(
        calls=len({each.call_id for each in attempts}),
        attempts=len(attempts),
        accepted=sum(results[-1] for results in replies.values()),
        accepted_at_once=sum(results[0] for results in replies.values()),
        seconds=sum(each.seconds for each in attempts),
        tokens=sum(each.tokens or 0 for each in attempts),
    )


def _agent(attempt: StoredAttempt) -> str:
    return attempt.agent or _NOBODY


def _week(attempt: StoredAttempt) -> str:
    """Return the week of an attempt, such as 2026-W03."""
    year, week, _ = datetime.fromisoformat(attempt.created_at).astimezone(UTC).isocalendar()
    return f"{year}-W{week:02}"
