"""Options that several commands share."""

import click

from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import FAMILIES

__all__ = ["COLOUR", "PROTOCOL", "WrongCallError"]


class WrongCallError(click.ClickException):
    """Raised when options and arguments do not go together; the text says what to do."""

    exit_code = 2


def _known_protocol(_context: click.Context, _option: click.Parameter, name: str) -> str:
    known = ["auto", *(family.name for family in FAMILIES)]
    if name not in known:
        raise UnknownNameError("protocol", name, known)
    return name


PROTOCOL = click.option(
    "--protocol",
    metavar="NAME",
    default="auto",
    callback=_known_protocol,
    help=f"auto (the default) detects it; known are: {', '.join(family.name for family in FAMILIES)}.",
)
COLOUR = click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    metavar="WHEN",
    default="auto",
    help="always, never, or auto: on a terminal, unless NO_COLOR is set.",
)
