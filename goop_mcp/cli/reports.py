"""`goop-mcp reports`: read recorded reports again, withdraw, build or record one."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps

import click
from click.shell_completion import CompletionItem

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import (
    COLOUR,
    DATABASE,
    PROJECT,
    PROJECT_ID,
    PROTOCOL,
    TENANT,
    name_weakened,
    opened_application,
    project_folder,
    read_fields,
)
from goop_mcp.cli.pages import show_page
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.streams import complain, emit, emit_json, person_at_terminal, standard_input
from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError, UnreadableFileError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.messages.quoting import inert, line, paragraph
from goop_mcp.routing import RoutingContext
from goop_mcp.services.build_report import PROTOCOLS, build_report
from goop_mcp.services.hand_over import parse_fields
from goop_mcp.services.record_report import record_report
from goop_mcp.services.recorded_reports import (
    LISTED,
    MOST_LISTED,
    ReportNotFoundError,
    list_reports,
    show_report,
    withdraw_report,
)
from goop_mcp.services.report_pages import report_list_page, report_page
from goop_mcp.services.user_files import read_reply
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.tiers import tiers_in_words

__all__ = ["reports"]

NOT_DONE = 1


def _known_numbers(
    context: click.Context, _argument: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Return the newest numbers that begin with `begun`, for the shell; none where it fails."""
    # What was typed so far has not been checked: a project that cannot be opened has no numbers.
    with suppress(GoopError):
        options = {name: context.params.get(name) for name in ("database", "project_id")}
        with opened_application(context.params.get("project"), **options) as application:
            found = list_reports(application.store, limit=MOST_LISTED).reports

        return [
            CompletionItem(str(each.report), help=f"{each.agent or ''} {each.task or ''}".strip())
            for each in found
            if str(each.report).startswith(begun)
        ]

    return []


_NUMBER = click.argument("number", type=int, metavar="N", shell_complete=_known_numbers)


class _Reports(Subcommands):
    noun = "reports command"


@click.group(
    cls=_Reports, no_args_is_help=False, short_help="Read recorded reports, record or build one."
)
def reports() -> None:
    """List and show recorded reports, withdraw one, record the report in a reply, or build one.

    Exit code: 0 done, or nothing to do; 1 not done: there is no such report, its round is closed,
    or the report is not accepted; 2 a usage error, or the database cannot be used.
    """


def _with_application(
    command: Callable[..., tuple[dict[str, object], str, int]],
) -> Callable[..., int]:
    """Show what `command` returns: JSON values, or Markdown for people; and an exit code."""

    @wraps(command)
    def run(
        *,
        project: str | None,
        database: str | None,
        project_id: str | None,
        form: str,
        colour: str,
        **values: object,
    ) -> int:
        with opened_application(project, database=database, project_id=project_id) as application:
            try:
                found, page, code = command(application=application, **values)
            except ReportNotFoundError as error:
                complain(str(error))
                return NOT_DONE

        if form == "json":
            emit_json(found)
        else:
            show_page(page, colour=colour)

        return code

    run = COLOUR(run)
    run = click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
    )(run)
    for option in (TENANT, PROJECT_ID, DATABASE, PROJECT):
        run = option(run)

    return run


@reports.command("list", short_help="List reports, newest first.")
@click.option("--round", "round", type=int, metavar="N", help="Another round than this one.")
@click.option(
    "--limit",
    type=int,
    default=LISTED,
    show_default=True,
    metavar="NUMBER",
    help=f"How many at most, 1 to {MOST_LISTED}.",
)
@click.option("--before", type=int, metavar="N", help="Only those recorded before the report N.")
@_with_application
def list_command(
    *, application: AppContext, round: int | None, limit: int, before: int | None
) -> tuple[dict[str, object], str, int]:
    """List the reports of this round, newest first; those that do not count are marked."""
    found = list_reports(application.store, round=round, before=before, limit=limit)
    return found.to_dict(), report_list_page(found), 0


@reports.command(short_help="Show a report.")
@_NUMBER
@_with_application
def show(*, application: AppContext, number: int) -> tuple[dict[str, object], str, int]:
    """Show the report N: envelope, verdict, decision, and the documents with its entries."""
    shown = show_report(application.store, number)
    return shown.to_dict(), report_page(shown), 0


