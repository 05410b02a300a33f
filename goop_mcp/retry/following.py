"""Follow the router from agent to agent until the work is finished or a person is needed."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import anyio

from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import validate
from goop_mcp.retry.asking import Asking
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.budget import time_left
from goop_mcp.retry.calls import call_of
from goop_mcp.retry.hooks import Hooks, call_hooks
from goop_mcp.retry.itinerary import (
    Request,
    WorkflowEnd,
    apply_changes,
    first_request,
    request_after,
)
from goop_mcp.retry.jobs import DEFAULT_POLICY, Job, check_count, check_type
from goop_mcp.retry.journey import Journey, Step
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent
from goop_mcp.retry.telemetry import workflow_span
from goop_mcp.routing import Decision, RoutingContext, route
from goop_mcp.routing.expecting import expectations_of
from goop_mcp.validation.rules import Rule

__all__ = ["Following", "follow"]

_NOTHING_KNOWN = RoutingContext()
_CANCELLED = WorkflowEnd("cancelled", "the call was cancelled")

OnStep = Callable[[Step], Awaitable[None] | None]


class Following:
    """One workflow: run it once with `run`; `steps` can be looked at from outside at any time.

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
        self._request = first_request(first, prompt)
        self._protocol, self._policy, self._hooks, self._rules = protocol, policy, hooks, rules
        self._on_step, self._max_steps = on_step, max_steps
        self._context = replace(
            context, known_agents=tuple(dict.fromkeys((*context.known_agents, *agents)))
        )
        # Counters belong to the agent whose reports move them: an edge of feedback begins at one
        # agent.
        self._contexts: dict[str, RoutingContext] = {}
        self._job(self._request, self._context)  # says at once what is wrong with the terms
        self._tasks: dict[str, str] = {}

    async def run(self) -> Journey:
        """Ask, route, ask the next. A cancellation goes through; `steps` is complete also then."""
        with workflow_span("follow"):
            arrival = await self._run_steps()

        return Journey(
            steps=tuple(self.steps), stopped_because=arrival.because, reason=arrival.reason
        )

    async def _run_steps(self) -> WorkflowEnd:
        while len(self.steps) < self._max_steps:
            if not await _pause(self._request.pause):
                return WorkflowEnd(
                    "deadline", "the pause before the next try would last beyond the deadline"
                )

            step = await self._ask(self._request)
            await call_hooks([self._on_step], step)
            following = request_after(
                self._request, step, self.steps[:-1], self._tasks, self._agents
            )
            if isinstance(following, WorkflowEnd):
                return following

            self._request = following

        return WorkflowEnd(
            "limit", f"{self._max_steps} steps were made and the work is not finished"
        )

    async def _ask(self, request: Request) -> Step:
        self._tasks.setdefault(request.agent, request.task)
        context = self._context_of(request.agent)
        asking = Asking(self._job(request, context))
        decision: Decision | None = None

        try:
            outcome = await asking.run()
            decision = _decide(outcome, context, self._protocol)
            self._contexts[request.agent] = apply_changes(context, decision.state_changes)
        finally:
            if asking.outcome is not None:
                self.steps.append(
                    Step(
                        agent=request.agent,
                        prompt=request.prompt,
                        outcome=asking.outcome,
                        decision=decision,
                    )
                )

        return self.steps[-1]

    def _job(self, request: Request, context: RoutingContext) -> Job:
        return Job(
            self._agents[request.agent],
            request.prompt,
            protocol=self._protocol,
            expected=expectations_of(context),
            policy=self._policy,
            hooks=self._hooks,
            rules=self._rules,
            agent_name=request.agent,
        )

    def _context_of(self, agent: str) -> RoutingContext:
        """Return the context of the agent's work.

        Phase and task were given for the first agent only.
        """
        if agent in self._contexts:
            return self._contexts[agent]

        first = (
            self._context if not self.steps else replace(self._context, phase=None, task_id=None)
        )
        return replace(first, expected_agent=agent)


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
) -> Journey:
    """Ask the agent named `first`, then those that `route` names, until the workflow ends.

    `agents` maps names, as they stand in the reports, to agents. Each is asked until its report is
    accepted, by `policy`. `context` says what is known and how careful to be; its counters are kept
    for each agent, so that feedback loops and retries end where its limits say. `rules` are those
    of `validate`. `on_step` hears of each step once its decision is there; what it raises is
    logged.

    Goes on only from a decision whose every action a loop can carry out. Questions, approvals, new
    sessions, rejected replies, an agent that is not in `agents`, the same report twice and
    `max_steps` end it, with a reason. Bounds for the whole workflow: `shared_budget`. Raises
    UnknownNameError for a first agent that is not there, TypeError for terms of the wrong kind,
    both before anybody is asked.
    """
    return await Following(
        agents,
        first,
        prompt,
        protocol=protocol,
        context=context,
        policy=policy,
        hooks=hooks,
        rules=rules,
        on_step=on_step,
        max_steps=max_steps,
    ).run()


async def _pause(seconds: float) -> bool:
    """Wait; False, at once, when the wait would last beyond a deadline around the workflow."""
    left = time_left()
    if left is not None and seconds >= left:
        return False
    if seconds:
        await anyio.sleep(seconds)
    return True


def _decide(outcome: Outcome, context: RoutingContext, protocol: str) -> Decision:
    """Return the router's decision.

    The agent has been asked often enough: no further repair, no further try.
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
