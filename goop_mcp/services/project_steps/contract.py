"""Steps about the contract: the interview, and SPEC.md locked, unlocked and amended."""

from dataclasses import replace

from goop_mcp.messages.rendering import gate_blocked, gate_passed, notice, warning
from goop_mcp.services.project_steps.model import (
    NotDone,
    Plan,
    Stage,
    StepQuestion,
    question_lines,
)
from goop_mcp.services.project_steps.refusals import (
    closed_gate,
    plan_without_tasks,
    repeated,
    untraced,
    without_folder,
)
from goop_mcp.services.project_steps.replanning import (
    replanned_reports,
    retire_reports,
    wave_counters,
)
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import KeptStep
from goop_mcp.validation.findings import counted_noun
from goop_mcp.workflow.gates import GateName
from goop_mcp.workspace.consistency import changed_lines
from goop_mcp.workspace.documents.spec_edits import add_amendment, set_lock
from goop_mcp.workspace.file_changes import GuardedWrite
from goop_mcp.workspace.layout import BLUEPRINT, REQUIREMENTS, SPEC
from goop_mcp.workspace.replacing import sha256
from goop_mcp.workspace.state_changes import StateChange

__all__ = ["amend_spec", "complete_interview", "lock_spec", "unlock_spec"]

_DIGITS = 7
_DISCUSSING = frozenset({"idle", "plan", "discuss", "research", "specify"})
_LOCKING = {
    "0.x": frozenset({"plan", "research", "specify"}),
    "v1": frozenset({"plan"}),
}


def complete_interview(stage: Stage) -> Plan | NotDone:
    """Complete the interview if REQUIREMENTS.md holds what the plan needs."""
    if elsewhere := without_folder(stage, "interview"):
        return elsewhere
    if stage.state.interview_complete:
        return NotDone(message=notice("Interview", "The interview is complete."), unchanged=True)
    if stage.state.phase not in _DISCUSSING:
        return NotDone(
            message=warning(
                f"The interview belongs to plan; the project is in phase {stage.state.phase}.",
                command="goop-mcp project phase plan",
            ),
            command="goop-mcp project phase plan",
        )

    gate = stage.gate(GateName.DISCOVERY, replace(stage.snapshot.facts, interview_complete=True))
    if not gate.passed:
        return closed_gate(gate, reason="REQUIREMENTS.md does not hold all that the plan needs.")

    return Plan(
        message="\n\n".join(
            [
                gate_passed(),
                notice("Interview", "The interview is complete.", "Next: /goop-plan"),
            ]
        ),
        entry="interview complete",
        change=StateChange(values={"interviewComplete": True, "interviewCompletedAt": stage.now}),
        keeps={(REQUIREMENTS, "interview"): stage.text_of(REQUIREMENTS)}
        if REQUIREMENTS in stage.snapshot.project.sources
        else {},
    )


def lock_spec(stage: Stage) -> Plan | NotDone:
    """Lock SPEC.md as it is, with every must-have traced to a task."""
    if elsewhere := without_folder(stage, "lock"):
        return elsewhere

    state, facts, project = stage.state, stage.snapshot.facts, stage.snapshot.project
    if state.spec_locked:
        if facts.spec_unchanged:
            return NotDone(message=notice("Specification", "SPEC.md is locked."), unchanged=True)
        command = "goop-mcp project amend"
        return NotDone(
            message=warning(
                "SPEC.md is locked and was changed since; amend it instead.", command=command
            ),
            command=command,
        )

    allowed = _LOCKING[state.profile]
    if state.phase not in allowed:
        return NotDone(
            message=warning(
                f"The specification can be locked only in phase {' or '.join(sorted(allowed))}; the"
                f" project is in phase {state.phase}.",
                command="goop-mcp project phase plan",
            ),
            command="goop-mcp project phase plan",
        )

    discovery = stage.gate(GateName.DISCOVERY)
    if not discovery.passed:
        return closed_gate(discovery)

    gate = stage.gate(
        GateName.SPEC,
        replace(facts, spec_locked=True, user_confirmed=True, spec_unchanged=True),
    )
    twice = repeated(stage)
    if not gate.passed or twice:
        return closed_gate(
            plan_without_tasks(stage, gate),
            reason="The specification cannot be locked yet.",
            also=(*twice, *untraced(stage)),
        )

    text = stage.text_of(SPEC)
    locked = set_lock(text, locked=True, now=stage.now)
    digest = sha256(text.encode())
    name = project.name or "the project"
    must_haves = counted_noun(
        len(project.spec.must_haves) if project.spec is not None else 0, "must-have"
    )
    keeps: dict[tuple[str, KeptStep], str] = {(SPEC, "lock"): locked}
    for document in (BLUEPRINT, REQUIREMENTS):
        # Servers without the folder show the documents that the gates were judged by.
        if document in project.sources:
            keeps[(document, "lock")] = stage.text_of(document)

    return Plan(
        message="\n\n".join(
            [
                gate_passed(),
                notice(
                    "Specification Locked",
                    f"SPEC.md {digest[:_DIGITS]} is locked: {must_haves}, all traced.",
                    "Next: /goop-execute",
                ),
            ]
        ),
        entry=f"specification locked ({digest[:_DIGITS]})",
        log=f"SPEC.md was locked in round {stage.round}, digest {digest}.",
        change=StateChange(values={"specLocked": True}),
        asks=StepQuestion(
            lines=question_lines(
                f"Lock the specification of {name}?",
                f"SPEC.md {digest[:_DIGITS]}: {must_haves}, all traced to tasks.",
                f"Read it in {project.paths[SPEC]}",
            ),
            choices=("lock", "do not lock"),
            subject=digest,
        ),
        undo="goop-mcp project unlock",
        spec=locked,
        keeps=keeps,
    )


