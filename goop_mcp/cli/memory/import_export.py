"""Commands that export all memories to a file, and import them from one."""

from collections.abc import Iterator
from itertools import islice

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.memory.calls import FORMAT, NOT_DONE, present, with_store
from goop_mcp.cli.options import WrongCallError
from goop_mcp.cli.rendering.memories import render_import
from goop_mcp.cli.streams import complain, counting, emit, standard_input
from goop_mcp.memory.import_export.importing import MOST_LISTED, ExchangeFormat, import_memories
from goop_mcp.memory.import_export.jsonl import write_jsonl
from goop_mcp.memory.import_export.markdown import write_markdown
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.memory.repository import all_memories
from goop_mcp.services.user_files import STDIN, read_lines, write_file
from goop_mcp.store.interface import Store
from goop_mcp.store.records import StoredMemory
from goop_mcp.validation.findings import counted_noun

__all__ = ["export", "import_command"]

_PIECES = 100
_MOST_PRINTED = 20
_MARKDOWN_SUFFIXES = (".md", ".markdown")

_FORM_OF_FILE = click.option(
    "--as",
    "form_of_file",
    type=click.Choice(["jsonl", "markdown"]),
    help="Format of the file; the default is markdown for a name that ends with .md, else jsonl.",
)
_SCALE = click.option(
    "--scale",
    type=click.Choice(["ours", "packages"]),
    default="ours",
    help="Scale of importance: ours is 0 to 1, packages is 1 to 10, as in the GoopSpec packages.",
)


@click.command(short_help="Write all memories to a file or standard output.")
@click.argument("file", required=False, metavar="[FILE|-]", shell_complete=file_names)
@_FORM_OF_FILE
@_SCALE
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@with_store
def export(
    file: str | None,
    *,
    store: Store,
    form_of_file: ExchangeFormat | None,
    scale: ImportanceScale,
    force: bool,
) -> int:
    """Write all memories to FILE or standard output, oldest first, for `memory import`."""
    form = form_of_file or _form_by_name(file)
    if form == "markdown" and scale != "ours":
        raise WrongCallError(
            "markdown is written on our scale only; leave out --scale, or write --as jsonl"
        )

    written = 0

    def each() -> Iterator[StoredMemory]:
        nonlocal written
        for memory in counting(all_memories(store), "memories written"):
            yield memory
            written += 1

    document = write_jsonl(each(), scale=scale) if form == "jsonl" else write_markdown(each())
    if file is None or file == STDIN:
        # In batches: neither the whole document in memory nor a system call for each line.
        while some := "".join(islice(document, _PIECES)):
            emit(some)
    else:
        write_file(file, document, force=force)
        complain(f"{counted_noun(written, 'memory', 'memories')} written to {file}")

    return 0


@click.command(name="import", short_help="Save the memories of a file.")
@click.argument("file", metavar="FILE|-", shell_complete=file_names)
@_FORM_OF_FILE
@_SCALE
@with_store
@FORMAT
def import_command(
    file: str,
    *,
    store: Store,
    form_of_file: ExchangeFormat | None,
    scale: ImportanceScale,
    form: str,
) -> int:
    """Save the memories of FILE that do not exist yet; print each invalid line with the reason.

    A memory that was forgotten is not restored. Exit code 1 when a line was not imported.
    """
    lines = counting(read_lines(file, stdin=standard_input()), "lines imported")
    report = import_memories(store, lines, format=form_of_file or _form_by_name(file), scale=scale)
    present(report.to_dict(), render_import(report), form=form)
    if form == "text":
        for remark in report.unread[:_MOST_PRINTED]:
            complain(f"line {remark.line} was not imported: {remark.message}")

        for remark in report.remarks[:_MOST_PRINTED]:
            complain(f"line {remark.line}: {remark.message}")

        printed = min(len(report.unread), _MOST_PRINTED) + min(len(report.remarks), _MOST_PRINTED)
        listed = len(report.unread) + len(report.remarks)
        if more := listed - printed + report.left_out:
            complain(f"{more} more such lines; --format json lists the first {MOST_LISTED:,}")
        if scale == "ours" and any("importance is" in each.message for each in report.unread):
            complain("importance from 1 to 10, as in GoopSpec packages, needs --scale packages")

    return NOT_DONE if report.unread else 0


def _form_by_name(file: str | None) -> ExchangeFormat:
    return "markdown" if file is not None and file.lower().endswith(_MARKDOWN_SUFFIXES) else "jsonl"
