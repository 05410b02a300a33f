"""`goop-mcp stats`: how the agents of a project do."""

from datetime import UTC, datetime

import click

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
from goop_mcp.cli.streams import emit_json
from goop_mcp.services.stats import project_stats, start_of_week
from goop_mcp.services.stats_page import stats_page

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
@PROJECT
@DATABASE
@PROJECT_ID
@TENANT
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@COLOUR
def stats(
    *,
    since: datetime | None,
    weeks: int | None,
    agent: str | None,
    project: str | None,
    database: str | None,
    project_id: str | None,
    form: str,
    colour: str,
) -> int:
    """Print how the agents of a project do: adoption, failures, errors and retries.

    A reply that never arrived counts neither as accepted nor as failed. Nothing is changed.

    Exit code: 0, also when nothing is recorded; 2 a usage error, or the database cannot be read.
    """
    if since is not None and weeks is not None:
        raise WrongCallError("--since and --weeks both set the start; give one of them")

    start = start_of_week(weeks=weeks) if weeks is not None else since
    with opened_application(project, database=database, project_id=project_id) as application:
        found = project_stats(application.store, since=start, agent=agent)

    if form == "json":
        emit_json(found.to_dict())
    else:
        show_page(stats_page(found), colour=colour)

    return 0
