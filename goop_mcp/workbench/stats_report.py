"""Statistics with charts: the values of the page Agents, and the same as one file."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from goop_mcp.services.stats import ProjectStats, share
from goop_mcp.workbench.charts import Colour, columns, meter
from goop_mcp.workbench.rendering import Templates

__all__ = ["stats_report", "stats_values"]

_STYLE: Final = Path(__file__).parent / "static" / "workbench.css"
_TIERS: Final[Mapping[str, Colour]] = {
    "claimed": "orange",
    "observed": "blue",
    "recorded": "green",
    "verified": "violet",
}
_MOST_AGENTS: Final = 50


def stats_report(stats: ProjectStats, *, now: str) -> str:
    """Return `stats` as one HTML file that loads nothing and has no script; `now` is its time."""
    return _templates().render(
        "stats_report.html",
        {**stats_values(stats), "now": now, "style": _STYLE.read_text(encoding="utf-8")},
    )


def stats_values(stats: ProjectStats) -> dict[str, Any]:
    """Return the values of the template for `stats`: charts, and rows for the tables."""
    weeks = stats.weeks
    names = [row.name or "" for row in weeks]
    prompts = stats.statistics.prompts
    adoption = prompts.with_request / prompts.prompts if prompts.prompts else None
    charts = {
        "adoption": meter(
            "Share of prompts with a request, with the three goals of adoption",
            adoption,
            [(f"{goal.phase} {goal.percent} %", goal.percent / 100) for goal in stats.goals],
        ),
        "first": columns(
            "Calls of agents by week, and whether their first reply was accepted",
            names,
            [
                ("accepted at first", "blue", [row.replies.accepted_at_once for row in weeks]),
                (
                    "accepted later",
                    "green",
                    [row.replies.accepted_calls - row.replies.accepted_at_once for row in weeks],
                ),
                (
                    "not accepted",
                    "orange",
                    [max(row.replies.calls - row.replies.accepted_calls, 0) for row in weeks],
                ),
            ],
        ),
        "replies": columns(
            "Replies by week",
            names,
            [
                ("accepted", "blue", [row.replies.accepted for row in weeks]),
                ("rejected", "orange", [row.replies.rejected for row in weeks]),
            ],
        ),
        "tiers": columns(
            "Claims by week, and what they rest on",
            names,
            [
                (tier, colour, [row.tiers.get(tier, 0) for row in weeks])
                for tier, colour in _TIERS.items()
            ],
        ),
    }

    return {
        "stats": stats,
        "charts": charts,
        "agents": stats.agents[:_MOST_AGENTS],
        "agents_left": max(len(stats.agents) - _MOST_AGENTS, 0),
        "rules": list(stats.statistics.rules.items())[:15],
        "share": share,
        "tiers": list(_TIERS),
    }


@cache
def _templates() -> Templates:
    return Templates()
