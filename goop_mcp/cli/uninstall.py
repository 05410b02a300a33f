"""`goop-mcp uninstall`: remove what `install` added to hosts."""

import click

from goop_mcp.cli.hosts import (
    DRY_RUN,
    PRINT,
    REFUSED,
    SCOPE,
    SEVERAL_HOSTS,
    find_registration,
    show_plan,
    show_result,
)
from goop_mcp.cli.options import PROJECT
from goop_mcp.cli.streams import complain, show
from goop_mcp.hosts.installing import InstallAction, Registration, carry_out, plan_uninstall
from goop_mcp.hosts.records import InstallRecords
from goop_mcp.hosts.targets import ConfigurationError

__all__ = ["uninstall"]


@click.command(short_help="Remove goop-mcp from one host or several.")
@SEVERAL_HOSTS
@SCOPE
@DRY_RUN
@PRINT
@PROJECT
def uninstall(
    hosts: tuple[str, ...], scope: str, *, dry_run: bool, is_printed: bool, project: str | None
) -> int:
    """Remove from each host what `goop-mcp install` added.

    A file that nobody has changed since is restored byte for byte; from a changed file only our
    entries are removed. Memories and documents of projects stay.

    Exit code: 0 done or nothing to do, 1 a file cannot be changed safely; then no file of that
    host is changed.
    """
    # All names are looked up first: a typing error in the last one must not leave half done.
    registrations = [
        find_registration(host, scope, project, tasks=True) for host in dict.fromkeys(hosts)
    ]
    code = 0
    for registration in registrations:
        if len(registrations) > 1:
            show(f"{registration.host.title}:\n")
        try:
            _uninstall(registration, dry_run=dry_run, is_printed=is_printed)
        except ConfigurationError as error:
            complain(str(error))
            code = REFUSED

    return code


def _uninstall(registration: Registration, *, dry_run: bool, is_printed: bool) -> None:
    """Remove goop-mcp from one host and show what changed. Raises ConfigurationError."""
    records = InstallRecords()
    if dry_run or is_printed:
        changes = plan_uninstall(registration, records)
        show_plan(changes, whole=is_printed)
    else:
        with records.locked():
            changes = plan_uninstall(registration, records)
            show_result(changes, carry_out(changes, records))

    if all(change.action is InstallAction.KEEP for change in changes):
        show(
            f"goop-mcp is not registered in {registration.host.title}"
            f" for {registration.scope} scope.\n"
        )
