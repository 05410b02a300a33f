"""Statistics of the agents of a project: adoption, failures, broken rules, retries (H-66)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Final, Self

from goop_mcp.errors import GoopError
from goop_mcp.memory.times import Clock, utc_now, written
from goop_mcp.redaction import redact
from goop_mcp.services.adoption import AdoptionReport
from goop_mcp.services.gate import Adoption
from goop_mcp.store.interface import Store
from goop_mcp.store.statistics import (
    EffortCounts,
    PromptCounts,
    ReplyCounts,
    Statistics,
    StatisticsFilter,
)

__all__ = [
    "AdoptionGoal",
    "ProjectStats",
    "Retries",
    "StatsArgumentError",
    "StatsRow",
    "project_stats",
    "share",
    "start_of_week",
]

_SECOND: Final = 2
_ACCEPTED: Final = ("accepted", "accepted_at_last")
_GOALS: Final[tuple[tuple[Adoption, int], ...]] = (
    ("pilot", 50),
    ("expanded", 80),
    ("mandatory", 100),
)
_NOTHING_REPLIED: Final = ReplyCounts()
_NOTHING_PROMPTED: Final = PromptCounts()
_NO_EFFORT: Final = EffortCounts()
_MOST_RULES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsRow:
    """The statistics of one agent or week; the name is None for an unnamed agent.

    `rules` are the most common errors of an agent with the number of its replies, `tiers` the
    claims of a week by what they rest on.
    """

    name: str | None
    replies: ReplyCounts
    prompts: PromptCounts
    effort: EffortCounts = _NO_EFFORT
    rules: tuple[tuple[str, int], ...] = ()
    tiers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The number of messages until calls of agents ended, and the reasons why they ended.

    `at_first`, `at_second` and `later` are calls whose first, second or a later reply was accepted;
    `at_last` of them were accepted with the last reply that the policy allowed. `stopped_because`
    counts all calls by reason.
    """

    calls: int
    attempts: int
    at_first: int
    at_second: int
    later: int
    at_last: int
    stopped_because: Mapping[str, int]

    @classmethod
    def of(cls, statistics: Statistics) -> Self:
        """Return the totals of the ended calls."""
        # A call has one row for each reason and number of messages, with the number of such calls.
        endings = statistics.endings
        reasons: dict[str, int] = {}
        for each in endings:
            reason = "accepted" if each.ended in _ACCEPTED else each.ended
            reasons[reason] = reasons.get(reason, 0) + each.calls

        accepted = [each for each in endings if each.ended in _ACCEPTED]

        return cls(
            calls=sum(each.calls for each in endings),
            attempts=sum(each.calls * each.number for each in endings),
            at_first=sum(each.calls for each in accepted if each.number == 1),
            at_second=sum(each.calls for each in accepted if each.number == _SECOND),
            later=sum(each.calls for each in accepted if each.number > _SECOND),
            at_last=sum(each.calls for each in endings if each.ended == "accepted_at_last"),
            stopped_because=dict(
                sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics and their shares as JSON values."""
        return {
            "calls": self.calls,
            "attempts": self.attempts,
            "attempts_per_call": round(self.attempts / self.calls, 2) if self.calls else None,
            "accepted_at_first": self.at_first,
            "accepted_at_second": self.at_second,
            "accepted_later": self.later,
            "accepted_at_last_allowed": self.at_last,
            "accepted_at_first_rate": _rate(self.at_first, self.calls),
            "stopped_because": dict(self.stopped_because),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionGoal:
    """The goal of a phase of adoption: over or, for mandatory, all of `percent` of the prompts."""

    phase: Adoption
    percent: int
    reached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStats:
    """The records of a project since a time (None for all) and of an agent (None for all).

    `until` is when the records end, None for now. `round` is the round whose time that is.
    """

    since: str | None
    agent: str | None
    database: str
    has_database: bool
    statistics: Statistics
    until: str | None = None
    round: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded."""
        found = self.statistics
        return (
            found.replies == _NOTHING_REPLIED
            and found.prompts == _NOTHING_PROMPTED
            and not found.reports
        )

    @property
    def adoption(self) -> AdoptionReport:
        """The adoption of requests in the prompts that the gate judged."""
        prompts = self.statistics.prompts
        return AdoptionReport(
            sessions=prompts.prompts,
            with_request=prompts.with_request,
            blocked=prompts.refused,
            phase="optional",
        )

    @property
    def goals(self) -> tuple[AdoptionGoal, ...]:
        """The three thresholds of adoption, and whether each is reached."""
        return tuple(
            AdoptionGoal(
                phase=phase,
                percent=percent,
                reached=replace(self.adoption, phase=phase).reached,
            )
            for phase, percent in _GOALS
        )

    @property
    def effort(self) -> EffortCounts:
        """What all recorded attempts took."""
        parts = self.statistics.effort_by_agent.values()
        return EffortCounts(
            attempts=sum(each.attempts for each in parts),
            seconds=sum(each.seconds for each in parts),
            tokens=sum(each.tokens for each in parts),
            with_tokens=sum(each.with_tokens for each in parts),
        )

    @property
    def retries(self) -> Retries:
        """The numbers of messages that calls of agents took."""
        return Retries.of(self.statistics)

    @property
    def agents(self) -> tuple[StatsRow, ...]:
        """The statistics by agent, those with the most replies first."""
        found = self.statistics
        rules: dict[str | None, list[tuple[str, int]]] = {}
        for agent, rule, count in found.rules_by_agent:
            rules.setdefault(agent, []).append((rule, count))

        return tuple(
            StatsRow(
                name=_shown_name(name),
                replies=found.replies_by_agent.get(name, _NOTHING_REPLIED),
                prompts=found.prompts_by_agent.get(name, _NOTHING_PROMPTED),
                effort=found.effort_by_agent.get(name, _NO_EFFORT),
                rules=tuple(rules.get(name, ())[:_MOST_RULES]),
            )
            for name in dict.fromkeys([*found.replies_by_agent, *found.prompts_by_agent])
        )

    @property
    def weeks(self) -> tuple[StatsRow, ...]:
        """The statistics by week of ISO 8601, in order."""
        found = self.statistics
        names = {**found.replies_by_week, **found.prompts_by_week, **found.tiers_by_week}
        return tuple(
            StatsRow(
                name=_shown_name(name),
                replies=found.replies_by_week.get(name, _NOTHING_REPLIED),
                prompts=found.prompts_by_week.get(name, _NOTHING_PROMPTED),
                effort=found.effort_by_week.get(name, _NO_EFFORT),
                tiers=found.tiers_by_week.get(name, {}),
            )
            for name in sorted(names)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as JSON values; a share of nothing is None."""
        adoption, prompts = self.adoption, self.statistics.prompts
        return {
            "since": self.since,
            "until": self.until,
            "round": self.round,
            "agent": self.agent,
            "database": {"place": self.database, "exists": self.has_database},
            "adoption": {
                **_prompt_values(prompts),
                "line": adoption.line,
                "too_many_refused": adoption.too_many_blocked,
                "goals": [
                    {"phase": each.phase, "percent": each.percent, "reached": each.reached}
                    for each in self.goals
                ],
            },
            "replies": _reply_values(self.statistics.replies),
            "errors": [
                {"rule": rule, "replies": count} for rule, count in self.statistics.rules.items()
            ],
            "retries": self.retries.to_dict(),
            "effort": _effort_values(self.effort),
            "reports": {
                status or "unknown": count for status, count in self.statistics.reports.items()
            },
            "tiers": dict(self.statistics.tiers),
            "by_agent": [{"agent": row.name, **_row_values(row)} for row in self.agents],
            "by_week": [{"week": row.name, **_row_values(row)} for row in self.weeks],
        }


def project_stats(
    store: Store,
    *,
    since: datetime | None = None,
    agent: str | None = None,
    round: int | None = None,
) -> ProjectStats:
    """Return the statistics of a project.

    With `round` only what was recorded while that round was open counts, as attempts and prompts
    have no round of their own. Creates nothing; raises StatsArgumentError for a round that there is
    not, and the errors of the store.
    """
    begin, end = None if since is None else written(since), None
    if round is not None:
        rounds = {each.number: each for each in store.read(lambda reading: reading.rounds())}
        if round not in rounds:
            raise StatsArgumentError(f"there is no round {round}; expected 1 to {max(rounds)}")

        # A round ends when the next one is opened, which need not have happened yet.
        after = rounds.get(round + 1)
        end = None if after is None else after.opened_at
        begin = max(filter(None, (begin, rounds[round].opened_at)), default=None)

    wanted = StatisticsFilter(since=begin, until=end, agent=agent)
    return ProjectStats(
        since=wanted.since,
        until=end,
        round=round,
        agent=agent,
        database=store.location,
        has_database=store.exists(),
        statistics=store.read(lambda reading: reading.statistics(wanted)),
    )


class StatsArgumentError(GoopError, ValueError):
    """Raised for a restriction that does not exist; the text names what there is."""


def start_of_week(*, weeks: int, clock: Clock = utc_now) -> datetime:
    """Return the Monday, 0:00 UTC, on which the last `weeks` weeks begin; 1 is the present week."""
    today = clock().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=today.weekday(), weeks=weeks - 1)


def share(part: int, whole: int) -> str:
    """Return the share in percent with one decimal, "–" for an empty whole."""
    return f"{float(Fraction(100 * part, whole)):.1f}%" if whole else "–"


def _shown_name(name: str | None) -> str | None:
    return None if name is None else redact(name).text


def _row_values(row: StatsRow) -> dict[str, Any]:
    replies = row.replies
    return {
        "replies": _reply_values(replies),
        "calls": replies.calls,
        "accepted_calls": replies.accepted_calls,
        "accepted_at_first": replies.accepted_at_once,
        "adoption": _prompt_values(row.prompts),
        "effort": _effort_values(row.effort),
        "errors": [{"rule": rule, "replies": count} for rule, count in row.rules],
        "tiers": dict(row.tiers),
    }


def _effort_values(effort: EffortCounts) -> dict[str, Any]:
    return {
        "attempts": effort.attempts,
        "seconds": round(effort.seconds, 3),
        # A sum over attempts of which some reported nothing would look like all of them.
        "tokens": effort.tokens if effort.with_tokens else None,
        "attempts_with_tokens": effort.with_tokens,
    }


def _reply_values(replies: ReplyCounts) -> dict[str, Any]:
    judged = replies.accepted + replies.rejected
    return {
        "judged": judged,
        "accepted": replies.accepted,
        "rejected": replies.rejected,
        "unknown": replies.unknown,
        "failure_rate": _rate(replies.rejected, judged),
    }


def _prompt_values(prompts: PromptCounts) -> dict[str, Any]:
    return {
        "prompts": prompts.prompts,
        "with_request": prompts.with_request,
        "refused": prompts.refused,
        "rate": _rate(prompts.with_request, prompts.prompts),
    }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
