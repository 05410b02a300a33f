"""Show statistics: to people as messages in the visual style, to other programs as CSV."""

import csv
import io
from typing import Final

from goop_mcp.messages import notice, table
from goop_mcp.services.stats import ProjectStats, StatsRow, share
from goop_mcp.validation.tiers import CLAIM_TIERS, tier_in_words

__all__ = ["COLUMNS", "stats_csv", "stats_page"]

COLUMNS: Final = (
    "kind",
    "name",
    "judged",
    "accepted",
    "rejected",
    "unknown",
    "calls",
    "accepted_calls",
    "accepted_at_first",
    "prompts",
    "with_request",
    "refused",
    "attempts",
    "seconds",
    "tokens",
    "claimed",
    "observed",
    "recorded",
    "verified",
    "most_common_error",
)
"""The columns of the CSV: counts, seconds, and tokens (empty where no attempt reported any)."""


_MOST_ROWS: Final = 15
_NOT_NAMED: Final = "(not named)"
_HOW: Final = (
    (
        "Reports: the tool `record_report` counts what it validates, and so do hooks where"
        ' .goopspec/hooks.json says "record": true.'
    ),
    "Prompts: `goop-mcp gate --record` counts those that it validates.",
    "Attempts: the hook `recording(store)` stores those of `ask_until_accepted`.",
)
_REASONS: Final = {
    "accepted": "a reply was accepted",
    "attempts": "no attempt was left",
    "deadline": "no time was left",
    "budget": "the budget was used up",
    "no_progress": "the same reply or the same errors came again",
    "cancelled": "the caller gave up",
    "agent_error": "the agent failed",
    "interrupted": "the agent waited for a person",
    "unknown": "nobody kept the reason; not accepted",
}


def stats_page(stats: ProjectStats) -> str:
    """Return `stats` as messages in the visual style, ending with a line feed."""
    if stats.is_empty:
        nothing = f"Nothing is recorded{_restriction(stats) or ' yet'}."
        return notice("Statistics", nothing, *_HOW) + "\n"

    statistics = stats.statistics
    gated = statistics.prompts.prompts > 0
    remarks = [f"Only what was recorded{_restriction(stats)}."] if _restriction(stats) else []
    # Without prompts at the gate there is no measure of adoption.
    if gated:
        remarks.append(stats.adoption.line)
    if stats.adoption.too_many_blocked:
        prompts = statistics.prompts
        remarks.append(
            f"⚠️ The gate refused {share(prompts.refused, prompts.prompts)} of the prompts, more"
            " than 10%: accept prompts without a request again, or fix what creates them."
        )

    messages = [table("Statistics", ("Metric", "Value"), _overview(stats), lines=remarks)]
    rules = [(rule, str(count)) for rule, count in statistics.rules.items()]
    if rules:
        left = len(rules) - _MOST_ROWS
        more = [(f"… and {left} more with --format json", "")] if left > 0 else []
        messages.append(
            table("Most Common Errors", ("Rule", "Replies"), [*rules[:_MOST_ROWS], *more])
        )
    if stats.retries.calls:
        messages.append(table("Retries", ("Calls that ended", "Value"), _retries(stats)))

    for title, column, rows in (
        ("By Agent", "Agent", stats.agents),
        ("By Week", "Week", stats.weeks),
    ):
        if rows:
            columns = (
                column,
                *(["Adoption"] if gated else []),
                "Judged",
                "Failed",
                "Unknown",
                "Calls",
                "At first",
            )
            # The agents with the most replies are at the start, the newest weeks at the end.
            shown = rows[:_MOST_ROWS] if column == "Agent" else rows[-_MOST_ROWS:]
            left = len(rows) - len(shown)
            lines = [f"{left} more with --format json."] if left else []
            messages.append(
                table(title, columns, [_row(row, gated=gated) for row in shown], lines=lines)
            )

    return "\n\n".join(messages) + "\n"


