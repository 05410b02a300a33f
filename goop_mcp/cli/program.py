"""The group of all commands; each is imported only when it is called, to start fast."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

from goop_mcp.errors import UnknownNameError

__all__ = ["COMMANDS", "Program", "Subcommands", "run_command"]

COMMANDS: Final = {
    "check": "Validate the envelope in each reply.",
    "repair": "Print a reply with the form of its envelope repaired.",
    "gate": "Check whether an agent may be started with a prompt.",
    "route": "Decide what happens next after a reply.",
    "handoff": "Build what one agent hands to another, or a session to the next.",
    "template": "Fill in a prompt for a common task.",
    "delegate": "Have agents carry out a graph of tasks.",
    "runs": "List and steer what `delegate` runs.",
    "project": "Take a project through its phases and rounds.",
    "status": "Print the status of the project.",
    "ui": "See and steer the work in a browser.",
    "stats": "Print statistics of the agents: failures, retries, adoption.",
    "reports": "Read recorded reports, record or build one.",
    "run": "Run a check and record how it ended, on which files.",
    "trust": "Trust settings that weaken, or programs that a repository names.",
    "audit": "Compare what agents claimed with what they ran.",
    "evidence": "List recorded checks, and show what claims rest on.",
    "init": "Create the documents of a project.",
    "memory": "Save, find and forget what agents learned.",
    "backup": "Write the database to one file.",
    "restore": "Replace the database by a backup.",
    "rules": "List the rules, or show the page of one.",
    "schema": "List the schemas, or print one.",
    "prompt": "Print the instructions for agents, or another prompt.",
    "serve": "Serve MCP clients.",
    "hook": "Answer an event of a host's hooks.",
    "install": "Register goop-mcp in a host.",
    "uninstall": "Remove goop-mcp from one host or several.",
    "doctor": "Check installation, database and hosts.",
    "demo": "Show a complete example; no network, no API key.",
    "help": "Show the help of a command.",
}
"""Every command and what it does; the command `x` is `x` of the module `goop_mcp.cli.x`."""


class Program(click.Group):
    """A group that lists its commands by name and loads only the one that is called."""

    # click calls these methods with a context, which is not needed here.
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order in which a reader needs them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Return the command `cmd_name`, or None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        return _load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command at the start of `args`; raise UnknownNameError, with a suggestion."""
        if args[0] not in COMMANDS:
            raise UnknownNameError("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class Subcommands(click.Group):
    """A command with subcommands; `noun` names their kind in messages.

    `other_names` are what people try, from another program or a tool, with what it is called here.
    """

    noun = "command"
    other_names: Mapping[str, str] = MappingProxyType({})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help when nothing is named, because the reader wants to see the list."""
        if not (args or self.invoke_without_command or ctx.resilient_parsing):
            click.echo(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand at the start of `args`; raise UnknownNameError, with a suggestion."""
        if args[0] not in self.commands:
            meant = self.other_names.get(args[0])
            if meant is not None:
                raise click.UsageError(
                    f"there is no {self.noun} {args[0]!r}; did you mean {meant!r}?"
                )
            raise UnknownNameError(self.noun, args[0], self.commands)
        return super().resolve_command(ctx, args)


def run_command(name: str) -> int:
    """Run the command `name`, which must exist, without arguments; return its exit code."""
    code = _load(name).main([], prog_name=f"goop-mcp {name}", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _load(name: str) -> click.Command:
    # A function called `help` would hide the one that Python has.
    attribute = "show_help" if name == "help" else name
    command = getattr(import_module(f"goop_mcp.cli.{name}"), attribute)
    if not isinstance(command, click.Command):
        raise TypeError(f"goop_mcp.cli.{name}.{attribute} is not a command")
    return command
