"""`goop-mcp memory`: what agents learned about a project, for people and scripts."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click

from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, WrongCallError, opened_application
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.rendering.finding import counted
from goop_mcp.cli.rendering.memories import render_found, render_import, render_list, render_memory
from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.cli.streams import complain, emit, show, standard_input, terminal_width, wants_colour
from goop_mcp.errors import StoreError
from goop_mcp.memory.drafts import MEMORY_TYPES, SAVED_TYPES, MemoryDraft, MemoryRefusedError
from goop_mcp.memory.exchange.importing import ExchangeFormat, ImportReport, import_memories
from goop_mcp.memory.exchange.jsonl import write_jsonl
from goop_mcp.memory.exchange.markdown import write_markdown
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.memory.keeping import (
    MemoryNotFoundError,
    forget_memory,
    get_memory,
    list_memories,
    memory_values,
)
from goop_mcp.memory.saving import SavedMemory, save_memory
from goop_mcp.memory.searching import SearchRequest, how_to_ask, search_memory
from goop_mcp.operations.check_files import STDIN, read_text
from goop_mcp.store.interface import Store
from goop_mcp.validation.findings import Finding, Severity

__all__ = ["memory"]

NOT_DONE = 1

_LARGEST_IMPORT = 256 * 1024 * 1024
_LARGEST_CONTENT = 2 * 1024 * 1024
_MARKDOWN_SUFFIXES = (".md", ".markdown")

_Command = TypeVar("_Command", bound=Callable[..., int])

_FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="text for people, or json."
)
_FORM_OF_FILE = click.option(
    "--as",
    "form_of_file",
    type=click.Choice(["jsonl", "markdown"]),
    help="Form of the file; the default is markdown for a name that ends with .md, else jsonl.",
)
_SCALE = click.option(
    "--scale",
    type=click.Choice(["ours", "packages"]),
    default="ours",
    help="Importance in the file: ours is 0 to 1, that of the GoopSpec packages 1 to 10.",
)
_ID = click.argument("id", type=int, metavar="ID")


class _Memory(Subcommands):
    noun = "memory command"


@click.group(cls=_Memory, no_args_is_help=False, short_help="Save, find and forget what agents learned.")
def memory() -> None:
    """Save, find and forget what agents learned about a project.

    Exit code: 0 done, 1 not done, such as a memory that does not exist or is refused, 2 the call is wrong or a file
    cannot be read.
    """


def _with_store(command: Callable[..., int]) -> Callable[..., int]:
    """Give `command` the project's database as `store`, and the options that say which one is meant."""

    @wraps(command)
    def run(*, project: str | None, database: str | None, project_id: str | None, **values: object) -> int:
        with _opened(project, database, project_id) as store:
            return command(store=store, **values)

    for option in (PROJECT_ID, DATABASE, PROJECT):
        run = option(run)
    return run


def _with_filters(command: _Command) -> _Command:
    """Give `command` the options that restrict which memories count."""
    for option in (
        click.option("--min-importance", type=float, default=0.0, metavar="NUMBER", help="Only from this on, 0 to 1."),
        click.option("--concept", "concepts", multiple=True, metavar="WORD", help="Only with one of these concepts."),
        click.option("--type", "types", type=click.Choice(MEMORY_TYPES), multiple=True, help="Only these types."),
    ):
        command = option(command)
    return command


