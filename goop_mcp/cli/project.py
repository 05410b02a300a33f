"""`goop-mcp project`: take a project from its first document through its rounds."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import click

from goop_mcp import services
from goop_mcp.cli.deciding import confirmed, decide_in_run
from goop_mcp.cli.init import init
from goop_mcp.cli.options import (
    COLOUR,
    DATABASE,
    PROJECT,
    PROJECT_ID,
    WrongCallError,
    opened_application,
)
from goop_mcp.cli.pages import show_page, with_commands_of_the_terminal
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.status import WAITING, status
from goop_mcp.cli.streams import at_terminal, complain, emit_json, person_at_terminal, show
from goop_mcp.context import AppContext
from goop_mcp.errors import GoopError, StoreError, UnknownNameError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.services.held_settings import HeldSettings
from goop_mcp.services.project_steps import ProjectStep, StepArgumentError, StepResult
from goop_mcp.settings import SettingsError
from goop_mcp.workflow.phases import PHASES

__all__ = ["project"]

REFUSED = 1
_CODES = {"done": 0, "unchanged": 0, "refused": REFUSED, "waiting": WAITING}
_PHASES = tuple(dict.fromkeys(phase for phases in PHASES.values() for phase in phases))

_REASON = click.option(
    "--reason", metavar="TEXT", help="Why; it is logged in ADL.md and shown to the person."
)
_COMMENT = click.option("--comment", metavar="TEXT", help="What to add to the answer.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunDecision:
    """The answer to a gate of a run, or about a task of it that waits."""

    run: str
    task: str
    choice: str | None
    comment: str | None


class _Project(Subcommands):
    noun = "project command"


@click.group(
    cls=_Project, no_args_is_help=False, short_help="Take a project through its phases and rounds."
)
def project() -> None:
    """Take a project through its phases and rounds, or print where it is.

    Steps that need a person ask on the terminal. Without one they are refused, and stay listed in
    goop-mcp status until somebody runs them on a terminal or answers them at an MCP client.

    Exit code: 0 done, or nothing to do; 1 refused, or not possible; 2 a usage error, or the
    database cannot be used; 3 a person is needed.
    """


def _step(command: Callable[..., ProjectStep | _RunDecision]) -> Callable[..., int]:
    """Take the step that `command` returns, with the options of every step."""

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
        step = command(**values)
        with opened_application(project, database=database, project_id=project_id) as application:
            # An agent may run it, and a decision that nobody confirms is for a person to allow.
            held = HeldSettings(str(application.settings.project), base=lambda: "HEAD")
            application.hold_settings(held)
            try:
                asks = form == "text" and at_terminal()
                result = (
                    _decided(application, step, asks=asks)
                    if isinstance(step, _RunDecision)
                    else _taken(application.writing_context(), step, asks=asks)
                )
            except (SettingsError, StoreError, StepArgumentError, UnknownNameError):
                raise
            except GoopError as error:
                complain(str(error))
                return REFUSED

            is_open = result.status == "waiting" and result.action == "decide"
            if is_open and (line := held.message()) is not None:
                complain(line)

        if form == "json":
            emit_json(result.to_dict())
        else:
            # The message of the step, then remarks and the way back.
            lines = [f"- {finding.message}" for finding in result.findings]
            lines += [f"- {remark}" for remark in result.remarks]
            if result.undo and result.status == "done":
                lines.append(f"- To take it back: {result.undo}")

            parts = [result.message.rstrip(), *(["\n".join(lines)] if lines else [])]
            page = with_commands_of_the_terminal("\n\n".join(parts) + "\n", phase=result.phase)
            show_page(page, colour=colour)

        return _CODES[result.status]

    run = COLOUR(run)
    run = click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
    )(run)
    for option in (PROJECT_ID, DATABASE, PROJECT):
        run = option(run)

    return run


def _taken(
    project_context: "services.project_context.ProjectContext", step: ProjectStep, *, asks: bool
) -> StepResult:
    """Return the result of `step`, after a person at the terminal has answered its question."""
    by = person_at_terminal()
    steps = services.project_steps

    result = steps.take_step(project_context, step, by=by, can_ask=asks, now=written(utc_now()))
    if result.status != "waiting" or result.confirmation is None or result.choices is None:
        return result
    if not asks:
        return result

    show("".join(f"{line}\n" for line in result.question))
    answer = confirmed(result.choices[0])
    if answer is None:
        return result

    return steps.answer_confirmation(
        project_context, result.confirmation.id, accept=answer, via=by, now=written(utc_now())
    )


def _decided(application: AppContext, decision: _RunDecision, *, asks: bool) -> StepResult:
    """Return what became of `decision`, after a person at the terminal has confirmed it."""
    run, task, choice = decision.run, decision.task, decision.choice
    waits = services.runs.waiting_step(application.store, run, task)
    if choice is None or choice not in waits.answers:
        raise StepArgumentError(waits.refusal(choice))

    words = ("project", "decide", "--run", run, "--task", task, "--choice", choice)
    again = f"goop-mcp {shlex.join(words)}"
    note = decision.comment or ""
    return decide_in_run(application, waits, choice, note=note, asks=asks, again=again)


project.add_command(init)
project.add_command(status)


@project.command(short_help="Go to another phase.")
@click.argument("phase", type=click.Choice(_PHASES), metavar="PHASE")
@click.option("--force", is_flag=True, help="Go there although the workflow does not allow it.")
@_REASON
@_step
def phase(*, phase: str, force: bool, reason: str | None) -> ProjectStep:
    """Go to PHASE if its gate is passed: idle, discuss, plan, research, specify, execute, accept.

    With --force, a person confirms a move that the workflow does not have; it needs --reason.
    """
    return ProjectStep(action="start_phase", phase=phase, force=force, reason=reason)


@project.command("skip-gate", short_help="Skip a gate in this round.")
@click.argument("gate", type=click.Choice(["discovery", "execution"]), metavar="GATE")
@_REASON
@_step
def skip_gate(*, gate: str, reason: str | None) -> ProjectStep:
    """Skip GATE in this round, after a person has confirmed it.

    GATE is discovery or execution.
    """
    return ProjectStep(action="skip_gate", gate=gate, reason=reason)


@project.command(short_help="Complete the interview.")
@_step
def interview() -> ProjectStep:
    """Complete the interview if REQUIREMENTS.md has what a plan needs, or list what is missing."""
    return ProjectStep(action="complete_interview")


@project.command(short_help="Lock the specification.")
@_step
def lock() -> ProjectStep:
    """Lock SPEC.md as it is, after a person has confirmed it.

    Every must-have has to be traced to a task of the plan.
    """
    return ProjectStep(action="lock_spec")


@project.command(short_help="Unlock the specification.")
@_step
def unlock() -> ProjectStep:
    """Unlock SPEC.md for changes, after a person has confirmed it."""
    return ProjectStep(action="unlock_spec")


@project.command(short_help="Lock a changed specification instead of the former one.")
@_REASON
@_step
def amend(*, reason: str | None) -> ProjectStep:
    """Lock the changed SPEC.md instead of the former text, after a person has confirmed it.

    The reason may be left out where somebody has asked for the amendment before.
    """
    return ProjectStep(action="amend_spec", reason=reason)


@project.command(short_help="Answer a blocker, or a gate of a run.")
@click.option("--task", metavar="ID", help="The blocked task; with --run its gate or task.")
@click.option("--blocker", metavar="TEXT", help="A part of its text, instead of the task.")
@click.option("--run", metavar="RUN", help="A run of `delegate`, whose gate or task waits.")
@click.option(
    "--choice", metavar="TEXT", help='An option\'s letter, "none of these", or an answer.'
)
@_COMMENT
@_step
def decide(
    *,
    task: str | None,
    blocker: str | None,
    run: str | None,
    choice: str | None,
    comment: str | None,
) -> ProjectStep | _RunDecision:
    """Answer what a blocker asks. Its task is then to be done with this decision.

    Where the blocker lists options, --choice is one of them, or "none of these" with any --comment.
    A decision that was made is replaced by a later one of a person; both stay in ADL.md.

    With --run, answer the gate --task of a run of `goop-mcp delegate`, or decide about a task that
    waits: `retry` (the agent is asked again, with the comment), `accept` (its work is taken as it
    is) or `fail`. `goop-mcp runs show RUN` shows what waits.
    """
    if run is not None:
        if task is None or blocker is not None:
            raise WrongCallError(
                "--run needs --task, its gate or task that waits, and no --blocker;"
                f" `goop-mcp runs show {run}` shows what waits"
            )
        return _RunDecision(run=run, task=task, choice=choice, comment=comment)

    return ProjectStep(action="decide", task=task, blocker=blocker, choice=choice, comment=comment)


@project.command(short_help="Save the position.")
@click.option("--note", metavar="TEXT", help="A note for whoever resumes.")
@_step
def checkpoint(*, note: str | None) -> ProjectStep:
    """Save the position of the project, to resume from it in another session."""
    return ProjectStep(action="checkpoint", note=note)


@project.command(short_help="Resume from a saved position.")
@click.argument("id", required=False, metavar="[ID]")
@_step
def resume(*, id: str | None) -> ProjectStep:
    """Resume from the checkpoint ID, by default the newest. Nothing is moved back."""
    return ProjectStep(action="resume", id=id)


@project.command(short_help="Confirm that the work may be merged.")
@_step
def merge() -> ProjectStep:
    """Confirm that the work of the round may be merged, after a person has confirmed it."""
    return ProjectStep(action="confirm_merge")


@project.command(short_help="Accept or reject the work of the round.")
@click.option(
    "--outcome",
    type=click.Choice(["accept", "accept_with_issues", "reject"]),
    default="accept",
    show_default=True,
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="ID",
    help="With reject: a task to do again; may be given several times.",
)
@_COMMENT
@_step
def accept(*, outcome: str, tasks: tuple[str, ...], comment: str | None) -> ProjectStep:
    """Accept the verified work and close the round, or send it back, once a person confirmed it."""
    return ProjectStep(action="accept", outcome=outcome, tasks=tasks, comment=comment)


@project.command("round", short_help="Open the next round.")
@click.option("--name", metavar="NAME", help="Name of the round.")
@click.option("--reopen", is_flag=True, help="Take the last acceptance back instead.")
@_step
def round_command(*, name: str | None, reopen: bool) -> ProjectStep:
    """Open the next round, after the last one was accepted.

    With --reopen, a person confirms that the last acceptance is taken back, which is possible
    while no later round has a report.
    """
    return (
        ProjectStep(action="reopen_round")
        if reopen
        else ProjectStep(action="start_round", name=name)
    )
