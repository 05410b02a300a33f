"""What an accepted report does to the graph: nothing, more tasks, another round, a question.

Pure: the same report, tasks and limits give the same `Expansion`. Whoever keeps the run carries it
out. An agent never decides how much is done: what would go on without end is refused, with the path
that led there, and a person decides.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from goop_mcp.delegation.fields import LONGEST_DURATION
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphTask
from goop_mcp.routing import Action, Decision, OutcomeKind, Question, RoutingContext
from goop_mcp.routing.context_parts import Policy, RoutingLimits
from goop_mcp.routing.router import decide, read_case
from goop_mcp.routing.views import NO_REQUEST, RequestView
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.agents import same_agent

__all__ = ["AddedTask", "Again", "Expansion", "RunSnapshot", "TaskSnapshot", "expand"]

ExpandReason = Literal[
    "blocked",
    "cycle",
    "depth",
    "max_tasks",
    "rounds",
    "unknown_agent",
    "unknown_task",
    "same_report",
]

_DONE: Final = (OutcomeKind.DONE, OutcomeKind.DONE_WITH_REVIEW, OutcomeKind.INPUT)
# Outcomes with which a reviewer sends the work of others back; as that of a task without feedback
# edges they mean that its own work goes on.
_NOT_YET: Final = (OutcomeKind.GATE_FAILED, OutcomeKind.PARTIAL, OutcomeKind.FAILED)
_SAME_AGAIN: Final = (
    Action.RESUME_SAME,
    Action.RETRY,
    Action.RETRY_WITH_BACKOFF,
    Action.FIX_AND_RETRY,
    Action.REQUEST_REPAIR,
)
# Of 2,001 priorities: between two of them there is room for those of a graph.
_PRIORITIES: Final[Mapping[str, int]] = {"high": 10, "medium": 0, "low": -10}
_MOST_ASKED: Final = 100
_SHORTEST_TIMEOUT: Final = 1.0
_LONGEST_ID: Final = 58


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSnapshot:
    """One task of a run: as the graph has it, or as an agent added it.

    `parent` is the task whose report added it, None for one of the graph; `depth` counts them.
    """

    task: GraphTask
    parent: str | None = None
    depth: int = 0


class Edge(NamedTuple):
    """Where a report came from and which task it sent back."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """What is known of a run: its tasks by their ids, and what has gone back over which edge.

    reports: for each edge the digests of the reports that went over it, in order.
    """

    graph: Graph
    tasks: Mapping[str, TaskSnapshot]
    reports: Mapping[Edge, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTask:
    """A task to be added; `fresh`: it must not go on with the conversation of another one."""

    task: GraphTask
    parent: str
    depth: int
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """`task` is asked once more, with `message` after its own prompt."""

    task: str
    message: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What becomes of the task, and what follows for the others.

    state: `accepted`; `waiting` for what is in `needs` or asked `again`; `input_required`, where
        `reason`, `message` and `path` say why a person has to decide.
    added: new tasks. needs: tasks that this one needs from now on.
    again: tasks that go into their next round; everything after them goes back to waiting.
    digest: of the report, to be kept for each edge to a task of `again`; empty without one.
    """

    state: Literal["accepted", "waiting", "input_required"] = "accepted"
    reason: ExpandReason | None = None
    message: str = ""
    path: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    added: tuple[AddedTask, ...] = ()
    needs: tuple[str, ...] = ()
    again: tuple[Again, ...] = ()
    digest: str = ""


def expand(run: RunSnapshot, id: str, verdict: Verdict) -> Expansion:
    """Return what the accepted report `verdict` of the task `id` does to the run."""
    found = run.tasks[id]
    case = read_case(verdict, _context(run, found))
    if case.request is not NO_REQUEST:
        wanted = _requested(case.request, found)
        expansion = _add(run, found, [wanted], verdict) if found.task.expands else Expansion()
        # A dependency on nothing would let the new task wait for ever.
        unknown = [name for name in case.request.depends_on if name not in run.tasks]
        if found.task.expands and unknown:
            return _person(
                "unknown_task", f"the request depends on {unknown[0]!r}, which is not a task", (id,)
            )
        return expansion

    # The message is written for people, and nobody reads it here.
    decision = decide(case, with_message=False)
    return _after_report(run, found, case.outcome, decision, verdict)


