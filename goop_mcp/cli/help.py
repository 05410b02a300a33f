"""`goop-mcp help`: the help of the program or of a command, as --help prints it."""

import click

from goop_mcp.cli.streams import show

__all__ = ["show_help"]


@click.command("help", short_help="Show the help of a command.")
@click.argument("words", nargs=-1, metavar="[COMMAND…]")
@click.pass_context
def show_help(context: click.Context, words: tuple[str, ...]) -> int:
    """Show the help of COMMAND, such as `memory save`; without one, that of goop-mcp."""
    shown = context.parent
    if shown is None:
        raise RuntimeError("help is a command of goop-mcp and has no other caller")

    left = list(words)
    while left and isinstance(shown.command, click.Group):
        # An unknown word is refused with a suggestion, as when it is called.
        name, command, left = shown.command.resolve_command(shown, left)
        if command is not None:
            shown = click.Context(command, info_name=name, parent=shown)

    show(f"{shown.get_help()}\n")

    return 0
