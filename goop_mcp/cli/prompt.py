"""`goop-mcp prompt`: the list of all prompts for agents, or one of them filled in."""

import os
from collections.abc import Iterator

import click

from goop_mcp.cli.options import PROJECT, WrongCallError
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import emit, show, terminal_width
from goop_mcp.operations.prompts import Prompt, list_prompts, render_prompt
from goop_mcp.settings import read_settings

__all__ = ["prompt"]

_WIDEST_NAME = 30


@click.command(short_help="List the prompts for agents, or print one.")
@click.argument("name", required=False)
@click.option(
    "--set", "pairs", metavar="KEY=VALUE", multiple=True, help="Fill in an argument; may be given several times."
)
@PROJECT
def prompt(name: str | None, pairs: tuple[str, ...], project: str | None) -> int:
    """List the prompts with their arguments, or print the prompt NAME with its arguments filled in."""
    if name is not None:
        settings = read_settings(os.environ, project=project)
        emit(render_prompt(name, dict(_split(pair) for pair in pairs), project=settings.project))
    elif pairs:
        raise WrongCallError("--set needs the NAME of a prompt before it")
    else:
        rows = [row for each in list_prompts() for row in _rows(each)]
        show(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_NAME))
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
