"""Commands for one memory: save it, show it, forget it."""

import sys

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.memory.calls import FORMAT, present, with_store
from goop_mcp.cli.options import WrongCallError
from goop_mcp.cli.rendering.memories import render_memory
from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.cli.streams import standard_input, terminal_width
from goop_mcp.memory.drafts import SAVED_TYPES, MemoryDraft
from goop_mcp.memory.repository import forget_memory, get_memory, memory_values
from goop_mcp.memory.saving import save_memory
from goop_mcp.services.user_files import STDIN, read_text
from goop_mcp.store.interface import Store

__all__ = ["forget", "save", "show_memory"]

_LARGEST_CONTENT = 2 * 1024 * 1024

_ID = click.argument("id", type=int, metavar="ID")


@click.command(short_help="Save a memory.")
@click.argument("title")
@click.argument("content", required=False, metavar="[CONTENT|-]")
@click.option(
    "--type", "type", type=click.Choice(SAVED_TYPES), default="observation", show_default=True
)
@click.option(
    "--importance",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="NUMBER",
    help="0 to 1.",
)
@click.option(
    "--concept", "concepts", multiple=True, metavar="WORD", help="May be given several times."
)
@click.option(
    "--fact",
    "facts",
    multiple=True,
    metavar="TEXT",
    help="A single fact; may be given several times.",
)
@click.option(
    "--source-file",
    "source_files",
    multiple=True,
    metavar="PATH",
    shell_complete=file_names,
    help="May be given several times.",
)
@click.option("--agent", metavar="NAME", help="The agent that saves it.")
@click.option("--session", "session_id", metavar="ID", help="The session in which it is saved.")
@click.option(
    "--key", "idempotency_key", metavar="KEY", help="Identifies this save when it is repeated."
)
@with_store
@FORMAT
def save(
    title: str,
    content: str | None,
    *,
    store: Store,
    type: str,
    importance: float,
    concepts: tuple[str, ...],
    facts: tuple[str, ...],
    source_files: tuple[str, ...],
    agent: str | None,
    session_id: str | None,
    idempotency_key: str | None,
    form: str,
) -> int:
    """Save one memory with TITLE and CONTENT; by default, CONTENT is read from standard input.

    An equal memory is saved once. Secrets and <private> parts are removed before anything is
    stored.
    """
    if content is None and (sys.stdin is None or sys.stdin.isatty()):
        raise WrongCallError("no content is given; write it after the title, or pipe it in")

    if content is None or content == STDIN:
        advice = "a memory holds 64 KiB; save the path of the text instead"
        source = standard_input()
        content = read_text(STDIN, stdin=source, most_bytes=_LARGEST_CONTENT, advice=advice)

    draft = MemoryDraft(
        title=title,
        content=content,
        type=type,
        importance=importance,
        concepts=concepts,
        facts=facts,
        source_files=source_files,
        agent=agent,
        session_id=session_id,
        idempotency_key=idempotency_key,
    )
    saved = save_memory(store, draft)
    lines = [f"{saved.status}: memory {saved.id}"]
    lines += [f"  {finding.severity}: {finding.message}" for finding in saved.findings]
    if saved.similar:
        lines.append(f"  nearly the same: memory {', '.join(map(str, saved.similar))}")

    present(saved.to_dict(), "".join(f"{line}\n" for line in lines), form=form)

    return 0


@click.command(name="show", short_help="Show a memory.")
@_ID
@with_store
@FORMAT
def show_memory(id: int, *, store: Store, form: str) -> int:
    """Show the memory ID with all its fields."""
    found = get_memory(store, id)
    present(memory_values(found), render_memory(found, width=terminal_width()), form=form)
    return 0


@click.command(short_help="Forget a memory for good.")
@_ID
@click.option(
    "--purge", is_flag=True, help="Remove its row as well; an import may then bring it back."
)
@with_store
@FORMAT
def forget(id: int, *, store: Store, purge: bool, form: str) -> int:
    """Forget the memory ID for good: its text is deleted, and only its number stays."""
    forgotten = forget_memory(store, id, purge=purge)
    title = f' "{shown(forgotten.title)}"' if forgotten.title else ""
    gone = "its row was deleted too" if forgotten.purged else "its text was deleted"
    present(forgotten.to_dict(), f"forgotten: memory {forgotten.id}{title}; {gone}\n", form=form)
    return 0
