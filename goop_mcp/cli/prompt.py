"""`goop-mcp prompt`: the instructions for a project's agents, the list of all prompts, or one of them filled in."""

from collections.abc import Iterator

import click

from goop_mcp.cli.options import PROJECT, WrongCallError, opened_application
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import emit, show, terminal_width
from goop_mcp.operations.prompts import Prompt, list_prompts, render_prompt

__all__ = ["prompt"]

_WIDEST_NAME = 30
_INSTRUCTIONS = "instructions"


@click.command(short_help="Print the instructions for agents, or another prompt.")
@click.argument("name", required=False)
@click.option(
    "--set",
    "pairs",
    metavar="KEY=VALUE",
    multiple=True,
    help="Fill in an argument; may be given several times.",
)
@click.option("--list", "listed", is_flag=True, help="List all prompts with their arguments.")
@PROJECT
def prompt(name: str | None, pairs: tuple[str, ...], *, listed: bool, project: str | None) -> int:
    """Print the prompt NAME with its arguments filled in.

    Without NAME it is the block to paste into AGENTS.md or CLAUDE.md; `goop-mcp install HOST
    --instructions` puts it there.
    """
    if pairs and name is None:
        raise WrongCallError("--set needs the NAME of a prompt before it")
    if listed:
        rows = [row for each in list_prompts() for row in _rows(each)]
        show(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_NAME))
    else:
        values = dict(_split(pair) for pair in pairs)
        with opened_application(project) as application:
            find, folder = application.find_document, application.settings.project
            emit(render_prompt(name or _INSTRUCTIONS, values, find_document=find, project=folder))

    return 0


def _rows(prompt: Prompt) -> Iterator[tuple[str, str]]:
    yield prompt.name, prompt.description
    for argument in prompt.arguments:
        needed = " Required." if argument.required else ""
        yield f"  --set {argument.name}=…", f"{argument.description}{needed}"


def _split(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals:
        raise WrongCallError(f"--set {pair[:80]!r} has no equals sign; write --set key=value")
    return key, value
