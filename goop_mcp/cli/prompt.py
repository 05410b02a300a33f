"""`goop-mcp prompt`: print the instructions for agents, the list of prompts, or a prompt."""

import click

from goop_mcp.cli.options import PROJECT, WrongCallError, completing, opened_application
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import emit, show, terminal_width
from goop_mcp.services.prompts import list_prompts, render_prompt

__all__ = ["prompt"]

_WIDEST_NAME = 30
_INSTRUCTIONS = "instructions"


@click.command(short_help="Print the instructions for agents, or another prompt.")
@click.argument(
    "name",
    required=False,
    shell_complete=completing(lambda: [each.name for each in list_prompts()]),
)
@click.option(
    "--set",
    "pairs",
    metavar="KEY=VALUE",
    multiple=True,
    help="Set an argument; may be given several times.",
)
@click.option("--list", "listed", is_flag=True, help="List all prompts with their arguments.")
@PROJECT
def prompt(name: str | None, pairs: tuple[str, ...], *, listed: bool, project: str | None) -> int:
    """Print the prompt NAME with its arguments filled in.

    Without NAME, print the block for AGENTS.md or CLAUDE.md, which `goop-mcp install HOST
    --instructions` adds there.
    """
    if pairs and name is None:
        raise WrongCallError("--set needs the NAME of a prompt before it")
    if listed:
        rows = []
        for each in list_prompts():
            rows.append((each.name, each.description))
            for argument in each.arguments:
                needed = " Required." if argument.required else ""
                rows.append((f"  --set {argument.name}=…", f"{argument.description}{needed}"))

        show(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_NAME))
    else:
        values: dict[str, str] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals:
                raise WrongCallError(
                    f"--set {pair[:80]!r} has no equals sign; write --set key=value"
                )

            values[key] = value

        with opened_application(project) as application:
            find, folder = application.find_document, application.settings.project
            emit(render_prompt(name or _INSTRUCTIONS, values, find_document=find, project=folder))

    return 0
