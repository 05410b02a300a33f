"""The pages of runs: the list, one run as a picture and a table, and what was asked of an agent."""

import json
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from starlette.responses import Response

from goop_mcp import services
from goop_mcp.context import AppContext
from goop_mcp.delegation.changes import RunError, UnknownRunError
from goop_mcp.delegation.run_views import RunView
from goop_mcp.delegation.states import ENDED, RUN_ENDED
from goop_mcp.services.runs import RunViews
from goop_mcp.workbench.rendering import visible
from goop_mcp.workbench.visits import RouteList, Visit

__all__ = ["ROUTES"]

ROUTES: Final = RouteList()

_RUN_KINDS: Final = {
    "running": "info",
    "waiting_for_person": "warn",
    "finished": "good",
    "failed": "bad",
}
_TASK_KINDS: Final = {
    "running": "info",
    "retrying": "info",
    "input_required": "warn",
    "accepted": "good",
    "failed": "bad",
}
_WAYS: Final = {
    "first": "for the first time",
    "same_conversation": "again, in the same conversation",
    "minimal": "again, with the errors alone",
    "fresh": "again, in a new conversation",
}
_LISTED: Final = 25
_TASKS: Final = 200
_ASKED: Final = 50
_ATTEMPTS: Final = 20
_LONGEST: Final = 20_000
_LONGEST_NOTE: Final = 2_000

# Each page of a run reads only the events since the last one; ended with its tenant's application.
_VIEWS: Final[WeakKeyDictionary[AppContext, RunViews]] = WeakKeyDictionary()


@ROUTES.page("/runs", label="Runs", part="delegation")
def _list(visit: Visit) -> Response:
    at, id = visit.query.text("at")[:40], visit.query.text("before")[:40]
    before = (at, id) if at and id else None
    found = services.runs.list_runs(visit.application.store, before=before, limit=_LISTED + 1)
    older = None
    if len(found) > _LISTED:
        found = found[:_LISTED]
        last = found[-1].row
        older = f"/runs?{urlencode({'at': last.created_at, 'before': last.id})}"

    return visit.show(
        "runs.html",
        found=found,
        run_kinds=_RUN_KINDS,
        older=older,
        first="/runs" if before is not None else None,
    )


@ROUTES.page("/runs/{id}", of="/runs")
def _run(visit: Visit) -> Response:
    store = visit.application.store
    view = _view(visit)
    row = store.read(lambda reading: reading.graphs.run(view.id))
    first = visit.query.number("from") or 0
    picture = services.runs.draw_run(store, view)
    tasks = list(view.tasks.values())
    # What a person is asked comes with its answers, which depend on what the task has done.
    asked = []
    for each in view.waiting_for[:_ASKED]:
        # Somebody else may have decided since the run was read.
        with suppress(RunError):
            asked.append(services.runs.waiting_step(store, view.id, each.id))

    more = f"/runs/{quote(view.id)}?from={first + _TASKS}"

    return visit.show(
        "run.html",
        run=view,
        row=row,
        run_kinds=_RUN_KINDS,
        task_kinds=_TASK_KINDS,
        has_ended=view.state in RUN_ENDED,
        # The picture is markup of ours, in which the names are escaped.
        picture=None if picture is None else visible(picture),
        asked=asked,
        tasks=tasks[first : first + _TASKS],
        ended=ENDED,
        all=len(tasks),
        more=more if len(tasks) > first + _TASKS else None,
    )


