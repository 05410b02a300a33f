"""`goop-mcp status`: print the status of the project."""

import click

from goop_mcp.cli.options import COLOUR, DATABASE, PROJECT, PROJECT_ID, TENANT, opened_application
from goop_mcp.cli.pages import show_page, with_commands_of_the_terminal
from goop_mcp.cli.streams import emit_json
from goop_mcp.services.project_status import project_status

__all__ = ["WAITING", "status"]

WAITING = 3


@click.command(short_help="Print the status of the project.")
@PROJECT
@DATABASE
@PROJECT_ID
@TENANT
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--exit-code", "signals", is_flag=True, help="End with 3 while a step waits for a person."
)
@COLOUR
def status(
    project: str | None,
    database: str | None,
    project_id: str | None,
    *,
    form: str,
    signals: bool,
    colour: str,
) -> int:
    """Print the project's status: phase, gates, progress, blockers, contradictory documents.

    Nothing is changed.

    Exit code: 0, also for a project that has not begun; 2 a usage error; 3 with --exit-code, while
    a step waits for a person.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        found = project_status(application.project_context)

    if form == "json":
        emit_json(found.to_dict())
    else:
        page = with_commands_of_the_terminal(found.to_markdown(), phase=found.phase)
        show_page(page, colour=colour)

    return WAITING if signals and found.waiting else 0
