"""`goop-mcp backup`: write the database to one file."""

from pathlib import Path

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, opened_application
from goop_mcp.cli.streams import show

__all__ = ["backup"]


@click.command(short_help="Write the database to one file.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@PROJECT
@DATABASE
@PROJECT_ID
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def backup(
    file: Path, *, project: str | None, database: str | None, project_id: str | None, force: bool
) -> int:
    """Write the whole database of the project to FILE, for goop-mcp restore.

    Servers may run meanwhile. The copy is checked before it gets its name. It holds everything that
    was recorded, and only its owner can read it. For a PostgreSQL database, the command names the
    tools of PostgreSQL to use instead.

    Exit code: 0 written, 2 nothing to copy, or it cannot be written.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        application.store.backup(file, force=force)
        show(f"{application.store.location} written to {file}\n")

    return 0
