"""What a new plan changes: waves, and the reports and counters of tasks that begin again."""

from collections.abc import Iterable, Sequence

from goop_mcp.services.open_questions import counters_row, withdraw_questions
from goop_mcp.services.project_steps.model import Stage
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import RetireReason, StoredReport
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.documents.blueprint import Blueprint, read_blueprint
from goop_mcp.workspace.layout import BLUEPRINT
from goop_mcp.workspace.report_index import work_of

__all__ = ["replanned_reports", "reset_counters", "retire_reports", "wave_counters"]


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


def retire_reports(
    writing: WriteTransaction, reports: Sequence[StoredReport], *, reason: RetireReason
) -> None:
    """Let `reports` count no more; attempts at their tasks are counted from the beginning."""
    if reports:
        writing.retire_reports([each.id for each in reports], reason=reason)
        reset_counters(writing, map(work_of, reports))


def reset_counters(writing: WriteTransaction, tasks: Iterable[str]) -> None:
    """Count attempts, repeats and partials of `tasks` from the beginning; nothing is asked."""
    number, keys = writing.round().number, {normal_task_id(each) for each in tasks}
    withdraw_questions(writing, keys)
    for task in map(counters_row, keys):
        if writing.counters(round=number, task=task):
            writing.set_counters(round=number, task=task, values={})
