"""The page Agents: how they do, with charts, as CSV and as one file."""

from threading import Lock
from time import monotonic
from typing import Final
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from starlette.responses import Response

from goop_mcp.context import AppContext
from goop_mcp.services.stats import ProjectStats, project_stats, start_of_week
from goop_mcp.services.stats_page import stats_csv
from goop_mcp.workbench.stats_report import stats_report, stats_values
from goop_mcp.workbench.visits import RouteList, Visit

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_FRESH_SECONDS: Final = 30.0
_MOST_KEPT: Final = 32
_MOST_WEEKS: Final = 520
_MOST_ROUNDS: Final = 100

_Key = tuple[int | None, int | None, str]

# Counting reads every row of the time that is asked for, which takes seconds in a large database.
# The numbers change slowly, so that all who look within half a minute share one count.
_counted: WeakKeyDictionary[AppContext, dict[_Key, tuple[float, str, ProjectStats]]] = (
    WeakKeyDictionary()
)
_guard: Final = Lock()


@ROUTES.page("/agents", label="Agents", part="reports")
def _show(visit: Visit) -> Response:
    weeks, round, agent = _wanted(visit)
    counted, stats = _stats(visit)
    rounds = visit.application.store.read(lambda reading: reading.rounds(limit=_MOST_ROUNDS))
    asked = {"weeks": weeks, "round": round, "agent": agent}
    query = urlencode({name: value for name, value in asked.items() if value})

    return visit.show(
        "agents.html",
        **stats_values(stats),
        weeks=weeks,
        round=round,
        agent=agent,
        rounds=[each.number for each in rounds],
        query=f"?{query}" if query else "",
        counted=counted,
    )


@ROUTES.page("/agents.csv", of="/agents")
def _csv(visit: Visit) -> Response:
    return _file(stats_csv(_stats(visit)[1]), "text/csv", "agents.csv")


@ROUTES.page("/agents.html", of="/agents")
def _html(visit: Visit) -> Response:
    counted, stats = _stats(visit)
    return _file(stats_report(stats, now=counted), "text/html", "agents.html")


def _file(text: str, media_type: str, name: str) -> Response:
    # Always saved and never shown: the file has its style inside, which the pages do not allow.
    return Response(
        text,
        media_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _wanted(visit: Visit) -> _Key:
    weeks = visit.query.number("weeks")
    if weeks is not None and not 1 <= weeks <= _MOST_WEEKS:
        weeks = None
    return weeks, visit.query.number("round"), visit.query.text("agent").strip()


def _stats(visit: Visit) -> tuple[str, ProjectStats]:
    """Return the statistics that the address asks for, and when they were counted."""
    wanted, here = _wanted(visit), visit.application
    with _guard:
        kept = _counted.setdefault(here, {})
        found = kept.get(wanted)
        if found is not None and monotonic() - found[0] < _FRESH_SECONDS:
            return found[1], found[2]

    weeks, round, agent = wanted
    since = None if weeks is None else start_of_week(weeks=weeks)
    at, stats = visit.now, project_stats(here.store, since=since, agent=agent or None, round=round)
    with _guard:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[wanted] = (monotonic(), at, stats)

    return at, stats
