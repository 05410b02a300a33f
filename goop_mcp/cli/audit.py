"""`goop-mcp audit`: compare what agents claimed with what they ran, in transcripts of hosts."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from goop_mcp import services
from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import WrongCallError
from goop_mcp.cli.streams import INTERRUPTED, complain, counting, emit_json, show
from goop_mcp.memory.times import utc_now, written
from goop_mcp.services.user_files import write_file

if TYPE_CHECKING:
    from goop_mcp.services.audit import Found

__all__ = ["audit"]

OVER = 1


@click.command(short_help="Compare what agents claimed with what they ran.")
@click.argument("folder", required=False, metavar="[FOLDER]", shell_complete=file_names)
@click.option(
    "--all-projects", is_flag=True, help="Read the transcripts of all projects of this machine."
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    shell_complete=file_names,
    help="Write the result to FILE as one page that loads nothing.",
)
@click.option("--force", is_flag=True, help="Overwrite the FILE of --html.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--fail-over",
    type=click.FloatRange(0, 100),
    metavar="N",
    help="Exit with 1 if more than N percent of the claims are contradicted.",
)
def audit(
    *,
    folder: str | None,
    all_projects: bool,
    page: str | None,
    force: bool,
    form: str,
    fail_over: float | None,
) -> int:
    """Read the transcripts of Claude Code, Codex and OpenCode that are there already.

    Finds claims about checks and files in the last messages of agents and main threads, and
    compares them with what ran. FOLDER is a project (default: this folder), or a folder or file
    with transcripts. Changes nothing and sends nothing.

    Ctrl-C ends the audit and shows what was read until then.

    Exit code: 0 audited, or there is no transcript; 1 more than --fail-over; 2 a usage error;
    130 ended by Ctrl-C.
    """
    if folder is not None and all_projects:
        raise WrongCallError("a FOLDER and --all-projects are both given; give one of them")
    if folder is not None and not Path(folder).exists():
        raise WrongCallError(
            f"{folder!r} does not exist; expected a project, or a folder with transcripts"
        )

    service = services.audit
    found, project = _find(None if all_projects else Path(folder or "."), named=folder is not None)
    with closing(counting(found.sources, "transcripts")) as sources:
        result = service.audit(found, project=project, sources=sources)

    if page is not None:
        from goop_mcp import workbench  # noqa: PLC0415 - pages need templates

        document = workbench.audit_report.audit_report(result, now=written(utc_now()))
        write_file(page, [document], force=force)
    if form == "json":
        emit_json(result.to_dict())
    else:
        show(service.audit_page(result))

    if result.interrupted:
        complain("ended by Ctrl-C; this is what was read until then")
        return INTERRUPTED
    if fail_over is None:
        return 0
    if result.percent is None:
        complain("no claim could be compared, so --fail-over decided nothing")
    return OVER if result.percent is not None and result.percent > fail_over else 0


def _find(folder: Path | None, *, named: bool) -> "tuple[Found, str]":
    """Return the transcripts of the project `folder`, or those in it, and the project's name."""
    service = services.audit
    places = service.home_places(os.environ)
    found = service.find_transcripts(places, project=folder)
    if folder is None:
        return found, ""
    if named and not found.sources:
        inside = service.find_transcripts(places, project=None, folder=folder)
        if inside.sources:
            return inside, ""
    return found, str(folder.resolve())
