"""`goop-mcp uninstall`: remove what `install` added to a host."""

import click

from goop_mcp.cli.hosts import (
    DRY_RUN,
    ONE_HOST,
    PRINT,
    REFUSED,
    SCOPE,
    find_registration,
    show_plan,
    show_result,
)
from goop_mcp.cli.options import PROJECT
from goop_mcp.cli.streams import complain, show
from goop_mcp.hosts.installing import InstallAction, carry_out, plan_uninstall
from goop_mcp.hosts.records import InstallRecords
from goop_mcp.hosts.targets import ConfigurationError

__all__ = ["uninstall"]


@click.command(short_help="Remove goop-mcp from a host.")
@ONE_HOST
@SCOPE
@DRY_RUN
@PRINT
@PROJECT
def uninstall(
    host: str, scope: str, *, dry_run: bool, is_printed: bool, project: str | None
) -> int:
    """Remove from HOST what `goop-mcp install` added.

    A file that nobody has changed since is restored byte for byte; from a changed file only our
    entries are removed. Memories and documents of projects stay.

    Exit code: 0 done or nothing to do, 1 a file cannot be changed safely, in which case none is.
    """
    registration = find_registration(host, scope, project, tasks=True)
    records = InstallRecords()
    try:
        if dry_run or is_printed:
            changes = plan_uninstall(registration, records)
            show_plan(changes, whole=is_printed)
        else:
            with records.locked():
                changes = plan_uninstall(registration, records)
                show_result(changes, carry_out(changes, records))
    except ConfigurationError as error:
        complain(str(error))
        return REFUSED

    if all(change.action is InstallAction.KEEP for change in changes):
        show(
            f"goop-mcp is not registered in {registration.host.title}"
            f" for {registration.scope} scope.\n"
        )
    return 0
