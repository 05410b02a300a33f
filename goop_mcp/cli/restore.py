"""`goop-mcp restore`: replace the database by a backup."""

from pathlib import Path

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, opened_application
from goop_mcp.cli.streams import complain, show
from goop_mcp.workspace.used_revisions import newest_anywhere

__all__ = ["restore"]


@click.command(short_help="Replace the database by a backup.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@PROJECT
@DATABASE
@PROJECT_ID
def restore(
    file: Path, *, project: str | None, database: str | None, project_id: str | None
) -> int:
    """Replace the content of the project's database by FILE, which goop-mcp backup wrote.

    FILE is checked first: if it is damaged, newer than this program or not a database of goop-mcp,
    nothing changes. The previous content is kept next to the database. Running servers
    continue with the restored content. The documents of the project do not change. If they or
    earlier answers show revisions that FILE lacks, a warning names them, and none is given again.

    Exit code: 0 restored, 2 not restored.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        kept = application.store.restore(file)
        before = f"; the previous content is in {kept}" if kept is not None else ""
        show(f"{application.store.location} restored from {file}{before}\n")
        # At once, so that the person who restores it hears of it and not the next agent.
        application.store.mark_used(newest_anywhere(application.files))
        application.store.write(lambda _: None)
        if (older := application.store.take_older_copy()) is not None:
            complain(str(older))

    return 0
