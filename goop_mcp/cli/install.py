"""`goop-mcp install`: register the server, hooks and plugin in hosts."""

import dataclasses
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
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
from goop_mcp.cli.streams import at_terminal, complain, show
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
@click.option(
    "--commands/--no-commands",
    "commands",
    default=None,
    help=(
        "With the slash commands of a project's life, or without them: for the check of reports,"
        " memory and delegation alone. Asked on a terminal; elsewhere they are installed by"
        " default."
    ),
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
    commands: bool | None,
    replace: bool,
    words: str | None,
    project: str | None,
) -> int:
    """Register the server in each host, with hooks or a plugin where the host has them.

    Everything else in the files of hosts is kept, including comments; each changed file is backed
    up. Installing again with the same options changes nothing, with the other of --commands and
    --no-commands only the slash commands. `goop-mcp uninstall HOST` removes everything.

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

    if commands is not None and not any(each.command_files for each in registrations):
        titles = " and ".join(each.host.title for each in registrations)
        option = "--commands" if commands else "--no-commands"
        raise WrongCallError(f"slash commands are not installed in {titles}; leave out {option}")
    if commands is None and not (dry_run or is_printed):
        can_install = partial(_can_install, launch=launch, records=records, replace=replace)
        # Of a file that cannot be changed a person hears at once, and not after an answer.
        commands = _asked_for_commands(list(filter(can_install, registrations)))
    registrations = [
        dataclasses.replace(each, commands=commands is not False) for each in registrations
    ]

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


def _can_install(
    registration: Registration, *, launch: Launch, records: InstallRecords, replace: bool
) -> bool:
    try:
        plan_install(registration, launch, records, replace=replace)
    except ConfigurationError:
        return False
    return True


def _asked_for_commands(registrations: Sequence[Registration]) -> bool | None:
    """Return whether the person at the terminal wants the slash commands; None if nobody is asked.

    An empty answer keeps what is installed; at first only the check of reports is. Raises
    WrongCallError for an answer that is neither.
    """
    with_commands = [each for each in registrations if each.command_files]
    if not with_commands or not at_terminal():
        return None

    number = sum(len(each.command_files) for each in with_commands)
    usual = "2" if any(each.has_commands() for each in with_commands) else "1"
    show(
        "What is goop-mcp used for here?\n"
        "  1  reports: hooks check what agents report; memory and delegation work as well\n"
        "  2  the whole life of a project, too: specification, plan, gates"
        f" ({number} slash commands)\n"
        f"1 or 2? [{usual}] "
    )
    sys.stdout.flush()
    answer = sys.stdin.readline().strip() or usual
    if answer not in ("1", "2"):
        raise WrongCallError(
            f"{answer[:20]!r} is not an answer; expected 1 or 2, or call again with --commands or"
            " --no-commands"
        )
    return answer == "2"


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

        if registration.command_files and not registration.commands:
            show(
                "The slash commands of a project's life are left out; to have them:"
                f" goop-mcp install {registration.host.name} --scope {registration.scope}"
                " --commands\n"
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
