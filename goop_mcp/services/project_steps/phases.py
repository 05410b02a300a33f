"""Steps between phases: start one, skip a gate, confirm the merge."""

from collections.abc import Mapping

from goop_mcp.errors import UnknownNameError
from goop_mcp.messages.rendering import gate_blocked, gate_passed, notice, phase_start, warning
from goop_mcp.services.project_snapshot import bypass_for, work_digest
from goop_mcp.services.project_steps.model import (
    QUESTION_WIDTH,
    NotDone,
    Plan,
    Stage,
    StepArgumentError,
    StepQuestion,
    digest_of,
    question_lines,
)
from goop_mcp.services.project_steps.refusals import closed_gate, plan_without_tasks
from goop_mcp.services.project_steps.replanning import (
    replanned_reports,
    retire_reports,
    wave_counters,
)
from goop_mcp.services.state_block import gate_ahead, next_command
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import KeptStep, StoredReport
from goop_mcp.validation.findings import counted_noun
from goop_mcp.workflow.commands import usual_next_of_phase
from goop_mcp.workflow.gates import GATES, GateName, judge_gate
from goop_mcp.workflow.phases import MOVES, PHASES, Move, MoveKind, weigh_move
from goop_mcp.workflow.task_ids import parse_task_id
from goop_mcp.workspace.file_changes import GuardedWrite
from goop_mcp.workspace.layout import BLUEPRINT
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_changes import StateChange

__all__ = ["confirm_merge", "skip_gate", "start_phase"]


# The discovery gate stands before whatever leaves plan, as discussing is a part of it. Moves back
# ask no gate, and neither does a forced one, which is why that needs a person.
_GATES_BEFORE: Mapping[tuple[str, str], tuple[GateName, ...]] = {
    ("plan", "research"): (GateName.DISCOVERY,),
    ("plan", "execute"): (GateName.DISCOVERY, GateName.SPEC),
    ("specify", "execute"): (GateName.SPEC,),
    ("execute", "accept"): (GateName.EXECUTION,),
}


def start_phase(stage: Stage) -> Plan | NotDone:
    """Go to another phase through its gate, or force the move."""
    state, target, phases = stage.state, stage.step.phase, PHASES[stage.state.profile]
    if target is None:
        raise StepArgumentError(f"phase is missing; expected one of {', '.join(phases)}")
    if target not in phases:
        raise UnknownNameError("phase", target, phases)

    move = Move(start=state.phase, target=target, profile=state.profile, forced=stage.step.force)
    kind = weigh_move(move)
    if (no := _not_allowed(move, kind)) is not None:
        return no

    gates = () if kind is MoveKind.FORCED else _GATES_BEFORE.get((state.phase, target), ())
    for name in gates:
        if not (gate := stage.gate(name)).passed:
            return closed_gate(plan_without_tasks(stage, gate))

    # What the phase begins with: counters of the plan in execution, a round after a closed one.
    values: dict[str, bool | int | str] = {}
    keeps: dict[tuple[str, KeptStep], str] = {}
    retired: tuple[StoredReport, ...] = ()
    if target == "execute" and stage.blueprint is not None:
        retired = replanned_reports(stage)
        # The tasks to do again are open only after this step.
        again = [parse_task_id(each.task_id or "") for each in retired]
        open_waves = [stage.snapshot.facts.open_wave, *(id.wave for id in again if id is not None)]
        values = wave_counters(stage.blueprint, min(open_waves))
        keeps = {(BLUEPRINT, "execute"): stage.text_of(BLUEPRINT)}

    opens = state.phase == "idle" and not stage.snapshot.round.is_open

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        if opens:
            writing.open_round(name=stage.step.name, opened_at=stage.now)
        retire_reports(writing, retired, reason="replanned")
        return ()

    lines = [f"Round {stage.round + opens}, phase {state.phase} → {target}."]
    if retired:
        tasks = ", ".join(dict.fromkeys(each.task_id or "" for each in retired))
        lines.append(f"The plan changed, so these tasks are open again: {tasks}.")

    command = usual_next_of_phase(target, profile=state.profile)
    if target == "plan" and not stage.snapshot.facts.interview_complete:
        command = "/goop-discuss"
    if command:
        lines.append(f"Next: {command}")

    message = phase_start(target, " ".join(lines))
    forced = kind is MoveKind.FORCED

    return Plan(
        message=f"{gate_passed()}\n\n{message}" if gates else message,
        entry=f"phase {state.phase} → {target}" + (" (forced)" if forced else ""),
        change=StateChange(
            phase=target,
            values=values,
            forced=forced,
            reason=stage.reason() if forced else None,
        ),
        asks=StepQuestion(
            lines=question_lines(
                f"Force the phase from {state.phase} to {target}?",
                "The gates between are not asked; it is logged in ADL.md.",
                f"Reason: {stage.reason()}",
            ),
            choices=("force", "do not force"),
            subject=digest_of(state.phase, target, stage.reason()),
            key=target,
        )
        if forced
        else None,
        undo=f"goop-mcp project phase {state.phase}"
        if _leads(state, target, state.phase)
        else None,
        keeps=keeps,
        then=then,
    )