@reports.command(short_help="Build a report from its fields.")
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PROTOCOLS[0],
    show_default=True,
    help="The protocol of the envelope.",
)
@click.option(
    "--json",
    "source",
    metavar="FILE|-",
    shell_complete=file_names,
    help="The fields as one JSON object; the default is a pipe on stdin.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@PROJECT
def build(*, protocol: str, source: str | None, form: str, project: str | None) -> int:
    """Build an envelope from its fields, validate it, and print it.

    The fields are one JSON object. Those of a goop_report are status, agent, phase, summary and
    next_action, and as needed task_id, task_name, wave and task (such as 2/3), files (objects with
    path, action, description), commits (sha, message), memories (type, importance, title), checks
    (name, passed, evidence), blockers, next_agent, next_command, files_to_read, ready,
    suggest_new_session, spec_locked and interview_complete. Those of an agent_request are the ones
    of `goop-mcp handoff agent-request`; speckit and factory have the fields of their JSON.
    What a speckit agent is given is built from workflow_context, feedback_context, user_request.

    Exit code: 0 built, 1 the fields make no accepted envelope, 2 the fields could not be read, or a
    usage error.
    """
    text, name = read_fields(source)
    try:
        fields = parse_fields(text, name)
        built = build_report(
            fields, protocol=protocol, project=project_folder(project), now=written(utc_now())
        )
    except UnreadableFileError:
        raise
    except GoopError as error:
        complain(str(error))
        return NOT_DONE

    for note in built.notes:
        complain(f"info: {note}")
    for finding in built.verdict.findings:
        complain(f"{finding.severity}: {finding.message}")

    if form == "json":
        emit_json(built.to_dict())
    else:
        emit(built.text)

    return 0


@reports.command("record", short_help="Record the report in a reply.")
@click.argument("file", metavar="FILE|-", shell_complete=file_names)
@PROTOCOL
@_with_application
def record_command(
    *, application: AppContext, file: str, protocol: str
) -> tuple[dict[str, object], str, int]:
    """Validate the reply in FILE, verify its claims in the project, and record its report.

    A report that is not accepted is not recorded; what is wrong is printed.
    """
    name_weakened(application.settings.project)
    recorded = record_report(
        read_reply(file, stdin=standard_input()),
        RoutingContext(),
        application.writing_context(),
        protocol=protocol,
        rules=application.rules,
        now=written(utc_now()),
    )
    number = recorded.written.report
    page = {
        "recorded": f"Recorded as report {number}.",
        "duplicate": f"Already recorded as report {number}.",
        "no_report": "The reply holds no report; nothing was recorded.",
        "rejected": f"Not recorded. {recorded.verdict.feedback}",
    }[recorded.status]
    done = recorded.status in {"recorded", "duplicate"}
    remarks = [*recorded.remarks]
    if done:
        decision, findings = recorded.decision, (*recorded.verdict.findings, *recorded.findings)
        page += f"\n\nDecision: {', '.join(decision.actions)}. {paragraph(decision.reason)}"
        if recorded.waits is not None:
            page += f"\n\nAnswer: {recorded.waits.command}"
        unverified = recorded.verdict.unverified
        page += (
            f"\n\nClaims: {unverified.sentence if unverified else tiers_in_words(recorded.claims)}."
        )
        # The words of the reply are in them: a warning must not look like a part of the page.
        remarks += [
            f"warning: {inert(line(each.message))} ({each.rule})"
            for each in findings
            if each.severity is Severity.WARNING
        ]
    parts = [page, *(["\n".join(f"- {remark}" for remark in remarks)] if remarks else [])]

    return recorded.to_dict(), "\n\n".join(parts) + "\n", 0 if done else NOT_DONE


@reports.command(short_help="Withdraw a report of this round.")
@_NUMBER
@click.option(
    "--reason",
    required=True,
    metavar="TEXT",
    help="Why it does not count; it is logged in CHRONICLE.md and ADL.md.",
)
@_with_application
def withdraw(
    *, application: AppContext, number: int, reason: str
) -> tuple[dict[str, object], str, int]:
    """Withdraw the report N: it is kept and marked, and no longer counts for tasks and gates."""
    done = withdraw_report(
        application.writing_context(),
        number,
        reason=reason,
        by=person_at_terminal(),
        now=written(utc_now()),
    )
    lines = [done.message.rstrip()]
    if done.remarks:
        lines.append("\n".join(f"- {remark}" for remark in done.remarks))

    return done.to_dict(), "\n\n".join(lines) + "\n", NOT_DONE * (done.status == "refused")
