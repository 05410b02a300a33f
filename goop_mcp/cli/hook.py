"""`goop-mcp hook`: the help of the command.

`goop_mcp.__main__` answers an event before the command line is loaded, because a host starts a
process for each event.
"""

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.hosts.hooks.hook import HOSTS, main

__all__ = ["hook"]


@click.command(short_help="Answer an event of a host's hooks.")
@click.argument("host", metavar="|".join(HOSTS), nargs=-1)
@click.option(
    "--rules",
    multiple=True,
    metavar="WHERE",
    shell_complete=file_names,
    help="Also apply custom rules; see check --help.",
)
def hook(host: tuple[str, ...], *, rules: tuple[str, ...]) -> int:
    """Answer an event of HOST's hooks: JSON on standard input, JSON on standard output.

    Hosts run this themselves. A missing or wrong report of a subagent is sent back with its errors,
    twice at most; .goopspec/hooks.json names the agents that must report. The exit code is always
    0, because any other might stop the session.
    """
    return main([*host, *(word for where in rules for word in ("--rules", where))])