def stats_csv(stats: ProjectStats) -> str:
    """Return `stats` as CSV with a header: the total, then a row for each agent and each week.

    A name that a spreadsheet would read as a formula begins with an apostrophe.
    """
    total = stats.statistics
    rows = [
        (
            "total",
            StatsRow(
                name="",
                replies=total.replies,
                prompts=total.prompts,
                effort=stats.effort,
                rules=tuple(total.rules.items()),
                tiers=total.tiers,
            ),
        ),
        *(("agent", row) for row in stats.agents),
        *(("week", row) for row in stats.weeks),
    ]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(COLUMNS)
    for kind, row in rows:
        replies, prompts, effort = row.replies, row.prompts, row.effort
        table.writerow(
            (
                kind,
                _cell(_NOT_NAMED if row.name is None else row.name),
                replies.accepted + replies.rejected,
                replies.accepted,
                replies.rejected,
                replies.unknown,
                replies.calls,
                replies.accepted_calls,
                replies.accepted_at_once,
                prompts.prompts,
                prompts.with_request,
                prompts.refused,
                effort.attempts,
                round(effort.seconds, 3),
                effort.tokens if effort.with_tokens else "",
                *(row.tiers.get(tier, "") for tier in reversed(CLAIM_TIERS)),
                _cell(row.rules[0][0]) if row.rules else "",
            )
        )

    return text.getvalue()


def _cell(text: str) -> str:
    shown = "".join(each for each in text if each.isprintable())
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def _restriction(stats: ProjectStats) -> str:
    since = f" since {stats.since}" if stats.since else ""
    since += f" in round {stats.round}" if stats.round else ""
    return since + (f" of {stats.agent}" if stats.agent else "")


def _overview(stats: ProjectStats) -> list[tuple[str, str]]:
    replies, prompts = stats.statistics.replies, stats.statistics.prompts
    judged = replies.accepted + replies.rejected
    reports = ", ".join(
        f"{count} {status or 'without a status'}"
        for status, count in stats.statistics.reports.items()
    )
    claims = stats.statistics.tiers
    whole = sum(claims.values())
    tiers = ", ".join(
        f"{share(count, whole)} {tier_in_words(tier)} ({count})" for tier, count in claims.items()
    )
    refused = f"{share(prompts.refused, prompts.prompts)} ({prompts.refused} / {prompts.prompts})"

    return [
        *([("Prompts refused by the gate", refused)] if prompts.prompts else []),
        (
            "Failure rate of replies",
            f"{share(replies.rejected, judged)} ({replies.rejected} / {judged})",
        ),
        ("Replies accepted", str(replies.accepted)),
        ("Not known: replies that never came", str(replies.unknown)),
        ("Recorded reports", reports or "none"),
        *([("Claims of reports", tiers)] if claims else []),
    ]


def _retries(stats: ProjectStats) -> list[tuple[str, str]]:
    retries = stats.retries
    calls = retries.calls
    counted = (
        ("accepted at first", retries.at_first),
        ("accepted at second", retries.at_second),
        ("accepted later", retries.later),
        ("of these with the last reply allowed", retries.at_last),
    )
    reasons = [
        (f"ended: {_REASONS.get(reason, reason)}", count)
        for reason, count in retries.stopped_because.items()
    ]

    return [
        ("all", f"{calls}, {retries.attempts / calls:.2f} attempts a call"),
        *((name, f"{share(count, calls)} ({count})") for name, count in (*counted, *reasons)),
    ]


def _row(row: StatsRow, *, gated: bool) -> tuple[str, ...]:
    replies, prompts = row.replies, row.prompts
    judged = replies.accepted + replies.rejected
    return (
        row.name or _NOT_NAMED,
        *([share(prompts.with_request, prompts.prompts)] if gated else []),
        str(judged),
        share(replies.rejected, judged),
        str(replies.unknown),
        str(replies.calls),
        share(replies.accepted_at_once, replies.calls),
    )
