"""`goop-mcp repair`: print a reply with the form of its envelope repaired."""

import click

from goop_mcp.cli.options import (
    COLOUR,
    PROTOCOL,
    REPORT,
    file_or_report,
    project_folder,
    text_of_report,
)
from goop_mcp.cli.rendering.repair_notes import render_repair_notes
from goop_mcp.cli.streams import emit, show, standard_input, terminal_width, wants_colour
from goop_mcp.services.check_files import repair_file
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.validation.expectations import NOTHING_EXPECTED

__all__ = ["repair"]


@click.command(short_help="Print a reply with the form of its envelope repaired.")
@click.argument("file", required=False, metavar="[FILE|-]")
@REPORT
@PROTOCOL
@COLOUR
def repair(file: str | None, report: int | None, protocol: str, colour: str) -> int:
    """Print a reply with the form of its envelope repaired; the changes go to stderr.

    The reply is the text of FILE, or of a recorded report. Only form is repaired, never meaning. If
    the reply is still rejected, nothing is printed, and stderr says why. Everything outside the
    envelope is kept, with its line ends.

    Exit code: 0 printed, 1 rejected and nothing printed, 2 the file could not be read, or a usage
    error.
    """
    expected = expect_of_project(project_folder(None), NOTHING_EXPECTED)
    file = file_or_report(file, report)
    text = None
    if report is not None:
        text = text_of_report(report, project=None, database=None, project_id=None)

    outcome = repair_file(
        file, protocol=protocol, expected=expected, stdin=standard_input(), text=text
    )
    notes = render_repair_notes(outcome, width=terminal_width(to_stderr=True))
    show(notes, colour=wants_colour(colour, to_stderr=True), to_stderr=True)
    if outcome.repaired is None:
        return 1

    emit(outcome.repaired)

    return 0
