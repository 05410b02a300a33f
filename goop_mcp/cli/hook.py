"""`goop-mcp hook`: what people read about it.

An event is answered before the command line is loaded.
"""

import click

from goop_mcp.hosts.claude_code.hook import HOSTS, main

__all__ = ["hook"]


@click.command(short_help="Answer an event of a host's hooks.")
@click.argument("host", metavar="|".join(HOSTS), nargs=-1)
@click.option(
    "--rules",
    multiple=True,
    metavar="WHERE",
    help="Also judge by rules of your own; see check --help.",
)
def hook(host: tuple[str, ...], *, rules: tuple[str, ...]) -> int:
    """Answer an event of HOST's hooks: JSON on standard input, JSON on standard output.

    Hosts run this themselves. A missing or wrong report of a subagent is sent back with what to
    mend, twice at most; .goopspec/hooks.json says who owes one. Exits with 0 whatever happens, so
    that no session is stopped by it.
    """
    return main([*host, *(word for where in rules for word in ("--rules", where))])
