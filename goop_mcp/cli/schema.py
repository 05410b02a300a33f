"""`goop-mcp schema`: the list of all schemas, or one of them."""

import click

from goop_mcp.cli.options import WrongCallError
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import emit, show, terminal_width
from goop_mcp.operations.schemas import find_schema, list_schemas

__all__ = ["schema"]

_WIDEST_NAME = 30


@click.command(short_help="List the schemas, or print one.")
@click.argument("protocol", required=False)
@click.option("--version", metavar="V", help="The envelope's version; the newest is the default.")
def schema(protocol: str | None, version: str | None) -> int:
    """List the schemas, or print the one of PROTOCOL for use with tools such as xmllint."""
    if protocol is not None:
        emit(find_schema(protocol, version).text)
    elif version is not None:
        raise WrongCallError("--version needs a PROTOCOL before it")
    else:
        rows = [(f"{each.protocol} {each.version}", each.title) for each in list_schemas()]
        show(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_NAME))
    return 0
