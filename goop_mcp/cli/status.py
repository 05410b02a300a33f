"""`goop-mcp status`: print the status of the project."""

import click

from goop_mcp.cli.options import COLOUR, DATABASE, PROJECT, PROJECT_ID, opened_application
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.streams import emit_json
from goop_mcp.services.project_status import project_status

__all__ = ["status"]


@click.command(short_help="Print the status of the project.")
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@COLOUR
def status(
    project: str | None, database: str | None, project_id: str | None, *, form: str, colour: str
) -> int:
    """Print the project's status: phase, gates, progress, blockers, contradictory documents.

    Nothing is changed.

    Exit code: 0, also for a project that has not begun; 2 a usage error.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        found = project_status(application.project_context)

    if form == "json":
        emit_json(found.to_dict())
    else:
        show_page(found.to_markdown(), colour=colour)

    return 0
