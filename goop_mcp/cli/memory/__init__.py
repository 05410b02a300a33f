"""`goop-mcp memory`: what agents learned about a project, for people and scripts."""

from types import MappingProxyType

import click

from goop_mcp.cli.memory.import_export import export, import_command
from goop_mcp.cli.memory.queries import list_command, search
from goop_mcp.cli.memory.single_memory import forget, save, show_memory
from goop_mcp.cli.program import Subcommands

__all__ = ["memory"]


class _Memory(Subcommands):
    noun = "memory command"
    # The tool is called get_memory, and what begins like it deletes for good.
    other_names = MappingProxyType({"get": "show", "read": "show", "find": "search", "add": "save"})


@click.group(
    cls=_Memory, no_args_is_help=False, short_help="Save, find and forget what agents learned."
)
def memory() -> None:
    """Save, find and forget what agents learned about a project.

    Exit code: 0 done, 1 not done, because a memory does not exist or is refused, 2 a usage error,
    or a file or the database cannot be used.
    """


for _command in (save, search, show_memory, list_command, forget, export, import_command):
    memory.add_command(_command)
