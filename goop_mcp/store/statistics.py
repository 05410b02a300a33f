"""Statistics of recorded attempts, judgements and reports, with the SQL queries that compute them.

The queries are the same for every engine. `Dialect` holds what differs: names of tables, how values
are bound, how a week is written and how a list is unnested.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import field

from goop_mcp.structs import DataStruct
from goop_mcp.validation.tiers import CLAIM_TIERS

__all__ = [
    "Dialect",
    "EffortCounts",
    "EndingCount",
    "PromptCounts",
    "ReplyCounts",
    "Statistics",
    "StatisticsFilter",
    "gather_statistics",
]

T = TypeVar("T")

MOST_NAMES: Final = 200
"""How many agents, weeks and rules are listed at most."""


class StatisticsFilter(DataStruct, frozen=True, kw_only=True):
    """Which rows count; None means no restriction.

    `since` and `until` are times in ISO 8601, UTC; `until` itself does not count any more.
    """

    since: str | None = None
    agent: str | None = None
    until: str | None = None


class ReplyCounts(DataStruct, frozen=True):
    """Replies that were judged, and calls or turns of agents that ended.

    `unknown` replies never arrived: the call failed or was cancelled. Of the `calls`,
    `accepted_calls` ended with an accepted reply, `accepted_at_once` of them with the first reply.
    """

    accepted: int = 0
    rejected: int = 0
    unknown: int = 0
    calls: int = 0
    accepted_calls: int = 0
    accepted_at_once: int = 0


class PromptCounts(DataStruct, frozen=True):
    """Prompts that the gate judged: all of them, those with a request, and those it refused."""

    prompts: int = 0
    with_request: int = 0
    refused: int = 0


class EffortCounts(DataStruct, frozen=True):
    """What recorded attempts took: seconds of all, and tokens of those that reported them."""

    attempts: int = 0
    seconds: float = 0.0
    tokens: int = 0
    with_tokens: int = 0


class EndingCount(DataStruct, frozen=True):
    """How many calls ended for the reason `ended` at attempt `number`, counted from 1."""

    ended: str
    number: int
    calls: int


class Statistics(DataStruct, frozen=True, kw_only=True):
    """Counts of what was recorded.

    The name of an agent is None where it was not given; weeks are those of ISO 8601, in order.

    Agents are ordered by the number of their replies, `rules` by the number of replies that broke
    them, the largest first. `reports` counts the recorded envelopes by status, `tiers` their claims
    by what they rest on, as far as evidence was given. `rules_by_agent` are agent, rule and the
    number of replies, the most frequent first.
    """

    replies: ReplyCounts
    replies_by_agent: Mapping[str | None, ReplyCounts]
    replies_by_week: Mapping[str, ReplyCounts]
    endings: tuple[EndingCount, ...]
    rules: Mapping[str, int]
    prompts: PromptCounts
    prompts_by_agent: Mapping[str | None, PromptCounts]
    prompts_by_week: Mapping[str, PromptCounts]
    reports: Mapping[str | None, int]
    tiers: Mapping[str, int] = field(default_factory=dict)
    tiers_by_week: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rules_by_agent: tuple[tuple[str | None, str, int], ...] = ()
    effort_by_agent: Mapping[str | None, EffortCounts] = field(default_factory=dict)
    effort_by_week: Mapping[str, EffortCounts] = field(default_factory=dict)


class Dialect(DataStruct, frozen=True, kw_only=True):
    """The SQL of one engine.

    `schema` is the prefix of table names and `wanted` the condition that restricts their rows.
    `week` is the expression for the week of `created_at`. `each_rule` is joined to a row to get one
    row for each of its rules, in the column `rule`.
    """

    schema: str
    wanted: str
    week: str
    each_rule: str
    rule: str


_REPLY_COUNTS = """
count(CASE WHEN result = 'accepted' THEN 1 END), count(CASE WHEN result = 'rejected' THEN 1 END),
count(CASE WHEN result NOT IN ('accepted', 'rejected') THEN 1 END), count(ended),
count(CASE WHEN ended IN ('accepted', 'accepted_at_last') THEN 1 END),
count(CASE WHEN ended IN ('accepted', 'accepted_at_last') AND number = 1 THEN 1 END)
"""
_PROMPT_COUNTS = """
count(*), count(CASE WHEN has_envelope THEN 1 END), count(CASE WHEN result = 'rejected' THEN 1 END)
"""

Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement with the filter bound to it and returns its rows; none without tables."""


def gather_statistics(ask: Ask, dialect: Dialect) -> Statistics:
    """Return all statistics, each from one query that `ask` runs."""
    queries = _Queries(ask, dialect)
    week = dialect.week

    # One query for each number: their groups differ, so that a single query could not hold them.
    return Statistics(
        # Grouping by a constant gives one row with the total, in the shape of the other groups.
        replies=next(iter(queries.replies("NULL").values()), ReplyCounts()),
        replies_by_agent=queries.replies("agent"),
        replies_by_week=_in_order(queries.replies(week)),
        endings=queries.endings(),
        rules=queries.rules(),
        prompts=next(iter(queries.prompts("NULL").values()), PromptCounts()),
        prompts_by_agent=queries.prompts("agent"),
        prompts_by_week=_in_order(queries.prompts(week)),
        reports=queries.reports(),
        tiers=queries.tiers(),
        tiers_by_week=_in_order(queries.tiers_by(week)),
        rules_by_agent=queries.rules_by_agent(),
        effort_by_agent=queries.effort("agent"),
        effort_by_week=_in_order(queries.effort(week)),
    )


