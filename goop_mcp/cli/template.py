"""`goop-mcp template`: the library of prompts for common tasks, and those of the project."""

import os
import sys
from datetime import datetime

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import (
    PROJECT,
    WrongCallError,
    completing,
    project_folder,
    read_fields,
)
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.rendering.listing import render_listing
from goop_mcp.cli.streams import complain, emit, emit_json, show, terminal_width
from goop_mcp.errors import GoopError, UnknownNameError, UnreadableFileError
from goop_mcp.services.build_request import BuiltRequest
from goop_mcp.services.fill_template import UnfilledSlotsError
from goop_mcp.services.hand_over import hand_over_request, parse_fields
from goop_mcp.services.templates import (
    REQUEST_ARGUMENTS,
    find_template,
    read_template,
    template_library,
    template_names,
)
from goop_mcp.settings import read_settings

__all__ = ["REFUSED", "show_request", "template"]

REFUSED = 1

_WIDEST_NAME = 30
_FORM = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)


class _Templates(Subcommands):
    noun = "template command"


@click.group(
    cls=_Templates, no_args_is_help=False, short_help="Prompts for common tasks, with slots."
)
def template() -> None:
    """List, show and fill in templates: whole prompts for common tasks, with slots.

    A project has its own in .goopspec/templates/, one Markdown file each, in the form that
    `goop-mcp template show NAME` prints.
    """


@template.command("list", short_help="List the templates with their slots.")
@_FORM
@PROJECT
def list_command(*, form: str, project: str | None) -> int:
    """List the templates of goop-mcp and of the project, with their slots.

    Exit code: 0; 1 a file of the project is not a template, the others are listed; 2 a usage error.
    """
    library = template_library(project_folder(project))
    if form == "json":
        emit_json([each.to_dict() for each in library.templates])
    else:
        rows = []
        for each in library.templates:
            own = f" (own: {each.file})" if each.file else ""
            rows.append((each.name, f"{each.description}{own}"))
            rows += [(f"  --slot {slot.name}=…", slot.description) for slot in each.slots]

        show(render_listing(rows, width=terminal_width(), widest_name=_WIDEST_NAME))

    for problem in library.problems:
        complain(problem)

    return REFUSED * bool(library.problems)


@template.command("show", short_help="Print a template.")
@click.argument("name", shell_complete=completing(template_names))
@_FORM
@PROJECT
def show_command(name: str, *, form: str, project: str | None) -> int:
    """Print the template NAME as a file: front matter with its slots, then the prompt.

    To write a template of your own, start from a copy in .goopspec/templates/ with another name.

    Exit code: 0; 1 the template cannot be used; 2 a usage error, or there is no such template.
    """
    folder = project_folder(project)
    try:
        found = find_template(name, project=folder)
    except UnknownNameError:
        raise
    except GoopError as error:
        complain(str(error))
        return REFUSED

    if form == "json":
        emit_json(found.to_dict())
    else:
        emit(read_template(name, project=folder))

    return 0


@template.command("fill", short_help="Build a prompt from a template.")
@click.argument("name", shell_complete=completing(template_names))
@click.option(
    "--slot", "pairs", metavar="NAME=VALUE", multiple=True, help="Fill one slot; may be repeated."
)
@click.option(
    "--json",
    "source",
    metavar="FILE|-",
    shell_complete=file_names,
    help="Values of slots as one JSON object, for texts of several lines.",
)
@click.option("--session-id", metavar="ID", help="The session; YYYYMMDD-HHMMSS-name.")
@click.option("--parent-agent", metavar="NAME", help="The agent that asks.")
@click.option("--target-agent", metavar="NAME", help="The agent that is asked.")
@click.option(
    "--write",
    is_flag=True,
    help="Create the folder of the session in the project and print only the prompt's path.",
)
@_FORM
@PROJECT
def fill(
    name: str,
    *,
    pairs: tuple[str, ...],
    source: str | None,
    write: bool,
    form: str,
    project: str | None,
    **arguments: str | None,
) -> int:
    """Build the prompt of the template NAME, validate it in strict mode, and print it.

    Slots without a value are listed on standard error with what belongs there; nothing is printed
    or written then. The values are --slot, --json, or a pipe with one JSON object, which may also
    hold session_id, parent_agent and target_agent.

    Exit code: 0 built, 1 a slot is not filled in, or the values make no valid prompt, or it cannot
    be written; 2 the values could not be read, there is no such template, or a usage error.
    """
    settings = read_settings(os.environ, project=project)
    piped = not pairs and sys.stdin is not None and not sys.stdin.isatty()
    try:
        text, where = read_fields(source) if source is not None or piped else ("", "")
        # An empty pipe, as scripts have it, holds no values; the slots are listed then.
        values = parse_fields(text, where) if text.strip() or source is not None else {}
        given = {**values, **_slots(pairs)}
        given |= {each: arguments[each] for each in REQUEST_ARGUMENTS if arguments[each]}
        built = hand_over_request(
            given,
            project=settings.project,
            write=write,
            now=datetime.now().astimezone(),
            template=name,
        )
    except (UnreadableFileError, UnknownNameError):
        raise
    except UnfilledSlotsError as error:
        complain(str(error))
        for slot in error.slots:
            complain(f"--slot {slot.name}=…  {slot.description}")

        return REFUSED
    except GoopError as error:
        complain(str(error))
        return REFUSED

    show_request(built, written=write, form=form)

    return 0


def show_request(built: BuiltRequest, *, written: bool, form: str) -> None:
    """Print a prompt, or only its path where it was `written`, and what was found on stderr."""
    for finding in built.verdict.findings:
        complain(f"{finding.severity}: {finding.message}")

    if form == "json":
        emit_json(built.to_dict())
    elif written:
        show(f"{built.path}\n")
    else:
        emit(built.text)


def _slots(pairs: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise WrongCallError(
                f"--slot {pair[:80]!r} has no equals sign; write --slot name=value"
            )
        if name in values:
            raise WrongCallError(f"--slot {name[:80]} is given twice; give each slot once")

        values[name] = value

    return values