class _Wanted(NamedTuple):
    """A task that a report asks for, and whom it wants to be notified when that has completed.

    `report_of` is the task whose report follows the prompt.
    """

    agent: str | None
    prompt: str
    needs: tuple[str, ...]
    fresh: bool = False
    first: bool = False
    priority: int = 0
    timeout: float | None = None
    max_attempts: int | None = None
    notify: tuple[str, ...] = ()
    report_of: str | None = None


def _after_report(
    run: RunSnapshot,
    found: TaskSnapshot,
    outcome: OutcomeKind,
    decision: Decision,
    verdict: Verdict,
) -> Expansion:
    task = found.task
    # Saving the state is done in any case, and is not a decision about the graph.
    action = next((each for each in decision.actions if each is not Action.SAVE_STATE), None)
    instruction = _instruction(decision)

    if action is Action.FEEDBACK_LOOP or (task.feedback_to and outcome in _NOT_YET):
        targets = _targets(task, decision, run)
        # Without an edge there is nowhere to send it: a person decides, and the work is not lost.
        if targets:
            return _send_back(run, task, targets, instruction or decision.reason, verdict)
        return _person("blocked", f"{decision.reason} No feedback edge leads there.", (task.id,))
    if action is Action.RUN_PREREQUISITE and task.expands:
        return _add(
            run, found, [_Wanted(decision.next_agent, instruction, (), first=True)], verdict
        )
    if action in _SAME_AGAIN:
        return _send_back(run, task, [task.id], instruction or "Go on where you stopped.", verdict)
    if outcome not in _DONE:
        why = "; ".join(decision.blockers) or decision.reason
        return replace(_person("blocked", why, ()), questions=decision.questions)

    # A report that is done names who comes next; where the graph knows that already, it stays so.
    goes_on = action in (Action.CONTINUE_NEXT, Action.SPAWN, Action.NEW_SESSION)
    if not task.expands or not goes_on or decision.next_agent is None:
        return Expansion()
    # The graph has that agent next already: a second task would do the work twice.
    if any(
        task.id in each.task.needs and same_agent(each.task.agent, decision.next_agent)
        for each in run.tasks.values()
    ):
        return Expansion()

    fresh = action is not Action.CONTINUE_NEXT
    text = instruction or f"{task.agent} has finished. Go on with its result."
    return _add(run, found, [_Wanted(decision.next_agent, text, (task.id,), fresh)], verdict)


def _requested(view: RequestView, found: TaskSnapshot) -> _Wanted:
    timeout = view.timeout_seconds
    if timeout is not None:
        # As in a graph file: at least a moment, and not the thousands of years that nine digits
        # can mean.
        timeout = min(max(timeout, _SHORTEST_TIMEOUT), LONGEST_DURATION)

    return _Wanted(
        view.target,
        view.text,
        needs=tuple(dict.fromkeys((found.task.id, *view.depends_on))),
        fresh=True,
        priority=_PRIORITIES.get(view.priority or "", 0),
        timeout=timeout,
        max_attempts=None if view.max_retries is None else min(view.max_retries + 1, _MOST_ASKED),
        notify=tuple(dict.fromkeys(view.notify)),
    )


