"""One line around an agent call: what users import."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack, cast, overload

import anyio

from goop_mcp.retry.attempts import NotAcceptedError, Outcome
from goop_mcp.retry.calls import call_of
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.jobs import DEFAULT_POLICY, Job, check_count, check_type
from goop_mcp.retry.loop import RetryLoop, outcome_of
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent
from goop_mcp.retry.telemetry import workflow_span
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Requirement

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import EvidenceSource

__all__ = [
    "EnvelopedAgent",
    "JobGroup",
    "JobKeeper",
    "RetryOptions",
    "ask_many",
    "ask_until_accepted",
    "ask_until_accepted_sync",
    "enveloped",
]


FunctionOrMethod = Callable[..., Awaitable[str] | str]


class RetryOptions(TypedDict, total=False):
    """The arguments of `ask_until_accepted` by their names."""

    protocol: str
    expected: Expectations | None
    policy: RetryPolicy
    hooks: Hooks | Sequence[Hooks]
    limits: Limits
    rules: Sequence[Rule]
    agent_name: str | None
    evidence: "EvidenceSource | None"
    require: Requirement


async def ask_until_accepted(
    agent: Agent,
    prompt: str,
    *,
    protocol: str = "auto",
    expected: Expectations | None = None,
    policy: RetryPolicy = DEFAULT_POLICY,
    hooks: Hooks | Sequence[Hooks] = (),
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
    agent_name: str | None = None,
    evidence: "EvidenceSource | None" = None,
    require: Requirement = "claimed",
) -> Outcome:
    """Ask `agent`, and send its reply back with what is wrong, until it is accepted.

    `agent` is a function from message to reply that keeps its own conversation (async, or any
    other, which then runs on a thread), or a `Conversation`. `protocol`, `expected`, `limits`,
    `rules`, `evidence` and `require` are those of `validate`; an `evidence` that is a function is
    called for each reply. `agent_name` is what traces call the agent. Stops when a reply
    is accepted, at a limit of `policy`, when the replies bring nothing new, or when the agent, or
    one of the caller's `rules`, fails for good.

    Returns an outcome in every case but a cancellation, which goes through, and with
    `when_exhausted="raise"` NotAcceptedError; `outcome.accepted` says whether the reply may be
    acted upon. Raises UnknownNameError for a protocol or phase that does
    not exist, TypeError for an agent that cannot be asked and RuleRefusedError for a rule that
    cannot be used, each before anything is sent. Works under asyncio and trio.
    """
    job = Job(
        agent,
        prompt,
        protocol=protocol,
        expected=expected,
        policy=policy,
        hooks=hooks,
        limits=limits,
        rules=rules,
        agent_name=agent_name,
        evidence=evidence,
        require=require,
    )
    outcome = await RetryLoop(job).run()
    if policy.when_exhausted == "raise" and not outcome.accepted:
        raise NotAcceptedError(outcome) from outcome.failure
    return outcome


def ask_until_accepted_sync(agent: Agent, prompt: str, **terms: Unpack[RetryOptions]) -> Outcome:
    """Do what `ask_until_accepted` does, with the same arguments, and wait for it.

    Inside a running event loop the work is done on a thread with a loop of its own, while the loop
    that called stands still: an async agent that belongs to the outer loop would then wait for
    ever, so use the async twin there.
    """
    ask = partial(ask_until_accepted, agent, prompt, **terms)
    try:
        anyio.get_current_task()
    except RuntimeError:
        # No event loop runs on this thread.
        return anyio.run(ask)

    # Rarely needed, and slow to import
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415

    with start_blocking_portal() as portal:
        return portal.call(ask)


class EnvelopedAgent:
    """An agent that answers with outcomes: `await agent(prompt)`, or `agent.sync(prompt)`.

    Stands on a function, on a method of a class of agents, or around an agent that is there
    already. `terms` are those of `ask_until_accepted`; invalid terms raise at once and
    not at the first call.
    """

    def __init__(self, agent: Agent, **terms: Unpack[RetryOptions]) -> None:
        call_of(getattr(agent, "__func__", agent))
        for name in terms.keys() - RetryOptions.__annotations__.keys():
            known = ", ".join(RetryOptions.__annotations__)
            hint = (
                f"policy=RetryPolicy({name}=...)"
                if name in RetryPolicy.__dataclass_fields__
                else f"one of {known}"
            )
            raise TypeError(f"there is no term {name!r}; expected {hint}")

        # Raises for wrong values what `ask_until_accepted` would raise at the first call.
        Job(agent, "", **terms)
        self.agent = agent
        self.terms = terms
        # Only the names: the attributes of an agent that is an object stay its own.
        update_wrapper(self, cast("FunctionOrMethod", agent), updated=())

    async def __call__(self, prompt: str) -> Outcome:
        """Ask until the report is accepted."""
        return await ask_until_accepted(self.agent, prompt, **self.terms)

    def sync(self, prompt: str) -> Outcome:
        """Ask, and wait for the outcome."""
        return ask_until_accepted_sync(self.agent, prompt, **self.terms)

    def __get__(self, instance: object, owner: type | None = None) -> "EnvelopedAgent":
        """Return the agent of `instance` where this stands on a method of its class.

        An agent that is an object of its own, put into a class, belongs to none of its instances.
        """
        # A method must be bound to its instance before it is asked, as Python does for functions.
        bind = getattr(self.agent, "__get__", None)
        if bind is None or (
            instance is None and not isinstance(self.agent, staticmethod | classmethod)
        ):
            return self

        return EnvelopedAgent(bind(instance, owner), **self.terms)


@overload
def enveloped(
    agent: FunctionOrMethod | Agent, /, **terms: Unpack[RetryOptions]
) -> EnvelopedAgent: ...


@overload
def enveloped(
    **terms: Unpack[RetryOptions],
) -> Callable[[FunctionOrMethod | Agent], EnvelopedAgent]: ...


def enveloped(
    agent: FunctionOrMethod | Agent | None = None, /, **terms: Unpack[RetryOptions]
) -> EnvelopedAgent | Callable[[FunctionOrMethod | Agent], EnvelopedAgent]:
    """Return a decorator for agents, functions or methods, that are always asked on these `terms`.

    What it stands on is then asked until its report is accepted, and returns the outcome.
    `enveloped(agent, ...)` wraps at once, and `@enveloped` alone means the usual terms.
    """
    if agent is not None:
        return EnvelopedAgent(agent, **terms)

    def envelop(agent: FunctionOrMethod | Agent) -> EnvelopedAgent:
        return EnvelopedAgent(agent, **terms)

    return envelop


class JobGroup:
    """Several jobs at once: run them once with `run`; `outcomes` may be read at any time.

    The arguments are those of `ask_many`, which is this in one line. Whoever may have to end the
    jobs early keeps the group: a cancellation goes through `run` and returns nothing, and what has
    ended by then stands in `outcomes`.
    """

    def __init__(self, jobs: Iterable[Job], *, limit: int = 8, cancel_others: bool = False) -> None:
        check_count("limit", limit)
        check_type("jobs", jobs, Iterable, "several of Job(...)")
        self._jobs = list(jobs)
        self._loops = [RetryLoop(job) for job in self._jobs]
        self._limit, self._cancel_others = limit, cancel_others
        self._was_run = False

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcome of each job, in their order.

        One that has not ended, or never began, is cancelled, with the attempts that it made so far.
        """
        return [
            # Not with "or": an outcome that was not accepted is false.
            outcome_of(loop.attempts, "cancelled", job.policy)
            if loop.outcome is None
            else loop.outcome
            for job, loop in zip(self._jobs, self._loops, strict=True)
        ]

    def cancel(self) -> None:
        """End all jobs at once; `run` then returns the outcomes, those that had ended as they were.

        To be called in the thread of the event loop; before `run`, nobody is asked at all.
        """
        for each in self._loops:
            each.cancel()

    async def run(self) -> list[Outcome]:
        """Run the jobs and return `outcomes`. A cancellation from outside goes through.

        Raises RuntimeError when it is called a second time.
        """
        if self._was_run:
            raise RuntimeError("these jobs were run before; make another JobGroup to ask again")

        self._was_run = True
        # Shared by all workers: each takes the next loop when it is free.
        waiting = iter(self._loops)

        async def work() -> None:
            for loop in waiting:
                outcome = await loop.run()
                if self._cancel_others and not outcome.accepted:
                    self.cancel()

        with workflow_span("ask_many"):
            async with anyio.create_task_group() as group:
                for _ in range(min(self._limit, len(self._loops))):
                    group.start_soon(work)

        return self.outcomes


