"""Steps between rounds: acceptance or rejection, the next round, an acceptance taken back."""

import json
from dataclasses import replace

from goop_mcp.errors import UnknownNameError
from goop_mcp.messages.rendering import notice, warning
from goop_mcp.redaction import redact
from goop_mcp.services.project_steps.model import (
    MOST_OF_A_REASON,
    QUESTION_WIDTH,
    NotDone,
    Plan,
    Stage,
    StepArgumentError,
    StepQuestion,
    digest_of,
    question_lines,
)
from goop_mcp.services.project_steps.refusals import closed_gate
from goop_mcp.services.project_steps.replanning import retire_reports, wave_counters
from goop_mcp.services.round_closing import close_round, keep_document
from goop_mcp.services.state_block import gate_ahead, next_command
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.validation.findings import excerpt
from goop_mcp.workflow.agents import VERIFIERS
from goop_mcp.workflow.gates import GateName
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.documents.spec_edits import set_lock
from goop_mcp.workspace.file_changes import ARCHIVED, LEFT, GuardedWrite
from goop_mcp.workspace.layout import SPEC, STATE, archived_document
from goop_mcp.workspace.state_changes import StateChange

__all__ = ["accept", "reopen_round", "start_round"]


def accept(stage: Stage) -> Plan | NotDone:
    """Accept the verified work and close the round, or send it back to execution."""
    outcomes = ("accept", "accept_with_issues", "reject")
    outcome = (stage.step.outcome or "").replace("-", "_")
    if outcome not in outcomes:
        if not outcome:
            raise StepArgumentError(f"outcome is missing; expected {', '.join(outcomes)}")
        raise UnknownNameError("outcome", outcome, outcomes)

    state, records = stage.state, stage.snapshot.records
    if not stage.snapshot.round.is_open:
        command = "goop-mcp project round"
        return NotDone(
            message=warning(
                f"Round {stage.round} is closed already. Begin the next one, or take the acceptance"
                " back with goop-mcp project round --reopen.",
                command=command,
            ),
            missing=("an open round",),
            command=command,
        )
    if state.phase != "accept":
        gate = stage.gate(GateName.EXECUTION)
        if not gate.passed:
            return closed_gate(gate)
        command = "goop-mcp project phase accept"
        return NotDone(
            message=warning(
                f"Acceptance follows execution; the project is in phase {state.phase}.",
                command=command,
            ),
            command=command,
        )

    report = records.verification_report
    verified = f"verification report {report}" if report is not None else "no verification report"
    subject = digest_of(outcome, str(stage.round), str(report), *stage.step.tasks)
    comment = (
        redact(excerpt(stage.step.comment, MOST_OF_A_REASON)).text if stage.step.comment else ""
    )
    if outcome == "reject":
        return _rejection(stage, subject=subject, verified=verified, comment=comment)

    gate = stage.gate(GateName.ACCEPTANCE, replace(stage.snapshot.facts, user_accepted=True))
    if not gate.passed:
        return closed_gate(gate, reason="The work cannot be accepted yet.")

    project, claims = stage.snapshot.project, stage.snapshot.claims
    # A long one must leave room for what is confirmed.
    name = excerpt(project.name or "the project", QUESTION_WIDTH // 2)

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        return close_round(
            writing,
            stage.context,
            stage.snapshot,
            outcome="accept" if outcome == "accept" else "accept_with_issues",
            now=stage.now,
        )

    words = outcome.replace("_", " ")
    folder = archived_document("", round=stage.round)

    return Plan(
        message=notice(
            "Round Closed",
            f"Round {stage.round} is closed: {words}. {comment}".rstrip(),
            claims.sentence,
            f"Its documents are in {folder}. Next: /goop-discuss for another round.",
        ),
        entry=f"round {stage.round} closed: {words}; {claims.about_must_haves}",
        log=f"Round {stage.round} was closed: {words}. {claims.sentence} {comment}".rstrip(),
        change=StateChange(phase="idle"),
        asks=StepQuestion(
            lines=question_lines(
                f"Close round {stage.round} of {name}: {words}?",
                claims.sentence,
                comment,
            ),
            choices=(words, "do not accept"),
            subject=subject,
            key=outcome,
        ),
        undo="goop-mcp project round --reopen",
        claims=claims,
        then=then,
    )


def _rejection(stage: Stage, *, subject: str, verified: str, comment: str) -> Plan | NotDone:
    """Return the plan to go back to execution: what was verified does not count any more."""
    wanted = {normal_task_id(task) for task in stage.step.tasks}
    known = (
        {str(task.id) for task in stage.blueprint.tasks} if stage.blueprint is not None else set()
    )
    unknown = sorted(wanted - known)
    if unknown:
        return NotDone(
            message=warning(f"BLUEPRINT.md has no task {', '.join(unknown)}."),
            missing=tuple(f"task {each} in BLUEPRINT.md" for each in unknown),
        )

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        # Read only now: surfaces plan this step just to show that it is possible.
        retired = [
            each
            for each in writing.reports(round=stage.round)
            if each.agent in VERIFIERS
            or (each.task_id is not None and normal_task_id(each.task_id) in wanted)
        ]
        retire_reports(writing, retired, reason="rejected")
        return ()

    again = f" Tasks to do again: {', '.join(sorted(wanted))}." if wanted else ""

    return Plan(
        message=notice(
            "Rejected",
            f"Round {stage.round} goes back to execution. {comment}{again}".rstrip(),
            "The verification has to be repeated. Next: /goop-execute",
        ),
        entry=f"round {stage.round} rejected at acceptance, phase accept → execute",
        log=f"Round {stage.round} was rejected, {verified}. {comment}{again}".rstrip(),
        change=StateChange(
            phase="execute",
            values=wave_counters(
                stage.blueprint,
                min((int(t[1:].split(".")[0]) for t in wanted), default=stage.state.current_wave),
            )
            if stage.blueprint is not None
            else {},
        ),
        asks=StepQuestion(
            lines=question_lines(
                f"Reject round {stage.round} and go back to execution?",
                stage.snapshot.claims.sentence,
                f"{comment}{again}".strip(),
            ),
            choices=("reject", "do not reject"),
            subject=subject,
            key="reject",
        ),
        then=then,
    )


def start_round(stage: Stage) -> Plan | NotDone:
    """Open the next round."""
    if stage.snapshot.round.is_open:
        # An acceptance that would be refused is not a next step.
        snapshot = stage.snapshot
        ahead = gate_ahead(snapshot.project, snapshot.facts)
        verified = stage.gate(GateName.ACCEPTANCE, replace(snapshot.facts, user_accepted=True))
        command = (
            "goop-mcp project accept --outcome accept"
            if stage.state.phase == "accept" and verified.passed
            else next_command(snapshot.project, ahead)
        )
        return NotDone(
            message=warning(
                f"Round {stage.round} is open; accept it before the next one begins.",
                command=command,
            ),
            missing=(f"the acceptance of round {stage.round}",),
            command=command,
        )

    number = stage.round + 1

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        writing.open_round(name=stage.step.name, opened_at=stage.now)
        return ()

    name = f" ({stage.step.name})" if stage.step.name else ""

    return Plan(
        message=notice("Round Started", f"Round {number}{name} is open.", "Next: /goop-discuss"),
        entry=f"round {number} opened{name}",
        then=then,
    )


def reopen_round(stage: Stage) -> Plan | NotDone:
    """Take the last acceptance back, while no later round has a report."""
    rounds = stage.reading.rounds(limit=2)
    closed = next((each for each in rounds if not each.is_open), None)
    if closed is None:
        return NotDone(message=notice("Round", "No round was closed yet."), unchanged=True)
    if closed.number != stage.round and stage.reading.report_count(round=stage.round):
        return NotDone(
            message=warning(
                f"Round {stage.round} has reports, so that round {closed.number} stays closed."
            ),
            missing=(f"a round {stage.round} without reports",),
        )

    kept = {
        each.name: each for each in stage.reading.kept_documents(step=ARCHIVED, round=closed.number)
    }
    left = stage.reading.kept_document(SPEC, step=LEFT, round=closed.number)
    before = json.loads(kept[STATE].text).get("workflow", {}) if STATE in kept else {}
    values = {
        name: before[name]
        for name in ("specLocked", "interviewComplete", "currentWave", "totalWaves")
        if isinstance(before.get(name), bool | int)
    }
    # A contract that nobody has touched since gets its locked header back.
    source = stage.snapshot.sources_on_disk.get(SPEC)
    spec = None
    if source is not None and left is not None and SPEC in kept:
        spec = (
            kept[SPEC].text if source == left.text else set_lock(source, locked=True, now=stage.now)
        )

    def then(writing: WriteTransaction) -> tuple[GuardedWrite, ...]:
        reopened = writing.reopen_round()
        if spec is not None:
            # Servers without the folder show the contract as kept last.
            number = reopened.number
            keep_document(writing, SPEC, spec, step="lock", round=number, now=stage.now)

        return ()

    return Plan(
        message=notice(
            "Round Reopened",
            f"Round {closed.number} is open again, in phase accept.",
            "Next: /goop-accept",
        ),
        entry=f"round {closed.number} reopened",
        log=f"Round {closed.number} was reopened.",
        change=StateChange(
            phase="accept", values=values, forced=True, reason=f"round {closed.number} was reopened"
        ),
        asks=StepQuestion(
            lines=question_lines(
                f"Reopen round {closed.number}?",
                f"It was closed at {closed.closed_at}; the project goes back to phase accept.",
            ),
            choices=("reopen", "do not reopen"),
            subject=digest_of("reopen", str(closed.number), str(closed.closed_at)),
        ),
        spec=spec,
        then=then,
    )
