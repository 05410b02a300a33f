"""Where the work stands, as the block of state at the top of CHRONICLE.md shows it."""

from collections.abc import Mapping

from goop_mcp.redaction import redact_structure
from goop_mcp.services.project_snapshot import ProjectSnapshot
from goop_mcp.services.waiting import waiting_in
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.workflow.commands import usual_next
from goop_mcp.workflow.gates import GATES, GateFacts, GateName, GateResult, judge_gate
from goop_mcp.workspace.documents.state_block import StateBlock, state_block_text
from goop_mcp.workspace.project import Project

__all__ = ["SHOWN_GATES", "gate_ahead", "next_command", "state_block_of"]

_AHEAD: Mapping[str, GateName] = {
    "idle": GateName.DISCOVERY,
    "discuss": GateName.DISCOVERY,
    "plan": GateName.SPEC,
    "research": GateName.SPEC,
    "specify": GateName.SPEC,
    "execute": GateName.EXECUTION,
    "accept": GateName.ACCEPTANCE,
}

# Merging has a command of its own and does not depend on the progress of the work.
SHOWN_GATES = tuple(name for name in GATES if name is not GateName.MERGE)
"""The gates that the work passes in turn."""


def state_block_of(
    snapshot: ProjectSnapshot, reading: ReadTransaction, *, is_elsewhere: bool = False
) -> str:
    """Return the text of the block of state for `snapshot`, without its marks and secrets.

    What waits for a person is read in the same transaction. `is_elsewhere` states that the folder
    of the project is not on this machine, so that its plan and its gates are not known here.
    """
    project, records = snapshot.project, snapshot.records
    state, blueprint = project.state, project.blueprint
    planned = blueprint.tasks if blueprint is not None else ()
    standings = records.words
    # Without a plan the tasks that were reported are all that is known.
    tasks = [(str(task.id), task.name, standings.get(str(task.id), "pending")) for task in planned]
    tasks = tasks or [(id, "", status) for id, status in standings.items()]
    waves = len(blueprint.waves) if blueprint is not None else 0
    ahead = gate_ahead(project, snapshot.facts)
    block = StateBlock(
        phase=state.phase if state is not None else None,
        round=snapshot.round.number,
        wave=state.current_wave if state is not None else None,
        waves=waves or (state.total_waves if state is not None else None),
        tasks=tasks,
        blockers=records.blockers,
        waiting=[each.note for each in waiting_in(reading, snapshot)],
        decisions=snapshot.made[::-1],
        next_command=None if is_elsewhere else next_command(project, ahead),
    )
    shareable, _ = redact_structure(block)

    return state_block_text(shareable)


def gate_ahead(project: Project, facts: GateFacts) -> GateResult | None:
    """Return the gate that the work of the phase leads to.

    In an unknown phase it is the first closed one, None if there is none.
    """
    wanted = _AHEAD.get(project.state.phase if project.state is not None else "")
    # Discussing belongs to plan, so that its first gate is that of the interview.
    if wanted is GateName.SPEC and not judge_gate(GateName.DISCOVERY, facts).passed:
        wanted = GateName.DISCOVERY

    gates = (judge_gate(name, facts) for name in SHOWN_GATES)
    return next(
        (
            gate
            for gate in gates
            if (gate.gate is wanted if wanted is not None else not gate.passed)
        ),
        None,
    )


def next_command(project: Project, gate: GateResult | None) -> str | None:
    """Return the command that opens `gate` or follows it, None for a broken state."""
    if project.state_defect is not None:
        return None
    # `init` writes the state last. A folder without one was left by an init that was interrupted:
    # no step is possible in it, and calling init again completes it.
    if not project.exists or project.state is None:
        return "goop-mcp init"
    if gate is None:
        return None
    if not gate.passed:
        return gate.command

    return (
        usual_next("/goop-accept", profile=project.state.profile)
        if gate.gate is GateName.ACCEPTANCE
        else GATES[gate.gate].before
    )
