"""`goop-mcp check`: validate the reply in each file."""

import sys

import click

from goop_mcp.cli.options import (
    COLOUR,
    DATABASE,
    PROJECT,
    PROJECT_ID,
    PROTOCOL,
    REPORT,
    RULES,
    WORKSPACE,
    WrongCallError,
    judging,
    opened_workspace,
    project_folder,
    text_of_report,
)
from goop_mcp.cli.rendering.program_formats import render_github, render_json, render_sarif
from goop_mcp.cli.rendering.text import render_text
from goop_mcp.cli.streams import complain, emit, show, standard_input, terminal_width, wants_colour
from goop_mcp.services.check_files import check_files
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.services.user_files import STDIN
from goop_mcp.validation.expectations import Expectations, Profile
from goop_mcp.validation.rules import Rule

__all__ = ["check"]

_FOR_PROGRAMS = {"json": render_json, "sarif": render_sarif, "github": render_github}


@click.command(short_help="Validate the envelope in each reply.")
@click.argument("files", nargs=-1, metavar="[FILE…|-]")
@REPORT
@PROTOCOL
@click.option("--strict", is_flag=True, help="Report every error of form instead of repairing it.")
@click.option(
    "--agent", metavar="NAME", help="The agent that was called, for example goop-executor."
)
@click.option("--phase", metavar="NAME", help="The current phase, for example execute.")
@click.option(
    "--files-changed", is_flag=True, default=None, help="Files were changed: require <artifacts>."
)
@click.option(
    "--memory-saved", is_flag=True, default=None, help="Memory was saved: require <memory>."
)
@click.option(
    "--checks-run", is_flag=True, default=None, help="Checks were run: require <verification>."
)
@click.option(
    "--profile",
    type=click.Choice(["0.x", "v1"]),
    metavar="NAME",
    default="0.x",
    help=(
        "0.x, or v1: five Markdown sections and a phase discuss. A project of GoopSpec 1.x is"
        " always v1."
    ),
)
@click.option("--base", metavar="SHA", help="With --workspace: the commit at which the task began.")
@RULES
@WORKSPACE
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", *_FOR_PROGRAMS]),
    metavar="FORMAT",
    default="text",
    help="text (the default), json, sarif (2.1.0) or github (annotations).",
)
@COLOUR
def check(
    files: tuple[str, ...],
    report: int | None,
    protocol: str,
    *,
    strict: bool,
    agent: str | None,
    phase: str | None,
    files_changed: bool | None,
    memory_saved: bool | None,
    checks_run: bool | None,
    profile: Profile,
    base: str | None,
    rules: tuple[Rule, ...],
    workspace: bool,
    project: str | None,
    database: str | None,
    project_id: str | None,
    format: str,
    colour: str,
) -> int:
    """Validate the envelope in each FILE, in standard input, or in a recorded report.

    Exit code: 0 accepted, 1 any rejected, 2 a file could not be read, or a usage error. An empty
    file is a reply without an envelope: rejected.
    """
    expected = Expectations(
        agent=agent,
        phase=phase,
        files_changed=files_changed,
        memory_saved=memory_saved,
        checks_run=checks_run,
        profile=profile,
        base=base,
    )
    named = _named(files, report)
    texts = None
    if report is not None:
        text = text_of_report(report, project=project, database=database, project_id=project_id)
        texts = {named[0]: text}

    opened = opened_workspace(project, database=database, project_id=project_id, wanted=workspace)

    with opened as (folder, store), judging():
        outcome = check_files(
            named,
            protocol=protocol,
            mode="strict" if strict else "lenient",
            expected=expect_of_project(project_folder(project), expected),
            project=folder,
            store=store,
            stdin=standard_input(),
            rules=rules,
            texts=texts,
        )

    if format == "text":
        show(render_text(outcome, width=terminal_width()), colour=wants_colour(colour))
    else:
        emit(_FOR_PROGRAMS[format](outcome))

    for unread in outcome.unread:
        complain(unread.message)

    if outcome.unread:
        return 2
    return 0 if all(checked.verdict.accepted for checked in outcome.checked) else 1


def _named(files: tuple[str, ...], report: int | None) -> tuple[str, ...]:
    """Return the names of what is judged; without any, standard input unless it is a terminal."""
    if files and report is not None:
        raise WrongCallError("files and --report are given; name files, or one report")
    if report is not None:
        return (f"report {report}",)
    if files.count(STDIN) > 1:
        raise WrongCallError("standard input (-) is named twice and can be read once")
    if files:
        return files
    if sys.stdin is None or sys.stdin.isatty():
        raise WrongCallError("no file is named, and nothing is piped in; name a file")
    return (STDIN,)
