"""`goop-mcp evidence`: what the claims of a recorded report rest on."""

import click

from goop_mcp.cli.options import COLOUR, DATABASE, PROJECT, PROJECT_ID, opened_application
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.streams import complain, emit_json
from goop_mcp.services.recorded_reports import (
    ReportArgumentError,
    ReportNotFoundError,
    show_report,
)
from goop_mcp.services.report_pages import explanation_page

__all__ = ["evidence"]

NOT_FOUND = 1


class _Evidence(Subcommands):
    noun = "evidence command"


@click.group(
    cls=_Evidence,
    no_args_is_help=False,
    short_help="Show what the claims of a recorded report rest on.",
)
def evidence() -> None:
    """Show what the claims of a recorded report rest on.

    Exit code: 0 shown; 1 there is no such report or claim; 2 a usage error, or the database cannot
    be used.
    """


@evidence.command(short_help="Show what one check or claim of a report rests on.")
@click.argument("report", type=int, metavar="REPORT")
@click.argument("check", metavar="CHECK")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@COLOUR
@PROJECT
@DATABASE
@PROJECT_ID
def explain(
    *,
    report: int,
    check: str,
    form: str,
    colour: str,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Show which line of a transcript gave CHECK of the report its tier, and what contradicts it.

    REPORT is the number of a recorded report, CHECK the name of a check or another part of a claim.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        try:
            found = show_report(application.store, report).explain(check)
        except (ReportNotFoundError, ReportArgumentError) as error:
            complain(str(error))
            return NOT_FOUND

    if form == "json":
        emit_json(found)
    else:
        show_page(explanation_page(report, found), colour=colour)

    return 0
