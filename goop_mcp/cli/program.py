"""The group of all commands; each is imported when it is called, so that none pays for another."""

from importlib import import_module
from typing import Final

import click

from goop_mcp.errors import UnknownNameError

__all__ = ["COMMANDS", "Program", "Subcommands", "run_command"]

COMMANDS: Final = {
    "check": "Judge the envelope in each reply.",
    "repair": "Print a reply with the form of its envelope mended.",
    "gate": "Say whether an agent may be started with a prompt.",
    "route": "Say what happens next after a reply.",
    "handoff": "Build what one agent hands to another, or a session to the next.",
    "status": "Say how the project stands.",
    "stats": "Say how the agents do: failures, retries, adoption.",
    "init": "Lay down the documents of a project.",
    "memory": "Save, find and forget what agents learned.",
    "backup": "Write the database to one file.",
    "restore": "Put a backup in place of the database.",
    "rules": "List the rules, or show the page of one.",
    "schema": "List the schemas, or print one.",
    "prompt": "Print the instructions for agents, or another prompt.",
    "serve": "Serve MCP clients.",
    "hook": "Answer an event of a host's hooks.",
    "install": "Register goop-mcp in a host.",
    "uninstall": "Take goop-mcp out of a host again.",
    "doctor": "Check installation, database and hosts.",
    "demo": "Show the main job on real input, without network or key.",
}
"""Every command and what it does. The command `x` is the attribute `x` of the module `goop_mcp.cli.x`."""


class Program(click.Group):
    """Knows its commands by name and loads the one that is asked for."""

    # The signature is that of click
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order in which a reader needs them."""
        return list(COMMANDS)

    # As above
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command called `cmd_name`, or None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        return _load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with; raises UnknownNameError, which suggests the nearest."""
        if args[0] not in COMMANDS:
            raise UnknownNameError("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    # As above
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class Subcommands(click.Group):
    """A command made of others; `noun` says what these are called."""

    noun = "command"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the one that `args` begin with; raises UnknownNameError, which suggests the nearest."""
        if args[0] not in self.commands:
            raise UnknownNameError(self.noun, args[0], self.commands)
        return super().resolve_command(ctx, args)


def run_command(name: str) -> int:
    """Run the command called `name` without arguments and return its exit code; the name must be known."""
    code = _load(name).main([], prog_name=f"goop-mcp {name}", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _load(name: str) -> click.Command:
    command = getattr(import_module(f"goop_mcp.cli.{name}"), name)
    if not isinstance(command, click.Command):
        raise TypeError(f"goop_mcp.cli.{name}.{name} is no command")
    return command
