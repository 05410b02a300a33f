"""`goop-mcp gate`: check a prompt before an agent starts, or a task before it is called done."""

import os
import time

import click

from goop_mcp import services
from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, RULES, WrongCallError
from goop_mcp.cli.streams import emit_json, show, standard_input, start_log
from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError
from goop_mcp.hosts.hooks.answers import state_folder
from goop_mcp.messages.quoting import line
from goop_mcp.printing import printed_to_stderr
from goop_mcp.protocols.agent_request.compatibility import as_handoff
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.services.gate import Adoption, Containment, append_to_log, gate_file
from goop_mcp.services.stop_hooks.attempt_storage import RefusalFile
from goop_mcp.services.task_gate import judge_task
from goop_mcp.settings import read_settings
from goop_mcp.validation.rules import Rule

__all__ = ["gate"]

_MOST_REFUSALS = 2


@click.command(short_help="Check a prompt before an agent starts, or a task before it is done.")
@click.argument("file", required=False, metavar="[FILE|-]", shell_complete=file_names)
@click.option(
    "--task",
    metavar="ID",
    help="Check instead whether this task is done: its last report in this round says so.",
)
@click.option(
    "--spawn",
    metavar="NAME",
    envvar="CLAUDE_CODE_SESSION_ID",
    help=(
        "With --task: a name for this run of the agent; after two refusals of the same run the"
        " gate passes. In Claude Code the default is the id of the session."
    ),
)
@click.option(
    "--strict", is_flag=True, help="Also refuse errors of form, instead of warning about them."
)
@click.option(
    "--schema",
    metavar="PATH",
    shell_complete=file_names,
    help="A schema file that must exist, relative to the project.",
)
@click.option(
    "--adoption",
    type=click.Choice(["optional", "pilot", "expanded", "mandatory"]),
    metavar="PHASE",
    default="optional",
    help=(
        "optional (the default), pilot, expanded, or mandatory: a prompt without a request is"
        " refused."
    ),
)
@click.option(
    "--workflow", metavar="NAME", help="The kind of work; SPIKE and research never need a request."
)
@click.option(
    "--containment",
    type=click.Choice(["workspace", "session"]),
    metavar="PLACE",
    default="workspace",
    help="Where deliverables may be: workspace (the default), or session, the folder of FILE.",
)
@click.option(
    "--session-log",
    metavar="PATH",
    shell_complete=file_names,
    help="Append the outcome to this file.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Count the outcome in the project's database, for goop-mcp stats.",
)
@click.option("--fields", is_flag=True, help="Print the fields of an accepted request as JSON.")
@RULES
@PROJECT
@DATABASE
@PROJECT_ID
def gate(
    file: str | None,
    *,
    task: str | None,
    spawn: str | None,
    strict: bool,
    schema: str | None,
    adoption: Adoption,
    workflow: str | None,
    containment: Containment,
    session_log: str | None,
    record: bool,
    fields: bool,
    rules: tuple[Rule, ...],
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Check whether an agent may be started with the prompt in FILE; messages go to stderr.

    With --task ID, check whether the last report of a task in this round finishes it.

    Exit code: 0 proceed, also without a request in the prompt, and where the reports of a task
    cannot be read; 1 refused; 2 the file could not be read, or a usage error.
    """
    if (file is None) == (task is None):
        raise WrongCallError("gate takes a FILE or --task ID; expected one of them")

    if task is not None and not task.strip():
        # As from a script whose variable is not set: no task would ever be done.
        raise WrongCallError("--task is empty; expected the id of a task, such as W1.T2")
    if file is None:
        return _gate_task(
            task or "", spawn, project=project, database=database, project_id=project_id
        )

    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    start_log(settings)

    with printed_to_stderr():
        answer = gate_file(
            file,
            project=settings.project,
            schema=schema,
            adoption=adoption,
            workflow=workflow,
            mode="strict" if strict else "lenient",
            containment=containment,
            stdin=standard_input(),
            rules=rules,
        )

    if session_log is not None:
        append_to_log(session_log, answer.log)
    if record:
        with AppContext(settings) as application:
            services.judgements.count_gate(application.store, answer)

    messages = answer.messages
    if fields and not answer.proceed:
        # The specification wants one line here, for programs that read the fields (H-24).
        syntax = [line.strip() for line in answer.log if line.startswith("   Line ")]
        if syntax and any(finding.rule == "xml/malformed" for finding in answer.findings):
            messages = (f"XML syntax error: {syntax[0]}",)

    show("".join(f"{line}\n" for line in messages), to_stderr=True)
    if fields and answer.proceed and isinstance(answer.verdict.envelope, Request):
        emit_json(as_handoff(answer.verdict.envelope))
    return 0 if answer.proceed else 1


def _gate_task(
    task: str,
    spawn: str | None,
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Print one sentence about the task, and return 0 if it is done, or cannot be judged."""
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    try:
        with AppContext(settings) as application:
            answer = judge_task(application.project_context, task)

        refused = 0
        if spawn and not answer.passed:
            key = f"{settings.project}\n{spawn}\n{answer.task}"
            refusals = RefusalFile(state_folder(os.environ), now=time.time())
            refused = refusals.count(key, most=_MOST_REFUSALS)
    except (GoopError, OSError) as error:
        # A gate that cannot judge must not stop somebody else's work.
        reason = str(error) if isinstance(error, GoopError) else (error.strerror or "no reason")
        show(f"{line(task, longest=80)} was not checked, and passes: {reason}\n", to_stderr=True)
        return 0

    if answer.passed or refused < _MOST_REFUSALS:
        show(f"{answer.sentence}\n", to_stderr=True)
        return 0 if answer.passed else 1

    show(f"{answer.sentence} It was refused twice here, and passes now.\n", to_stderr=True)
    return 0
