"""Which steps are possible now, for surfaces that show them as buttons; nothing is changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.redaction import redact_structure
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import ProjectSnapshot, snapshot_in
from goop_mcp.services.project_step import ProjectStep, step_from_json
from goop_mcp.services.project_steps.choices import Choices
from goop_mcp.services.project_steps.decisions import (
    AskedBlocker,
    decided_blockers,
    open_blockers,
)
from goop_mcp.services.project_steps.model import (
    Plan,
    Stage,
    StepArgumentError,
    StepResult,
)
from goop_mcp.services.project_steps.taking import STEPS, answers, stage_for
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import Confirmation
from goop_mcp.workflow.phases import PHASES
from goop_mcp.workspace.layout import BLUEPRINT, SPEC

__all__ = [
    "BlockedTask",
    "OfferedStep",
    "OpenConfirmation",
    "StepOffers",
    "open_confirmation",
    "step_offers",
]

_ALWAYS: Final = (
    ProjectStep(action="complete_interview"),
    ProjectStep(action="lock_spec"),
    ProjectStep(action="accept", outcome="accept"),
    ProjectStep(action="accept", outcome="accept_with_issues"),
    ProjectStep(action="accept", outcome="reject"),
    ProjectStep(action="start_round"),
    ProjectStep(action="confirm_merge"),
    ProjectStep(action="reopen_round"),
    ProjectStep(action="unlock_spec"),
)
# What these steps would do depends on no reason, and without one they cannot be planned.
_ANY_REASON: Final = "-"
# The text of a document that a step is about, by action.
_ABOUT: Final[Mapping[str, str]] = {
    "lock_spec": SPEC,
    "unlock_spec": SPEC,
    "amend_spec": SPEC,
    "start_phase": BLUEPRINT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedStep:
    """A step that can be taken now.

    `needs_person` states that a person has to confirm it, `wants_reason` that it needs a reason.
    """

    step: ProjectStep
    needs_person: bool
    wants_reason: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedTask:
    """A task that waits for a decision, or on whose blocker there is one.

    `questions` are those that list options, each as its options by what is answered (`A`, or `1A`
    where there are several questions); without any, the answer is a text. `digest` identifies what
    is shown. `decision` is the one that was made, None if there is none yet.
    """

    task: str
    text: str
    digest: str
    questions: tuple[Mapping[str, str], ...] = ()
    decision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOffers:
    """The possible steps, the tasks that wait for a decision, and the phases that may be forced.

    `decided` are tasks on whose blockers there is a decision, which may be replaced. `refused` is
    why no step is possible at all, None if there is no such reason.
    """

    steps: tuple[OfferedStep, ...] = ()
    blocked: tuple[BlockedTask, ...] = ()
    decided: tuple[BlockedTask, ...] = ()
    phases: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenConfirmation:
    """A request for a confirmation, with all that a person needs to answer it.

    `question` and `choices` are as it was asked. `problem` says why it cannot be confirmed any
    more, None if it can. `text` is the document `document` that is confirmed, None without one.
    """

    asked: Confirmation
    step: ProjectStep
    question: tuple[str, ...]
    choices: tuple[str, str] | None
    problem: str | None
    document: str | None = None
    text: str | None = field(default=None, repr=False)


def step_offers(
    project_context: ProjectContext, *, now: str, snapshot: ProjectSnapshot | None = None
) -> StepOffers:
    """Return what can be done with the project now, as `snapshot` shows it if a caller has one.

    `now` is ISO 8601 in UTC. Raises StoreError.
    """
    if not project_context.store.exists() and not project_context.files.exists(".goopspec"):
        return StepOffers()

    def ask(reading: ReadTransaction) -> StepOffers:
        taken = snapshot or snapshot_in(project_context, reading)
        any_step = ProjectStep(action="start_phase")
        stage = _first_stage(project_context, reading, taken, any_step, now)
        if isinstance(stage, str):
            return StepOffers(refused=stage)

        state = stage.state
        others = tuple(each for each in PHASES[state.profile] if each != state.phase)
        moves = tuple(ProjectStep(action="start_phase", phase=each) for each in others)
        amend = ProjectStep(action="amend_spec", reason=_ANY_REASON)
        steps: list[OfferedStep] = []
        # Each step is planned as if it were asked for: what cannot be planned is not offered.
        for step in (*moves, amend, *_ALWAYS):
            plan = _planned(replace(stage, step=step))
            if isinstance(plan, Plan):
                wants_reason = step.reason is not None
                steps.append(
                    OfferedStep(
                        step=replace(step, reason=None) if wants_reason else step,
                        needs_person=plan.asks is not None,
                        wants_reason=wants_reason,
                    )
                )

        return StepOffers(
            steps=tuple(steps),
            blocked=tuple(map(_blocked_task, open_blockers(stage))),
            decided=tuple(map(_blocked_task, decided_blockers(stage))),
            phases=others,
        )

    return redact_structure(project_context.store.read(ask))[0]


def _blocked_task(asked: AskedBlocker) -> BlockedTask:
    choices = Choices(asked.text)
    return BlockedTask(
        task=asked.key,
        text=asked.text,
        digest=asked.digest,
        questions=tuple(
            {label: option.text for label, option in choices.labelled(number)}
            for number in range(1, len(choices.questions) + 1)
        ),
        decision=str(asked.replaces) if asked.replaces is not None else None,
    )


def open_confirmation(
    project_context: ProjectContext, id: int, *, now: str
) -> OpenConfirmation | None:
    """Return the confirmation `id` with its question, None if there is no such number.

    Raises StoreError.
    """

    def ask(reading: ReadTransaction) -> OpenConfirmation | None:
        asked = reading.confirmation(id)
        if asked is None:
            return None

        step = step_from_json(asked.action, asked.arguments)
        summary = (asked.summary,)
        if asked.status != "open":
            problem = f"it was answered before: {asked.outcome}, {asked.via or 'nobody is named'}"
            return OpenConfirmation(
                asked=asked, step=step, question=summary, choices=None, problem=problem
            )

        snapshot = snapshot_in(project_context, reading)
        stage = _first_stage(project_context, reading, snapshot, step, now)
        plan = stage if isinstance(stage, str) else _planned(stage)
        if not isinstance(plan, Plan) or isinstance(stage, str) or plan.asks is None:
            why = plan if isinstance(plan, str) else "the step is not possible any more"
            return OpenConfirmation(
                asked=asked, step=step, question=summary, choices=None, problem=why
            )

        document = _ABOUT.get(step.action)
        fits = answers(plan.asks, asked, round=stage.round)

        return OpenConfirmation(
            asked=asked,
            step=step,
            question=plan.asks.lines if fits else summary,
            choices=plan.asks.choices if fits else None,
            problem=None if fits else "what was to be confirmed has changed since it was asked",
            document=document,
            text=stage.snapshot.project.sources.get(document) if document is not None else None,
        )

    return redact_structure(project_context.store.read(ask))[0]


def _first_stage(
    context: ProjectContext,
    reading: ReadTransaction,
    snapshot: ProjectSnapshot,
    step: ProjectStep,
    now: str,
) -> Stage | str:
    """Return the project for `step`, or why no step can be taken."""
    try:
        stage = stage_for(context, reading, snapshot, step, by="nobody", now=now)
    except GoopError as error:
        return str(error)

    return "there is no project here yet" if isinstance(stage, StepResult) else stage


def _planned(stage: Stage) -> Plan | str:
    """Return what the step would do, or why it is not possible."""
    try:
        plan = STEPS[stage.step.action](stage)
    except StepArgumentError as error:
        return str(error)

    return plan if isinstance(plan, Plan) else "; ".join(plan.missing) or "there is nothing to do"
