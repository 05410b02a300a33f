"""From a decision to the next request, or to the end: what `follow` does, as pure functions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from goop_mcp.retry.journey import JourneyEnd, Step
from goop_mcp.routing import Action, Decision, RoutingContext

__all__ = ["Request", "WorkflowEnd", "apply_changes", "first_request", "request_after"]

_OURS = (
    Action.CONTINUE_NEXT,
    Action.RESUME_SAME,
    Action.FIX_AND_RETRY,
    Action.REQUEST_REPAIR,
    Action.RETRY,
    Action.RETRY_WITH_BACKOFF,
    Action.FEEDBACK_LOOP,
    Action.RUN_PREREQUISITE,
    Action.FINISH,
)
_TO_ANOTHER = (Action.CONTINUE_NEXT, Action.FEEDBACK_LOOP, Action.RUN_PREREQUISITE)
_SAME_WORDS = (Action.RETRY, Action.RETRY_WITH_BACKOFF)
# All other actions that a loop can carry out are counted, and end at a limit of the router.
_WITHOUT_LIMIT = (Action.CONTINUE_NEXT, Action.RESUME_SAME, Action.REQUEST_REPAIR)
_FAILED_ENDS = ("agent_error", "interrupted", "deadline", "budget", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Ask `agent` with `prompt` after `pause` seconds.

    `task` is what it was asked for in the first place.

    `waiting` are the requests to be made again once this one and what follows from it are done, the
    next one last.
    """

    agent: str
    prompt: str = field(repr=False)
    task: str = field(repr=False)
    pause: float = 0.0
    waiting: "tuple[Request, ...]" = ()


@dataclass(frozen=True, slots=True)
class WorkflowEnd:
    """Ask nobody any more, and why."""

    because: JourneyEnd
    reason: str


def first_request(agent: str, prompt: str) -> Request:
    """Return the first request of a workflow."""
    return Request(agent=agent, prompt=prompt, task=prompt)


def request_after(
    request: Request,
    step: Step,
    before: Sequence[Step],
    tasks: Mapping[str, str],
    known: Collection[str],
) -> Request | WorkflowEnd:
    """Return what follows on `step`, which `request` led to; `before` are the steps before it.

    `tasks` are the tasks of the agents that were asked so far, `known` those that can be asked.
    Goes on only where each action of the decision is one that a loop can carry out; all else is for
    a person or a host.
    """
    decision = step.decision
    if decision is None or step.outcome.stopped_because in _FAILED_ENDS:
        because = step.outcome.stopped_because
        last = step.outcome.attempts[-1] if step.outcome.attempts else None
        detail = f": {last.error}" if last is not None and last.error else ""
        return WorkflowEnd(
            because
            if because in ("agent_error", "interrupted", "deadline", "budget")
            else "cancelled",
            f"{step.agent} was asked and no accepted reply came ({because}){detail}",
        )

    ours = [each for each in decision.actions if each is not Action.SAVE_STATE]
    if not_ours := [each for each in ours if each not in _OURS]:
        return WorkflowEnd(cast("JourneyEnd", not_ours[0].value), decision.reason)

    action = ours[0] if ours else Action.ASK_USER
    if request.waiting and action in (Action.FINISH, Action.CONTINUE_NEXT):
        return request.waiting[-1]
    if action in (Action.FINISH, Action.ASK_USER):
        return WorkflowEnd("finish" if action is Action.FINISH else "ask_user", decision.reason)
    if action in _WITHOUT_LIMIT and _was_reported_before(step, before):
        return WorkflowEnd("no_progress", f"{step.agent} sent the same report again")
    if action not in _TO_ANOTHER:
        return _again(action, request, decision)
    if decision.next_agent is None or decision.next_agent not in known:
        who = "not named" if decision.next_agent is None else repr(decision.next_agent)
        reason = f"the next agent is {who}; known are {', '.join(known)}"
        return WorkflowEnd("unknown_agent", reason)
    return _to_another(action, decision.next_agent, request, decision, tasks)


def _again(action: Action, request: Request, decision: Decision) -> Request:
    pause = float(decision.retry.delay_seconds) if decision.retry is not None else 0.0
    if action in _SAME_WORDS:
        return replace(request, pause=pause)
    words = decision.instruction or "Go on where you stopped."
    return replace(request, prompt=_written(request.task, words, decision), pause=pause)


def _to_another(
    action: Action, name: str, request: Request, decision: Decision, tasks: Mapping[str, str]
) -> Request:
    words = (
        decision.instruction
        or _issues(decision)
        or f"{request.agent} has finished. Go on with its result."
    )
    if action is Action.FEEDBACK_LOOP:
        task = tasks.get(name, "")
        return Request(
            agent=name, prompt=_written(task, words, decision), task=task, waiting=request.waiting
        )

    prompt = _written("", words, decision)
    waiting = request.waiting
    if action is Action.RUN_PREREQUISITE:
        waiting = (*waiting, replace(request, pause=0.0))
    return Request(agent=name, prompt=prompt, task=prompt, waiting=waiting)


def _issues(decision: Decision) -> str:
    lines = [
        " ".join(filter(None, (f"- {each.severity}:", each.message, each.fix)))
        for each in decision.issues
    ]
    return "\n".join(["Fix these and report again:", *lines]) if lines else ""


def _written(task: str, words: str, decision: Decision) -> str:
    files = f"Read first: {', '.join(decision.files_to_read)}" if decision.files_to_read else ""
    return "\n\n".join(filter(None, (task, words, files)))


def _was_reported_before(step: Step, before: Sequence[Step]) -> bool:
    """Whether the agent sent the same report since the last action that the router counts.

    After such an action, feedback for example, an agent is asked something else; that it says the
    same again is for the limit of the router to end.
    """
    report = step.outcome.attempts[-1].report_key
    for earlier in reversed(before):
        if earlier.agent == step.agent and earlier.outcome.attempts[-1].report_key == report:
            return True
        if earlier.decision is None or not set(earlier.decision.actions) & set(_WITHOUT_LIMIT):
            return False

    return False


def apply_changes(context: RoutingContext, changes: Mapping[str, Any]) -> RoutingContext:
    """Return `context` with the state changes of a decision."""
    rest = {name: value for name, value in changes.items() if name != "counters"}
    if "previous_rules" in rest:
        rest["previous_rules"] = tuple(rest["previous_rules"])
    return replace(
        context, counters=replace(context.counters, **changes.get("counters", {})), **rest
    )
