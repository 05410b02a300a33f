"""Options that several commands share."""

import click

from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import FAMILIES

__all__ = ["COLOUR", "PROTOCOL"]


def _known_protocol(context: click.Context, option: click.Parameter, name: str) -> str:  # noqa: ARG001
    known = ["auto", *(family.name for family in FAMILIES)]
    if name not in known:
        raise UnknownNameError("protocol", name, known)
    return name


PROTOCOL = click.option(
    "--protocol",
    metavar="NAME",
    default="auto",
    callback=_known_protocol,
    help=f"Expect this protocol: {', '.join(family.name for family in FAMILIES)}. Default: detect it.",
)
COLOUR = click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the text; auto: on a terminal, unless NO_COLOR is set.",
)
