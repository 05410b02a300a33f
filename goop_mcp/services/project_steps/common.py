"""What several steps need: closed gates, the plan compared with the last one, questions."""

import json

from goop_mcp.messages.rendering import gate_blocked, warning
from goop_mcp.services.project_steps.model import NotDone, Stage
from goop_mcp.store.records import StoredReport
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.gates import GateResult
from goop_mcp.workflow.phases import MOVES
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.documents.blueprint import Blueprint, read_blueprint
from goop_mcp.workspace.documents.spec import measure_coverage
from goop_mcp.workspace.layout import BLUEPRINT
from goop_mcp.workspace.replacing import sha256
from goop_mcp.workspace.state import ProjectState

__all__ = [
    "closed_gate",
    "digest_of",
    "leads_back",
    "question_lines",
    "replanned_reports",
    "untraced",
    "wave_counters",
    "without_folder",
]

_QUESTION_WIDTH = 100


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


def without_folder(stage: Stage, command: str) -> NotDone | None:
    """Return why a step that reads people's documents is not possible on this machine."""
    if stage.has_folder:
        return None

    run = f"goop-mcp project {command} --database …"
    return NotDone(
        message=warning(f"this server has no project folder: run `{run}` in a checkout"),
        command=run,
    )


def untraced(stage: Stage) -> tuple[str, ...]:
    """Return the must-haves that no task of the plan serves."""
    spec = stage.snapshot.project.spec
    if spec is None:
        return ()
    return tuple(
        f"{each} is traced to no task" for each in measure_coverage(spec, stage.blueprint).untraced
    )


def wave_counters(blueprint: Blueprint, current: int) -> dict[str, bool | int | str]:
    """Return the counters of state.json for the plan; the current wave is at least the first."""
    total = len(blueprint.waves)
    return {"totalWaves": total, "currentWave": min(max(current, 1), total) if total else 0}


def replanned_reports(stage: Stage) -> tuple[StoredReport, ...]:
    """Return the reports of tasks whose definition changed or went since the last plan."""
    kept = [
        each for step in ("execute", "amend") if (each := stage.kept(BLUEPRINT, step)) is not None
    ]
    if not kept or stage.blueprint is None:
        return ()

    before = read_blueprint(max(kept, key=lambda each: each.revision).text)
    same = {str(task.id): task.digest for task in before.tasks}
    now = {str(task.id): task.digest for task in stage.blueprint.tasks}
    changed = {id for id, digest in same.items() if now.get(id) != digest}
    if not changed:
        return ()
    return tuple(
        each
        for each in stage.reading.reports(round=stage.round)
        if each.task_id is not None and normal_task_id(each.task_id) in changed
    )


def leads_back(state: ProjectState, start: str, target: str) -> bool:
    """Whether the profile has a move from `start` to `target`, onwards or back."""
    moves = MOVES[state.profile].get(start)
    return moves is not None and target in (*moves.legal, *moves.rework)


def question_lines(*lines: str) -> tuple[str, ...]:
    """Return the filled `lines` at the width that dialogs of hosts show."""
    return tuple(excerpt(" ".join(each.split()), _QUESTION_WIDTH) for each in lines if each.strip())


def digest_of(*parts: str) -> str:
    """Return a digest of what is confirmed where it is no document."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode())
