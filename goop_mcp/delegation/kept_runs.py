"""`ask_many` and `follow` with `store=`: what a program asks are tasks of a run, which survives it.

How an agent is asked and judged is what its `Job` says; the run keeps messages, attempts and ends.
Routing is pure, so the steps of a workflow that are stored lead to the next one again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Unpack, get_args

import anyio
import anyio.to_thread

from goop_mcp.delegation.agents import AgentMaker, TaskCall
from goop_mcp.delegation.expand import AddedTask, ExpandReason, Expansion
from goop_mcp.delegation.graph import LONGEST_PROMPT, Graph
from goop_mcp.delegation.ledger import Claim, Ledger, RunError
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from goop_mcp.delegation.runner import (
    GraphOutcome,
    Runner,
    TaskCaller,
    TaskFallback,
    TaskOutcome,
)
from goop_mcp.delegation.states import ENDED
from goop_mcp.redaction import redact
from goop_mcp.retry.acp import AcpAgent
from goop_mcp.retry.attempts import Outcome, StoppedBecause
from goop_mcp.retry.budget import time_left
from goop_mcp.retry.command_line import CommandLineAgent
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.jobs import Job, check_type
from goop_mcp.retry.loop import outcome_of
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent
from goop_mcp.retry.telemetry import name_of
from goop_mcp.retry.workflow import (
    Request,
    WorkflowLoop,
    WorkflowOptions,
    WorkflowRun,
    WorkflowStopReason,
)
from goop_mcp.store.graph_rows import GraphAttemptRow, GraphTaskRow
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.validation.verdict import Verdict

__all__ = ["KeptRun"]

_MOST_AT_ONCE: Final = 1_000
_MOST_JOBS: Final = 10_000
_MOST_STEPS: Final = 1_000
_POLL: Final = 0.25
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_REASONS: Final[Mapping[str, StoppedBecause]] = {each: each for each in get_args(StoppedBecause)}
# What a graph calls the end of a workflow for which a person has to decide; all else is "blocked".
_FOR_PERSONS: Final[Mapping[WorkflowStopReason, ExpandReason]] = {
    "unknown_agent": "unknown_agent",
    "no_progress": "same_report",
    "limit": "rounds",
}


class KeptRun:
    """A run in `store` for `ask_many(jobs, store=KeptRun(store, "my jobs"))`, or for `follow`.

    `name` is what `goop-mcp runs` shows it by. With the id of a `run` that was stopped or killed
    the same call goes on: what was answered is not asked again, and jobs or steps that had ended
    give their outcomes as they were, with secrets redacted. `id` is that of the run, None before it
    began.
    """

    def __init__(self, store: Store, name: str = "jobs", *, run: str | None = None) -> None:
        self.id = run
        self._ledger, self._name = Ledger(store), name

    async def ask_many(
        self, jobs: Sequence[Job], *, limit: int = 8, cancel_others: bool = False
    ) -> list[Outcome]:
        """Run `jobs` as `goop_mcp.ask_many` does, in this run.

        Raises RunError for another list of jobs than the run was begun with and for a job that a
        person finished, and ValueError for more than 10,000 jobs or a prompt of more than 200,000
        characters.
        """
        if not jobs:
            return []
        for job in jobs:
            check_type("the job", job, Job, "Job(agent, prompt, ...)")
        named = {f"job-{number}": job for number, job in enumerate(jobs, 1)}
        # In a thread: to look for secrets in thousands of prompts takes long.
        graph = await anyio.to_thread.run_sync(_graph_of, self._name, named)

        if self.id is None:
            self.id = await anyio.to_thread.run_sync(partial(self._ledger.create, graph, input={}))
        else:
            known = await anyio.to_thread.run_sync(self._ledger.run, self.id)
            if self._ledger.graph(known).tasks != graph.tasks:
                raise RunError(
                    f"{self.id} was begun with other jobs; give the same prompts in the same"
                    " order, or begin another run"
                )

        runner = _JobRunner(
            self._ledger,
            self.id,
            named,
            agents=_names_in_run(map(_agent_name, named.values())),
            fallbacks=max(len(job.policy.fallbacks) for job in jobs),
            limit=limit,
            cancel_others=cancel_others,
        )
        done = await runner.run()
        # What ended here as it is; all else as it is stored.
        return [
            _outcome_in(done, name, job) if (ended := runner.outcomes.get(name)) is None else ended
            for name, job in named.items()
        ]

    async def follow(
        self,
        agents: Mapping[str, Agent],
        first: str,
        prompt: str,
        **terms: Unpack[WorkflowOptions],
    ) -> WorkflowRun:
        """Follow `agents` as `goop_mcp.follow` does, each step as a task of this run.

        Stored steps are routed again, which asks nobody; `on_step` hears of them too. Raises
        RunError for other agents, another first agent or another prompt than the run was begun
        with, and ValueError for more than 1,000 steps, 200 agents or 200,000 characters.
        """
        workflow = _KeptWorkflow(agents, first, prompt, **terms)
        # In a thread: to look for secrets in a long prompt takes long.
        graph = await anyio.to_thread.run_sync(
            _workflow_graph, self._name, workflow.names, first, prompt
        )

        if self.id is None:
            self.id = await anyio.to_thread.run_sync(partial(self._ledger.create, graph, input={}))
        else:
            known = await anyio.to_thread.run_sync(self._ledger.run, self.id)
            begun = self._ledger.graph(known)
            if (begun.agents, begun.tasks) != (graph.agents, graph.tasks):
                raise RunError(
                    f"{self.id} was begun with other agents, another first agent or another prompt;"
                    " give the same, or begin another run"
                )

        workflow.runner = _StepRunner(self._ledger, self.id, workflow)
        return await workflow.run()


class _JobRunner(Runner):
    """Works on the jobs of a program, each on its own terms.

    `agents` are the names of all agents in the run; `fallbacks`: as many as any job has.
    """

    def __init__(
        self,
        ledger: Ledger,
        run: str,
        jobs: Mapping[str, Job],
        *,
        agents: Iterable[str],
        fallbacks: int,
        limit: int,
        cancel_others: bool = False,
    ) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._jobs, self._cancel_others = dict(jobs), cancel_others
        makers: dict[str, AgentMaker] = dict.fromkeys(agents, self._agent_of)
        makers |= {
            _fallback_name(place): partial(self._fallback_of, place) for place in range(fallbacks)
        }
        super().__init__(
            ledger,
            run,
            makers,
            project=Path.cwd(),
            parallel=limit,
            decide=lambda *_: self._expansion(),
        )

    def _expansion(self) -> Expansion:
        """Return what an accepted report does to the run."""
        # A job has ended then, whatever the report says: what follows is for the caller.
        return Expansion()

    def _agent_of(self, call: TaskCall) -> Agent:
        agent = self._jobs[call.task].agent
        # It goes on in the conversation that another process began.
        if isinstance(agent, CommandLineAgent | AcpAgent) and agent.session is None:
            agent.session = call.session
        return agent

    def _fallback_of(self, place: int, call: TaskCall) -> Agent:
        return self._jobs[call.task].policy.fallbacks[place]

    def _caller(self, claim: Claim, folder: Path) -> TaskCaller:
        return _JobCaller(self, claim, folder, agent=self._jobs[claim.row.id].agent)

    def _job(self, claim: Claim, caller: TaskCaller) -> Job:
        job = self._jobs[claim.row.id]
        policy = job.policy
        if policy.fallbacks:
            asked = tuple(
                TaskFallback(caller, _fallback_name(place))
                for place in range(len(policy.fallbacks))
            )
            policy = replace(policy, fallback=asked)
        return replace(
            job,
            agent=caller,
            # A person who lets it run again may have written a note.
            prompt="\n\n".join(filter(None, (job.prompt, claim.row.notes))),
            policy=policy,
            hooks=(*job.listeners, Hooks(after_attempt=caller.after_attempt)),
            agent_name=job.agent_name or claim.task.agent,
        )

    async def _end(self, claim: Claim, outcome: Outcome, caller: TaskCaller) -> None:
        await super()._end(claim, outcome, caller)
        self.outcomes[claim.row.id] = outcome
        if self._cancel_others and not outcome.accepted:
            self._cancel_others = False
            why = f"ask_many, as {claim.row.id} was not accepted"
            await self._stored(partial(self._ledger.cancel, self._run, by=why))
            for other, loop in [*self._loops.values()]:
                if other.row.id != claim.row.id:
                    loop.cancel()


class _StepRunner(_JobRunner):
    """Makes the steps of a workflow, one at a time."""

    def __init__(self, ledger: Ledger, run: str, workflow: "_KeptWorkflow") -> None:
        super().__init__(
            ledger, run, {}, agents=workflow.names, fallbacks=workflow.fallbacks, limit=1
        )
        self._workflow = workflow
        self._following: Expansion | None = None

    async def end_of(self, number: int, policy: RetryPolicy) -> Outcome | None:
        """Return the outcome of a step as it is stored, None if it has not ended.

        Raises RunError for a step that this workflow cannot come from or go on from.
        """
        task = _step_name(number)

        def read(reading: ReadTransaction) -> Outcome | None:
            row = reading.graphs.task(self._run, task)
            if row is None:
                raise RunError(
                    f"{self._run} ended with {_step_name(number - 1)}, which has another end with"
                    " these agents and terms; give the same as before, or begin another run"
                )
            if row.state in ENDED or row.state == "input_required":
                return _outcome_of_step(row, reading.graphs.attempts(self._run, task), policy)
            if reading.graphs.task(self._run, _step_name(number + 1)) is not None:
                raise RunError(
                    f"{task} of {self._run} is to run again, and later steps came from it; only the"
                    " last step can run again. Begin another run"
                )
            return None

        return await self._stored(self._ledger.store.read, read)

    async def run_step(self, number: int, job: Job) -> Outcome:
        """Make a step, or wait for whoever makes it."""
        task = _step_name(number)
        self._jobs[task] = job
        while True:
            await self.run_task(task)
            ended, stored = self.outcomes.get(task), await self.end_of(number, job.policy)
            if stored is not None:
                # As it was heard here, unless somebody else made it in the end.
                is_ours = ended is not None and ended.stopped_because == stored.stopped_because
                return ended if ended is not None and is_ours else stored
            # Somebody else works on it, or its agent is left alone for a while.
            left = time_left()
            if left is not None and left <= 0:
                return outcome_of((), "deadline", job.policy)
            await anyio.sleep(_POLL)

    async def _end(self, claim: Claim, outcome: Outcome, caller: TaskCaller) -> None:
        # Before the transaction that accepts the report, and the next step with it.
        self._following = self._workflow.expansion_after(outcome)
        await super()._end(claim, outcome, caller)

    def _is_done(self, _outcome: Outcome) -> bool:
        return self._following is not None

    def _expansion(self) -> Expansion:
        return self._following or Expansion()

    def _result(self, outcome: Outcome, verdict: Verdict) -> dict[str, JsonValue]:
        # What a person finishes by hand has no such word.
        return {**super()._result(outcome, verdict), "stopped_because": outcome.stopped_because}


class _KeptWorkflow(WorkflowLoop):
    """A workflow whose steps are the tasks of a run; `runner` is to be set before `run`."""

    runner: _StepRunner

    def __init__(
        self,
        agents: Mapping[str, Agent],
        first: str,
        prompt: str,
        **terms: Unpack[WorkflowOptions],
    ) -> None:
        super().__init__(agents, first, prompt, **terms)
        if self._max_steps > _MOST_STEPS:
            raise ValueError(
                f"max_steps is {self._max_steps:,}; expected {_MOST_STEPS:,} at most in a run"
            )
        self.names = _names_in_run(agents)
        self.fallbacks = len(self._policy.fallbacks)

    async def _known_outcome(self) -> Outcome | None:
        return await self.runner.end_of(1 + len(self.steps), self._policy)

    async def _ask(self, job: Job) -> Outcome:
        return await self.runner.run_step(1 + len(self.steps), job)

    def expansion_after(self, outcome: Outcome) -> Expansion | None:
        """Return what the end of the next step does to the run, None where it has failed."""
        step, _, following = self._after(outcome)
        number = 1 + len(self.steps)
        # Also after a report that was not accepted, where the router has an answer to it.
        if isinstance(following, Request):
            task = _step_task(number + 1, following.agent, following.prompt)
            # Each step is a conversation of its own.
            added = AddedTask(task=task, parent=_step_name(number), depth=0, fresh=True)
            return Expansion(added=(added,))
        if not outcome.accepted:
            return None
        if following.because == "finish":
            return Expansion()

        return Expansion(
            state="input_required",
            reason=_FOR_PERSONS.get(following.because, "blocked"),
            message=following.reason,
            questions=() if step.decision is None else step.decision.questions,
        )


class _JobCaller(TaskCaller):
    """The agent of a job, which shares its record and its usage with the agent itself."""

    def __init__(self, runner: Runner, claim: Claim, folder: Path, *, agent: Agent) -> None:
        super().__init__(runner, claim, folder)
        self.agent_key = getattr(agent, "agent_key", None) or agent
        self._job_agent = agent

    def remembers(self) -> bool:
        """Whether the agent knows what another process asked it: only in a kept conversation."""
        agent = self._job_agent
        return isinstance(agent, CommandLineAgent | AcpAgent) and agent.session is not None


def _graph_of(name: str, jobs: Mapping[str, Job]) -> Graph:
    if len(jobs) > _MOST_JOBS:
        raise ValueError(f"there are {len(jobs):,} jobs; expected {_MOST_JOBS:,} at most in a run")
    for task, job in jobs.items():
        if len(job.prompt) > LONGEST_PROMPT:
            raise ValueError(
                f"the prompt of {task} has {len(job.prompt):,} characters; expected"
                f" {LONGEST_PROMPT:,} at most in a run"
            )

    return Graph(
        name=name,
        agents=tuple(map(GraphAgent, _names_in_run(map(_agent_name, jobs.values())))),
        tasks=tuple(
            GraphTask(
                task,
                agent=_name_in_run(_agent_name(job)),
                prompt=_shown(job.prompt),
                protocol=job.protocol,
            )
            for task, job in jobs.items()
        ),
        # How many run at once is up to each call.
        limits=GraphLimits(parallel=_MOST_AT_ONCE, max_tasks=max(200, len(jobs))),
    )


def _workflow_graph(name: str, agents: Iterable[str], first: str, prompt: str) -> Graph:
    if len(prompt) > LONGEST_PROMPT:
        raise ValueError(
            f"the prompt has {len(prompt):,} characters; expected {LONGEST_PROMPT:,} at most in a"
            " run"
        )
    return Graph(
        name=name,
        agents=tuple(map(GraphAgent, agents)),
        tasks=(_step_task(1, first, prompt),),
        limits=GraphLimits(parallel=_MOST_AT_ONCE, max_tasks=_MOST_STEPS),
    )


def _step_task(number: int, agent: str, prompt: str) -> GraphTask:
    return GraphTask(
        _step_name(number),
        agent=_name_in_run(agent),
        prompt=_shown(prompt),
        needs=() if number == 1 else (_step_name(number - 1),),
    )


def _step_name(number: int) -> str:
    return f"step-{number}"


def _shown(prompt: str) -> str:
    """Return a prompt as a run keeps it: the agent is sent the one of the program itself."""
    # A task without a prompt has a default one, and no placeholder is meant.
    return redact(prompt).text[:LONGEST_PROMPT].replace("${", "$${") or " "


def _agent_name(job: Job) -> str:
    """Return what the agent of a job is called."""
    expected = job.expected.agent if job.expected is not None else None
    return job.agent_name or expected or name_of(job.agent) or "agent"


def _name_in_run(agent: str) -> str:
    """Return what an agent is called in a run, in characters that names may have."""
    return f"a{_NOT_IN_NAMES.sub('-', agent)}"[1:65].lstrip("-0123456789") or "agent"


def _names_in_run(agents: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_name_in_run, agents)))


def _fallback_name(place: int) -> str:
    return f"fallback {place + 1}"


def _outcome_in(done: GraphOutcome, name: str, job: Job) -> Outcome:
    """Return the outcome of a job that ended in another process, or did not end."""
    task = done.tasks[name]
    found = task.outcome
    attempts = () if found is None else found.attempts
    because: StoppedBecause = "accepted" if task.state == "accepted" else "cancelled"
    # An outcome consists of what agents answered, and this report is a person's.
    if because == "accepted" and not (attempts and attempts[-1].accepted):
        raise RunError(
            f"{name} of {done.id} was finished by hand; `goop-mcp runs show {done.id} --task {name}"
            " --output` shows the report; begin another run for the other jobs"
        )
    if task.state in ("failed", "input_required"):
        because = _REASONS.get(task.reason or "", "agent_error")
    return outcome_of(attempts, because, job.policy)


def _outcome_of_step(
    row: GraphTaskRow, attempts: Iterable[GraphAttemptRow], policy: RetryPolicy
) -> Outcome:
    """Return the outcome of a step that ended in another process."""
    found = TaskOutcome.of(row, attempts).outcome
    because: StoppedBecause = "cancelled"
    if row.state in ("accepted", "input_required") and row.result is not None:
        because = _REASONS.get(json.loads(row.result).get("stopped_because"), "cancelled")
        if because == "cancelled":
            raise RunError(f"{row.id} of {row.run} was finished by hand; begin another run")
    elif row.state in ("failed", "input_required"):
        # Of a person who gave up what was accepted, there is no such word.
        because = (
            "cancelled" if row.reason == "person" else _REASONS.get(row.reason or "", "agent_error")
        )
    return outcome_of(() if found is None else found.attempts, because, policy)