def _add(
    run: RunSnapshot, found: TaskSnapshot, wanted: Iterable[_Wanted], verdict: Verdict
) -> Expansion:
    """Return the expansion that adds `wanted`, or the question why one of them is refused."""
    added: list[AddedTask] = []
    needs: list[str] = []
    limits, taken = run.graph.limits, set(run.tasks) | set(run.graph.steps)

    # The list grows while it is read: who is to be notified gets a task too.
    todo = list(wanted)
    for each in todo:
        # The path there is shown with each refusal: it is what a person needs to see a circle.
        path = (*_ancestors(run, found), each.agent or "nobody")
        agent = _known_agent(run, each.agent)
        if agent is None:
            known = ", ".join(run.graph.agent_named)
            # A typing error of an agent is for a person: guessing who was meant could start the
            # wrong work.
            return _person(
                "unknown_agent", f"there is no agent {each.agent!r}; known are {known}", path
            )
        if found.depth + 1 > limits.max_depth:
            return _person("depth", f"deeper than limits.max_depth ({limits.max_depth})", path)
        if len(run.tasks) + len(added) + 1 > limits.max_tasks:
            return _person("max_tasks", f"more than limits.max_tasks ({limits.max_tasks})", path)
        # Nested requests that come back to the same question would go on until a limit.
        if (same := _asked_before(run, found, agent, each.prompt)) is not None:
            return _person("cycle", f"{agent} was asked the same in {same!r}", (*path[:-1], agent))

        id = _free_id(f"{found.task.id}-{agent}", taken)
        taken.add(id)
        # An agent's text is not a template: `${…}` in it must reach the next agent unchanged.
        report = f"\n\n${{{each.report_of}}}" if each.report_of else ""
        task = GraphTask(
            id,
            agent=agent,
            prompt=_literal(each.prompt) + report,
            needs=each.needs,
            # Who is only notified holds nothing up.
            optional=each.report_of is not None,
            priority=each.priority,
            timeout=each.timeout,
            max_attempts=each.max_attempts,
        )
        added.append(
            AddedTask(task=task, parent=found.task.id, depth=found.depth + 1, fresh=each.fresh)
        )
        needs += [id] if each.first else []
        # By the agents of the graph: with and without a prefix it is the same one.
        notified = dict.fromkeys(_known_agent(run, name) or name for name in each.notify)
        notice = f"{id!r} of {agent} has completed. Its report:"
        todo += [_Wanted(name, notice, (id,), report_of=id) for name in notified]

    if not needs:
        return Expansion(added=tuple(added))

    # Waiting for what comes first is a round of the task itself, and bounded like one.
    edge = Edge(found.task.id, found.task.id)
    digest = _digest(verdict)
    if (refused := _used_up(run, edge, digest)) is not None:
        return refused
    return Expansion(
        state="waiting",
        added=tuple(added),
        needs=tuple(needs),
        again=(Again(found.task.id, "What you needed first is done. Go on."),),
        digest=digest,
    )


def _send_back(
    run: RunSnapshot, task: GraphTask, targets: Collection[str], message: str, verdict: Verdict
) -> Expansion:
    digest = _digest(verdict)
    # All or none: a refused edge leaves the other tasks as they are.
    for target in targets:
        if (refused := _used_up(run, Edge(task.id, target), digest)) is not None:
            return refused

    again = tuple(Again(target, message) for target in targets)
    return Expansion(state="waiting", again=again, digest=digest)


def _used_up(run: RunSnapshot, edge: Edge, digest: str) -> Expansion | None:
    """Return the question that stands where a feedback edge would be followed too often."""
    before = run.reports.get(edge, ())
    # The path of the work: each round is once around the circle.
    path = (edge.target, edge.source) * len(before) + (edge.target, edge.source, edge.target)
    if digest in before:
        return _person(
            "same_report", f"{edge.source} sent the same report back to {edge.target} again", path
        )
    if len(before) >= run.graph.limits.max_rounds:
        limit = run.graph.limits.max_rounds
        return _person("rounds", f"more rounds than limits.max_rounds ({limit})", path)
    return None


