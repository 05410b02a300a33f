"""`goop-mcp ui`: the workbench in a browser."""

import os
import sys

import click

from goop_mcp import workbench
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID
from goop_mcp.cli.streams import complain, emit, start_log
from goop_mcp.settings import read_settings

__all__ = ["ui"]


@click.command()
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default=True,
    metavar="N",
    help="Port on this machine; 0 is any free port.",
)
@click.option("--no-open", is_flag=True, help="Print the address only, and open no browser.")
@click.option("--read-only", is_flag=True, help="Let nobody change or confirm anything.")
def ui(
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
    port: int,
    no_open: bool,
    read_only: bool,
) -> int:
    """Show the project in a browser on this machine, until Ctrl-C or the terminal closes.

    Prints one address, which works for one login within five minutes. Without a terminal the pages
    are read-only, because an agent could have started them, and it serves until a signal comes.
    """
    streams = [each for each in (sys.stdin, sys.stdout, sys.stderr) if each is not None]
    terminals = [each.fileno() for each in streams if each.isatty()]
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    if not (is_terminal or read_only):
        complain("no terminal: the pages only show the project, and nobody can confirm anything")

    start_log(settings)

    return workbench.local.serve_locally(
        settings,
        port=port,
        is_read_only=read_only or not is_terminal,
        opens_browser=is_terminal and not no_open,
        terminal=next(iter(terminals), None),
        announce=lambda address: emit(f"{address}\n"),
    )
