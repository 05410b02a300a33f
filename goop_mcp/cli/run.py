"""`goop-mcp run`: run a check and record how it ended, on which files."""

import os
import sys
from pathlib import Path

import click

from goop_mcp import services
from goop_mcp.recording.commands import RunRequest

__all__ = ["run"]

_USAGE = 2
_MOST_SECONDS = 24 * 3600.0


@click.command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    short_help="Run a check and record how it ended, on which files.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[NAME] [-- PROGRAM ARGS…]")
@click.option(
    "--name", metavar="NAME", help="What the check is called; by default what the program is."
)
@click.option(
    "--junit", metavar="FILE", help="The JUnit XML file, or folder of them, that it writes."
)
@click.option("--ctrf", metavar="FILE", help="The CTRF file (JSON) that it writes.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, max=_MOST_SECONDS, min_open=True),
    metavar="S",
    help="End it, and all that it started, after so many seconds.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Trust .goopspec/checks.toml as it is now; its commands run as you.",
)
@click.option("--project", metavar="DIR", help="Project folder; the default is the current folder.")
@click.option(
    "--database",
    metavar="URL",
    help="sqlite:///FILE or postgresql://…; the default is .goopspec/goop.db in the project.",
)
@click.option(
    "--project-id",
    metavar="ID",
    help="The project in a postgresql:// database, which holds many.",
)
def run(
    *,
    words: tuple[str, ...],
    name: str | None,
    junit: str | None,
    ctrf: str | None,
    timeout: float | None,
    trust: bool,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Run PROGRAM as it is given, without a shell, and record how it ended, on which files.

    `goop-mcp run NAME` takes the command from .goopspec/checks.toml, which a person has to trust
    first: goop-mcp run --trust. A report names the recorded run: <check … run="r-…">.

    Exit code: that of PROGRAM; 124 if it was ended at its time limit, 127 if it could not be
    started; 2 a usage error, or nobody trusts the file.
    """
    environment = os.environ
    named = project or environment.get("GOOP_PROJECT_DIR") or environment.get("CLAUDE_PROJECT_DIR")
    if named is not None and not Path(named).is_dir():
        raise click.UsageError(f"{named!r} is not a folder; name the project with --project")
    folder = Path(named) if named else services.recorded_runs.folder_of_project(Path.cwd())

    if trust:
        if words or name:
            raise click.UsageError("--trust runs nothing; leave the command out")
        return _trust(folder)

    # click removes the first `--`; whether one was there decides what the first word is.
    given = sys.argv[1:] if "--" in sys.argv else []
    by_name = len(words) == 1 and "--" not in given and name is None
    if not words:
        raise click.UsageError(
            "no command is named; write goop-mcp run --name tests -- pytest -q, or the name of a"
            " check in .goopspec/checks.toml"
        )

    files = ((junit, "junit"), (ctrf, "ctrf"))
    results = tuple((Path(file).absolute(), kind) for file, kind in files if file)
    if by_name:
        checks = services.named_checks
        request = checks.request_of(folder, checks.trusted_check(folder, words[0]))
        request = request._replace(
            timeout=timeout or request.timeout, results=results or request.results
        )
    else:
        request = RunRequest(
            argv=words,
            project=folder,
            cwd=Path.cwd(),
            name=_checked(name),
            timeout=timeout,
            results=results,
        )

    ended = services.run_check.run_check(request, database=database, project_id=project_id)
    # After the output of the command: both go through the same descriptors.
    click.echo(services.run_check.summary_line(ended), err=True)

    return ended.exit_code


def _checked(name: str | None) -> str:
    if name is None:
        return ""
    if not name.strip() or not name.isprintable() or len(name) > services.run_check.LONGEST_NAME:
        raise click.UsageError(
            f"--name is {name[:20]!r}…; expected up to {services.run_check.LONGEST_NAME} printable"
            " characters"
        )
    return name.strip()


def _trust(folder: Path) -> int:
    found = services.named_checks.trust_checks(folder)
    for check in found.checks.values():
        click.echo(f"{check.name}: {' '.join(check.command)}")
    click.echo(f"goop-mcp: trusted {found.path} as it is now ({found.digest[:12]})", err=True)

    return 0
