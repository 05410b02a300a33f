"""Statistics of recorded attempts: how often agents are asked, and for which errors."""

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
    """The calls of one agent or week.

    `calls` took `attempts` messages; `accepted` of them ended with an accepted reply,
    `accepted_at_once` with an accepted first reply. `seconds` and `tokens` are those of all
    attempts; unknown tokens count as 0.
    """

    calls: int
    attempts: int
    accepted: int
    accepted_at_once: int
    seconds: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStatistics:
    """The recorded attempts; `by_rule` counts replies, most first; weeks are those of ISO 8601."""

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

    def week(attempt: StoredAttempt) -> str:
        moment = datetime.fromisoformat(attempt.created_at).astimezone(UTC)
        year, number, _ = moment.isocalendar()
        return f"{year}-W{number:02}"

    return AttemptStatistics(
        total=_counts(attempts),
        by_rule=dict(Counter(rule for each in attempts for rule in each.rules).most_common()),
        by_repair=dict(Counter(rule for each in attempts for rule in each.repairs).most_common()),
        by_agent=_grouped(attempts, lambda attempt: attempt.agent or _NOBODY),
        by_week=_grouped(attempts, week),
    )


def _grouped(
    attempts: Iterable[StoredAttempt], key: Callable[[StoredAttempt], str]
) -> dict[str, AttemptCounts]:
    groups: defaultdict[str, list[StoredAttempt]] = defaultdict(list)
    for attempt in attempts:
        groups[key(attempt)].append(attempt)

    return {name: _counts(groups[name]) for name in sorted(groups)}


def _counts(attempts: Sequence[StoredAttempt]) -> AttemptCounts:
    # Failed and cancelled attempts have no reply, so that only judged ones decide about a call.
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
