"""`goop-mcp status`: print the status of the project."""

import os
import time
from collections.abc import Sequence

import click

from goop_mcp.cli.options import COLOUR, DATABASE, PROJECT, PROJECT_ID, TENANT, opened_application
from goop_mcp.cli.pages import show_page, with_commands_of_the_terminal
from goop_mcp.cli.streams import complain, emit_json
from goop_mcp.hosts.halves import are_judged
from goop_mcp.messages.quoting import inert, line
from goop_mcp.recording.state_folder import state_folder
from goop_mcp.services.project_status import project_status
from goop_mcp.services.stop_hooks.notices import Notice, NoticeFile

__all__ = ["WAITING", "status"]

WAITING = 3
_MOST_SHOWN = 20


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
        judged = are_judged(application.settings.project, os.environ)
        found = project_status(application.project_context, are_judged=judged)
        notices = _notices(str(application.settings.project))

    if form == "json":
        values = {"notices": [each.to_dict() for each in notices]} if notices else {}
        emit_json({**found.to_dict(), **values})
    else:
        page = with_commands_of_the_terminal(found.to_markdown(), phase=found.phase)
        show_page("\n".join([page, *_shown(notices), ""]) if notices else page, colour=colour)

    return WAITING if signals and found.waiting else 0


def _notices(project: str) -> list[Notice]:
    """Return what hooks have shown to a person about this project in the last day."""
    try:
        return NoticeFile(state_folder(os.environ), now=time.time()).of_project(project)
    except OSError as error:
        complain(f"note: the notices of hooks cannot be read: {error}")
        return []


def _shown(notices: Sequence[Notice]) -> list[str]:
    lines = [
        f"- {inert(line(each.sentence))}" + (f" ({each.times} times)" if each.times > 1 else "")
        for each in notices[:_MOST_SHOWN]
    ]
    more = len(notices) - len(lines)
    return ["### Shown by hooks in the last day", "", *lines, *([f"- {more} more"] if more else [])]
