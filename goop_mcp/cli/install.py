"""`goop-mcp install`: register the server, hooks and plugin in a host."""

import os
import shlex
from pathlib import PurePath

import click

from goop_mcp.cli.hosts import DRY_RUN, HOST, REFUSED, SCOPE, find_seat, show_plan, show_result
from goop_mcp.cli.options import PROJECT, WrongCallError
from goop_mcp.cli.streams import complain, show
from goop_mcp.hosts.catalogue import Scope
from goop_mcp.hosts.claude_code.plugins import find_plugins
from goop_mcp.hosts.installing import Action, Seat, carry_out, plan_install
from goop_mcp.hosts.launch import Launch, find_launch, look_around
from goop_mcp.hosts.records import Records
from goop_mcp.hosts.targets import ConfigurationError
from goop_mcp.operations.prompts import render_prompt

__all__ = ["install"]

_BLOCK = "instructions"
_CHECK = "`goop-mcp doctor` checks the connection.\n"


@click.command(short_help="Register goop-mcp in a host.")
@HOST
@SCOPE
@DRY_RUN
@click.option(
    "--instructions",
    is_flag=True,
    help="Also put the rules into the host's AGENTS.md or CLAUDE.md.",
)
@click.option(
    "--replace", is_flag=True, help="Put our entries in place of those that were written by hand."
)
@click.option(
    "--command",
    "words",
    metavar="COMMAND",
    help="How the host starts goop-mcp; the default is looked for.",
)
@PROJECT
def install(
    host: str,
    scope: str,
    *,
    dry_run: bool,
    instructions: bool,
    replace: bool,
    words: str | None,
    project: str | None,
) -> int:
    """Register the server in HOST, with hooks or a plugin where HOST has them.

    What is in its files is kept, comments included; a copy of each changed file is kept as well.
    Doing it again changes nothing. `goop-mcp uninstall HOST` takes everything out again.

    Exit code: 0 done, 1 a file cannot be changed safely, in which case none is.
    """
    seat, records = find_seat(host, scope, project), Records()
    launch = _launch(words, portable=seat.scope is Scope.PROJECT)
    block = _block(seat) if instructions else None

    try:
        if dry_run:
            show_plan(plan_install(seat, launch, records, replace=replace, block=block))
            return 0

        with records.locked():
            changes = plan_install(seat, launch, records, replace=replace, block=block)
            show_result(changes, carry_out(changes, records))
    except ConfigurationError as error:
        complain(str(error))
        return REFUSED

    if all(change.action is Action.KEEP for change in changes):
        show(f"Nothing had to be changed. {_CHECK}")
    else:
        show(_closing(seat, launch, instructions=instructions))

    show(_doubled(seat))

    return 0


def _launch(words: str | None, *, portable: bool) -> Launch:
    if words is None:
        return find_launch(look_around(os.environ), portable=portable)

    try:
        command, *arguments = shlex.split(words)
    except ValueError:
        raise WrongCallError(
            f"--command {words!r} is no command; expected words, such as 'uvx goop-mcp'"
        ) from None

    return Launch(command=command, arguments=tuple(arguments), why="it was given with --command")


def _block(seat: Seat) -> str:
    if seat.instructions() is None:
        raise WrongCallError(
            f"{seat.host.title} has no file of instructions for {seat.scope} scope; leave out"
            " --instructions"
        )

    return render_prompt(_BLOCK, {})


def _closing(seat: Seat, launch: Launch, *, instructions: bool) -> str:
    said = f"{seat.host.title} starts it as: {shlex.join(launch.words)}\n  because {launch.why}\n"
    if seat.scope is Scope.PROJECT and PurePath(launch.command).is_absolute():
        said += (
            "  Others who share these files lack that path; if all have goop-mcp on theirs:"
            " --command goop-mcp\n"
        )

    if not instructions and seat.instructions() is not None:
        said += (
            "To tell agents the rules as well: --instructions, or paste what `goop-mcp prompt`"
            " prints.\n"
        )

    return f"{said}{seat.host.then}\n{_CHECK}"


def _doubled(seat: Seat) -> str:
    """Return what to do when a plugin does the same as what was installed; empty when none does."""
    plugins = (
        find_plugins(seat.project, seat.environment) if seat.host.name == "claude-code" else []
    )
    return "".join(
        f"The plugin {plugin.name} is on, too ({plugin.shown}), so each event is answered twice:"
        f" run `claude plugin disable {plugin.name}` or `goop-mcp uninstall {seat.host.name}"
        f" --scope {seat.scope}`.\n"
        for plugin in plugins
    )