def _targets(task: GraphTask, decision: Decision, run: RunSnapshot) -> list[str]:
    """Return the tasks that the report sends back: those of the agent that it names, else all."""
    named = decision.next_agent
    # One target is meant in any case, whatever name the report has for it.
    if named is None or len(task.feedback_to) <= 1:
        return list(task.feedback_to)

    return [
        each
        for each in task.feedback_to
        if each == named or same_agent(run.tasks[each].task.agent, named)
    ] or list(task.feedback_to)


def _person(reason: ExpandReason, message: str, path: tuple[str, ...]) -> Expansion:
    return Expansion(state="input_required", reason=reason, message=message, path=path)


def _context(run: RunSnapshot, found: TaskSnapshot) -> RoutingContext:
    """Return the context of the router: the limits of the graph stand instead of its own."""
    # The most of any edge: the router counts rounds of the whole task.
    rounds = max(
        (len(sent) for edge, sent in run.reports.items() if edge.source == found.task.id),
        default=0,
    )
    return _context_of(rounds, run.graph.limits.max_rounds, tuple(run.graph.agent_named))


# Nearly all reports of a run have the same: to check a context takes longer than to route by it.
@lru_cache(maxsize=64)
def _context_of(rounds: int, most: int, agents: tuple[str, ...]) -> RoutingContext:
    # One more than the graph allows, so that the refusal comes from here, with the whole path.
    limits = RoutingLimits(
        critic_rejections=most + 2,
        partials_in_a_row=most + 2,
        feedback_iterations=most + 2,
        feedback_edges={},
    )

    return RoutingContext(
        iteration=min(rounds, most),
        max_iterations=most + 2,
        known_agents=agents,
        policy=Policy(limits=limits),
    )


def _instruction(decision: Decision) -> str:
    issues = [
        " ".join(filter(None, (f"- {each.severity}:", each.message, each.fix)))
        for each in decision.issues
    ]
    files = f"Read first: {', '.join(decision.files_to_read)}" if decision.files_to_read else ""
    return "\n".join(filter(None, (decision.instruction, *issues, files)))


def _known_agent(run: RunSnapshot, name: str | None) -> str | None:
    """Return the agent of the graph that `name` means, with or without a prefix."""
    if name is None:
        return None
    # The exact name wins: "tester" must not find "goop-tester" if both exist.
    exact = [each for each in run.graph.agent_named if each == name]
    return next(
        iter(exact or [each for each in run.graph.agent_named if same_agent(each, name)]), None
    )


def _ancestors(run: RunSnapshot, found: TaskSnapshot) -> tuple[str, ...]:
    """Return the tasks that led to `found`, the first one first, and `found` itself."""
    path, current = [found.task.id], found
    # A parent is always older than its child: the path ends.
    while current.parent is not None:
        current = run.tasks[current.parent]
        path.append(current.task.id)

    return tuple(reversed(path))


def _asked_before(run: RunSnapshot, found: TaskSnapshot, agent: str, prompt: str) -> str | None:
    # Case and blanks are no difference to an agent.
    wanted = (agent, _normalised(_literal(prompt)))
    for id in _ancestors(run, found):
        task = run.tasks[id].task
        if (task.agent, _normalised(task.prompt)) == wanted:
            return id

    return None


def _normalised(prompt: str) -> str:
    return " ".join(prompt.split()).casefold()


def _literal(prompt: str) -> str:
    """Return the prompt of an agent so that nothing in it is a placeholder."""
    return prompt.replace("${", "$${")


def _free_id(wanted: str, taken: Collection[str]) -> str:
    id = stem = wanted[:_LONGEST_ID]
    number = 1
    # As many tasks as the limit allows: the search ends soon.
    while id in taken:
        number += 1
        id = f"{stem}-{number}"

    return id


def _digest(verdict: Verdict) -> str:
    """Return what is the same for the same envelope; the prose around it does not count."""
    text = verdict.read_text if verdict.span is None else verdict.read_text[slice(*verdict.span)]
    return hashlib.sha256(" ".join(text.split()).encode(errors="replace")).hexdigest()
