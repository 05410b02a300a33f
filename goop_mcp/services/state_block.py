"""Where the work stands, as the block of state at the top of CHRONICLE.md shows it."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

from goop_mcp.redaction import map_texts, redact
from goop_mcp.redaction.ahead import remembering
from goop_mcp.services.project_snapshot import ProjectSnapshot
from goop_mcp.services.waiting import waiting_in
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.workflow.commands import usual_next
from goop_mcp.workflow.gates import GATES, GateFacts, GateName, GateResult, judge_gate
from goop_mcp.workspace.documents.state_block import (
    MOST_LISTED,
    MOST_TASKS,
    StateBlock,
    state_block_text,
)
from goop_mcp.workspace.project import Project

__all__ = [
    "SHOWN_GATES",
    "gate_ahead",
    "next_command",
    "search_ahead_of_block",
    "state_block_of",
]

_Task: TypeAlias = tuple[str, str, str]
T = TypeVar("T")

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
    project, state, blueprint = snapshot.project, snapshot.project.state, snapshot.project.blueprint
    done, tasks = _tasks(snapshot)
    phase = state.phase if state is not None else None
    waves = len(blueprint.waves) if blueprint is not None else 0
    ahead = gate_ahead(project, snapshot.facts)
    notes = [each.note for each in waiting_in(reading, snapshot)]
    with remembering():
        block = StateBlock(
            phase=phase if phase is None or phase in _AHEAD else redact(phase).text,
            round=snapshot.round.number if project.has_begun else None,
            outcome=(snapshot.round.outcome or "").replace("_", " ") or None,
            wave=state.current_wave if state is not None else None,
            waves=waves or (state.total_waves if state is not None else None),
            done=done,
            tasks=_searched(tasks, MOST_TASKS),
            blockers=_searched(snapshot.records.blockers, MOST_LISTED),
            waiting=_searched(notes, MOST_LISTED),
            decisions=_searched(snapshot.made, MOST_LISTED),
            next_command=None if is_elsewhere else next_command(project, ahead),
        )

    return state_block_text(block)


def search_ahead_of_block(snapshot: ProjectSnapshot, task: str | None) -> None:
    """Search what `state_block_of` will show after a report on `task`, before the transaction."""
    _, tasks = _tasks(snapshot)
    with remembering():
        # One more than are listed, as one of them may be done by the report.
        _searched(tasks, MOST_TASKS + 1)
        _searched([(task or "", "", "")], 1)
        _searched(snapshot.records.blockers, MOST_LISTED + 1)
        _searched(snapshot.made, MOST_LISTED)


def _tasks(snapshot: ProjectSnapshot) -> tuple[int, list[_Task]]:
    """Return how many tasks are done, and the others: of the plan, else those reported."""
    records, blueprint = snapshot.records, snapshot.project.blueprint
    unfinished = records.unfinished
    if blueprint is None or not blueprint.tasks:
        # Without a plan the tasks that were reported are all that is known.
        return len(records.done), [(id, "", status) for id, status in unfinished.items()]

    finished = frozenset(records.done)
    tasks = [
        (id, task.name, unfinished.get(id, "pending"))
        for task in blueprint.tasks
        if (id := str(task.id)) not in finished
    ]
    return len(blueprint.tasks) - len(tasks), tasks


def _searched(entries: Sequence[T], most: int) -> Sequence[T]:
    """Return `entries` without the secrets in the first `most`; the others are only counted.

    One by one, as nearly all of them were shown before, and those are not searched again.
    """
    shown = [_without_secrets(each) for each in entries[:most]]
    return [*shown, *entries[most:]]


def _without_secrets(entry: T) -> T:
    return map_texts(entry, lambda text, _name: redact(text).text)


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
    """Return the command that opens `gate` or follows it.

    None for a broken state, and where no project has begun: reports, memory and delegation need
    none.
    """
    if project.state_defect is not None or not project.has_begun:
        return None
    # `init` writes the state last. A folder without one was left by an init that was interrupted:
    # no step is possible in it, and calling init again completes it.
    if project.state is None:
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
