"""Options that several commands share."""

import os
import re
import shlex
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from goop_mcp import services
from goop_mcp.cli.completion import file_names, folder_names
from goop_mcp.cli.streams import complain, standard_input
from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.protocols import FAMILIES
from goop_mcp.services.user_files import STDIN, read_short_text
from goop_mcp.settings import read_settings
from goop_mcp.workspace.layout import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from goop_mcp.validation.verdict import Verdict

__all__ = [
    "COLOUR",
    "DATABASE",
    "PROJECT",
    "PROJECT_ID",
    "PROTOCOL",
    "REPORT",
    "RULES",
    "TENANT",
    "WORKSPACE_BY_PROJECT",
    "WrongCallError",
    "completing",
    "file_or_report",
    "name_unverified",
    "name_weakened",
    "opened_application",
    "opened_workspace",
    "project_folder",
    "read_fields",
    "text_of_report",
]


_TENANT_OF_CALL: Final = "goop_mcp.tenant"
_ABOVE_IS_NAMED: Final = "goop_mcp.above"
_FULL_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class WrongCallError(click.ClickException):
    """Raised when options and arguments do not fit together; the text says what to do."""

    exit_code = 2


def completing(
    known: "Callable[[], Iterable[str]]",
) -> "Callable[[click.Context, click.Parameter, str], list[str]]":
    """Return what makes the shell offer those of the `known` names that begin as the typed word.

    `known` is called when somebody presses the key for it, not before.
    """

    def offered(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        return [name for name in known() if name.startswith(begun)]

    return offered


def _protocols() -> list[str]:
    return ["auto", *(family.name for family in FAMILIES)]


def _known_protocol(_context: click.Context, _option: click.Parameter, name: str) -> str:
    if name not in _protocols():
        raise UnknownNameError("protocol", name, _protocols())
    return name


@contextmanager
def opened_application(
    project: str | None, *, database: str | None = None, project_id: str | None = None
) -> "Iterator[AppContext]":
    """Yield the application for the values of these options, None where one was not given.

    Raises SettingsError.
    """
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    _name_project_above(settings.project, named=project)
    context = click.get_current_context(silent=True)
    if context is not None and (tenant := context.meta.get(_TENANT_OF_CALL)) is not None:
        # A file belongs to one project and has no tenants: what it holds is not that tenant's.
        if settings.database_in_a_file:
            raise WrongCallError(
                "--tenant needs a database of several tenants; name it with --database"
                " postgresql://…, or leave out --tenant"
            )
        settings = replace(settings, tenant=tenant)
    with AppContext(settings) as application:
        yield application


def project_folder(project: str | None) -> "Path":
    """Return the project's folder for the value of --project; raise SettingsError."""
    folder = read_settings(os.environ, project=project).project
    _name_project_above(folder, named=project)
    return folder


def name_weakened(project: "Path", *, base: str | None = None) -> None:
    """Print which settings of the project weaken how reports are judged, if nobody confirmed them.

    They are in force, because a person or CI runs the command. `base` is the commit to compare
    with, where it is a full id; otherwise that is the one that is checked out.
    """
    try:
        commit = base if base is not None and _FULL_ID.fullmatch(base) else "HEAD"
        found = services.confirmed_settings.unconfirmed(str(project), commit)
    except GoopError as error:
        complain(f"note: {error}")
        return

    if found is not None:
        what, file = found
        complain(
            f"note: settings that weaken how reports are judged are in force: {what}. If they are"
            f" right, commit them or run goop-mcp trust {shlex.quote(file)}"
        )


def name_unverified(verdicts: "Iterable[Verdict]") -> None:
    """Print once how many claims of accepted replies were compared with nothing (D-106)."""
    found = [each.unverified for each in verdicts if each.unverified is not None]
    if not found:
        return

    claims, of = sum(each.claims for each in found), sum(each.of for each in found)
    asked = found[0].why == services.unverified.NOT_ASKED
    because = "" if asked else f", because {found[0].why}"
    complain(f"note: not verified: {claims} of {of} claims{because}; --workspace verifies them")


def _name_project_above(folder: "Path", *, named: str | None) -> None:
    """Print that a folder above the current one holds a project, which is not the one in use.

    Whoever works in a subfolder would otherwise begin a second project there without noticing.
    """
    context = click.get_current_context(silent=True)
    if named is not None or context is None or _ABOVE_IS_NAMED in context.meta:
        return
    context.meta[_ABOVE_IS_NAMED] = True
    # A variable names the folder on purpose.
    if folder != type(folder).cwd() or (folder / FOLDER).is_dir():
        return

    above = next((each for each in folder.parents if (each / FOLDER).is_dir()), None)
    if above is not None:
        complain(
            f"note: the project in {str(above)!r} is not used here, because this folder is another"
            f" one; for it, go there or add --project {shlex.quote(str(above))}"
        )


@contextmanager
def opened_workspace(
    project: str | None, *, database: str | None, project_id: str | None, wanted: bool
) -> "Iterator[AppContext | None]":
    """Yield the project, None unless `wanted`.

    The other arguments are the values of these options, None where one was not given. Raises
    SettingsError.
    """
    if not wanted:
        yield None
        return

    with opened_application(project, database=database, project_id=project_id) as application:
        yield application


def file_or_report(file: str | None, report: int | None) -> str:
    """Return the name of the reply, which is either in a file or a recorded report.

    Raises WrongCallError.
    """
    if (file is None) == (report is None):
        raise WrongCallError(
            "no reply is named; name a file, - for standard input, or --report N"
            if file is None
            else "a file and --report are given; name one of them"
        )

    return f"report {report}" if file is None else file


def text_of_report(
    report: int,
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
    must_count: bool = False,
) -> str:
    """Return the envelope of the recorded report; the others are the values of these options.

    With `must_count`, a report that does not count is named on stderr. Raises SettingsError and
    what `recorded_text` raises.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        text = services.reply_sources.recorded_text(application.store, report)
        if must_count:
            about = services.recorded_reports.show_report(application.store, report).about
            if about.retired is not None:
                complain(f"note: report {report} does not count: {about.why_not}")

        return text


def read_fields(source: str | None) -> tuple[str, str]:
    """Return the text of the fields, and the name of its source for messages."""
    if source is None and (sys.stdin is None or sys.stdin.isatty()):
        raise WrongCallError(
            "no fields are given; name a file with --json, or pipe one JSON object in"
        )

    file = STDIN if source is None else source
    name = "standard input" if file == STDIN else repr(file)

    return read_short_text(file, stdin=standard_input()).removeprefix("\ufeff"), name


PROTOCOL = click.option(
    "--protocol",
    metavar="NAME",
    default="auto",
    callback=_known_protocol,
    shell_complete=completing(_protocols),
    help=(
        "auto (the default) detects it; known are:"
        f" {', '.join(family.name for family in FAMILIES)}."
    ),
)
WORKSPACE_BY_PROJECT = click.option(
    "--workspace/--no-workspace",
    "workspace",
    default=None,
    help=(
        "Verify what the reply claims about the project, or do not; by default in a git"
        " repository, and in a project with a folder .goopspec."
    ),
)
RULES = click.option(
    "--rules",
    "rules",
    multiple=True,
    metavar="WHERE",
    shell_complete=file_names,
    # Looking for rules takes a module that few commands need.
    callback=lambda _context, _option, named: (
        services.load_rules.load_rules(named) if named else ()
    ),
    help=(
        "Also apply the custom rules in FILE.py or package.module; add :NAME if their list is not"
        " called RULES. Their code is run."
    ),
)
PROJECT = click.option(
    "--project",
    metavar="DIR",
    shell_complete=folder_names,
    help="Project folder; the default is the current folder.",
)
DATABASE = click.option(
    "--database",
    metavar="URL",
    help="sqlite:///FILE or postgresql://…; the default is .goopspec/goop.db in the project.",
)
PROJECT_ID = click.option(
    "--project-id",
    metavar="ID",
    help="The project in a postgresql:// database, which holds many.",
)
TENANT = click.option(
    "--tenant",
    metavar="NAME",
    # Kept with the call: it selects rows wherever the database of the call is opened.
    expose_value=False,
    callback=lambda context, _option, name: context.meta.update({_TENANT_OF_CALL: name}),
    help="The tenant in a postgresql:// database, which holds several; the default is 'default'.",
)
REPORT = click.option(
    "--report", type=int, metavar="N", help="The recorded report N instead of a file."
)
COLOUR = click.option(
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    metavar="WHEN",
    default="auto",
    help="always, never, or auto: on a terminal, unless NO_COLOR is set.",
)
