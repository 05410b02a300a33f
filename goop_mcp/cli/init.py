"""`goop-mcp init`: create the documents of a project."""

import click

from goop_mcp import services
from goop_mcp.cli.options import PROJECT, opened_application
from goop_mcp.cli.streams import complain, show
from goop_mcp.memory.times import utc_now, written

__all__ = ["init"]


@click.command(short_help="Create the documents of a project.")
@PROJECT
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the project; the default is the name of its folder.",
)
def init(project: str | None, name: str | None) -> int:
    """Create the documents of a project in .goopspec with their headings, and state.json.

    Existing files are not changed, and the phase of a new project is idle. With a database of
    PostgreSQL the state is created there.

    Exit code: 0, also when nothing was missing; 2 nothing could be written.
    """
    with opened_application(project) as application:
        done = services.project_steps.create(
            application.project_context, name=name, now=written(utc_now())
        )

    lines = [f"created {path}" for path in done.created] + [f"kept {path}" for path in done.kept]
    show("".join(f"{line}\n" for line in lines))
    if done.remark is not None:
        complain(done.remark)

    return 0
