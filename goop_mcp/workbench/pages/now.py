"""The page Now: where the project stands, what can be done, and what waits for a person."""

from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from goop_mcp import services
from goop_mcp.errors import StoreError
from goop_mcp.services.project_steps import ProjectStep, StepResult
from goop_mcp.workbench.parts import judged_here
from goop_mcp.workbench.visits import (
    Form,
    NoteKind,
    RouteList,
    Visit,
    whole_number,
)
from goop_mcp.workflow.phases import PHASES

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_LABELS: Final[Mapping[str, str]] = {
    "complete_interview": "Complete the interview",
    "lock_spec": "Lock the specification",
    "unlock_spec": "Unlock the specification",
    "amend_spec": "Amend the specification",
    "confirm_merge": "Confirm the merge",
    "start_round": "Start the next round",
    "reopen_round": "Reopen the last round",
    "checkpoint": "Save a checkpoint",
    "accept": "Accept or reject the round",
    "decide": "Decide",
    "skip_gate": "Skip a gate",
}
_MOST_QUESTIONS: Final = 20
# These undo something, or repeat it: they are there, but not what is usually next.
_RARE: Final = frozenset({"unlock_spec", "reopen_round", "start_phase back", "confirm_merge"})
_KINDS: Final[Mapping[str, NoteKind]] = {
    "done": "done",
    "unchanged": "done",
    "refused": "refused",
    "waiting": "waiting",
}


@ROUTES.page("/", label="Now")
def _show(visit: Visit) -> Response:
    context, offers = visit.application.project_context, services.project_steps.StepOffers()
    try:
        # Taken once for both: reading the documents is most of what this page costs.
        snapshot = services.project_snapshot.take_snapshot(context)
        status = services.project_status.project_status(
            context, snapshot=snapshot, are_judged=judged_here(visit.application)
        )
        offers = services.project_steps.step_offers(context, now=visit.now, snapshot=snapshot)
    except StoreError:
        # What the files say is shown, with a warning about the database.
        status = services.project_status.project_status(context)
    phases = next((each for name, each in PHASES.items() if name == status.profile), ())

    order = {phase: number for number, phase in enumerate(phases)}
    here = order.get(status.phase or "", 0)
    accepts = [each for each in offers.steps if each.step.action == "accept"]
    steps = [each for each in offers.steps if each.step.action != "accept"]
    rare = [
        each
        for each in steps
        if each.step.action in _RARE
        or (each.step.action == "start_phase" and order.get(each.step.phase or "", here) < here)
    ]

    return visit.show(
        "now.html",
        now=status,
        phases=phases,
        offers=offers,
        blocked={each.task for each in offers.blocked},
        none_of_these=services.project_steps.NONE_OF_THESE,
        outcomes=[each.step.outcome for each in accepts],
        steps=[(_label(each.step), each) for each in steps if each not in rare],
        rare=[(_label(each.step), each) for each in rare],
    )


def _label(step: ProjectStep) -> str:
    if step.action == "start_phase":
        return f"Go to phase {step.phase}" + (" (forced)" if step.force else "")
    return _LABELS.get(step.action, step.action)


@ROUTES.action("/steps")
def _take(visit: Visit) -> Response:
    """Take the step of a form; what needs a person leads to its question first."""
    form, steps = visit.form, services.project_steps
    if form.text("action") not in steps.ACTIONS:
        raise HTTPException(400)

    def given(name: str) -> str | None:
        return form.text(name).strip() or None

    step = ProjectStep(
        action=form.text("action"),
        phase=given("phase"),
        force=form.text("force") == "yes",
        gate=given("gate"),
        reason=given("reason"),
        note=given("note"),
        task=given("task"),
        choice=_choice(form),
        # What the page showed: a blocker that was answered or replaced meanwhile is another one.
        seen=form.text("seen") if form.text("action") == "decide" else None,
        comment=given("comment"),
        outcome=given("outcome"),
        tasks=tuple(form.texts("tasks")) if form.text("outcome") == "reject" else (),
        name=given("name"),
    )
    context = visit.application.writing_context()
    try:
        result = steps.take_step(context, step, by=visit.login.via, can_ask=True, now=visit.now)
    except steps.StepArgumentError as error:
        return visit.go("/", f"{_label(step)}: {error}", kind="refused")

    asked = result.confirmation
    if result.status == "waiting" and asked is not None and visit.login.may_confirm:
        # Text, options and the choice stood in one form: asking again would show nothing more.
        if step.action != "decide" or not visit.confirms:
            return visit.go(f"/confirm/{asked.id}", clears=form.text("keep"))
        result = steps.answer_confirmation(
            context, asked.id, accept=True, via=visit.login.via, now=visit.now
        )

    return _after(visit, result)


def _choice(form: Form) -> str | None:
    """Return what was chosen: a text, or an option of each question; None for nothing."""
    none, chosen = services.project_steps.NONE_OF_THESE, [form.text("choice").strip()]
    while (another := form.text(f"choice-{len(chosen)}").strip()) and len(chosen) < _MOST_QUESTIONS:
        chosen.append(another)

    given = [each for each in chosen if each]
    # Each question offers it, and all have to be answered so.
    if given and all(each == none for each in given):
        return none
    return ", ".join(given) or None


@ROUTES.page("/confirm/{id}", of="/")
def _question(visit: Visit) -> Response:
    found = _asked(visit)
    return visit.show("confirm.html", found=found, label=_label(found.step))


@ROUTES.action("/confirm/{id}")
def _answer(visit: Visit) -> Response:
    found, answer = _asked(visit), visit.form.text("answer")
    if answer not in ("yes", "no"):
        raise HTTPException(400)

    result = services.project_steps.answer_confirmation(
        visit.application.writing_context(),
        found.asked.id,
        accept=answer == "yes",
        via=visit.login.via,
        comment=visit.form.text("comment").strip() or None,
        now=visit.now,
    )

    return _after(visit, result)


def _asked(visit: Visit) -> services.project_steps.OpenConfirmation:
    """Return the confirmation that the address names. Raises HTTPException."""
    number = whole_number(visit.params["id"])
    context, now = visit.application.project_context, visit.now
    found = (
        services.project_steps.open_confirmation(context, number, now=now)
        if number is not None
        else None
    )
    if found is None:
        raise HTTPException(404)
    return found


def _after(visit: Visit, result: StepResult) -> Response:
    """Return to the first page with what became of a step, and how it is taken back."""
    lines = [
        line.strip().replace("`", "")
        for line in result.message.splitlines()
        # The header and the divider of the visual style stand for a page of their own.
        if line.strip() and not line.startswith(("#", "---"))
    ]
    lines += [each.message for each in result.findings]
    lines += result.remarks
    if result.undo and result.status == "done":
        lines.append(f"To take it back: {result.undo}")
    # What was refused may be sent again, so that what was typed is kept.
    clears = visit.form.text("keep") if result.status in ("done", "unchanged") else ""

    return visit.go("/", "\n".join(lines), kind=_KINDS[result.status], clears=clears)
