"""Follow the router from agent to agent until the work is finished or a person is needed.

`_request_after` and what it uses are pure; only `WorkflowLoop` asks agents.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol, TypedDict, Unpack, cast

import anyio

from goop_mcp.command_words import opening
from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import validate
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.budget import time_left
from goop_mcp.retry.calls import call_of
from goop_mcp.retry.hooks import Hooks, call_hooks
from goop_mcp.retry.jobs import DEFAULT_POLICY, Job, check_count, check_type
from goop_mcp.retry.loop import RetryLoop
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent
from goop_mcp.retry.telemetry import workflow_span
from goop_mcp.routing import Action, Decision, RoutingContext, route
from goop_mcp.routing.expecting import expectations_of
from goop_mcp.validation.rules import Rule

__all__ = [
    "Followed",
    "Request",
    "Step",
    "WorkflowEnd",
    "WorkflowKeeper",
    "WorkflowLoop",
    "WorkflowOptions",
    "WorkflowRun",
    "WorkflowStopReason",
    "follow",
]

WorkflowStopReason = Literal[
    "finish",
    "ask_user",
    "human_review",
    "manual_resolution",
    "new_session",
    "spawn",
    "provide_context",
    "wait",
    "reject",
    "unknown_agent",
    "no_progress",
    "limit",
    "agent_error",
    "interrupted",
    "deadline",
    "budget",
    "cancelled",
]
"""The action of the last decision that is not carried out here, or what ended the workflow."""

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
_SAME_PROMPT = (Action.RETRY, Action.RETRY_WITH_BACKOFF)
# All other actions that a loop can carry out are counted, and end at a limit of the router.
_WITHOUT_LIMIT = (Action.CONTINUE_NEXT, Action.RESUME_SAME, Action.REQUEST_REPAIR)
_FAILED_ENDS = ("agent_error", "interrupted", "deadline", "budget", "cancelled")
_NOTHING_KNOWN = RoutingContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One agent was asked with `prompt`.

    `decision` is None when the call was cancelled meanwhile.
    """

    agent: str
    prompt: str = field(repr=False)
    outcome: Outcome
    decision: Decision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """All steps of a workflow in order, and why it ended; `reason` is a sentence for a person."""

    steps: tuple[Step, ...]
    stopped_because: WorkflowStopReason
    reason: str = field(repr=False)

    @property
    def finished(self) -> bool:
        """Whether the router reported the work as done."""
        return self.stopped_because == "finish"

    @property
    def decision(self) -> Decision | None:
        """The last decision: its questions, blockers and message are what to show to a person."""
        return self.steps[-1].decision if self.steps else None


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
    """Why the workflow ends."""

    because: WorkflowStopReason
    reason: str