def _not_allowed(move: Move, kind: MoveKind) -> NotDone | None:
    """Return why the profile does not have `move`, None if it does."""
    if kind is MoveKind.SAME:
        message = notice(move.target, f"The project is in phase {move.target}.")
        return NotDone(message=message, unchanged=True)

    if (move.start, move.target) == ("accept", "idle"):
        command = "goop-mcp project accept --outcome accept"
        message = warning("A round is closed by accepting it.", command=command)
        return NotDone(message=message, command=command)

    if kind is not MoveKind.ILLEGAL:
        return None

    moves = MOVES[move.profile].get(move.start)
    allowed = (*moves.legal, *moves.rework) if moves is not None else PHASES[move.profile]
    command = f"goop-mcp project phase {allowed[0]}"

    return NotDone(
        message=warning(
            f"Phase {move.start} does not lead to {move.target}, but to {', '.join(allowed)}."
            " Nothing was written. A person can force it with a reason.",
            command=command,
        ),
        missing=tuple(f"a move from {move.start} to {each}" for each in allowed),
        command=command,
    )


def skip_gate(stage: Stage) -> Plan | NotDone:
    """Skip a gate in this round: Discovery or Execution, never the others."""
    names = {each.value.lower(): each for each in (GateName.DISCOVERY, GateName.EXECUTION)}
    wanted = (stage.step.gate or "").lower()
    if wanted not in names:
        if wanted in {each.value.lower() for each in GateName}:
            return NotDone(message=warning(f"The gate {wanted} is never skipped."), command=None)
        if not wanted:
            raise StepArgumentError(f"gate is missing; expected {' or '.join(names)}")
        raise UnknownNameError("gate", wanted, names)

    name, reason = names[wanted], stage.reason()
    gate = stage.gate(name)
    if gate.passed:
        return NotDone(
            message=notice("Gate Check", f"The gate {wanted} is passed."), unchanged=True
        )

    # A skipped gate stays skipped for the round: before the work, it would hide all that comes.
    if name is GateName.EXECUTION and stage.state.phase not in ("execute", "accept"):
        return _too_early(
            stage, "The gate execution is skipped in phase execute", missing="phase execute"
        )

    bypass = bypass_for(name, reason)
    if bypass is None:
        allowed = ", ".join(sorted(each.value for each in GATES[name].bypasses))
        return NotDone(
            message=warning(
                f"The gate {wanted} is skipped only for: {allowed}. Begin the reason with one of"
                " these."
            ),
            missing=(f"a reason that begins with one of: {allowed}",),
        )

    # A dialog shows a hundred characters; a list that is cut would hide what is skipped.
    missing = f"Missing: {'; '.join(gate.missing)}"
    several = (
        f"Missing: {counted_noun(len(gate.missing), 'condition')}, which goop-mcp status lists"
    )
    skipped = judge_gate(name, stage.snapshot.facts, bypass=bypass)
    if not skipped.passed:
        return NotDone(
            message=gate_blocked(
                "Open tasks can be skipped, failed checks and blockers cannot.",
                details=gate.missing,
                command=gate.command,
            ),
            missing=gate.missing,
            command=gate.command,
        )

    return Plan(
        message=notice("Gate Check", f"The gate {wanted} is skipped in round {stage.round}."),
        entry=f"gate {wanted} skipped",
        log=f"The gate {wanted} was skipped. {missing}. Reason: {reason}",
        asks=StepQuestion(
            lines=question_lines(
                f"Skip the gate {wanted} in round {stage.round}?",
                missing if len(missing) <= QUESTION_WIDTH else several,
                f"Reason: {reason}",
            ),
            choices=("skip", "do not skip"),
            subject=digest_of(name.value, *gate.missing, reason),
            key=name.value,
        ),
    )


def confirm_merge(stage: Stage) -> Plan | NotDone:
    """Confirm that the work of the round may be merged, once it is done."""
    # Before, nobody knows what is merged; after the round is closed, it may follow.
    if stage.snapshot.round.is_open and stage.state.phase != "accept":
        return _too_early(stage, "A merge is confirmed in phase accept", missing="phase accept")
    if stage.snapshot.facts.merge_confirmed:
        return NotDone(message=notice("Gate Check", "The merge is confirmed."), unchanged=True)
    return Plan(
        message=notice("Gate Check", f"The merge of round {stage.round} is confirmed."),
        entry="merge confirmed",
        log=f"The merge of round {stage.round} was confirmed.",
        asks=StepQuestion(
            lines=question_lines(f"Merge the work of round {stage.round}?"),
            choices=("merge", "do not merge"),
            subject=work_digest(stage.reading, stage.snapshot.round),
        ),
    )


def _too_early(stage: Stage, rule: str, *, missing: str) -> NotDone:
    """Return that a confirmation belongs to a later phase; `rule` says to which."""
    project = stage.snapshot.project
    command = next_command(project, gate_ahead(project, stage.snapshot.facts))
    return NotDone(
        message=warning(f"{rule}; the project is in phase {stage.state.phase}.", command=command),
        missing=(missing,),
        command=command,
    )


def _leads(state: ProjectState, start: str, target: str) -> bool:
    """Whether the profile has a move from `start` to `target`, onwards or back."""
    moves = MOVES[state.profile].get(start)
    return moves is not None and target in (*moves.legal, *moves.rework)
