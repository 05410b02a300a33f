"""`goop-mcp handoff`: build what one agent hands to another, or a session to the next."""

import os
from datetime import UTC, datetime, timedelta

import click

from goop_mcp import redaction
from goop_mcp.cli.completion import file_names, folder_names
from goop_mcp.cli.options import (
    DATABASE,
    PROJECT,
    PROJECT_ID,
    WrongCallError,
    opened_application,
    read_fields,
)
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.streams import (
    complain,
    emit,
    emit_json,
    show,
    standard_input,
    terminal_width,
)
from goop_mcp.cli.template import REFUSED, show_request
from goop_mcp.errors import GoopError, PathRefusedError, StoreError, UnreadableFileError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.services.draft_request import draft_request
from goop_mcp.services.gate import Adoption
from goop_mcp.services.hand_over import hand_over_request, parse_fields
from goop_mcp.services.session_handoff import build_session_handoff, session_fields
from goop_mcp.services.session_results import gather_results, session_adoption
from goop_mcp.services.user_files import read_short_text
from goop_mcp.settings import SettingsError, read_settings
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.session_archive import archive_session, finished_sessions

__all__ = ["handoff"]


class _Kinds(Subcommands):
    noun = "kind of handoff"


@click.group(cls=_Kinds, no_args_is_help=False, short_help="Build what one agent hands to another.")
def handoff() -> None:
    """Build what one agent hands to another, or a session to the next."""


@handoff.command("agent-request", short_help="A prompt with an agent_request in it.")
@click.option(
    "--json",
    "source",
    metavar="FILE|-",
    shell_complete=file_names,
    help="The fields as one JSON object; the default is a pipe on stdin.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Create the folder of the session in the project and print only the prompt's path.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option(
    "--project",
    metavar="DIR",
    shell_complete=folder_names,
    help="Project folder for --write; the default is the current folder.",
)
def agent_request(source: str | None, *, write: bool, form: str, project: str | None) -> int:
    """Build the prompt for a task from its fields, validate it in strict mode, and print it.

    The fields are one JSON object. Required are original_intent, current_task_summary, task_details
    and deliverables, a list of objects with kind (file, decision or report), path, required and
    text. Optional are mode, workflow, constraints, backlog_notes, session_id, parent_agent,
    target_agent, priority, estimated_duration, timeout, max_retries, notify_on_completion,
    depends_on, title, context and xsd_compat. `goop-mcp template fill` needs fewer of them, and
    `goop-mcp handoff draft` finds them in a description.

    Exit code: 0 built, 1 the fields make no valid prompt, or it cannot be written, 2 the fields
    could not be read, or a usage error.
    """
    settings = read_settings(os.environ, project=project)
    text, name = read_fields(source)

    try:
        fields = parse_fields(text, name)
        built = hand_over_request(
            fields,
            project=settings.project,
            write=write,
            now=datetime.now().astimezone(),
        )
    except UnreadableFileError:
        raise
    except GoopError as error:
        complain(str(error))
        return REFUSED

    show_request(built, written=write, form=form)
    return 0