class JobKeeper(Protocol):
    """Runs jobs and keeps them where they outlive the process: `goop_mcp.delegation.KeptRun`."""

    async def ask_many(
        self, jobs: Sequence[Job], *, limit: int, cancel_others: bool
    ) -> list[Outcome]:
        """Do what `ask_many` does with jobs of which some may have ended in another process."""


async def ask_many(
    jobs: Iterable[Job],
    *,
    limit: int = 8,
    cancel_others: bool = False,
    store: JobKeeper | None = None,
) -> list[Outcome]:
    """Run `jobs`, at most `limit` of them at a time, and return their outcomes in the same order.

    A job that fails leaves the others alone. With `cancel_others` the first that is not accepted
    cancels the rest, whose outcomes then say so. Every job gives an outcome, also where its policy
    says "raise". The limits of a job count from its turn; `shared_budget` bounds all together, and
    with its `deadline` what has ended in time is returned. A cancellation from outside goes
    through, and a `JobGroup` keeps what had ended by then. Give each job an agent of its own: jobs
    that share one share its conversation. With a `goop_mcp.delegation.KeptRun` as `store` the jobs
    are a run that survives this process; without one nothing is written. Raises ValueError for a
    limit below 1 and TypeError for what is not a job. Works under asyncio and trio.
    """
    if store is not None:
        check_count("limit", limit)
        check_type("jobs", jobs, Iterable, "several of Job(...)")
        if not hasattr(store, "ask_many"):
            # Such as the store itself: this package must not know it.
            raise TypeError(
                f"store is {type(store).__name__}; expected goop_mcp.delegation.KeptRun(store, ...)"
            )
        return await store.ask_many([*jobs], limit=limit, cancel_others=cancel_others)

    return await JobGroup(jobs, limit=limit, cancel_others=cancel_others).run()