def _request_after(
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
        return WorkflowEnd(cast("WorkflowStopReason", not_ours[0].value), decision.reason)

    action = ours[0] if ours else Action.ASK_USER
    # A prerequisite is done: the request that needed it is made again, whatever would be next.
    if request.waiting and action in (Action.FINISH, Action.CONTINUE_NEXT):
        return request.waiting[-1]
    if action in (Action.FINISH, Action.ASK_USER):
        return WorkflowEnd("finish" if action is Action.FINISH else "ask_user", decision.reason)
    if action in _WITHOUT_LIMIT and _was_reported_before(step, before):
        return WorkflowEnd("no_progress", f"{step.agent} sent the same report again")
    if action not in _TO_ANOTHER:
        pause = float(decision.retry.delay_seconds) if decision.retry is not None else 0.0
        if action in _SAME_PROMPT:
            return replace(request, pause=pause)
        instruction = decision.instruction or "Go on where you stopped."
        return replace(request, prompt=_written(request.task, instruction, decision), pause=pause)
    if decision.next_agent is None or decision.next_agent not in known:
        who = "not named" if decision.next_agent is None else repr(decision.next_agent)
        reason = f"the next agent is {who}; known are {', '.join(known)}"
        return WorkflowEnd("unknown_agent", reason)
    return _to_another(action, decision.next_agent, request, decision, tasks)


def _to_another(
    action: Action, name: str, request: Request, decision: Decision, tasks: Mapping[str, str]
) -> Request:
    """Return the request to the agent `name`, which `action` leads to."""
    issues = [
        " ".join(filter(None, (f"- {each.severity}:", each.message, each.fix)))
        for each in decision.issues
    ]
    instruction = decision.instruction or (
        "\n".join(["Fix these and report again:", *issues])
        if issues
        else f"{request.agent} has finished. Go on with its result."
    )
    if action is Action.FEEDBACK_LOOP:
        task = tasks.get(name, "")
        return Request(
            agent=name,
            prompt=_written(task, instruction, decision),
            task=task,
            waiting=request.waiting,
        )

    prompt = _written("", instruction, decision)
    waiting = request.waiting
    if action is Action.RUN_PREREQUISITE:
        # Asked again when the prerequisite is done; the last one waiting is the first to go on.
        waiting = (*waiting, replace(request, pause=0.0))
    return Request(agent=name, prompt=prompt, task=prompt, waiting=waiting)


def _written(task: str, instruction: str, decision: Decision) -> str:
    files = f"Read first: {', '.join(decision.files_to_read)}" if decision.files_to_read else ""
    # An agent wrote the instruction, and the caller the task.
    return "\n\n".join(filter(None, (task, instruction if task else opening(instruction), files)))


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


OnStep = Callable[[Step], Awaitable[None] | None]


class WorkflowOptions(TypedDict, total=False):
    """The arguments of `follow` by their names, without the first three."""

    protocol: str
    context: RoutingContext
    policy: RetryPolicy
    hooks: Hooks | Sequence[Hooks]
    rules: Sequence[Rule]
    on_step: OnStep | None
    max_steps: int


class Followed(NamedTuple):
    """A step and what follows on it; `context` is that of its agent from then on."""

    step: Step
    context: RoutingContext
    following: Request | WorkflowEnd


class WorkflowLoop:
    """One workflow: run it once with `run`; `steps` may be read at any time.

    The arguments are those of `follow`.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        first: str,
        prompt: str,
        *,
        protocol: str = "auto",
        context: RoutingContext = _NOTHING_KNOWN,
        policy: RetryPolicy = DEFAULT_POLICY,
        hooks: Hooks | Sequence[Hooks] = (),
        rules: Sequence[Rule] = (),
        on_step: OnStep | None = None,
        max_steps: int = 100,
    ) -> None:
        check_type("agents", agents, Mapping, "a dict of agents by their names")
        check_type("context", context, RoutingContext, "RoutingContext(...)")
        if first not in agents:
            raise UnknownNameError("agent", first, agents)

        check_count("max_steps", max_steps)
        for name, agent in agents.items():
            call_of(agent, named=f"agent {name!r}")

        self.steps: list[Step] = []
        self._agents = dict(agents)
        self._request = Request(agent=first, prompt=prompt, task=prompt)
        self._protocol, self._policy, self._hooks, self._rules = protocol, policy, hooks, rules
        self._on_step, self._max_steps = on_step, max_steps
        self._context = replace(
            context, known_agents=tuple(dict.fromkeys((*context.known_agents, *agents)))
        )
        # Counters belong to the agent whose reports move them: an edge of feedback begins at one
        # agent.
        self._contexts: dict[str, RoutingContext] = {}
        self._tasks: dict[str, str] = {}
        self._job()  # says at once what is wrong with the terms

    async def run(self) -> WorkflowRun:
        """Ask, route, ask the next. A cancellation goes through; `steps` is complete also then."""
        with workflow_span("follow"):
            end = await self._run_steps()

        return WorkflowRun(steps=tuple(self.steps), stopped_because=end.because, reason=end.reason)

    async def _run_steps(self) -> WorkflowEnd:
        while True:
            outcome = await self._known_outcome()
            if outcome is None:
                # A pause that would outlast the deadline ends the workflow at once: the wait would
                # only delay the same result.
                pause, left = self._request.pause, time_left()
                if left is not None and pause >= left:
                    return WorkflowEnd(
                        "deadline", "the pause before the next try would last beyond the deadline"
                    )
                if pause:
                    await anyio.sleep(pause)
                outcome = await self._ask(self._job())

            agent, (step, context, following) = self._request.agent, self._after(outcome)
            self._tasks.setdefault(agent, self._request.task)
            self._contexts[agent] = context
            self.steps.append(step)
            await call_hooks([self._on_step], step)
            if isinstance(following, WorkflowEnd):
                return following

            self._request = following

    async def _known_outcome(self) -> Outcome | None:
        """Return how the next step ended in an earlier process, None where it is to be made."""
        return None

    async def _ask(self, job: Job) -> Outcome:
        loop = RetryLoop(job)
        try:
            return await loop.run()
        except BaseException:
            # Also a step that was cancelled is recorded, without a decision.
            if loop.outcome is not None:
                self.steps.append(
                    Step(
                        agent=self._request.agent,
                        prompt=job.prompt,
                        outcome=loop.outcome,
                        decision=None,
                    )
                )
            raise

    def _after(self, outcome: Outcome) -> Followed:
        """Return what follows on the next step if it ends with `outcome`; nothing is changed."""
        request, context = self._request, self._context_now()
        decision = _decide(outcome, context, self._protocol)
        changes = dict(decision.state_changes)
        counters = replace(context.counters, **changes.pop("counters", {}))
        if "previous_rules" in changes:
            changes["previous_rules"] = tuple(changes["previous_rules"])

        step = Step(agent=request.agent, prompt=request.prompt, outcome=outcome, decision=decision)
        tasks = {request.agent: request.task, **self._tasks}
        following = _request_after(request, step, self.steps, tasks, self._agents)
        if isinstance(following, Request) and len(self.steps) + 1 >= self._max_steps:
            following = WorkflowEnd(
                "limit", f"{self._max_steps} steps were made and the work is not finished"
            )
        return Followed(step, replace(context, counters=counters, **changes), following)

    def _context_now(self) -> RoutingContext:
        """Return the context of the agent that is asked next."""
        agent = self._request.agent
        if (known := self._contexts.get(agent)) is not None:
            return known
        # Phase and task were given for the first agent only.
        given = (
            self._context if not self.steps else replace(self._context, phase=None, task_id=None)
        )
        return replace(given, expected_agent=agent)

    def _job(self) -> Job:
        """Return the job of the next step."""
        request = self._request
        return Job(
            self._agents[request.agent],
            request.prompt,
            protocol=self._protocol,
            expected=expectations_of(self._context_now()),
            policy=self._policy,
            hooks=self._hooks,
            rules=self._rules,
            agent_name=request.agent,
        )


def _decide(outcome: Outcome, context: RoutingContext, protocol: str) -> Decision:
    """Return the router's decision.

    The retry loop has asked as often as its policy allows, and the router must not do that again:
    its own counters of attempts and repairs are given to it as used up.
    """
    limits, verdict = context.policy.limits, outcome.verdict
    if verdict is None:
        verdict = validate("", protocol=protocol)
        return route(
            verdict, replace(context, responded=False, attempt=limits.response_retries + 1)
        )

    if not outcome.accepted:
        rounds = max(context.counters.repair_rounds, limits.max_repair_rounds)
        context = replace(context, counters=replace(context.counters, repair_rounds=rounds))

    return route(verdict, context)


class WorkflowKeeper(Protocol):
    """Follows agents and keeps the steps beyond this process: `goop_mcp.delegation.KeptRun`."""

    async def follow(
        self,
        agents: Mapping[str, Agent],
        first: str,
        prompt: str,
        **terms: Unpack[WorkflowOptions],
    ) -> WorkflowRun:
        """Do what `follow` does, from the first step on that no earlier process has made."""


async def follow(
    agents: Mapping[str, Agent],
    first: str,
    prompt: str,
    *,
    protocol: str = "auto",
    context: RoutingContext = _NOTHING_KNOWN,
    policy: RetryPolicy = DEFAULT_POLICY,
    hooks: Hooks | Sequence[Hooks] = (),
    rules: Sequence[Rule] = (),
    on_step: OnStep | None = None,
    max_steps: int = 100,
    store: WorkflowKeeper | None = None,
) -> WorkflowRun:
    """Ask the agent named `first`, then those that `route` names, until the workflow ends.

    `agents` maps names, as they stand in the reports, to agents. Each is asked until its report is
    accepted, by `policy`. `context` says what is known and how careful to be; its counters are kept
    for each agent, so that feedback loops and retries end where its limits say. `rules` are those
    of `validate`. `on_step` hears of each step once its decision is there; what it raises is
    logged.

    Goes on only from a decision whose every action a loop can carry out. Questions, approvals, new
    sessions, rejected replies, an agent that is not in `agents`, the same report twice and
    `max_steps` end it, with a reason. Bounds for the whole workflow: `shared_budget`. With a
    `goop_mcp.delegation.KeptRun` as `store` the steps are a run that survives this process; without
    one nothing is written. Raises UnknownNameError for a first agent that is not there, TypeError
    for terms of the wrong kind, both before anybody is asked.
    """
    terms: WorkflowOptions = {
        "protocol": protocol,
        "context": context,
        "policy": policy,
        "hooks": hooks,
        "rules": rules,
        "on_step": on_step,
        "max_steps": max_steps,
    }
    if store is None:
        return await WorkflowLoop(agents, first, prompt, **terms).run()

    if not hasattr(store, "follow"):
        # Such as the store itself: this package must not know it.
        raise TypeError(
            f"store is {type(store).__name__}; expected goop_mcp.delegation.KeptRun(store, ...)"
        )
    return await store.follow(agents, first, prompt, **terms)