class _Queries:
    """The queries. All parts of them are constants (hence `noqa: S608`); values are bound."""

    def __init__(self, ask: Ask, dialect: Dialect) -> None:
        self._ask, self._dialect = ask, dialect
        columns, wanted = "agent, created_at, result, number, ended, rules", dialect.wanted
        self._replies = (
            f"(SELECT {columns} FROM {dialect.schema}attempts WHERE {wanted}"  # noqa: S608
            " UNION ALL "
            # Judgements at a gate are of prompts, before an agent is started; they are counted
            # apart.
            f"SELECT {columns} FROM {dialect.schema}judgements WHERE {wanted} AND surface <>"
            " 'gate') AS replies"
        )

    def replies(self, by: str) -> dict[Any, ReplyCounts]:
        return {
            name: ReplyCounts(*counts)
            for name, *counts in self._grouped(by, _REPLY_COUNTS, self._replies)
        }

    def prompts(self, by: str) -> dict[Any, PromptCounts]:
        schema, wanted = self._dialect.schema, self._dialect.wanted
        gate = f"{schema}judgements WHERE {wanted} AND surface = 'gate'"
        gated = f"(SELECT * FROM {gate}) AS prompts"  # noqa: S608
        return {
            name: PromptCounts(*counts)
            for name, *counts in self._grouped(by, _PROMPT_COUNTS, gated)
        }

    def endings(self) -> tuple[EndingCount, ...]:
        counted = (
            f"SELECT ended, number, count(*) FROM {self._replies} "  # noqa: S608
            "WHERE ended IS NOT NULL GROUP BY 1, 2"
        )
        return tuple(
            sorted(
                (EndingCount(*row) for row in self._ask(counted)),
                key=lambda each: (each.ended, each.number),
            )
        )

    def rules(self) -> dict[str, int]:
        rows = f"{self._replies} {self._dialect.each_rule}"
        found: dict[str, int] = dict(
            map(tuple, self._grouped(self._dialect.rule, "count(*)", rows))
        )
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def reports(self) -> dict[str | None, int]:
        schema, wanted = self._dialect.schema, self._dialect.wanted
        statuses = f"(SELECT status FROM {schema}reports WHERE {wanted}) AS statuses"  # noqa: S608
        return dict(map(tuple, self._grouped("status", "count(*)", statuses)))

    def tiers(self) -> dict[str, int]:
        # Grouping by a constant gives one row, and none at all without reports.
        return next(iter(self.tiers_by("NULL").values()), {})

    def tiers_by(self, by: str) -> dict[Any, dict[str, int]]:
        # Quotes in the texts of agents are escaped, so these marks stand for claims alone.
        marks = [f'"tier": "{tier}"' for tier in CLAIM_TIERS]
        counts = ", ".join(
            f"sum((length(verdict) - length(replace(verdict, '{mark}', ''))) / {len(mark)})"
            for mark in marks
        )
        rows = self._wanted_rows("reports", "claims")
        return {
            name: {
                tier: int(count) for tier, count in zip(CLAIM_TIERS, found, strict=True) if count
            }
            for name, *found in self._grouped(by, counts, rows)
            if any(found)
        }

    def rules_by_agent(self) -> tuple[tuple[str | None, str, int], ...]:
        dialect = self._dialect
        parts = ("SELECT agent,", dialect.rule, ", count(*) FROM", self._replies, dialect.each_rule)
        # Rules of many agents: the rarest are cut off in the database, not after loading all of
        # them.
        counted = " ".join((*parts, f"GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT {5 * MOST_NAMES}"))
        return tuple((agent, rule, count) for agent, rule, count in self._ask(counted))

    def effort(self, by: str) -> dict[Any, EffortCounts]:
        counts = "count(*), coalesce(sum(seconds), 0), coalesce(sum(tokens), 0), count(tokens)"
        rows = self._wanted_rows("attempts", "tries")
        return {
            name: EffortCounts(attempts, float(seconds), int(tokens), with_tokens)
            for name, attempts, seconds, tokens, with_tokens in self._grouped(by, counts, rows)
        }

    def _wanted_rows(self, table: str, name: str) -> str:
        """Return the rows of a table that the filter wants, as a table called `name`."""
        wanted = ("WHERE", self._dialect.wanted)
        return " ".join(("(SELECT * FROM", f"{self._dialect.schema}{table}", *wanted, ") AS", name))

    def _grouped(self, by: str, counts: str, rows: str) -> Sequence[Sequence[Any]]:
        """Return the counts of each group, the largest groups first, at most MOST_NAMES of them."""
        return self._ask(
            f"SELECT {by} AS name, {counts} FROM {rows} "  # noqa: S608
            f"GROUP BY 1 ORDER BY count(*) DESC LIMIT {MOST_NAMES}"
        )


def _in_order(weeks: Mapping[str, T]) -> dict[str, T]:
    return {week: weeks[week] for week in sorted(weeks)}
