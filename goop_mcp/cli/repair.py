"""`goop-mcp repair`: print a reply with the form of its envelope repaired, or repair files."""

import difflib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import (
    COLOUR,
    PROTOCOL,
    REPORT,
    WrongCallError,
    file_or_report,
    project_folder,
    text_of_report,
)
from goop_mcp.cli.rendering.repair_notes import render_repair_notes, render_repairs
from goop_mcp.cli.rendering.source_line import shown
from goop_mcp.cli.streams import complain, emit, show, standard_input, terminal_width, wants_colour
from goop_mcp.errors import UnreadableFileError, UnwritableFileError
from goop_mcp.services.check_files import RepairedFile, files_below, refuse_more, repair_file
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.services.user_files import STDIN, overwrite_file
from goop_mcp.validation.expectations import NOTHING_EXPECTED

__all__ = ["repair"]

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTED: Final = re.compile('[\0-\x1f\x7f"\\\\\udc80-\udcff]')
"""What git writes as an escape in the name of a file, bytes that are not text included."""
_DIFF_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


@click.command(short_help="Print a reply with the form of its envelope repaired.")
@click.argument("files", nargs=-1, metavar="[FILE…|FOLDER…|-]", shell_complete=file_names)
@REPORT
@PROTOCOL
@click.option("--write", is_flag=True, help="Change the files instead of printing a reply.")
@click.option("--diff", is_flag=True, help="Print the changes instead of the whole reply.")
@COLOUR
def repair(
    files: tuple[str, ...],
    report: int | None,
    protocol: str,
    *,
    write: bool,
    diff: bool,
    colour: str,
) -> int:
    """Print a reply with the form of its envelope repaired; the repairs are listed on stderr.

    The reply is the text of FILE, or of a recorded report. Only form is repaired, never meaning. If
    the reply is still rejected, nothing is printed or written, and stderr says why. Everything
    outside the envelope is kept, with its line ends. With --write or --diff, several files and
    folders may be named.

    Exit code: 0 repaired, or nothing to repair; 1 any rejected; 2 a file could not be read or
    written, or a usage error.
    """
    if write or diff:
        if report is not None or STDIN in files or not files:
            option = "--write" if write else "--diff"
            raise WrongCallError(f"{option} needs files or folders; name them")
        return _repair_files(files, protocol=protocol, write=write, diff=diff, colour=colour)

    if len(files) > 1:
        raise WrongCallError(
            f"{len(files)} files are named and one can be printed; repair all with --write, or show"
            " the changes with --diff"
        )

    file = file_or_report(files[0] if files else None, report)
    if report is None and file and Path(file).is_dir():
        raise WrongCallError(
            f"{file!r} is a folder; add --diff to see changes, --write to make them"
        )
    text = None
    if report is not None:
        text = text_of_report(report, project=None, database=None, project_id=None)

    outcome = _repaired(file, protocol, text)
    notes = render_repair_notes(outcome, width=terminal_width(to_stderr=True))
    show(notes, colour=wants_colour(colour, to_stderr=True), to_stderr=True)
    if outcome.repaired is None:
        return 1

    emit(outcome.repaired)

    return 0


def _repaired(file: str, protocol: str, text: str | None = None) -> RepairedFile:
    expected = expect_of_project(project_folder(None), NOTHING_EXPECTED)
    return repair_file(
        file, protocol=protocol, expected=expected, stdin=standard_input(), text=text
    )


def _repair_files(
    files: Sequence[str], *, protocol: str, write: bool, diff: bool, colour: str
) -> int:
    named, unread = files_below(files)
    problems = [each.message for each in unread]
    outcomes = []
    held = 0

    for file in named:
        try:
            refuse_more(file, held)
            outcome = _repaired(file, protocol)
            if outcome.repaired is not None and outcome.repaired != outcome.whole:
                if diff:
                    show(_difference(file, outcome), colour=wants_colour(colour))
                if write:
                    overwrite_file(file, outcome.repaired, expected=outcome.whole)
        except (UnreadableFileError, UnwritableFileError) as error:
            problems.append(str(error))
        else:
            outcomes.append(outcome)
            # The text as it was, and the one that was written.
            held += len(outcome.whole) + len(outcome.repaired or "")

    width = terminal_width(to_stderr=True)
    summary = render_repairs(outcomes, unread=len(problems), written=write, width=width)
    show(summary, colour=wants_colour(colour, to_stderr=True), to_stderr=True)
    for problem in problems:
        complain(problem)

    if problems:
        return 2
    return int(any(outcome.repaired is None for outcome in outcomes))


def _difference(file: str, outcome: RepairedFile) -> str:
    """Return a unified diff that `git apply` and `patch` take, styled."""
    # For those programs only a line feed ends a line; for Python a dozen characters do.
    before, after = (_LINE.findall(text) for text in (outcome.whole, outcome.repaired or ""))
    on_terminal = terminal_width() is not None
    pieces = []
    old, new = _name_in_diff("a", file), _name_in_diff("b", file)
    for line in difflib.unified_diff(before, after, old, new):
        text = line.removesuffix("\n")
        # On a terminal, characters that control it are shown as escapes.
        text = "\t".join(map(shown, text.split("\t"))) if on_terminal else text
        colour = _DIFF_COLOURS.get(line[0])
        pieces.append(click.style(text, fg=colour) if colour else text)
        pieces.append("\n" if line.endswith("\n") else "\n\\ No newline at end of file\n")

    return "".join(pieces)


def _name_in_diff(side: str, file: str) -> str:
    """Return the name of a file as git writes it, from the current folder or from the root."""
    here = Path.cwd()
    path = Path(os.path.normpath(here / file))
    # No program applies a diff whose names lead out of the folder in which it is applied.
    place = path.relative_to(here if path.is_relative_to(here) else path.anchor)
    name = f"{side}/{place.as_posix()}"
    if _QUOTED.search(name):
        return f'"{_QUOTED.sub(_escaped, name)}"'
    # Without the tab, whatever follows a blank would be read as a date.
    return f"{name}\t" if " " in name else name


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character in '"\\':
        return f"\\{character}"
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))
