"""`ask_many(jobs, store=...)`: jobs of a program as the tasks of a run, which survive the program.

How an agent is asked and judged is what its `Job` says; the run keeps messages, attempts and ends.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, get_args

import anyio.to_thread

from goop_mcp.delegation.agents import AgentMaker, TaskCall
from goop_mcp.delegation.expand import Expansion
from goop_mcp.delegation.graph import LONGEST_PROMPT, Graph
from goop_mcp.delegation.ledger import Claim, Ledger, Nothing, RunError
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from goop_mcp.delegation.runner import GraphOutcome, Runner, TaskCaller, TaskFallback
from goop_mcp.redaction import redact
from goop_mcp.retry.acp import AcpAgent
from goop_mcp.retry.attempts import Outcome, StoppedBecause
from goop_mcp.retry.command_line import CommandLineAgent
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.jobs import Job, check_type
from goop_mcp.retry.loop import outcome_of
from goop_mcp.retry.replies import Agent
from goop_mcp.retry.telemetry import name_of
from goop_mcp.store.interface import Store

__all__ = ["KeptRun"]

_MOST_AT_ONCE: Final = 1_000
_MOST_JOBS: Final = 10_000
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
_REASONS: Final[Mapping[str, StoppedBecause]] = {each: each for each in get_args(StoppedBecause)}


class KeptRun:
    """A run in `store` for the jobs of `ask_many(jobs, store=KeptRun(store, "my jobs"))`.

    `name` is what `goop-mcp runs` shows it by. With the id of a `run` that was stopped or killed
    the same jobs go on: what was answered is not asked again, and jobs that had ended give their
    outcomes as they were, with secrets redacted. `id` is that of the run, None before it began.
    """

    def __init__(self, store: Store, name: str = "jobs", *, run: str | None = None) -> None:
        self.id = run
        self._ledger, self._name = Ledger(store), name

    async def ask_many(
        self, jobs: Sequence[Job], *, limit: int = 8, cancel_others: bool = False
    ) -> list[Outcome]:
        """Run `jobs` as `goop_mcp.ask_many` does, in this run.

        Raises RunError for another list of jobs than the run was begun with, and ValueError for
        more than 10,000 jobs or a prompt of more than 200,000 characters.
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

        runner = _JobRunner(self._ledger, self.id, named, limit=limit, cancel_others=cancel_others)
        done = await runner.run()
        # What ended here as it is; all else as it is stored.
        return [
            _outcome_in(done, name, job) if (ended := runner.outcomes.get(name)) is None else ended
            for name, job in named.items()
        ]


class _JobRunner(Runner):
    """Works on the jobs of a program, each on its own terms."""

    def __init__(
        self,
        ledger: Ledger,
        run: str,
        jobs: Mapping[str, Job],
        *,
        limit: int,
        cancel_others: bool,
    ) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._jobs, self._cancel_others = jobs, cancel_others
        names = {_agent_name(job) for job in jobs.values()}
        most = max(len(job.policy.fallbacks) for job in jobs.values())
        makers: dict[str, AgentMaker] = dict.fromkeys(names, self._agent_of)
        makers |= {
            _fallback_name(place): partial(self._fallback_of, place) for place in range(most)
        }
        super().__init__(
            ledger,
            run,
            makers,
            project=Path.cwd(),
            parallel=limit,
            # An accepted job has ended, whatever its report says: what follows is for the caller.
            decide=lambda *_: Expansion(),
        )

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
            policy=policy,
            hooks=(*job.listeners, Hooks(after_attempt=caller.after_attempt)),
            agent_name=job.agent_name or claim.task.agent,
        )

    async def _end(
        self, claim: Claim, outcome: Outcome, caller: TaskCaller
    ) -> Claim | Nothing | None:
        following = await super()._end(claim, outcome, caller)
        self.outcomes[claim.row.id] = outcome
        if self._cancel_others and not outcome.accepted:
            self._cancel_others = False
            why = f"ask_many, as {claim.row.id} was not accepted"
            await self._stored(partial(self._ledger.cancel, self._run, by=why))
            for other, loop in [*self._loops.values()]:
                if other.row.id != claim.row.id:
                    loop.cancel()
        return following


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

    agents = dict.fromkeys(_agent_name(job) for job in jobs.values())
    return Graph(
        name=name,
        agents=tuple(GraphAgent(each) for each in agents),
        tasks=tuple(
            GraphTask(
                task,
                agent=_agent_name(job),
                # Only to be shown: the agent is sent the prompt of the job itself. A task without a
                # prompt has a default one, and no placeholder is meant.
                prompt=redact(job.prompt).text.replace("${", "$${") or " ",
                protocol=job.protocol,
            )
            for task, job in jobs.items()
        ),
        # How many run at once is up to each call.
        limits=GraphLimits(parallel=_MOST_AT_ONCE, max_tasks=max(200, len(jobs))),
    )


def _agent_name(job: Job) -> str:
    """Return what the agent of a job is called in the run, in characters that names may have."""
    expected = job.expected.agent if job.expected is not None else None
    name = job.agent_name or expected or name_of(job.agent) or "agent"
    return f"a{_NOT_IN_NAMES.sub('-', name)}"[1:65].lstrip("-0123456789") or "agent"


def _fallback_name(place: int) -> str:
    return f"fallback {place + 1}"


def _outcome_in(done: GraphOutcome, name: str, job: Job) -> Outcome:
    """Return the outcome of a job that ended in another process, or did not end."""
    task = done.tasks[name]
    found = task.outcome
    because: StoppedBecause = "accepted" if task.state == "accepted" else "cancelled"
    if task.state in ("failed", "input_required"):
        because = _REASONS.get(task.reason or "", "agent_error")
    return outcome_of(() if found is None else found.attempts, because, job.policy)
