"""Why a step is not done: a closed gate, a folder that is elsewhere, must-haves without a task."""

from dataclasses import replace

from goop_mcp.messages.rendering import gate_blocked, warning
from goop_mcp.services.project_steps.model import NotDone, Stage
from goop_mcp.workflow.gates import GateResult
from goop_mcp.workspace.consistency import repeated_in
from goop_mcp.workspace.documents.spec import measure_coverage
from goop_mcp.workspace.layout import BLUEPRINT

__all__ = ["closed_gate", "plan_without_tasks", "repeated", "untraced", "without_folder"]

_READABLE_PLAN = (
    f'tasks in {BLUEPRINT} that can be read, such as "### Task 1.1: Name" below "## Wave 1: Name"'
)


def closed_gate(
    gate: GateResult, *, reason: str | None = None, also: tuple[str, ...] = ()
) -> NotDone:
    """Return that a gate is closed; `reason` replaces its sentence, `also` is missing as well."""
    return NotDone(
        message=gate_blocked(
            reason or gate.sentence or "", command=gate.command, details=(*gate.missing, *also)
        ),
        missing=(*gate.missing, *also),
        command=gate.command,
    )


def plan_without_tasks(stage: Stage, gate: GateResult) -> GateResult:
    """Return `gate`, which says of a plan that exists that it has no tasks, not that it is missing.

    A plan that a closed round left counts as missing.
    """
    project, on_disk = stage.snapshot.project, stage.snapshot.sources_on_disk
    unreadable = BLUEPRINT in project.paths and BLUEPRINT not in on_disk
    if BLUEPRINT not in project.sources and not unreadable:
        return gate

    missing = tuple(_READABLE_PLAN if each == BLUEPRINT else each for each in gate.missing)
    return replace(gate, missing=missing)


def without_folder(stage: Stage, command: str) -> NotDone | None:
    """Return why a step that reads people's documents is not possible on this machine."""
    if stage.has_folder:
        return None

    run = f"goop-mcp project {command} --database …"
    return NotDone(
        message=warning(f"this server has no project folder: run `{run}` in a checkout"),
        command=run,
    )


def repeated(stage: Stage) -> tuple[str, ...]:
    """Return the must-haves and tasks that a document defines more than once, with the lines."""
    return repeated_in(stage.snapshot.project)


def untraced(stage: Stage) -> tuple[str, ...]:
    """Return the must-haves that no task of the plan serves."""
    spec = stage.snapshot.project.spec
    if spec is None:
        return ()
    return tuple(
        f"{each} is traced to no task" for each in measure_coverage(spec, stage.blueprint).untraced
    )
