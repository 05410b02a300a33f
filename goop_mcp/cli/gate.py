"""`goop-mcp gate`: check a prompt before an agent is started with it."""

import os

import click

from goop_mcp import services
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, RULES, judging
from goop_mcp.cli.streams import emit_json, show, standard_input, start_log
from goop_mcp.context import AppContext
from goop_mcp.protocols.agent_request.compatibility import as_handoff
from goop_mcp.protocols.agent_request.model import Request
from goop_mcp.services.gate import Adoption, Containment, append_to_log, gate_file
from goop_mcp.settings import read_settings
from goop_mcp.validation.rules import Rule

__all__ = ["gate"]


@click.command(short_help="Check whether an agent may be started with a prompt.")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--strict", is_flag=True, help="Also refuse errors of form, instead of warning about them."
)
@click.option(
    "--schema", metavar="PATH", help="A schema file that must exist, relative to the project."
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
    help="Where deliverables may lie: workspace (the default), or session, the folder of FILE.",
)
@click.option("--session-log", metavar="PATH", help="Append the outcome to this file.")
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
    file: str,
    *,
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

    Exit code: 0 proceed, also without a request in the prompt, 1 refused, 2 the file could not be
    read, or a usage error.
    """
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    start_log(settings)

    with judging():
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
