"""Commands that search memories, and list them newest first."""

from collections.abc import Callable
from typing import TypeVar

import click

from goop_mcp.cli.memory.calls import FORMAT, present, with_store
from goop_mcp.cli.options import WrongCallError
from goop_mcp.cli.rendering.memories import render_found, render_list
from goop_mcp.cli.streams import complain, terminal_width
from goop_mcp.memory.drafts import MEMORY_TYPES
from goop_mcp.memory.limits import MOST_RESULTS
from goop_mcp.memory.repository import list_memories, memory_values
from goop_mcp.memory.searching import SearchRequest, how_to_ask, search_memory
from goop_mcp.store.interface import Store

__all__ = ["list_command", "search"]

_Command = TypeVar("_Command", bound=Callable[..., int])


def _with_filters(command: _Command) -> _Command:
    """Add the options to `command` that filter memories."""
    for option in (
        click.option(
            "--min-importance",
            type=float,
            default=0.0,
            metavar="NUMBER",
            help="Only with at least this importance, 0 to 1.",
        ),
        click.option(
            "--concept",
            "concepts",
            multiple=True,
            metavar="WORD",
            help="Only with one of these concepts.",
        ),
        click.option(
            "--type",
            "types",
            type=click.Choice(MEMORY_TYPES),
            multiple=True,
            help="Only these types.",
        ),
    ):
        command = option(command)

    return command


@click.command(short_help="Find memories by text.")
@click.argument("queries", nargs=-1, metavar="QUERY…")
@_with_filters
@click.option(
    "--limit",
    type=int,
    default=5,
    show_default=True,
    metavar="NUMBER",
    help=f"How many, 1 to {MOST_RESULTS}.",
)
@with_store
@FORMAT
def search(
    queries: tuple[str, ...],
    *,
    store: Store,
    types: tuple[str, ...],
    concepts: tuple[str, ...],
    min_importance: float,
    limit: int,
    form: str,
) -> int:
    """Find memories by text, best first.

    Each QUERY is one phrasing of the question, 8 at most; quote a phrasing of several words.

    The exit code is 0 also when nothing is found.
    """
    if not any(query.strip() for query in queries):
        raise WrongCallError(
            "no query is given; write what to search for, in quotes if it has several words"
        )

    request = SearchRequest(
        queries=queries, types=types, concepts=concepts, min_importance=min_importance, limit=limit
    )
    found = search_memory(store, request)
    notes = [*found.notes, *([] if found.items else [how_to_ask(request, store)])]
    present(
        {**found.to_dict(), "notes": notes}, render_found(found, width=terminal_width()), form=form
    )
    for note in notes if form == "text" else ():
        # Standard output says already that nothing was found.
        complain(note.removeprefix("nothing found; "))

    return 0


@click.command(name="list", short_help="List memories, newest first.")
@_with_filters
@click.option(
    "--limit", type=int, default=50, show_default=True, metavar="NUMBER", help="How many at most."
)
@click.option("--before", type=int, metavar="ID", help="Only those saved before the memory ID.")
@with_store
@FORMAT
def list_command(
    *,
    store: Store,
    types: tuple[str, ...],
    concepts: tuple[str, ...],
    min_importance: float,
    limit: int,
    before: int | None,
    form: str,
) -> int:
    """List memories, newest first, one a line: id, day, type, importance, title."""
    found = list_memories(
        store,
        types=types,
        concepts=concepts,
        min_importance=min_importance,
        limit=limit,
        before_id=before,
    )
    present(
        [memory_values(each) for each in found],
        render_list(found, width=terminal_width()),
        form=form,
    )
    if form == "text" and not found:
        complain("no memory matches; goop-mcp memory save saves one")
    elif form == "text" and len(found) == limit:
        complain(f"these are the newest {limit}; --before {found[-1].id} shows more")

    return 0
