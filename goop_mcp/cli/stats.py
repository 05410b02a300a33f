"""`goop-mcp stats`: how the agents of a project do."""

from datetime import UTC, datetime

import click

from goop_mcp import workbench
from goop_mcp.cli.options import (
    COLOUR,
    DATABASE,
    PROJECT,
    PROJECT_ID,
    TENANT,
    WrongCallError,
    opened_application,
)
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.streams import emit, emit_json
from goop_mcp.memory.times import utc_now, written
from goop_mcp.services.stats import project_stats, start_of_week
from goop_mcp.services.stats_page import stats_csv, stats_page

__all__ = ["stats"]


def _time(_context: click.Context, _option: click.Parameter, given: str | None) -> datetime | None:
    if given is None:
        return None

    try:
        time = datetime.fromisoformat(given)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise WrongCallError(
            f"--since is {given!r}; expected a day such as 2026-01-15 or a time such as"
            " 2026-01-15T10:30Z"
        ) from error


@click.command(short_help="Print statistics of the agents: failures, retries, adoption.")
@click.option(
    "--since",
    metavar="TIME",
    callback=_time,
    help="Count from this day or time (ISO 8601, UTC).",
)
@click.option(
    "--weeks",
    metavar="N",
    type=click.IntRange(1, 520),
    help="Count the last N weeks, from Monday, this one included.",
)
@click.option("--agent", metavar="NAME", help="Count one agent only.")
@click.option("--round", "round", type=int, metavar="N", help="Count what was recorded in round N.")
@PROJECT
@DATABASE
@PROJECT_ID
@TENANT
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv", "html"]),
    default="text",
    show_default=True,
    help="html is one file with charts, which loads nothing.",
)
@COLOUR
def stats(
    *,
    since: datetime | None,
    weeks: int | None,
    agent: str | None,
    round: int | None,
    project: str | None,
    database: str | None,
    project_id: str | None,
    form: str,
    colour: str,
) -> int:
    """Print how the agents of a project do: adoption, failures, errors and retries.

    A reply that never arrived counts neither as accepted nor as failed. Nothing is changed.

    Attempts and prompts have no round of their own: --round counts what was recorded from the
    opening of a round to that of the next.

    Exit code: 0, also when nothing is recorded; 2 a usage error, the round does not exist, or the
    database cannot be read.
    """
    if since is not None and weeks is not None:
        raise WrongCallError("--since and --weeks both set the start; give one of them")

    start = start_of_week(weeks=weeks) if weeks is not None else since
    with opened_application(project, database=database, project_id=project_id) as application:
        found = project_stats(application.store, since=start, agent=agent, round=round)

    if form == "json":
        emit_json(found.to_dict())
    elif form == "csv":
        emit(stats_csv(found))
    elif form == "html":
        emit(workbench.stats_report.stats_report(found, now=written(utc_now())))
    else:
        show_page(stats_page(found), colour=colour)

    return 0