def unlock_spec(stage: Stage) -> Plan | NotDone:
    """Open the locked SPEC.md for changes."""
    if elsewhere := without_folder(stage, "unlock"):
        return elsewhere
    if not stage.state.spec_locked:
        return NotDone(message=notice("Specification", "SPEC.md is not locked."), unchanged=True)

    text = stage.snapshot.project.sources.get(SPEC)
    digest = sha256((text or "").encode())
    unlocked = set_lock(text, locked=False, now=stage.now) if text is not None else None

    return Plan(
        message=notice("Specification Unlocked", "SPEC.md may be changed. Next: /goop-plan"),
        entry="specification unlocked",
        log=f"SPEC.md was unlocked in round {stage.round}, digest {digest}.",
        change=StateChange(values={"specLocked": False}),
        asks=StepQuestion(
            lines=question_lines(
                f"Unlock SPEC.md {digest[:_DIGITS]}?",
                "Work on it stops until it is locked again.",
            ),
            choices=("unlock", "do not unlock"),
            subject=digest,
        ),
        undo="goop-mcp project lock",
        spec=unlocked,
        keeps={(SPEC, "unlock"): unlocked} if unlocked is not None else {},
    )


def amend_spec(stage: Stage) -> Plan | NotDone:
    """Let the changed SPEC.md count in place of the text that was locked."""
    if elsewhere := without_folder(stage, "amend"):
        return elsewhere

    reason, project = stage.reason(), stage.snapshot.project
    text, locked = project.sources.get(SPEC), stage.snapshot.round_records.locked_spec
    if not stage.state.spec_locked or text is None:
        return NotDone(
            message=warning(
                "The specification is not locked, so it is changed without an amendment.",
                command="goop-mcp project lock",
            ),
            command="goop-mcp project lock",
        )

    change = changed_lines(locked, text) if locked is not None else (0, 0)
    if change is None:
        return NotDone(
            message=warning(
                "SPEC.md is as it was locked. Write the change into it, then amend: a person"
                " confirms exactly that text."
            ),
            missing=("a change of SPEC.md",),
        )

    twice = repeated(stage)
    missing = (*twice, *untraced(stage))
    if missing:
        return NotDone(
            message=gate_blocked(
                "The amended specification names the same twice."
                if twice
                else "The amended specification is not traced to tasks.",
                details=missing,
                command="/goop-plan",
            ),
            missing=missing,
            command="/goop-plan",
        )

    digest = sha256(text.encode())
    amended = add_amendment(text, reason=reason, now=stage.now)
    keeps: dict[tuple[str, KeptStep], str] = {(SPEC, "amend"): amended}

    # A new plan counts at once where work is going on; in plan it counts when execution begins,
    # which compares it with the plan that was worked on last.
    working = stage.state.phase in ("execute", "accept")
    if BLUEPRINT in project.sources:
        keeps[(BLUEPRINT, "amend" if working else "lock")] = stage.text_of(BLUEPRINT)

    retired = replanned_reports(stage) if working else ()
    values = (
        wave_counters(stage.blueprint, stage.state.current_wave)
        if working and stage.blueprint is not None
        else {}
    )

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        retire_reports(writing, retired, reason="replanned")
        return ()

    size = f"lines added: {change[0]}, removed: {change[1]}"

    return Plan(
        message=notice(
            "Specification Amended",
            f"SPEC.md {digest[:_DIGITS]} counts now: {size}. Reason: {reason}",
            "Next: /goop-execute",
        ),
        entry=f"specification amended ({size}): {reason}",
        log=f"SPEC.md was amended: {size}, digest {digest}. Reason: {reason}",
        change=StateChange(values=values),
        asks=StepQuestion(
            lines=question_lines(
                f"Amend the locked specification: {size}?",
                f"SPEC.md {digest[:_DIGITS]}; read it in {project.paths[SPEC]}",
                f"Reason: {reason}",
            ),
            choices=("amend", "do not amend"),
            subject=digest,
        ),
        undo="change SPEC.md back and amend again",
        spec=amended,
        keeps=keeps,
        then=then,
    )
