"""`goop-mcp uninstall`: take everything out of a host that `install` has put there."""

import click

from goop_mcp.cli.hosts import DRY_RUN, HOST, REFUSED, SCOPE, find_seat, show_plan, show_result
from goop_mcp.cli.options import PROJECT
from goop_mcp.cli.streams import complain, show
from goop_mcp.hosts.installing import Action, carry_out, plan_uninstall
from goop_mcp.hosts.records import Records
from goop_mcp.hosts.targets import ConfigurationError

__all__ = ["uninstall"]


@click.command(short_help="Take goop-mcp out of a host again.")
@HOST
@SCOPE
@DRY_RUN
@PROJECT
def uninstall(host: str, scope: str, *, dry_run: bool, project: str | None) -> int:
    """Take out of HOST what `goop-mcp install` has put there.

    A file that nobody has changed since is as it was before, byte for byte; of one that was changed
    only our entries go. Memories and documents of projects stay.

    Exit code: 0 done or nothing to do, 1 a file cannot be changed safely, in which case none is.
    """
    seat, records = find_seat(host, scope, project), Records()
    try:
        if dry_run:
            show_plan(changes := plan_uninstall(seat, records))
        else:
            with records.locked():
                changes = plan_uninstall(seat, records)
                show_result(changes, carry_out(changes, records))
    except ConfigurationError as error:
        complain(str(error))
        return REFUSED

    if all(change.action is Action.KEEP for change in changes):
        show(f"goop-mcp is not registered in {seat.host.title} for {seat.scope} scope.\n")
    return 0