@handoff.command("draft", short_help="A draft from a description in prose.")
@click.argument("description", metavar="FILE|-", shell_complete=file_names)
@click.option(
    "--json",
    "source",
    metavar="FILE",
    shell_complete=file_names,
    help="Answers: fields as one JSON object, which count instead of the description.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Create the folder of the session and print only the prompt's path, if nothing is asked.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@PROJECT
def draft(
    description: str, *, source: str | None, write: bool, form: str, project: str | None
) -> int:
    """Draft the prompt for a task from its description in prose, and ask for what is missing.

    Only what the description proves becomes a field: values under labels and headings such as Goal,
    Task, Steps, Constraints, Deliverables or Priority, paths, task ids, prohibitions. Questions are
    printed on standard error; the draft has a slot at each gap and is not valid before all are
    answered. The answers are fields of `goop-mcp handoff agent-request`.

    Exit code: 0 nothing is missing, 1 something is missing, or the draft cannot be written, 2 a
    file could not be read, or a usage error.
    """
    settings = read_settings(os.environ, project=project)
    text = read_short_text(description, stdin=standard_input()).removeprefix("\ufeff")
    try:
        given = {} if source is None else parse_fields(*read_fields(source))
        drafted = draft_request(text, given)
        if drafted.is_complete:
            built = hand_over_request(
                drafted.fields,
                project=settings.project,
                write=write,
                now=datetime.now().astimezone(),
            )
            if form == "text":
                show_request(built, written=write, form=form)
    except UnreadableFileError:
        raise
    except GoopError as error:
        complain(str(error))
        return REFUSED

    if form == "json":
        emit_json(drafted.to_dict())
    elif not drafted.is_complete:
        emit(drafted.text)

    for gap in drafted.gaps:
        complain(f"{'missing' if gap.required else 'may be missing'}: {gap.field}: {gap.question}")

    return REFUSED * (not drafted.is_complete)


@handoff.command("session", short_help="HANDOFF.md for the next session.")
@click.option(
    "--json",
    "source",
    metavar="FILE|-",
    shell_complete=file_names,
    help="The fields as one JSON object; the rest comes from the records.",
)
@click.option(
    "--write", is_flag=True, help="Record the handoff, write HANDOFF.md and print only its path."
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@PROJECT
@DATABASE
@PROJECT_ID
def session(
    source: str | None,
    *,
    write: bool,
    form: str,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Build the handoff for the next session and print it.

    The fields are one JSON object, all optional: summary, next_action, next_agent, next_command,
    and the lists files_to_read, blockers and warnings. What is left out is taken from the reports,
    the plan and the memory since a session last resumed from a handoff. A HANDOFF.md that goop-mcp
    did not write is kept; the new one is then written next to it.

    Exit code: 0 built, 1 the fields make no valid handoff, or it cannot be written, 2 the fields
    could not be read, the database cannot be used, or a usage error.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        try:
            fields = {} if source is None else parse_fields(*read_fields(source))
            project_context = (
                application.writing_context() if write else application.project_context
            )
            now = written(utc_now())
            built = build_session_handoff(
                session_fields(fields), project_context, write=write, now=now
            )
        except (UnreadableFileError, SettingsError, StoreError):
            raise
        except GoopError as error:
            complain(str(error))
            return REFUSED

    for remark in built.remarks:
        complain(remark)

    if form == "json":
        emit_json(built.to_dict())
    elif built.revision is None:
        if terminal_width() is None:
            emit(built.text)
        else:
            show_page(built.text, colour="auto")
    else:
        # Without a folder of the project there is no path, only a resource of the server.
        shown = built.path or f"recorded at revision {built.revision}, shown at {built.resource}"
        show(f"{shown}\n")

    return 0


@handoff.command("results", short_help="Gather and check the results of sessions.")
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option(
    "--named-in",
    "source",
    metavar="FILE|-",
    shell_complete=file_names,
    help="Also print the sessions that this text names, such as the report of an orchestrator.",
)
@PROJECT
def results(sessions: tuple[str, ...], *, source: str | None, project: str | None) -> int:
    """Print the results of sessions as one JSON list, each checked against its schema.

    Without a SESSION, print those of all sessions below docs/.scratch/sessions, at most the newest
    1,000. `goop-mcp schema result` prints the schema of result.json.

    Exit code: 0 all results have the form of the schema, also when there is no session; 1 one is
    missing or has not; 2 a usage error.
    """
    files = ProjectFiles(read_settings(os.environ, project=project).project)
    text = read_fields(source)[0] if source is not None else ""

    try:
        found = gather_results(files, sessions, text=text)
    except PathRefusedError as error:
        raise WrongCallError(str(error)) from error

    emit_json(redaction.shareable([each.to_dict() for each in found]))
    for each in found:
        for defect in each.errors:
            complain(f"{each.id}: {defect}")

    return int(any(each.errors for each in found))


@handoff.command("adoption", short_help="Count the sessions with a request in their prompt.")
@click.option(
    "--phase",
    type=click.Choice(["optional", "pilot", "expanded", "mandatory"]),
    default="optional",
    show_default=True,
    help="The phase whose goal counts: over 50 %, over 80 %, all.",
)
@PROJECT
def adoption(*, phase: Adoption, project: str | None) -> int:
    """Print how many sessions below docs/.scratch/sessions got an agent_request in their prompt.

    Exit code: 0 the goal of the phase is reached, 1 it is not, 2 a usage error.
    """
    files = ProjectFiles(read_settings(os.environ, project=project).project)
    found = session_adoption(files, phase=phase)
    show(f"{found.line}\n")
    goal = "reached" if found.reached else "not reached"
    show(f"The goal of the phase {phase} is {goal}; {found.blocked} prompts would be refused.\n")
    if found.too_many_blocked:
        complain("over 10 % would be refused; stay in the phase optional")

    return int(not found.reached)


@handoff.command("archive", short_help="Pack the folders of finished sessions.")
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="Only sessions that began more than DAYS days ago.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be packed and change nothing.")
@PROJECT
def archive(
    sessions: tuple[str, ...], *, days: int | None, dry_run: bool, project: str | None
) -> int:
    """Pack the folder of each finished session below docs/.scratch/sessions into one file.

    Without a SESSION, pack all that are finished according to their state.json. A folder is removed
    only after its archive was written and read back.

    Exit code: 0, also when there is nothing to pack; 1 a session cannot be packed, the others are;
    2 a usage error.
    """
    files = ProjectFiles(read_settings(os.environ, project=project).project)
    before = None if days is None else datetime.now(UTC) - timedelta(days=days)
    failed = False
    wanted = sessions or finished_sessions(files, before=before)
    if not wanted:
        complain("there is no finished session to pack")

    for id in wanted:
        try:
            done = archive_session(files, id, dry_run=dry_run)
        except GoopError as error:
            complain(str(error))
            failed = True
            continue

        verb = "would pack" if dry_run else "packed"
        show(
            f"{verb} {done.id}: {done.files} files, {done.bytes:,} bytes, into {done.path},"
            f" {done.packed_bytes:,} bytes\n"
        )
        for path in done.kept:
            complain(
                f"{path} changed meanwhile and was kept; it may differ from what is in the archive"
            )

    return int(failed)
