"""`goop-mcp route`: say what happens next after a reply."""

import textwrap

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import (
    DATABASE,
    PROJECT,
    PROJECT_ID,
    PROTOCOL,
    REPORT,
    RULES,
    WORKSPACE_BY_PROJECT,
    file_or_report,
    name_unverified,
    name_weakened,
    opened_workspace,
    project_folder,
    text_of_report,
)
from goop_mcp.cli.rendering.terminal_page import render_terminal_page
from goop_mcp.cli.streams import emit_json, show, standard_input, terminal_width
from goop_mcp.messages.quoting import field, paragraph, quoted
from goop_mcp.printing import printed_to_stderr
from goop_mcp.routing import Decision, RoutingContext
from goop_mcp.services.route_reply import parse_context, route_reply
from goop_mcp.services.shareable_verdicts import shareable_decision
from goop_mcp.services.stop_hooks.judging import why_unverified
from goop_mcp.services.stop_hooks.policy import read_policy
from goop_mcp.services.stop_hooks.profile import is_project
from goop_mcp.services.unverified import NOT_ASKED
from goop_mcp.services.user_files import read_reply, read_short_text
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from goop_mcp.workspace.layout import FOLDER

__all__ = ["route"]

_WIDEST = 100


@click.command(short_help="Decide what happens next after a reply.")
@click.argument("file", required=False, metavar="[FILE|-]", shell_complete=file_names)
@REPORT
@click.option(
    "--context",
    "context_file",
    metavar="FILE",
    shell_complete=file_names,
    help="The routing context, a JSON object; see docs/routing.md.",
)
@PROTOCOL
@click.option("--strict", is_flag=True, help="Validate the reply in strict mode.")
@RULES
@WORKSPACE_BY_PROJECT
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
def route(
    file: str | None,
    report: int | None,
    context_file: str | None,
    protocol: str,
    *,
    strict: bool,
    rules: tuple[Rule, ...],
    workspace: bool | None,
    project: str | None,
    database: str | None,
    project_id: str | None,
    form: str,
) -> int:
    """Validate a reply and print the decision: who continues, with what, and why.

    The reply is the text of FILE, or of a recorded report.

    Exit code: 0 decided, 1 the reply is rejected, 2 a file could not be read, or a usage error.
    """
    context = (
        RoutingContext()
        if context_file is None
        else parse_context(read_short_text(context_file), context_file)
    )
    file = file_or_report(file, report)
    text = (
        read_reply(file, stdin=standard_input())
        if report is None
        else text_of_report(
            report, project=project, database=database, project_id=project_id, must_count=True
        )
    )
    mode: Mode = "strict" if strict else "lenient"
    home = project_folder(project)
    name_weakened(home)
    # Where a decision is taken the claims count, and every repository can verify them (D-106).
    in_project = home.joinpath(FOLDER).is_dir()
    policy = read_policy(str(home))[0]
    why_not = why_unverified(policy, in_project=is_project(str(home))) if workspace is None else ""
    verifies = not why_not if workspace is None else workspace
    opened = opened_workspace(
        project, database=database, project_id=project_id, wanted=in_project or verifies
    )

    with opened as application, printed_to_stderr():
        decision = route_reply(
            text,
            context,
            protocol=protocol,
            mode=mode,
            home=home,
            project=application.settings.project if application and verifies else None,
            store=application.store if application else None,
            counters=application.project_context if application and in_project else None,
            rules=rules,
            why_not=why_not or NOT_ASKED,
        )
    # The decision quotes the reply, and goes to logs and to other agents.
    decision = shareable_decision(decision, text)
    if form == "json":
        emit_json(decision.to_dict())
    else:
        show(_for_people(decision, terminal_width()))
        name_unverified([decision.verdict])

    return 0 if decision.verdict.accepted else 1


def _for_people(decision: Decision, width: int | None) -> str:
    """Return our fields first, then the message, then what agents wrote, quoted."""
    # Programs read the names of actions in a pipe, people their words.
    actions = [each if width is None else each.replace("_", " ") for each in decision.actions]
    lines = [field("actions", *actions)]
    lines += [
        field(name, value)
        for name in ("next_agent", "next_command")
        if (value := getattr(decision, name))
    ]
    lines += [_on_terminal(paragraph(decision.reason), width), ""]
    message = decision.message.rstrip()
    if width is not None:
        # Indented, so that a wrapped line of an agent's text cannot look like one of ours.
        page = render_terminal_page(message, width=max(width - 2, 1), colour=False).rstrip()
        message = textwrap.indent(page, "  ")
    lines += [message]
    if decision.instruction:
        lines += ["", *quoted("instruction", decision.instruction)]
    return "\n".join(lines) + "\n"


def _on_terminal(text: str, width: int | None) -> str:
    """Return a line wrapped to `width` cells.

    Continuation lines are indented, so that text of an agent cannot look like a line of ours.
    """
    if width is None or not text.strip():
        return text
    return "\n".join(
        textwrap.wrap(text, min(width, _WIDEST), subsequent_indent="    ", break_on_hyphens=False)
    )