@memory.command(short_help="Save a memory.")
@click.argument("title")
@click.argument("content", required=False, metavar="[CONTENT|-]")
@click.option("--type", "type", type=click.Choice(SAVED_TYPES), default="observation", show_default=True)
@click.option("--importance", type=float, default=0.5, show_default=True, metavar="NUMBER", help="0 to 1.")
@click.option("--concept", "concepts", multiple=True, metavar="WORD", help="May be given several times.")
@click.option("--fact", "facts", multiple=True, metavar="TEXT", help="A single fact; may be given several times.")
@click.option("--source-file", "source_files", multiple=True, metavar="PATH", help="May be given several times.")
@click.option("--agent", metavar="NAME", help="Who saves it.")
@click.option("--session", "session_id", metavar="ID", help="In which session.")
@click.option("--key", "idempotency_key", metavar="KEY", help="Names this save when it is repeated.")
@_with_store
@_FORMAT
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
    """Save one memory with TITLE and CONTENT; without CONTENT, or with -, the content is read from standard input.

    The same words are kept once. Secrets and <private> parts are taken out before anything is stored.
    """
    draft = MemoryDraft(
        title=title,
        content=_content(content),
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
    _present(saved.to_dict(), _saved(saved), form=form)
    return 0


@memory.command(short_help="Find memories by words.")
@click.argument("queries", nargs=-1, metavar="QUERY…")
@_with_filters
@click.option("--limit", type=int, default=5, show_default=True, metavar="NUMBER", help="How many, 1 to 50.")
@_with_store
@_FORMAT
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
    """Find memories by words, best first. Each QUERY is one phrasing of the question, 8 at most; quote several words.

    Finding nothing is no failure: the exit code is 0.
    """
    if not queries:
        raise WrongCallError("no query is given; write what is looked for, in quotes if it has several words")
    request = SearchRequest(queries=queries, types=types, concepts=concepts, min_importance=min_importance, limit=limit)
    found = search_memory(store, request)
    notes = [*found.notes, *([] if found.items else [how_to_ask(request, store)])]
    _present({**found.to_dict(), "notes": notes}, render_found(found, width=terminal_width()), form=form)
    for note in notes if form == "text" else ():
        complain(note)
    return 0


@memory.command(name="show", short_help="Show a memory whole.")
@_ID
@_with_store
@_FORMAT
def show_memory(id: int, *, store: Store, form: str) -> int:
    """Show the memory ID whole."""
    found = get_memory(store, id)
    _present(memory_values(found), render_memory(found, width=terminal_width()), form=form)
    return 0


@memory.command(name="list", short_help="List memories, newest first.")
@_with_filters
@click.option("--limit", type=int, default=50, show_default=True, metavar="NUMBER", help="How many at most.")
@click.option("--before", type=int, metavar="ID", help="Only those saved before the memory ID.")
@_with_store
@_FORMAT
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
        store, types=types, concepts=concepts, min_importance=min_importance, limit=limit, before_id=before
    )
    _present([memory_values(each) for each in found], render_list(found, width=terminal_width()), form=form)
    if form == "text" and not found:
        complain("no memory fits; goop-mcp memory save keeps one")
    elif form == "text" and len(found) == limit:
        complain(f"these are the newest {limit}; --before {found[-1].id} goes on")
    return 0


@memory.command(short_help="Forget a memory for good.")
@_ID
@click.option("--purge", is_flag=True, help="Remove its row as well; an import may then bring it back.")
@_with_store
@_FORMAT
def forget(id: int, *, store: Store, purge: bool, form: str) -> int:
    """Forget the memory ID for good: its text is gone, and only its number stays."""
    forgotten = forget_memory(store, id, purge=purge)
    title = f' "{shown(forgotten.title)}"' if forgotten.title else ""
    gone = "its row is gone too" if forgotten.purged else "its text is gone"
    _present(forgotten.to_dict(), f"forgotten: memory {forgotten.id}{title}; {gone}\n", form=form)
    return 0


@memory.command(short_help="Write all memories to a file or standard output.")
@click.argument("file", required=False, metavar="[FILE|-]")
@_FORM_OF_FILE
@_SCALE
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
@_with_store
def export(
    file: str | None, *, store: Store, form_of_file: ExchangeFormat | None, scale: ImportanceScale, force: bool
) -> int:
    """Write all memories to FILE, or to standard output, oldest first; `memory import` reads them back."""
    form = form_of_file or _form_by_name(file)
    if form == "markdown" and scale != "ours":
        raise WrongCallError("markdown is written on our scale only; leave out --scale, or write --as jsonl")
    memories = list_memories(store)[::-1]
    document = "".join(write_jsonl(memories, scale=scale) if form == "jsonl" else write_markdown(memories))
    if file is None or file == STDIN:
        emit(document)
    else:
        _write(Path(file), document, force=force)
        complain(f"{counted(len(memories), 'memory', 'memories')} written to {file}")
    return 0


