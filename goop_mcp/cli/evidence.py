"""`goop-mcp evidence`: recorded runs, and what the claims of a recorded report rest on."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from goop_mcp import redaction, services
from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import (
    COLOUR,
    DATABASE,
    PROJECT,
    PROJECT_ID,
    WrongCallError,
    opened_application,
    project_folder,
)
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.streams import complain, emit_json, show, standard_input
from goop_mcp.context import AppContext
from goop_mcp.messages.quoting import line, without_controls
from goop_mcp.recording.tree_digest import folder_of_project
from goop_mcp.services.recorded_reports import (
    ReportArgumentError,
    ReportNotFoundError,
    show_report,
)
from goop_mcp.services.report_pages import explanation_page
from goop_mcp.services.user_files import read_reply
from goop_mcp.validation.findings import counted_noun

__all__ = ["evidence"]

NOT_FOUND = 1
NOT_CHECKED = 3
_SHORT = 7
_MOST_RUNS = 500
_MOST_NAMES = 12


class _Evidence(Subcommands):
    noun = "evidence command"


@click.group(
    cls=_Evidence,
    no_args_is_help=False,
    short_help="List recorded checks, and show what claims rest on.",
)
def evidence() -> None:
    """List, export, verify and remove recorded runs, and show what claims of reports rest on.

    Exit code: 0 done or confirmed; 1 contradicted or out of date, or there is no such run, report
    or claim; 2 a usage error, or the database cannot be used; 3 verify could not check it.
    """


@evidence.command(short_help="Show what one check or claim of a report rests on.")
@click.argument("report", type=int, metavar="REPORT")
@click.argument("check", metavar="CHECK")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@COLOUR
@PROJECT
@DATABASE
@PROJECT_ID
def explain(
    *,
    report: int,
    check: str,
    form: str,
    colour: str,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Show which line of a transcript gave CHECK of the report its tier, and what contradicts it.

    REPORT is the number of a recorded report, CHECK the name of a check or another part of a claim.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        try:
            found = show_report(application.store, report).explain(check)
        except (ReportNotFoundError, ReportArgumentError) as error:
            complain(str(error))
            return NOT_FOUND

    if form == "json":
        emit_json(found)
    else:
        show_page(explanation_page(report, found), colour=colour)

    return 0


# Recorded runs


def _places(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say which project and database, and the form of the output."""

    @wraps(command)
    def run(
        *,
        project: str | None,
        database: str | None,
        project_id: str | None,
        **given: object,
    ) -> int:
        folder = home = project_folder(project)
        # The database that keeps the runs of the folder is found as goop-mcp run finds it.
        if project is None and home == Path.cwd().resolve():
            home = folder_of_project(home)

        home = services.recorded_runs.project_of_runs(home)
        opened = opened_application(str(home), database=database, project_id=project_id)
        with opened as application:
            try:
                return command(application, folder, **given)
            except services.recorded_runs.RunNotFoundError as error:
                complain(str(error))
                return NOT_FOUND

    return PROJECT(DATABASE(PROJECT_ID(run)))


_FORM = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)


