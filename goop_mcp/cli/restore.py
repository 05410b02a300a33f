"""`goop-mcp restore`: put a backup in place of the database."""

from pathlib import Path

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, opened_application
from goop_mcp.cli.streams import show

__all__ = ["restore"]


@click.command(short_help="Put a backup in place of the database.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@PROJECT
@DATABASE
@PROJECT_ID
def restore(
    file: Path, *, project: str | None, database: str | None, project_id: str | None
) -> int:
    """Put what FILE holds in place of the database of the project; FILE is what goop-mcp backup has written.

    FILE is checked first: one that is damaged, newer than this program or not a database of goop-mcp changes nothing.
    What the database held before is kept next to it. Servers that run go on with what was put back. The documents of
    the project stay as they are; goop-mcp status says when they are newer than the database.

    Exit code: 0 put back, 2 it cannot be.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        kept = application.store.restore(file)
        before = f"; what it held before is in {kept}" if kept is not None else ""
        show(f"{application.store.location} holds what is in {file}{before}\n")

    return 0