@memory.command(name="import", short_help="Save the memories of a file.")
@click.argument("file", metavar="FILE|-")
@_FORM_OF_FILE
@_SCALE
@_with_store
@_FORMAT
def import_command(
    file: str, *, store: Store, form_of_file: ExchangeFormat | None, scale: ImportanceScale, form: str
) -> int:
    """Save the memories of FILE that are not there yet; each line that is not taken is named with its reason.

    A memory that was forgotten is not brought back. Exit code 1 when a line was not taken.
    """
    advice = "split it into several files"
    text = read_text(file, stdin=standard_input(), most_bytes=_LARGEST_IMPORT, advice=advice)
    report = import_memories(store, text, format=form_of_file or _form_by_name(file), scale=scale)
    _present(report.to_dict(), render_import(report), form=form)
    if form == "text":
        _tell_lines(report)
    return NOT_DONE if report.unread else 0


def _tell_lines(report: ImportReport) -> None:
    for remark in report.unread:
        complain(f"line {remark.line} was not taken: {remark.message}")
    for remark in report.remarks:
        complain(f"line {remark.line}: {remark.message}")


def _present(values: object, text: str, *, form: str) -> None:
    """Show `text` to people, or `values` as JSON to programs."""
    if form == "json":
        emit(json.dumps(values, ensure_ascii=False, indent=2) + "\n")
    else:
        show(text, colour=wants_colour("auto"))


@contextmanager
def _opened(project: str | None, database: str | None, project_id: str | None) -> Iterator[Store]:
    """Yield the project's database; what it cannot do is told, and ends the program with 1."""
    try:
        with opened_application(project, database=database, project_id=project_id) as application:
            yield application.store
            for warning in application.store.warnings:
                complain(f"warning: {warning}")
    except MemoryRefusedError as error:
        *others, last = [_told(each) for each in error.findings if each.severity is Severity.ERROR]
        for fault in others:
            complain(fault)
        raise _NotDoneError(last) from error
    except (MemoryNotFoundError, StoreError) as error:
        raise _NotDoneError(str(error)) from error


def _told(finding: Finding) -> str:
    return f"{finding.message}; {finding.fix[:1].lower()}{finding.fix[1:]}"


class _NotDoneError(click.ClickException):
    exit_code = NOT_DONE


def _content(given: str | None) -> str:
    if given is not None and given != STDIN:
        return given
    if given is None and (sys.stdin is None or sys.stdin.isatty()):
        raise WrongCallError("no content is given; write it behind the title, or pipe it in")
    advice = "a memory holds 64 KiB; save where the text is"
    return read_text(STDIN, stdin=standard_input(), most_bytes=_LARGEST_CONTENT, advice=advice)


def _saved(saved: SavedMemory) -> str:
    lines = [f"{saved.status}: memory {saved.id}"]
    lines += [f"  {finding.severity}: {finding.message}" for finding in saved.findings]
    if saved.similar:
        lines.append(f"  nearly the same: memory {', '.join(map(str, saved.similar))}")
    return "".join(f"{line}\n" for line in lines)


def _form_by_name(file: str | None) -> ExchangeFormat:
    return "markdown" if file is not None and file.lower().endswith(_MARKDOWN_SUFFIXES) else "jsonl"


def _write(path: Path, document: str, *, force: bool) -> None:
    """Write `document` to `path`, whole or not at all. Raises WrongCallError for a place that cannot be written."""
    if not force and os.path.lexists(path):
        raise WrongCallError(f"{str(path)!r} is there already; name another file, or write over it with --force")
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with beside.open("x", encoding="utf-8", newline="") as file:
            file.write(document)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        reason = (error.strerror or "unknown reason").lower()
        raise WrongCallError(f"{str(path)!r} cannot be written ({reason}); name another file") from error
