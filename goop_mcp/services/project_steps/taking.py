"""Take a step: look at the project, then ask a person, or write everything in one transaction."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

from goop_mcp.errors import StateCorruptError, StateReadOnlyError, UnknownNameError
from goop_mcp.messages.rendering import no_project, notice, warning
from goop_mcp.redaction import redact_structure
from goop_mcp.services.open_questions import withdraw_passing
from goop_mcp.services.project_context import Change, ProjectContext
from goop_mcp.services.project_snapshot import ProjectSnapshot, snapshot_in
from goop_mcp.services.project_step import ProjectStep, person_command, step_from_json
from goop_mcp.services.project_steps.contract import (
    amend_spec,
    complete_interview,
    lock_spec,
    unlock_spec,
)
from goop_mcp.services.project_steps.creation import create
from goop_mcp.services.project_steps.decisions import decide
from goop_mcp.services.project_steps.model import (
    NotDone,
    Plan,
    Restored,
    Stage,
    StepArgumentError,
    StepQuestion,
    StepResult,
)
from goop_mcp.services.project_steps.phases import confirm_merge, skip_gate, start_phase
from goop_mcp.services.project_steps.positions import checkpoint, restore_state, resume
from goop_mcp.services.project_steps.rounds import accept, reopen_round, start_round
from goop_mcp.services.round_closing import keep_document, spec_path
from goop_mcp.services.state_block import state_block_of
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.records import REPORTED_BY, Confirmation, Event, NewConfirmation, NewEvent
from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.findings import Finding
from goop_mcp.validation.rules import run_checks
from goop_mcp.workflow.commands import KNOWN_COMMANDS
from goop_mcp.workflow.phases import Move
from goop_mcp.workflow.rules import MOVE_RULES
from goop_mcp.workspace.documents.entries import AdlEntry, ChronicleEntry, adl_text, chronicle_text
from goop_mcp.workspace.file_changes import GuardedWrite, plan_spec
from goop_mcp.workspace.layout import ADL, CHRONICLE, SPEC, STATE
from goop_mcp.workspace.projection_text import HIDDEN_KINDS
from goop_mcp.workspace.projections import PROJECTED
from goop_mcp.workspace.state import ProjectState, read_state
from goop_mcp.workspace.state_changes import StateChange, writable_state
from goop_mcp.workspace.state_writing import plan_state

__all__ = [
    "ACTIONS",
    "STEPS",
    "agents_may_decide",
    "answer_confirmation",
    "answers",
    "stage_for",
    "take_step",
]

STEPS: Final[Mapping[str, Callable[[Stage], Plan | NotDone]]] = {
    "start_phase": start_phase,
    "skip_gate": skip_gate,
    "complete_interview": complete_interview,
    "lock_spec": lock_spec,
    "unlock_spec": unlock_spec,
    "amend_spec": amend_spec,
    "checkpoint": checkpoint,
    "resume": resume,
    "decide": decide,
    "confirm_merge": confirm_merge,
    "accept": accept,
    "start_round": start_round,
    "reopen_round": reopen_round,
}
"""What each action would do; creating the project is apart, as it has no state yet."""

_PACKAGE_COMMANDS: Final[Mapping[str, str]] = {
    "complete_interview": "/goop-discuss",
    "lock_spec": "/goop-plan",
    "unlock_spec": "/goop-plan",
    "amend_spec": "/goop-amend",
    "accept": "/goop-accept",
    "start_round": "/goop-discuss",
}
"""The commands that do a step where only the packages may write the state."""

ACTIONS: Final = ("init", *STEPS)
"""Every action."""


def take_step(
    project_context: ProjectContext,
    step: ProjectStep,
    *,
    by: str,
    can_ask: bool = False,
    now: str,
) -> StepResult:
    """Do `step`, or ask for the confirmation it needs, or return why it is not possible.

    `by` is the agent or person who wants it. `can_ask` states that a person can be asked at once;
    only `decide` depends on it, in a project that lets agents decide: it is recorded as reported by
    `by` where nobody can be asked. `now` is ISO 8601 in UTC. Raises StepArgumentError,
    UnknownNameError, StoreError and WorkspaceError (state.json unreadable, read-only or changed
    meanwhile); then nothing was written.
    """
    # Before the project is looked at: a mistake in the name is one in every project.
    if step.action not in ACTIONS:
        raise UnknownNameError("action", step.action, ACTIONS)
    if step.action == "init":
        return _init(project_context, step, now=now)

    # A refused step leaves an empty folder empty: the transaction would create the database.
    if not project_context.store.exists() and read_state(project_context.files) is None:
        return _no_project(step)

    # The arguments are stored and shown, so that they must not hold secrets.
    wanted = redact_structure(step)[0]
    restored: list[Restored] = []

    def change(writing: WriteTransaction) -> Change[StepResult]:
        # Arguments of an open request are taken over under the lock, as it may be answered at this
        # moment.
        step = _as_asked(writing, wanted)
        stage = _stage(project_context, writing, step, by=by, now=now, restored=restored)
        if isinstance(stage, StepResult):
            return Change(answer=stage, shows=False)

        plan = STEPS[step.action](stage)
        if isinstance(plan, NotDone):
            return Change(answer=_refused(stage, plan), shows=False)
        if plan.asks is None:
            return _done(stage, plan, writing)
        asked = _ask(stage, plan, plan.asks, writing)
        # What a person decided is never replaced by an agent.
        is_new = plan.step is not None and plan.step.replaces is None
        if (
            step.action == "decide"
            and is_new
            and not can_ask
            and agents_may_decide(project_context)
        ):
            via = f"{REPORTED_BY}{by}"
            writing.answer_confirmation(
                asked.id, status="confirmed", via=via, comment=step.comment, answered_at=now
            )
            return _done(stage, plan, writing, via=via)

        return Change(answer=_waiting(stage, plan, plan.asks, asked), shows=False)

    return _written(project_context, change, now=now)


def agents_may_decide(project_context: ProjectContext) -> bool:
    """Whether the project lets the choice of an agent be recorded as its report.

    Read for each decision: a person who forbids it expects that it holds from now on.
    """
    return not project_context.policy.confirm_decisions


def answer_confirmation(
    project_context: ProjectContext,
    id: int,
    *,
    accept: bool,
    via: str,
    comment: str | None = None,
    now: str,
) -> StepResult:
    """Answer the open confirmation `id` for a person, and do its step if the answer is positive.

    `via` says how the answer came, for ADL.md: "terminal ann", "elicitation NAME VERSION". An
    answer is used once, and only while what was to be confirmed is still the same. Raises
    StepArgumentError for a number that was never given, and as `take_step`.
    """
    # A number that was never given is a mistake of the caller; one that was answered is not.
    unknown = StepArgumentError(f"there is no confirmation {id}; see goop-mcp status")
    if not project_context.store.exists():
        raise unknown
    restored: list[Restored] = []

    def change(writing: WriteTransaction) -> Change[StepResult]:
        asked = writing.confirmation(id)
        if asked is None:
            raise unknown

        step = step_from_json(asked.action, asked.arguments)
        # The project of now and not of the time of asking: the answer is about what it has become.
        stage = _stage(
            project_context, writing, step, by=asked.asked_by, now=now, restored=restored
        )
        if isinstance(stage, StepResult):
            return Change(answer=stage, shows=False)
        if asked.status != "open":
            no = NotDone(
                message=warning(
                    f"Confirmation {id} ({asked.action}) was answered before: {asked.outcome}"
                    + (f", {asked.via}" if asked.via else "")
                ),
                unchanged=asked.status == "confirmed",
            )
            return Change(answer=_refused(stage, no), shows=False)

        def close(status: Literal["confirmed", "refused", "outdated"]) -> None:
            writing.answer_confirmation(
                id, status=status, via=via, comment=comment, answered_at=now
            )

        # A refusal closes the request, so that nobody is asked the same again without a new reason.
        if not accept:
            close("refused")
            no = NotDone(
                message=warning(
                    f"{asked.summary.rstrip('?')}: refused, {via}. Nothing was changed."
                )
            )
            return Change(answer=_refused(stage, no), shows=False)

        plan = STEPS[step.action](stage)
        if isinstance(plan, NotDone):
            close("outdated")
            return Change(answer=_refused(stage, plan), shows=False)
        if not answers(plan.asks, asked, round=stage.round):
            close("outdated")
            command = person_command(step)
            no = NotDone(
                message=warning(
                    f"{asked.summary.rstrip('?')}: what was to be confirmed has changed since it"
                    " was asked. Nothing was done; ask again.",
                    command=command,
                ),
                command=command,
            )
            return Change(answer=_refused(stage, no), shows=False)

        close("confirmed")

        return _done(stage, plan, writing, via=via)

    return _written(project_context, change, now=now)


def answers(question: StepQuestion | None, asked: Confirmation, *, round: int) -> bool:
    """Whether an answer to `asked` is one to `question`, which the step asks in `round` by now."""
    # The subject is a digest of what the person saw; in another round the same is about other work.
    return question is not None and (question.subject, round) == (asked.subject, asked.round)


def _stage(
    context: ProjectContext,
    writing: WriteTransaction,
    step: ProjectStep,
    *,
    by: str,
    now: str,
    restored: list[Restored],
) -> Stage | StepResult:
    """Return the project as it is now, under the lock of writers; a result if there is none."""
    # A broken state is restored first, as every other step would fail on it. The file stays so if
    # the transaction has to run again, which then says what the first run has restored.
    snapshot = snapshot_in(context, writing)
    if step.action == "resume" and snapshot.project.state_defect is not None:
        done = restore_state(context, writing, step.id, now=now)
        restored += [done] if done is not None else []
        snapshot = snapshot_in(context, writing)

    newest = restored[-1] if restored else None
    return stage_for(context, writing, snapshot, step, by=by, now=now, restored=newest)


def stage_for(
    context: ProjectContext,
    reading: ReadTransaction,
    snapshot: ProjectSnapshot,
    step: ProjectStep,
    *,
    by: str,
    now: str,
    restored: Restored | None = None,
) -> Stage | StepResult:
    """Return the project of `snapshot` for a step, or the result that says that there is none.

    Raises StateCorruptError and StateReadOnlyError for a state that no step may change.
    """
    project = snapshot.project
    if project.state is None and project.state_defect is None:
        return _no_project(step)

    try:
        state = writable_state(project.state_defect or project.state)
    except StateCorruptError as error:
        if step.action != "resume":
            raise
        raise StateCorruptError(
            f"{error}; no checkpoint was saved that it can be taken from, so fix it by hand"
        ) from error
    except StateReadOnlyError as error:
        # These are the commands of the packages, which write that form of the state.
        theirs = _PACKAGE_COMMANDS.get(step.action, f"/goop-{step.phase}")
        theirs = theirs if theirs in KNOWN_COMMANDS else "/goop-status"
        raise StateReadOnlyError(f"{error}; use {theirs} of the package instead") from error

    return Stage(
        step=step,
        context=context,
        reading=reading,
        snapshot=snapshot.with_state(state),
        state=state,
        by=by,
        now=now,
        restored=restored,
    )


def _no_project(step: ProjectStep) -> StepResult:
    return StepResult(
        status="refused",
        action=step.action,
        message=no_project(command="goop-mcp init"),
        missing=("state.json",),
        command="goop-mcp init",
    )


def _as_asked(reading: ReadTransaction, step: ProjectStep) -> ProjectStep:
    """Return the step that an open confirmation asks for, if `step` has no other arguments.

    A person who runs `goop-mcp project amend` does not repeat the reason that an agent gave.
    """
    round, given = reading.round().number, json.loads(step.to_json())
    asked = [
        json.loads(each.arguments)
        for each in reading.open_confirmations()
        if each.action == step.action and each.round == round
        # Equal or more: the request has arguments that the repeated step left out, and none that
        # differ.
    ]
    # A move that is not forced is another step than the forced one that somebody asked for.
    same = [
        each
        for each in asked
        if given.items() <= each.items() and each.get("force") == given.get("force")
    ]
    return step_from_json(step.action, json.dumps(same[0])) if len(same) == 1 else step


def _refused(stage: Stage, no: NotDone) -> StepResult:
    return StepResult(
        status="unchanged" if no.unchanged else "refused",
        action=stage.step.action,
        message=no.message,
        phase=stage.state.phase,
        phase_before=stage.state.phase,
        round=stage.round,
        missing=no.missing,
        command=no.command,
    )


def _ask(
    stage: Stage, plan: Plan, question: StepQuestion, writing: WriteTransaction
) -> Confirmation:
    """Return the open confirmation for exactly this question; any other becomes outdated."""
    return writing.add_confirmation(
        NewConfirmation(
            action=stage.step.action,
            subject_key=question.key,
            arguments=(plan.step or stage.step).to_json(),
            subject=question.subject,
            summary=question.lines[0],
            round=stage.round,
            asked_by=stage.by,
            asked_at=stage.now,
        )
    )


def _waiting(stage: Stage, plan: Plan, question: StepQuestion, asked: Confirmation) -> StepResult:
    command = person_command(plan.step or stage.step)
    message = notice(
        "Waiting for You",
        *question.lines,
        f'Waiting for a person: run "{command}" in a terminal, or open "goop-mcp ui".',
    )
    return StepResult(
        status="waiting",
        action=stage.step.action,
        message=message,
        phase=stage.state.phase,
        phase_before=stage.state.phase,
        round=stage.round,
        confirmation=asked,
        question=question.lines,
        choices=question.choices,
        command=command,
        claims=plan.claims,
    )


def _done(
    stage: Stage, plan: Plan, writing: WriteTransaction, *, via: str | None = None
) -> Change[StepResult]:
    """Write everything that `plan` says, in this transaction."""
    context, now, author = stage.context, stage.now, via or stage.by
    extra: list[GuardedWrite] = []

    # The rows of the round come first: the documents below are composed from them.
    for (name, step), text in plan.keeps.items():
        keep_document(writing, name, text, step=step, round=stage.round, now=now)
    if plan.then is not None:
        extra += plan.then(writing)
    if plan.change.phase not in (None, stage.state.phase):
        withdraw_passing(writing)

    if plan.spec is not None:
        path, before = spec_path(stage.snapshot.project), stage.snapshot.sources_on_disk[SPEC]
        if plan.spec != before:
            change = plan_spec(writing, path=path, before=before, after=plan.spec)
            # Elsewhere it is recorded, and a process that has the folder writes it.
            extra += [change] if stage.has_folder else []

    event = _log_step(stage, plan, writing, via=via)

    # A step that leaves the state as it is must not raise its revision, or another writer's check
    # of it would fail for nothing.
    state = None
    if plan.change != StateChange():
        state = plan_state(
            writing, context.state, plan.change, now=now, author=author, seen=stage.state.token
        )

    # The block of state shows the project after the step, and its files follow this transaction.
    after = snapshot_in(context, writing).with_state(
        state.planned.after if state is not None else stage.state
    )
    if plan.spec is not None:
        # The file is written after this transaction.
        after = after.with_spec(plan.spec)

    result = StepResult(
        status="done",
        action=stage.step.action,
        message=plan.message,
        phase=after.project.state.phase if after.project.state is not None else None,
        phase_before=stage.state.phase,
        round=after.round.number,
        undo=plan.undo,
        findings=_move_findings(stage.state, plan.change.phase),
        resources=context.addresses(*_touched(writing, event.revision)),
        revision=event.revision,
        claims=plan.claims,
    )

    # Redacted once, at the end: messages and findings quote the arguments.
    return Change(
        answer=redact_structure(result)[0],
        state=state,
        extra=tuple(extra),
        state_block=state_block_of(after, writing),
    )


def _log_step(stage: Stage, plan: Plan, writing: WriteTransaction, *, via: str | None) -> Event:
    """Add the entries of the step in CHRONICLE.md and ADL.md; return the former."""
    # Only what a person confirmed is called so. Who did it stands first: people look for that.
    if via is None:
        outcome, action = "done", f"Done by {stage.by}."
    elif via.startswith(REPORTED_BY):
        outcome, action = via, f"{via[:1].upper()}{via[1:]}; no person was asked."
    else:
        outcome, action = f"confirmed: {via}", f"Confirmed: {via}."

    entry = ChronicleEntry(
        time=stage.now,
        agent=via or stage.by,
        action=plan.entry,
        outcome=outcome,
        phase=plan.change.phase or stage.state.phase,
    )
    event = writing.add_event(
        NewEvent(
            kind="step",
            author=via or stage.by,
            text=chronicle_text(entry),
            created_at=stage.now,
            document=CHRONICLE,
        )
    )
    if plan.log is not None:
        log = AdlEntry(kind="DECISION", time=stage.now, description=plan.log, action=action)
        writing.add_event(
            NewEvent(
                kind="decision",
                author=via or stage.by,
                text=adl_text(log),
                created_at=stage.now,
                document=ADL,
            )
        )

    return event


def _touched(reading: ReadTransaction, revision: int) -> list[str]:
    """Return the documents that show entries of `revision`, in the order of PROJECTED."""
    shown = {
        each.document
        for each in reading.events(after_revision=revision - 1)
        if each.kind not in HIDDEN_KINDS
    }
    return [document for document in PROJECTED if document in shown]


def _written(
    context: ProjectContext,
    change: "Callable[[WriteTransaction], Change[StepResult]]",
    *,
    now: str,
) -> StepResult:
    result, shown = context.write(change, now=now)
    return replace(result, files=shown.files, remarks=shown.remarks)


def _init(context: ProjectContext, step: ProjectStep, *, now: str) -> StepResult:
    done = create(context, name=step.name, now=now)
    lines = [*(f"created {path}" for path in done.created), *(f"kept {path}" for path in done.kept)]
    remarks = (done.remark,) if done.remark is not None else ()
    resources = context.addresses(STATE)

    return StepResult(
        status="done" if done.created else "unchanged",
        action="init",
        message=notice("Project Created" if done.created else "Project Exists", *lines),
        files=tuple(path for path in done.created if path not in resources),
        resources=tuple(path for path in done.created if path in resources),
        undo="remove the created files" if done.created else None,
        remarks=remarks,
    )


def _move_findings(state: ProjectState, target: str | None) -> tuple[Finding, ...]:
    """Return the warning about a step back, if the move is one."""
    move = Move(start=state.phase, target=target or state.phase, profile=state.profile, forced=True)
    return tuple(
        Finding(
            rule=problem.rule.id,
            severity=problem.rule.lenient,
            message=problem.hit.message,
            fix=problem.rule.fix,
            found=problem.hit.found,
        )
        for problem in run_checks(MOVE_RULES, move, NOTHING_EXPECTED)
    )
