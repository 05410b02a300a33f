"""`goop-mcp run`: run a check and record how it ended, on which files."""

import shutil
import sys
from pathlib import Path

import click

from goop_mcp import services
from goop_mcp.cli.completion import file_names, folder_names
from goop_mcp.cli.streams import complain, show
from goop_mcp.cli.trusting import is_trusted_by_caller, shown_words
from goop_mcp.services import run_arguments

__all__ = ["run"]

NOT_TRUSTED = 2


@click.command(
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    short_help="Run a check and record how it ended, on which files.",
)
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="[NAME] [-- PROGRAM ARGS…]",
    shell_complete=file_names,
)
@click.option(
    "--name", metavar="NAME", help="Name of the check; by default it is derived from the program."
)
@click.option(
    "--junit",
    metavar="FILE",
    shell_complete=file_names,
    help="The JUnit XML file, or folder of them, that it writes.",
)
@click.option(
    "--ctrf", metavar="FILE", shell_complete=file_names, help="The CTRF file (JSON) that it writes."
)
@click.option(
    "--tap", metavar="FILE", shell_complete=file_names, help="The TAP file that it writes."
)
@click.option(
    "--coverage",
    metavar="FILE",
    shell_complete=file_names,
    help="The coverage file that it writes: LCOV or Cobertura.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, max=run_arguments.MOST_SECONDS, min_open=True),
    metavar="S",
    help="Time limit in seconds; then PROGRAM ends with everything that it started.",
)
@click.option(
    "--trust",
    is_flag=False,
    flag_value="",
    metavar="[DIGEST]",
    help="Trust the named checks as they are now, whose commands run with your rights: asks on a"
    " terminal; elsewhere DIGEST, which the refusal prints, is needed.",
)
@click.option(
    "--project",
    metavar="DIR",
    shell_complete=folder_names,
    help="Project folder; the default is the current folder.",
)
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
    tap: str | None,
    coverage: str | None,
    timeout: float | None,
    trust: str | None,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Run PROGRAM as it is given, without a shell, and record how it ended, on which files.

    `goop-mcp run NAME` takes the command from .goopspec/checks.toml, which a person has to trust
    first at a terminal: goop-mcp run --trust. A report names the recorded run: <check … run="r-…">.

    Exit code: that of PROGRAM; 124 if it was ended at its time limit, 127 if it could not be
    started; 2 a usage error, or the file is not trusted.
    """
    if trust is not None:
        if words or name:
            raise click.UsageError("--trust runs nothing; leave the command out")
        return _trust(services.run_check.project_of(project), digest=trust)

    if not words:
        raise click.UsageError(
            "no command is named; write goop-mcp run --name tests -- pytest -q, or the name of a"
            " check in .goopspec/checks.toml or goop-mcp.toml"
        )
    if name is not None and not run_arguments.is_name(name):
        raise click.UsageError(
            f"--name is {name[:20]!r}…; expected up to {run_arguments.LONGEST_NAME} printable"
            " characters"
        )

    run_arguments.exit_at_signals()
    # click removes the first `--`; whether one was there decides what the first word is.
    given = sys.argv[1:] if "--" in sys.argv else []
    if not given and len(words) > 1 and shutil.which(words[0]) is None:
        # Options after the name of a check, which click takes for those of a program.
        again = run_arguments.read_arguments([*sys.argv[2 : -len(words)], *words[1:], words[0]])
        if again is not None:
            return services.run_check.run_recorded(again)

    return services.run_check.run_recorded(
        run_arguments.RunArguments(
            words,
            by_name=len(words) == 1 and "--" not in given and name is None,
            name=name,
            junit=junit,
            ctrf=ctrf,
            tap=tap,
            coverage=coverage,
            timeout=timeout,
            project=project,
            database=database,
            project_id=project_id,
        )
    )


def _trust(project: Path, *, digest: str) -> int:
    """Trust the named checks of `project`, with `digest` or as a person says; return the code."""
    found = services.named_checks.read_checks(project)
    commands = [f"{each.name}: {shown_words(each.command)}" for each in found.checks.values()]
    trusted = (found.trusted and not digest) or is_trusted_by_caller(
        found.source,
        runs=commands,
        digest=found.digest,
        given=[digest] if digest else [],
        shown_by="`goop-mcp run --trust` without one",
    )
    if not trusted:
        return NOT_TRUSTED

    # Exactly what was asked about: the file may be another one by now.
    services.named_checks.trust_checks(found)
    show("".join(f"{each}\n" for each in commands))
    complain(
        f"trusted {found.path} as it is now; where nobody can be asked, as in CI, run goop-mcp run"
        f" --trust {found.digest}"
    )
    return 0