@ROUTES.page("/runs/{id}/tasks/{task}", of="/runs")
def _task(visit: Visit) -> Response:
    store, view = visit.application.store, _view(visit)
    name = visit.params["task"]
    row = store.read(lambda reading: reading.graphs.task(view.id, name))
    if row is None or name not in view.tasks:
        raise HTTPException(404)

    # One more than is shown: whether there are others.
    attempts = store.read(
        lambda reading: reading.graphs.last_attempts(view.id, name, limit=_ATTEMPTS + 1)
    )
    shown = []
    for each in attempts[-_ATTEMPTS:]:
        outcome: dict[str, Any] = json.loads(each.outcome) if each.outcome is not None else {}
        verdict = outcome.get("verdict") or {}
        shown.append(
            {
                "round": each.round + 1,
                "number": each.number,
                "way": _WAYS.get(each.way, each.way.replace("_", " ")),
                "began_at": each.began_at,
                "result": verdict.get("verdict") or outcome.get("error") or "no end is known",
                "findings": [
                    f"{found['rule']}: {found['message']}"
                    for found in verdict.get("findings", ())
                    if found.get("severity") == "error"
                ][:_ATTEMPTS],
                "message": _shortened(each.message),
                "reply": _shortened(outcome.get("reply") or ""),
            }
        )

    return visit.show(
        "run_task.html",
        run=view,
        task=view.tasks[name],
        task_kinds=_TASK_KINDS,
        prompt=_shortened(row.prompt or ""),
        attempts=shown,
        are_left_out=len(attempts) > _ATTEMPTS,
    )


@ROUTES.action("/runs/{id}/answer")
def _answer(visit: Visit) -> Response:
    """Answer a gate, or decide about a task that waits."""
    run, task = visit.params["id"], visit.form.text("task")
    address = f"/runs/{quote(run)}"
    note = visit.form.text("note").strip()[:_LONGEST_NOTE]
    try:
        state = services.runs.decide(
            visit.application.store,
            run,
            task,
            visit.form.text("answer"),
            # What the page showed: it may ask something else meanwhile.
            seen=visit.form.text("seen"),
            by=visit.login.via,
            note=note,
        )
    except RunError as error:
        return visit.go(address, str(error), kind="refused")

    choice = visit.form.text("answer")
    goes = services.runs.who_reads(visit.application.store, run, task, choice, note=note)
    text = f"{task}: {choice}. {goes}".rstrip()
    if state not in RUN_ENDED:
        text += f" If nobody works on the run: goop-mcp runs resume {run}"
    return visit.go(address, text, clears=visit.form.text("keep"))


@ROUTES.action("/runs/{id}/cancel")
def _cancel(visit: Visit) -> Response:
    run, task = visit.params["id"], visit.form.text("task") or None
    address = f"/runs/{quote(run)}"
    try:
        cancelled = services.runs.cancel(visit.application.store, run, task, by=visit.login.via)
    except RunError as error:
        return visit.go(address, str(error), kind="refused")

    if not cancelled:
        return visit.go(address, "Nothing was cancelled: all had ended.", kind="refused")
    named = ", ".join(cancelled[:_ATTEMPTS])
    rest = f" and {len(cancelled) - _ATTEMPTS} more" if len(cancelled) > _ATTEMPTS else ""
    left = services.runs.left_to_end(visit.application.store, run)
    return visit.go(address, f"Cancelled: {named}{rest}{f' ({left})' if left else ''}.")


@ROUTES.action("/runs/{id}/retry")
def _retry(visit: Visit) -> Response:
    run, task = visit.params["id"], visit.form.text("task")
    address = f"/runs/{quote(run)}"
    try:
        services.runs.retry(
            visit.application.store,
            run,
            task,
            by=visit.login.via,
            downstream=visit.form.text("downstream") == "yes",
        )
    except RunError as error:
        return visit.go(address, str(error), kind="refused")

    return visit.go(
        address,
        f"{task} runs again as soon as somebody works on the run: goop-mcp runs resume {run}",
    )


def _view(visit: Visit) -> RunView:
    """Return the run that the address names. Raises HTTPException if there is none."""
    views = _VIEWS.setdefault(visit.application, RunViews())
    try:
        return views.read(visit.application.store, visit.params["id"])
    except UnknownRunError:
        raise HTTPException(404) from None


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n…"
