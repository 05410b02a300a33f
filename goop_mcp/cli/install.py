"""`goop-mcp install`: register the server, hooks and plugin in hosts."""

import os
import shlex
from pathlib import PurePath

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
from goop_mcp.cli.options import PROJECT, WrongCallError
from goop_mcp.cli.streams import complain, show
from goop_mcp.hosts.catalogue import Scope
from goop_mcp.hosts.doctor.judging import what_is_verified, who_is_judged
from goop_mcp.hosts.hooks.plugins import find_plugins
from goop_mcp.hosts.installing import InstallAction, Registration, carry_out, plan_install
from goop_mcp.hosts.launch import Launch, current_environment, find_launch
from goop_mcp.hosts.records import InstallRecords
from goop_mcp.hosts.targets import ConfigurationError
from goop_mcp.services.prompts import render_prompt
from goop_mcp.services.stop_hooks.policy import FILE, read_policy

__all__ = ["install"]

_BLOCK = "instructions"
_CHECK = "goop-mcp doctor checks the connection.\n"


@click.command(short_help="Register goop-mcp in one host or several.")
@SEVERAL_HOSTS
@SCOPE
@DRY_RUN
@PRINT
@click.option(
    "--instructions",
    is_flag=True,
    help="Also put the rules into the host's AGENTS.md or CLAUDE.md.",
)
@click.option(
    "--tasks",
    is_flag=True,
    help="Also check tasks that Claude Code calls completed, see docs/gates.md.",
)
@click.option("--replace", is_flag=True, help="Overwrite entries that were written by hand.")
@click.option(
    "--command",
    "words",
    metavar="COMMAND",
    help="Command by which the host starts goop-mcp; found automatically by default.",
)
@PROJECT
def install(
    hosts: tuple[str, ...],
    scope: str,
    *,
    dry_run: bool,
    is_printed: bool,
    instructions: bool,
    tasks: bool,
    replace: bool,
    words: str | None,
    project: str | None,
) -> int:
    """Register the server in each host, with hooks or a plugin where the host has them.

    Everything else in the files of hosts is kept, including comments; each changed file is backed
    up. Installing again changes nothing. `goop-mcp uninstall HOST` removes everything.

    Exit code: 0 done, 1 a file cannot be changed safely; then no file of that host is changed.
    """
    # All names are looked up first: a typing error in the last one must not leave half done.
    registrations = [
        find_registration(host, scope, project, tasks=tasks) for host in dict.fromkeys(hosts)
    ]
    records = InstallRecords()
    launch = _launch(words, portable=scope == Scope.PROJECT)
    for registration in registrations:
        if instructions and registration.instructions() is None:
            raise WrongCallError(
                f"{registration.host.title} has no file of instructions for {scope} scope;"
                " leave out --instructions"
            )
        if tasks and not registration.host.task_hooks:
            raise WrongCallError(
                f"{registration.host.title} has no hook on its tasks; leave out --tasks"
            )

    block = render_prompt(_BLOCK, {}) if instructions else None
    code = 0
    for registration in registrations:
        if len(registrations) > 1:
            show(f"{registration.host.title}:\n")
        try:
            if dry_run or is_printed:
                plan = plan_install(registration, launch, records, replace=replace, block=block)
                show_plan(plan, whole=is_printed)
            else:
                _install(registration, launch, records, replace=replace, block=block)
        except ConfigurationError as error:
            complain(str(error))
            code = REFUSED

    if code == 0 and not (dry_run or is_printed):
        chosen = [registration.host for registration in registrations]
        place = registrations[0].project
        show(f"Judged: {who_is_judged(place, chosen)[1]}.\n")
        verified = "; ".join(filter(None, what_is_verified(place, chosen)))
        show(f"Verified: {verified}.\n{_CHECK}")

    return code


def _install(
    registration: Registration,
    launch: Launch,
    records: InstallRecords,
    *,
    replace: bool,
    block: str | None,
) -> None:
    """Register goop-mcp in one host and show what changed and what to do there.

    Raises ConfigurationError.
    """
    # Planned inside the lock: the files must not change between the plan and the writing.
    with records.locked():
        changes = plan_install(registration, launch, records, replace=replace, block=block)
        show_result(changes, carry_out(changes, records))

    if all(change.action is InstallAction.KEEP for change in changes):
        show("Nothing had to be changed.\n")
    else:
        show(
            f"{registration.host.title} starts it as: {shlex.join(launch.words)}\n"
            f"  because {launch.why}\n"
        )
        if registration.scope is Scope.PROJECT and PurePath(launch.command).is_absolute():
            show(
                "  Others who share these files lack that path; if all have goop-mcp on their PATH:"
                " --command goop-mcp\n"
            )

        if block is None and registration.instructions() is not None:
            show(
                "To give agents the rules as well: --instructions, or paste what this prints:"
                " goop-mcp prompt\n"
            )

        host = registration.host
        in_project = host.then_in_project if registration.scope is Scope.PROJECT else None
        show(f"{in_project or host.then}\n")
        if host.oldest:
            show(f"{host.versions[:1].upper()}{host.versions[1:]}.\n")

    if registration.tasks and not read_policy(str(registration.project))[0].tasks:
        show(f'The check of tasks begins with "tasks": true in {FILE}.\n')

    plugins = (
        find_plugins(registration.project, registration.environment)
        if registration.host.name == "claude-code"
        else []
    )
    for plugin in plugins:
        show(
            f"The plugin {plugin.name} is on, too ({plugin.shown}), so each event is answered"
            " twice; run one of these:\n"
            f"  claude plugin disable {plugin.name}\n"
            f"  goop-mcp uninstall {registration.host.name} --scope {registration.scope}\n"
        )


def _launch(words: str | None, *, portable: bool) -> Launch:
    if words is None:
        return find_launch(current_environment(os.environ), portable=portable)

    try:
        command, *arguments = shlex.split(words)
    except ValueError:
        raise WrongCallError(
            f"--command {words!r} is not a command; expected a command such as 'uvx goop-mcp'"
        ) from None

    return Launch(command=command, arguments=tuple(arguments), why="it was given with --command")
