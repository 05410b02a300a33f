"""`goop-mcp uninstall`: remove what `install` added to hosts."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from goop_mcp.cli.hosts import (
    ANY_HOSTS,
    DRY_RUN,
    PRINT,
    REFUSED,
    SCOPE,
    find_registration,
    show_plan,
    show_result,
)
from goop_mcp.cli.options import PROJECT
from goop_mcp.cli.streams import complain, show
from goop_mcp.hosts.catalogue import HOSTS, Scope
from goop_mcp.hosts.installing import (
    InstallAction,
    InstallChange,
    Registration,
    carry_out,
    plan_uninstall,
)
from goop_mcp.hosts.records import InstallRecords
from goop_mcp.hosts.targets import ConfigurationError

__all__ = ["uninstall"]


@click.command(short_help="Remove goop-mcp from the hosts.")
@ANY_HOSTS
@SCOPE
@DRY_RUN
@PRINT
@PROJECT
def uninstall(
    hosts: tuple[str, ...], scope: str, *, dry_run: bool, is_printed: bool, project: str | None
) -> int:
    """Remove what `goop-mcp install` added from each host, without a name from all of them.

    A file that nobody has changed since is restored byte for byte; from a changed file only our
    entries are removed. Memories and documents of projects stay.

    Exit code: 0 done or nothing to do, 1 a file cannot be changed safely; then no file of that
    host is changed.
    """
    # All names are looked up first: a typing error in the last one must not leave half done.
    registrations = [
        find_registration(host, scope, project, tasks=True)
        for host in dict.fromkeys(hosts or HOSTS)
    ]
    records = InstallRecords()
    code, removed = 0, False
    for each in registrations:
        title = f"{each.host.title}:\n" if len(registrations) > 1 else ""
        try:
            changes, backups = _uninstall(each, records, plans=dry_run or is_printed)
        except ConfigurationError as error:
            show(title)
            complain(str(error))
            code = REFUSED
            continue

        found = _has_entries(changes)
        removed = removed or found
        if hosts or found:
            show(title)
            if backups is None:
                show_plan(changes, whole=is_printed)
            else:
                show_result(changes, backups)
        if hosts and not found:
            show(f"goop-mcp is not registered in {each.host.title} for {scope} scope.\n")
            show(_elsewhere(each, records, project))

    if not (hosts or removed or code):
        show(f"goop-mcp is not registered in any host for {scope} scope.\n")
        show("".join(_elsewhere(each, records, project) for each in registrations))
    return code


def _uninstall(
    registration: Registration, records: InstallRecords, *, plans: bool
) -> tuple[list[InstallChange], list[Path | None] | None]:
    """Remove goop-mcp from one host; return the changes with the backups, None if it only `plans`.

    Raises ConfigurationError.
    """
    if plans:
        return plan_uninstall(registration, records), None
    with records.locked():
        changes = plan_uninstall(registration, records)
        return changes, carry_out(changes, records)


def _has_entries(changes: Sequence[InstallChange]) -> bool:
    return any(change.action is not InstallAction.KEEP for change in changes)


def _elsewhere(registration: Registration, records: InstallRecords, project: str | None) -> str:
    """Return the command that removes goop-mcp from the other scope, empty if it is not there."""
    other = Scope.USER if registration.scope is Scope.PROJECT else Scope.PROJECT
    try:
        found = _has_entries(plan_uninstall(replace(registration, scope=other), records))
    except ConfigurationError:
        # This call does not touch that file, and reports nothing about it.
        return ""

    host = registration.host
    words = ["goop-mcp", "uninstall", host.name, "--scope", other.value]
    words += ["--project", project] if project and other is Scope.PROJECT else []
    command = shlex.join(words)
    return f"{host.title} has it for {other} scope; to remove it: {command}\n" if found else ""
