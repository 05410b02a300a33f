"""`goop-mcp schema`: the list of all schemas, or one of them."""

import os

import click

from goop_mcp.cli.completion import folder_names
from goop_mcp.cli.options import WrongCallError, completing
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import emit, show, terminal_width
from goop_mcp.services.schemas import find_schema, install_schemas, list_schemas
from goop_mcp.settings import read_settings

__all__ = ["schema"]

_WIDEST_NAME = 30


@click.command(short_help="List the schemas, or print one.")
@click.argument(
    "protocol",
    required=False,
    shell_complete=completing(lambda: [*dict.fromkeys(each.protocol for each in list_schemas())]),
)
@click.option("--version", metavar="V", help="The envelope's version; the newest is the default.")
@click.option(
    "--install", is_flag=True, help="Copy the schemas to where the project's tools look for them."
)
@click.option(
    "--project",
    metavar="DIR",
    shell_complete=folder_names,
    help="Project folder for --install; the default is the current folder.",
)
def schema(protocol: str | None, version: str | None, *, install: bool, project: str | None) -> int:
    """List the schemas, or print the one of PROTOCOL for use with tools such as xmllint.

    Our own files have schemas, too: options for goop-mcp.toml, hooks for .goopspec/hooks.json.

    `goop-mcp schema agent_request --install` writes to .claude/schemas in the project.
    """
    if install and (protocol is None or version is not None):
        raise WrongCallError("--install needs a PROTOCOL before it and installs all its versions")

    if install and protocol is not None:
        for place in install_schemas(protocol, read_settings(os.environ, project=project).project):
            show(f"{place}\n")
    elif protocol is not None:
        emit(find_schema(protocol, version).text)
    elif version is not None:
        raise WrongCallError("--version needs a PROTOCOL before it")
    else:
        rows = [(f"{each.protocol} {each.version}", each.title) for each in list_schemas()]
        show(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_NAME))

    return 0
