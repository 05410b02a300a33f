"""A person at the terminal answers: only an explicit answer counts, and only on a terminal."""

import sys

from goop_mcp import services
from goop_mcp.cli.streams import complain, person_at_terminal, show
from goop_mcp.context import AppContext
from goop_mcp.memory.times import utc_now, written
from goop_mcp.services.project_steps import StepResult
from goop_mcp.services.runs import WaitingStep
from goop_mcp.store.records import REPORTED_BY
from goop_mcp.workspace.layout import FOLDER

__all__ = ["confirmed", "decide_in_run"]

_ATTEMPTS = 3


def confirmed(choice: str) -> bool | None:
    """Ask whether to do what `choice` names; None if the input ends or makes no sense."""
    for _ in range(_ATTEMPTS):
        show(f"{choice[:1].upper()}{choice[1:]}? [y/N] ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return None

        match line.strip().lower():
            case "y" | "yes":
                return True
            case "" | "n" | "no":
                return False
            case _:
                complain("answer y or n")

    return None


def decide_in_run(
    application: AppContext, waits: WaitingStep, choice: str, *, note: str, asks: bool, again: str
) -> StepResult:
    """Return what became of a decision about a step of a run that waits for a person.

    With `asks` the person at the terminal confirms it. Where nobody can be asked it stays open, and
    `again` is the command for a person; a project may let it be recorded as reported instead.
    Raises RunError.
    """
    run, task, by = waits.run, waits.task, person_at_terminal()
    if asks:
        # Indented, as an agent may have written it: no line of it looks like a question of ours.
        lines = [*waits.question.splitlines(), *([f"Note: {note}"] if note else [])]
        show(f"Run {run}, {task}:\n" + "".join(f"  {line}\n" for line in lines))
        answer = confirmed(f"decide {choice}")
        if answer is False:
            return StepResult(status="refused", action="decide", message=f"{task}: not decided.")
        is_open = answer is None
    else:
        is_open = not services.project_steps.agents_may_decide(application.project_context)
        by = f"{REPORTED_BY}{by}"
    if is_open:
        return StepResult(
            status="waiting",
            action="decide",
            message=f'Waiting for a person: run "{again}" in a terminal, or open "goop-mcp ui".',
            command=again,
        )

    state = services.runs.decide(
        application.store, run, task, choice, seen=waits.seen, by=by, note=note
    )
    goes = services.runs.who_reads(application.store, run, task, choice, note=note)
    remarks = [*filter(None, [goes]), f"The run is {state.replace('_', ' ')}."]
    if not application.settings.writes_files or application.files.exists(FOLDER):
        recorded = services.runs.record_by_hand(
            application.writing_context(),
            run,
            task,
            rules=application.rules,
            now=written(utc_now()),
        )
        remarks += [remark for _, remark in recorded]
    if state == "running":
        remarks.append(f"To continue, if nobody runs it: goop-mcp runs resume {run}")

    return StepResult(
        status="done", action="decide", message=f"{task}: {choice}.", remarks=tuple(remarks)
    )