@evidence.command(name="list", short_help="List the newest recorded runs.")
@click.option("--name", metavar="NAME", help="Only runs of this check.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, metavar="N")
@_FORM
@_places
def list_(
    application: AppContext, _folder: Path, *, name: str | None, limit: int, form: str
) -> int:
    """List the recorded runs, newest first."""
    runs = services.recorded_runs.list_runs(application.store, limit=limit, name=name)
    if form == "json":
        emit_json({"runs": [services.run_statements.run_values(run) for run in runs]})
        return 0

    for run in runs:
        # Nothing else that such a record says is shown.
        if run.mac_state == "wrong":
            show(f"{run.id}  its record was changed, and proves nothing\n")
            continue

        tree = f"tree {run.after.digest[:_SHORT]}" if run.after.digest else "bound to no files"
        moved = ", files changed while it ran" if run.tree_moved else ""
        key = ", recorded on another machine" if run.mac_state == "unknown key" else ""
        # Of a run that executed nothing, that is the reason.
        why = f": {run.why}" if run.why and run.outcome != "nothing" else ""
        outcome = services.run_check.shown_outcome(run)
        text = f"{run.name} {outcome}{why} ({tree}{moved}{key})"
        show(f"{run.id}  {run.started_at}  {line(text, longest=200)}\n")

    if not runs:
        others = services.recorded_runs.list_runs(application.store, limit=_MOST_RUNS)
        # The name that was asked for may be one of a run whose record was changed.
        names = list(dict.fromkeys(line(run.name, longest=60) for run in others))
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            known = f"{', '.join(names[:_MOST_NAMES])}{more}"
            show(
                f"No run of {line(str(name), longest=60)} is recorded. There are runs of {known}.\n"
            )
        else:
            show("No run is recorded. Record one: goop-mcp run --name tests -- pytest -q\n")

    return 0


@evidence.command(name="show", short_help="Show one recorded run with the end of its output.")
@click.argument("run", metavar="RUN")
@_FORM
@_places
def show_run(application: AppContext, _folder: Path, *, run: str, form: str) -> int:
    """Show the recorded run RUN: command, result, files, and the redacted end of its output."""
    found = services.recorded_runs.find_run(application.store, run)
    if form == "json":
        emit_json(services.run_statements.run_values(found))
        return 0

    for name, value in services.run_statements.run_values(found).items():
        if name != "output" and value not in (None, "", [], {}):
            show(f"{name}: {line(str(value), longest=2000)}\n")
    show(f"output: {counted_noun(found.output_bytes, 'byte')}, sha256 {found.output_sha256}\n")
    # A terminal obeys what it prints, and here a program of anybody wrote it.
    show(f"\n{without_controls(found.tail)}\n" if found.tail else "")

    return 0


@evidence.command(short_help="Write a recorded run as an in-toto statement.")
@click.argument("run", metavar="RUN")
@_places
def export(application: AppContext, _folder: Path, *, run: str) -> int:
    """Write the recorded run RUN as an in-toto Statement v1, predicate test-result v0.1.

    It is not signed: it says what the recorder saw.
    """
    found = services.recorded_runs.find_run(application.store, run)
    try:
        statement = services.run_statements.statement_of(found)
    except services.run_statements.UnboundRunError as error:
        complain(str(error))
        return NOT_FOUND

    emit_json(statement)
    return 0


@evidence.command(short_help="Verify recorded runs, or run the named commands again.")
@click.argument("runs", nargs=-1, metavar="[RUN…]")
@click.option(
    "--rerun", is_flag=True, help="Run the commands of a trusted .goopspec/checks.toml again."
)
@click.option(
    "--report",
    "reply",
    metavar="FILE|-",
    shell_complete=file_names,
    help="With --rerun: only the checks that the report in FILE says passed.",
)
@_FORM
@_places
def verify(
    application: AppContext,
    folder: Path,
    *,
    runs: tuple[str, ...],
    rerun: bool,
    reply: str | None,
    form: str,
) -> int:
    """Verify that recorded runs are ours, passed, and are about the present files.

    With --rerun, for CI: run the commands of a trusted .goopspec/checks.toml again, and compare
    them with a report.
    """
    if rerun and runs:
        raise WrongCallError("--rerun needs no runs; leave them out, or name a report")
    if not rerun and (reply is not None or not runs):
        raise WrongCallError("no run is named; name one, or run the commands again with --rerun")

    service = services.verify_runs
    if rerun:
        claimed, text = None, ""
        if reply is not None:
            text = read_reply(reply, stdin=standard_input())
            claimed = service.claimed_checks(text)
            if not claimed:
                complain("the report says of no check that it passed, so nothing was verified")
                return NOT_CHECKED
        found = redaction.shareable(service.rerun_checks(folder, claimed), text)
    else:
        named = [services.recorded_runs.find_run(application.store, each) for each in runs]
        found = [service.verify_run(run, folder) for run in named]

    if form == "json":
        emit_json({"verified": [each.to_dict() for each in found]})
    else:
        for each in found:
            about = f"{each.run} {each.name}".strip()
            show(f"{line(about, longest=100)}: {each.result}: {line(each.detail, longest=300)}\n")

    results = {each.result for each in found}
    if results & {"contradicted", "out of date"}:
        return NOT_FOUND
    return NOT_CHECKED if "not checked" in results or not found else 0


@evidence.command(short_help="Remove the records of runs.")
@click.argument("runs", nargs=-1, metavar="[RUN…]")
@click.option("--all", "everything", is_flag=True, help="Remove all records.")
@click.option(
    "--keep", type=click.IntRange(0), metavar="N", help="Remove all but the newest N records."
)
@_places
def remove(
    application: AppContext,
    _folder: Path,
    *,
    runs: tuple[str, ...],
    everything: bool,
    keep: int | None,
) -> int:
    """Remove the records of RUNs: command, output and files; only their ids stay known."""
    if sum((bool(runs), everything, keep is not None)) != 1:
        raise WrongCallError("name runs, or --all, or --keep N: one of them")

    service = services.recorded_runs
    ids = tuple(service.find_run(application.store, each).id for each in runs)
    selection = service.RunSelection(ids=ids, keep=keep, everything=everything)
    removed = service.remove_runs(application.store, selection)
    show(f"Removed {removed} recorded {'run' if removed == 1 else 'runs'}.\n")

    return 0
