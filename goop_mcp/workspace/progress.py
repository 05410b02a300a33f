"""Derive the change of state.json from a report: counters, and the phase if its gate is passed."""

from collections.abc import Callable, Mapping

from goop_mcp.routing.views import Outcome, ReportView
from goop_mcp.workflow.gates import GateFacts, GateName, judge_gate
from goop_mcp.workflow.phases import Move, may_progress
from goop_mcp.workspace.documents.blueprint import Blueprint
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_changes import StateChange

__all__ = ["progress_of"]

_EXECUTE = "execute"
_NEXT: Mapping[str, tuple[str, Callable[[GateFacts], bool]]] = {
    "specify": (_EXECUTE, lambda facts: facts.spec_locked and facts.blueprint_exists),
    _EXECUTE: ("accept", lambda facts: judge_gate(GateName.EXECUTION, facts).passed),
    "accept": ("idle", lambda facts: facts.user_accepted),
}
"""The next phase of each phase that ends automatically, and the condition for it."""


def progress_of(
    report: ReportView, state: ProjectState, facts: GateFacts, *, blueprint: Blueprint | None
) -> StateChange:
    """Return the change of `state` that follows from `report`; `facts` include the report already.

    A report about another phase than that of `state` changes nothing: state.json is authoritative.
    """
    if report.phase not in (None, state.phase):
        return StateChange()

    values: dict[str, int] = {}
    if state.phase == _EXECUTE:
        # The plan gives the number of waves, and the current wave never decreases.
        wave = report.wave
        planned = len(blueprint.waves) if blueprint is not None else 0
        total = planned or (wave.total if wave is not None else None) or state.total_waves
        current = (wave.current if wave is not None else None) or 0
        if total != state.total_waves:
            values["totalWaves"] = total
        if state.current_wave < current <= (total or current):
            values["currentWave"] = current

    if report.outcome is not Outcome.DONE or state.phase not in _NEXT:
        return StateChange(values=values)

    target, holds = _NEXT[state.phase]
    move = Move(start=state.phase, target=target, profile=state.profile)
    passed = may_progress(move, gate_passed=holds(facts), manual_override=state.manual_override)

    return StateChange(phase=target if passed else None, values=values)
