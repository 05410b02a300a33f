"""Run a graph: claim a task, ask its agent until the report is accepted, go on with what follows.

Several runners, in several processes or on several machines, may work on one run. All that they
know of each other is in the store.
"""

import json
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

import anyio
import anyio.from_thread
import anyio.to_thread
from platformdirs import user_state_path

from goop_mcp.delegation.agents import (
    AgentMaker,
    AgentMakers,
    AgentSession,
    ProgramAgent,
    TaskCall,
    policy_of,
)
from goop_mcp.delegation.changes import find_run
from goop_mcp.delegation.expand import Expansion, RunSnapshot, expand
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import (
    LONGEST_WAIT,
    AcceptedReport,
    Begun,
    Claim,
    Ledger,
    LostTaskError,
    Nothing,
    RunError,
    RunRows,
    key_of,
)
from goop_mcp.delegation.orphans import forget_program, watch_program
from goop_mcp.delegation.outage import PASSING, Outage
from goop_mcp.delegation.processes import ThisProcess, this_process
from goop_mcp.delegation.states import RUN_ENDED
from goop_mcp.delegation.traces import attributes_of, in_trace_of, run_span
from goop_mcp.delegation.trusting import may_run_here, trusted_makers
from goop_mcp.delegation.worktrees import (
    Worktree,
    WorktreeError,
    close_worktree,
    open_worktree,
)
from goop_mcp.errors import GoopError, StoreError, StoreUnavailableError
from goop_mcp.evidence.corrections import Correction
from goop_mcp.evidence.evidence import Evidence
from goop_mcp.processes import end_program, started
from goop_mcp.retry.attempts import Attempt, Outcome, StoppedBecause
from goop_mcp.retry.calls import AgentInterruptedError, call_of
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.jobs import Job
from goop_mcp.retry.loop import RetryLoop, outcome_of
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent, Message, Reply
from goop_mcp.store.graph_rows import (
    GraphAttemptRow,
    GraphEventRow,
    GraphReportRow,
    GraphTaskRow,
)
from goop_mcp.store.interface import ReadTransaction, Store
from goop_mcp.validation.findings import Mode, Severity
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.validation.verdict import Verdict

__all__ = [
    "CountOutcome",
    "GraphOutcome",
    "RecordReport",
    "ReplyJudge",
    "Runner",
    "TaskCaller",
    "TaskFallback",
    "TaskOutcome",
    "TaskReply",
    "outcome_of_run",
    "resume",
    "run_graph",
    "try_to_record",
]

_POLL: Final = 0.25
_MOST_AT_ONCE: Final = 20
"""Reports that are written in one transaction, for which other writers wait."""

_INTERRUPTED: Final = (
    "You were interrupted at attempt {number}. Look at what is done before you do it again."
)

_logger = logging.getLogger(__name__)

OnEvent = Callable[[GraphEventRow], None]
RecordReport = Callable[[GraphReportRow], int]
"""Records the report that a task ended with in the project, and returns its number.

It may be called twice for one report, and raises GoopError for one that is not recorded.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReply:
    """A reply to be judged by more than its text.

    protocol, mode: those of `validate`.
    folder: where the agent worked, the project or a worktree of it.
    start: what `ReplyJudge.begin` returned for the task, None if it was not asked.
    session: the conversation of the agent, None without a transcript.
    whole_session: whether no message of the task was sent in another conversation.
    correction: the attempt, to be compared with what it corrects.
    """

    text: str = field(repr=False)
    protocol: str
    mode: Mode
    folder: Path
    start: Evidence | None = None
    session: AgentSession | None = None
    whole_session: bool = True
    correction: Correction | None = None


Decide = Callable[[RunSnapshot, str, Verdict], Expansion]
CountOutcome = Callable[[str, Outcome], None]
"""Takes the name of an agent and how its call for a task ended, for statistics."""


class ReplyJudge(Protocol):
    """Judges the replies of tasks by the state of the project; called in threads."""

    def begin(self, folder: Path, *, commit: str | None = None) -> Evidence | None:
        """Return what a task begins with in `folder`, None if unknown; before its first message.

        `commit` is the one that a worktree begins at, in which nothing else is changed.
        """

    def judge(self, reply: TaskReply) -> Verdict:
        """Return the verdict. Raises RuleFailedError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What came of a task or gate: its state, why, and the attempts of its last round.

    `result` is what the run keeps of its end, and `attempts` are those of its last round, as JSON;
    the properties read them each time: in a run of a thousand tasks, hardly anyone looks at all.
    """

    state: str
    reason: str | None = None
    message: str | None = None
    decision: str | None = None
    result: str | None = field(default=None, repr=False)
    attempts: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, row: GraphTaskRow, attempts: Iterable[GraphAttemptRow]) -> "TaskOutcome":
        """Return what came of the task in `row`; of `attempts` those of its last round count."""
        return cls(
            state=row.state,
            reason=row.reason,
            message=row.message,
            decision=row.decision,
            result=row.result,
            attempts=tuple(
                [
                    each.outcome
                    for each in attempts
                    if each.round == row.round and each.outcome is not None
                ]
            ),
        )

    @property
    def envelope(self) -> Mapping[str, JsonValue] | None:
        """The envelope of the report, None without one."""
        return None if self.result is None else json.loads(self.result).get("envelope")

    @property
    def reused_from(self) -> str | None:
        """The run in which the agent was asked, where the result is one of an earlier run.

        Then there are no attempts.
        """
        if self.result is None or self.state != "accepted":
            return None
        reused = json.loads(self.result).get("reused_from")
        return None if reused is None else reused["run"]

    @property
    def outcome(self) -> Outcome | None:
        """The attempts as one call, None without any."""
        attempts = [Attempt.from_dict(json.loads(each)) for each in self.attempts]
        if not attempts:
            return None
        because: StoppedBecause = "accepted" if attempts[-1].accepted else "attempts"
        return outcome_of(attempts, because, RetryPolicy())


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOutcome:
    """How a run stands: `state`, each task by id, and the ids that wait for a person."""

    id: str
    state: str
    # Not shown: asyncio makes the text of what a program returns, and a run may have 1,000 tasks.
    tasks: Mapping[str, TaskOutcome] = field(default_factory=dict, repr=False)
    waiting_for: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether all that had to be done was done."""
        return self.state == "finished"


async def run_graph(
    graph: Graph,
    *,
    store: Store,
    agents: Mapping[str, Agent] | None = None,
    input: Mapping[str, JsonValue] | None = None,
    project: Path | None = None,
    on_event: OnEvent | None = None,
    record: RecordReport | None = None,
    judge: ReplyJudge | None = None,
    options: Mapping[str, JsonValue] | None = None,
    reuse: bool = False,
) -> GraphOutcome:
    """Run `graph` until it has ended, or nothing goes on without a person.

    `agents` are those that the graph leaves to the caller, by name. `project` is the folder in
    which programs run, the current one if it is None. `on_event` is called with each event in
    order; `record` and `judge` are those of `Runner`. The outcome has the id with which `resume`
    goes on, also after a crash. With `reuse` the tasks that `Ledger.reusable` returns are accepted
    at once with the results of earlier runs; agents that are given count as the same by their
    names. Who calls this with a graph trusts it. Raises GraphError and GraphAgentError before
    anything is asked, RunError for missing input.
    """
    folder = project or Path.cwd()
    # Whoever calls this with a graph trusts it.
    makers = trusted_makers(graph, project=folder, may_run=lambda _: True, given=agents)
    ledger = Ledger(store)
    begun = await anyio.to_thread.run_sync(
        partial(
            ledger.begin, graph, this_process(), input=input or {}, options=options, reuse=reuse
        )
    )
    runner = Runner(
        ledger,
        begun.run.id,
        makers,
        project=folder,
        on_event=on_event,
        record=record,
        judge=judge,
        begun=begun,
    )
    return await runner.run()


async def resume(
    store: Store,
    run: str,
    *,
    agents: Mapping[str, Agent] | None = None,
    graph: Graph | None = None,
    project: Path | None = None,
    on_event: OnEvent | None = None,
    record: RecordReport | None = None,
    judge: ReplyJudge | None = None,
    trust: Collection[str] = (),
) -> GraphOutcome:
    """Go on with a run that was stopped, killed or waited for a person.

    With another `graph` the accepted tasks that are the same in it stay, and the others run again.
    The graph of the run, as it is stored, runs programs only where a person trusted it in
    `project`, where it is the `graph` that is given, or where its whole digest is in `trust`.
    Raises RunError if there is no such run, UntrustedGraphError, and what `run_graph` raises.
    """
    folder = project or Path.cwd()
    ledger = Ledger(store)
    if graph is not None:
        trust = [*trust, graph.digest]
        await anyio.to_thread.run_sync(ledger.change_graph, run, graph)
    known = await anyio.to_thread.run_sync(ledger.run, run)
    makers = trusted_makers(
        ledger.graph(known), project=folder, may_run=may_run_here(folder, trust), given=agents
    )
    runner = Runner(
        ledger, run, makers, project=folder, on_event=on_event, record=record, judge=judge
    )
    return await runner.run()


@dataclass(slots=True, eq=False)
class _EndedTask:
    """A report that is to be written down; `found` is what came of that, None before it."""

    report: AcceptedReport
    found: Claim | Nothing | Exception | None = None


class _LimitReachedError(AgentInterruptedError):
    """Raised in place of a call that a limit of the whole run forbids."""


class Runner:
    """Works on one run with agents of its own; `stop` ends it after the calls under way.

    `home` is the folder for worktrees, below the user's state folder if it is None. `parallel`
    bounds the tasks of this runner; a limiter, those of all runners that share it. `record` puts
    accepted reports into the project, and `judge` verifies what replies claim before that; without
    one, only their text is judged. `count` is called in a thread for each task that ended. `begun`
    is the run as `Ledger.begin` added it for this runner; without one, `run` joins it first.
    `decide` returns what an accepted report does to the run. `outage` is that of all runners of the
    process; without one, this runner has its own.
    """

    def __init__(
        self,
        ledger: Ledger,
        run: str,
        makers: Mapping[str, AgentMaker],
        *,
        project: Path,
        on_event: OnEvent | None = None,
        record: RecordReport | None = None,
        judge: ReplyJudge | None = None,
        count: CountOutcome | None = None,
        parallel: int | anyio.CapacityLimiter | None = None,
        home: Path | None = None,
        begun: Begun | None = None,
        decide: Decide = expand,
        outage: Outage | None = None,
    ) -> None:
        self.process: ThisProcess = this_process() if begun is None else begun.runner
        self._begun = begun
        self._ledger, self._run, self._makers = ledger, run, makers
        # Of the graph that a person trusted: tasks of any other are not for these agents.
        self._digest = makers.digest if isinstance(makers, AgentMakers) else None
        self._decide = decide
        self._project, self._home = project, home
        self._places = anyio.CapacityLimiter(parallel) if isinstance(parallel, int) else parallel
        self._on_event, self._record, self._judge, self._count = on_event, record, judge, count
        # By the key of the claim: where a task was sent back, two workers may be busy with it.
        self._loops: dict[tuple[str, int], tuple[Claim, RetryLoop]] = {}
        self._busy: set[tuple[str, int]] = set()
        # Of the run, as the newest claim found it.
        self._state = "running"
        self._last: RunRows | None = None
        self._seen, self._showing = 0, anyio.Lock()
        self._ended: list[_EndedTask] = []
        self._writing = anyio.Lock(fast_acquire=True)
        # What was claimed with the end of a task, by the key of that.
        self._claimed_next: dict[tuple[str, int], Claim | Nothing] = {}
        self._is_stopping = self._is_registered = False
        self.outage = outage or Outage()
        # Runs a step of the ledger, and again while the database is away.
        self._stored = self.outage.outlast
        # Why this runner ends before the run does.
        self._failure: GoopError | None = None
        self._wake = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def stop(self) -> None:
        """Claim nothing more, and return when the calls under way have ended.

        A second time those are cancelled; their tasks are ready again. To be called in the thread
        of the event loop.
        """
        if self._is_stopping and self._scope is not None:
            self._scope.cancel()
            self.outage.end()
        self._is_stopping = True
        self._wake.set()
        self.outage.hurry()

    async def run(self) -> GraphOutcome:
        """Work until the run has ended, waits for a person, or this runner is stopped.

        Raises StoreError where the database was away for too long, and RunError where the run got
        another graph; what was claimed is given back then, as far as that can be written.
        """
        if self._begun is None:
            known = await self._stored(self._ledger.join, self._run, self.process)
            await self._record_reports()
        else:
            known = self._begun.run
        with run_span(known), anyio.CancelScope() as self._scope:
            async with self._leaving():
                await self._at_work(self._claim_until_done)
                if self._failure is not None:
                    raise self._failure

        await self._show_events()
        if self._last is not None:
            return _outcome(self._last)
        return await self._stored(outcome_of_run, self._ledger, self._run)

    async def run_task(self, task: str) -> bool:
        """Claim `task` and work on it until its end; return whether there was anything to claim.

        False for a task that somebody else works on, that waits for others, or has ended. What
        follows from its report is stored, and left to whoever delivers tasks.
        """
        if not self._is_registered:
            await self._stored(self._ledger.register, self.process, self._run)
            self._is_registered = True
        # Nothing is claimed besides, also not as the report is accepted.
        # Set before the work: accepting the report would claim the next task otherwise.
        self._is_stopping = True
        # What `stop` ends has to be given back too.
        with anyio.CancelScope() as self._scope:
            async with self._leaving():
                found = await self._claim(task)
                if isinstance(found, Nothing):
                    # It may have been accepted by a runner that was killed before it recorded the
                    # report: whoever delivers tasks comes back to this one, and to no other.
                    await self._record_reports(task)
                    return False

                self._busy.add(found.key)
                known = await self._stored(self._ledger.run, self._run)
                with in_trace_of(known):
                    await self._at_work(partial(self._work_safely, found))
                if self._failure is not None:
                    raise self._failure

        await self._show_events()
        return True

    async def _at_work(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do `work`, and meanwhile renew leases and look for cancellations."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._renew_leases)
            group.start_soon(self._watch)
            try:
                await work()
            finally:
                # Both loops have no end of their own.
                group.cancel_scope.cancel()

    @asynccontextmanager
    async def _leaving(self) -> AsyncIterator[None]:
        """Give back all tasks of this runner where something ends it before they have ended."""
        try:
            yield
        except BaseException:
            # Also what nobody here has heard of: a cancellation of asyncio does not wait for the
            # thread that claims a task.
            await self._last_step(
                partial(self._stored, self._ledger.leave, self._run, self.process)
            )
            raise

    async def _last_step(self, step: Callable[[], Awaitable[object]]) -> None:
        """Take a step that may be left out, as this runner ends: the leases show what is free."""
        # Whoever ends a runner whose database is away does not wait for it.
        if not self.outage.reason:
            with anyio.move_on_after(5, shield=True), suppress(GoopError):
                await step()

    def _fail(self, error: GoopError) -> None:
        """Claim nothing more, and end with `error` when the calls under way have ended."""
        self._failure = self._failure or error
        self._is_stopping = True
        self._wake.set()

    async def _claim_until_done(self) -> None:
        async with anyio.create_task_group() as tasks:
            while not self._is_stopping and not self._is_over():
                # Made before the claim: what happens while the database is asked must not be
                # missed.
                self._wake = anyio.Event()
                # A place is taken before the claim: a task that is claimed has to be worked on.
                place = object()
                try:
                    if self._places is not None:
                        self._places.acquire_on_behalf_of_nowait(place)
                except anyio.WouldBlock:
                    # A runner of another run may give its place back, which wakes nobody here.
                    with anyio.move_on_after(_POLL):
                        await self._wake.wait()
                    continue

                try:
                    found = await self._next()
                except BaseException as error:
                    self._leave(place)
                    # Calls under way may still be written down.
                    if isinstance(error, GoopError):
                        self._fail(error)
                        break
                    raise
                if isinstance(found, Claim):
                    # Before anything is waited for: a task that is claimed has to be worked on, or
                    # be given back.
                    self._busy.add(found.key)
                    tasks.start_soon(self._work, found, place)
                    seconds = LONGEST_WAIT
                else:
                    self._leave(place)
                    self._state, self._last, seconds = found.state, found.last, found.seconds
                await self._show_events()
                # What a dead runner leaves is rarely one task.
                if isinstance(found, Claim) and (found.more or found.taken_over):
                    continue
                if not self._is_over():
                    with anyio.move_on_after(seconds):
                        await self._wake.wait()

    async def _next(self) -> Claim | Nothing:
        begun, self._begun = self._begun, None
        if begun is not None:
            return begun.first
        return await self._claim()

    async def _claim(self, task: str | None = None) -> Claim | Nothing:
        def claim() -> Claim | Nothing:
            # What is claimed from here on has a lease that lasts longer than this takes.
            working_on = self._working_on()
            return self._ledger.claim(
                *(self._run, self.process),
                task=task,
                working_on=working_on,
                digest=self._digest,
            )

        return await self._stored(claim)

    def _working_on(self) -> set[str]:
        # Copied, as it is called in threads.
        return {id for id, _ in self._busy.copy()}

    def _is_over(self) -> bool:
        return not self._busy and self._state in (*RUN_ENDED, "waiting_for_person")

    async def _renew_leases(self) -> None:
        """Keep the leases of what is worked on; calls whose leases end are cancelled before that.

        A task of this runner that nobody works on is taken up again when its lease has ended.
        """
        lease = self._ledger.lease_seconds
        seconds = lease / 3
        renewed = monotonic()
        try:
            while True:
                # At once where this runner is stopped: whether it can write decides how it ends.
                await self.outage.pause(seconds)
                began = monotonic()
                # No longer than the lease: a server may fall silent and keep the connection.
                if await self._renew(max(seconds / 3, renewed + 0.9 * lease - began)):
                    renewed = began
                # The next try begins after a pause and ends a third of one later at the earliest.
                if monotonic() - renewed > lease - seconds * 4 / 3:
                    # Somebody else may take the tasks then: two agents must not work on one.
                    for _, loop in [*self._loops.values()]:
                        loop.cancel()
        finally:
            self.outage.leave(self)

    async def _renew(self, seconds: float) -> bool:
        """Renew the leases within `seconds`; return whether that succeeded."""
        renew = partial(self._ledger.renew, self.process, self._working_on())
        try:
            with anyio.fail_after(seconds), self.outage.asking(self):
                await anyio.to_thread.run_sync(renew, abandon_on_cancel=True)
        except TimeoutError:
            silent = StoreUnavailableError("the leases could not be renewed in time")
            self.outage.note(self, silent)
        except StoreError as error:
            self.outage.note(self, error)
        else:
            self.outage.passed(self, always_writes=True)
            return True
        return False

    async def _watch(self) -> None:
        """Cancel calls whose task was cancelled, or taken by somebody else."""
        while True:
            await anyio.sleep(2 * _POLL)
            # Copied: a task may end while the database is asked.
            claims = [claim for claim, _ in self._loops.values()]
            if not claims:
                continue
            # A database that is away is no reason to stop: the lease decides how long work may go
            # on.
            with suppress(StoreError):
                for claim in await anyio.to_thread.run_sync(self._ledger.stopped, claims):
                    if claim.key in self._loops:
                        self._loops[claim.key][1].cancel()

    async def _work(self, claim: Claim, place: object) -> None:
        """Work on a task, and on those that are claimed as the one before is accepted."""
        found: Claim | None = claim
        try:
            while found is not None:
                found = await self._after(await self._work_safely(found))
        except GoopError as error:
            self._fail(error)
        finally:
            # In any case, also for an error: other runs wait for places.
            self._leave(place)

    async def _after(self, found: Claim | Nothing | None) -> Claim | None:
        """Show what happened, and return the task to go on with."""
        # The end of the last task says that there is nothing left to claim.
        self._state = found.state if isinstance(found, Nothing) else "running"
        self._last = found.last if isinstance(found, Nothing) else None
        await self._show_events()
        if isinstance(found, Claim) and self._is_stopping:
            # It was claimed with the end of the one before, and nobody has begun it.
            await self._stored(self._ledger.release, found)
            self._busy.discard(found.key)
            found = None
        if not isinstance(found, Claim) or found.more:
            # Whoever claims looks whether other tasks may begin too, or all have ended.
            self._wake.set()
        return found if isinstance(found, Claim) else None

    def _leave(self, place: object) -> None:
        if self._places is not None:
            self._places.release_on_behalf_of(place)

    async def _work_safely(self, claim: Claim) -> Claim | Nothing | None:
        try:
            await self._work_on(claim)
        except LostTaskError as error:
            # No error: somebody else does that task now.
            _logger.info("%s", error)
        except PASSING as error:
            # Nothing is wrong with the task or its agent: it is taken up again.
            self._fail(error)
        except GoopError as error:
            with suppress(GoopError):
                await self._give_up(claim, "agent_error", str(error))
        except Exception as error:
            # A defect of ours must not take the other tasks with it.
            _logger.exception("task %s failed", claim.row.id)
            with suppress(GoopError):
                await self._give_up(claim, "agent_error", f"{type(error).__name__}: {error}")
        finally:
            self._loops.pop(claim.key, None)
            self._busy.discard(claim.key)
        # Also where something failed after the report was accepted: this runner has that task.
        return self._claimed_next.pop(claim.key, None)

    async def _work_on(self, claim: Claim) -> None:
        if claim.to_end is not None:
            # By the key in its environment, so that no other one is ended in its place.
            key = key_of(claim.row)
            gone = await anyio.to_thread.run_sync(partial(end_program, *claim.to_end, key=key))
            if not gone:
                raise RunError(f"the program {claim.to_end[0]} of the dead runner does not end")
        if claim.asks_person:
            # The effect of that call is not known, and the graph says that a person decides then.
            question = "its runner died while the agent was asked; is it to be asked again?"
            await self._give_up(claim, "crash", question, person=True)
            return

        folder, worktree = self._project, None
        # A folder of its own, so that two tasks may change the same files at once.
        if claim.task.workspace == "worktree":
            home = self._home or _state_folder()
            worktree = await open_worktree(self._project, home, run=self._run, name=claim.row.id)
            folder = worktree.folder

        caller = self._caller(claim, folder)
        caller.start = await self._start_of(claim, folder, worktree)
        remark = None
        # The agent goes on where it was, and has to know that its last answer was never seen.
        if claim.interrupted is not None and claim.task.on_crash == "resume":
            remark = _INTERRUPTED.format(number=claim.interrupted)
        loop = RetryLoop(
            self._job(claim, caller),
            attempts=claim.attempts,
            remark=remark,
            remembers=not claim.attempts or caller.remembers(),
            attributes=attributes_of(claim.row),
        )
        self._loops[claim.key] = (claim, loop)
        # Cancelled between claim and start: the loop ends before its first message.
        if claim.row.cancel_requested:
            loop.cancel()
        try:
            outcome = await loop.run()
            await self._end(claim, outcome, caller)
        except anyio.get_cancelled_exc_class():
            # An answer that is here already is not asked for again.
            await self._last_step(caller.write_answer)
            raise
        finally:
            # After the end of the task is written, which must not wait for the end of a program.
            await caller.close()
        # Last, since an error here must not take back what was accepted.
        if worktree is not None:
            await self._close(claim, worktree)

    async def _start_of(
        self, claim: Claim, folder: Path, worktree: Worktree | None
    ) -> Evidence | None:
        """Return what the task began with, None where that is not known any more."""
        if self._judge is None:
            return None
        # A new worktree has just the commit it was made from.
        commit = None if worktree is None else worktree.base
        # In the project, an earlier message of the task may have changed files already: compared
        # with what is there now, the agent would have touched none of them.
        if commit is None and (claim.attempts or claim.interrupted is not None or claim.row.round):
            return None
        begin = partial(self._judge.begin, folder, commit=commit)
        return await self.outage.outlast(begin, is_long=True)

    async def _close(self, claim: Claim, worktree: Worktree) -> None:
        """Remove a worktree and note what is kept of it; a failure loses no accepted work."""
        try:
            kept = await close_worktree(worktree)
        except WorktreeError as error:
            kept = f"{worktree.folder} is kept: {error}"
        if kept is not None:
            await self._stored(
                partial(self._ledger.note, claim.row.run, claim.row.id, "kept", {"message": kept})
            )

    def _caller(self, claim: Claim, folder: Path) -> "TaskCaller":
        return TaskCaller(self, claim, folder)

    def _job(self, claim: Claim, caller: "TaskCaller") -> Job:
        named = claim.graph.agent_named[claim.task.agent]
        fallback = None
        # Made only when it is asked: nearly no task comes to its fallback.
        if named.fallback is not None:
            fallback = TaskFallback(caller, named.fallback)
        policy = policy_of(named, claim.task, fallback=fallback)
        protocol = claim.task.protocol or claim.graph.protocol

        return Job(
            caller,
            claim.prompt,
            protocol=protocol,
            policy=policy,
            hooks=Hooks(after_attempt=caller.after_attempt),
            agent_name=claim.task.agent,
            judge_with=None
            if self._judge is None
            else partial(caller.judge, self._judge, protocol),
        )

    async def _end(self, claim: Claim, outcome: Outcome, caller: "TaskCaller") -> None:
        verdict = outcome.verdict
        if verdict is not None and self._is_done(outcome):
            await self._accept(
                AcceptedReport(
                    claim=claim,
                    result=self._result(outcome, verdict),
                    decide=lambda snapshot: self._decide(snapshot, claim.row.id, verdict),
                    answered=caller.answered,
                    records=self._record is not None,
                )
            )
            # Written with the acceptance; a second time would be an attempt too many.
            caller.answered = None
            await self._count_outcome(claim, outcome)
            await self._record_reports(claim.row.id)
            return

        await caller.write_answer()
        reason, message = _why(outcome, caller)
        if reason == "cancelled":
            # The state in the database says who cancelled: a person, the deadline, or a lost lease.
            row = await self._stored(self._task, claim.row.id)
            if row.fence == claim.fence and not row.cancel_requested:
                # The lease could not be kept: whoever claims next goes on.
                await self._stored(self._ledger.release, claim)
                return
            reason = "deadline" if row.reason == "deadline" else "cancelled"
        await self._give_up(claim, reason, message, person=reason == "interrupted")
        await self._count_outcome(claim, outcome)

    async def _accept(self, report: AcceptedReport) -> None:
        """Write down an accepted report, and keep in `_claimed_next` what its worker goes on with.

        Those that come while others are being written are written together: with a transaction for
        each, short tasks would wait for nothing but the disk.
        """
        ended = _EndedTask(report)
        self._ended.append(ended)
        try:
            async with self._writing:
                # More than once where many were waiting before it.
                while ended.found is None:
                    await self._write_ended()
        except anyio.get_cancelled_exc_class():
            # Somebody may be writing it just now: either it is written, or it never will be.
            with anyio.CancelScope(shield=True):
                async with self._writing:
                    pass
            if ended in self._ended:
                self._ended.remove(ended)
            raise
        finally:
            if isinstance(ended.found, Claim | Nothing):
                self._claimed_next[report.claim.key] = ended.found
            if isinstance(ended.found, Claim):
                # At once: recording the report may take longer than the lease.
                self._busy.add(ended.found.key)

        if isinstance(ended.found, Exception):
            raise ended.found

    async def _write_ended(self) -> None:
        ended = self._ended[:_MOST_AT_ONCE]
        del self._ended[:_MOST_AT_ONCE]
        try:
            await self._stored(self._accept_all, ended)
        except StoreError as error:
            for each in ended:
                each.found = each.found or error
        finally:
            # Where this was cancelled while the database was away, the next one writes them.
            self._ended[:0] = [each for each in ended if each.found is None]

    def _accept_all(self, ended: Sequence["_EndedTask"]) -> None:
        """Set `found` of all; in a thread, so that no cancellation comes between."""
        # Where the database went away in the middle, some are written already.
        ended = [each for each in ended if each.found is None]
        runner = None if self._is_stopping else self.process
        try:
            found = self._ledger.accept([each.report for each in ended], runner)
        except StoreError:
            raise
        except Exception as error:
            if len(ended) == 1:
                ended[0].found = error
                return
            # The others must not fail with the one that did.
            for each in ended:
                self._accept_all([each])
        else:
            for each, outcome in zip(ended, found, strict=True):
                each.found = outcome

    def _is_done(self, outcome: Outcome) -> bool:
        """Whether a task with this outcome is accepted."""
        return outcome.accepted

    def _result(self, outcome: Outcome, verdict: Verdict) -> dict[str, JsonValue]:
        """Return what is kept of an accepted task."""
        envelope = verdict.envelope
        return {
            "protocol": verdict.protocol,
            "envelope": None if envelope is None else envelope.to_dict(),
            "text": outcome.joined_text,
        }

    async def _count_outcome(self, claim: Claim, outcome: Outcome) -> None:
        if self._count is None:
            return
        try:
            await anyio.to_thread.run_sync(self._count, claim.task.agent, outcome)
        except GoopError as error:
            # Statistics must not end a run.
            _logger.warning("the attempts of %s could not be counted: %s", claim.row.id, error)

    async def _record_reports(self, task: str | None = None) -> None:
        """Record the reports of `task`, or of all, that were not; what fails is noted.

        A runner that was killed between the end of a task and its record left that to the next one.
        """
        if self._record is None:
            return
        for report in await self._stored(self._ledger.unrecorded, self._run, task):
            number, why = await self.outage.outlast(
                try_to_record, self._record, report, is_long=True
            )
            await self._stored(partial(self._ledger.set_report, report, number, why=why))

    async def _give_up(
        self, claim: Claim, reason: str, message: str, *, person: bool = False
    ) -> None:
        await self._stored(
            partial(self._ledger.give_up, claim, reason=reason, message=message, person=person)
        )

    def _task(self, id: str) -> GraphTaskRow:
        found = self._ledger.store.read(lambda reading: reading.graphs.task(self._run, id))
        if found is None:
            raise LostTaskError(id, late=True)
        return found

    async def _show_events(self) -> None:
        if self._on_event is None:
            return
        # One at a time: each event is shown once and in its order.
        async with self._showing:
            after = self._seen
            rows = await self._stored(
                self._ledger.store.read,
                lambda reading: reading.graphs.events(self._run, after=after),
            )
            for row in rows:
                # Before it is shown: an error of the caller must not show it again for ever.
                self._seen = row.seq
                self._on_event(row)


class TaskCaller:
    """The agent of one task, with its messages written down before they are sent."""

    def __init__(self, runner: Runner, claim: Claim, folder: Path) -> None:
        self._runner, self._claim, self._folder = runner, claim, folder
        self._call = TaskCall(
            run=claim.row.run,
            task=claim.row.id,
            round=claim.row.round,
            folder=folder,
            # A restart forgets what went wrong; all else goes on where it was.
            session=claim.row.session if claim.task.on_crash != "restart" else None,
            on_program=self._note_program,
        )
        self._agents: dict[str, tuple[Agent, Callable[[Message], Awaitable[Reply]]]] = {}
        self._asked: Agent | None = None
        # The conversations of the task; None is one that nobody knows.
        self._sessions = {each.conversation_id for each in claim.attempts}
        # In a later round, and after a crash, it goes on in the conversation that is stored.
        if claim.row.round or claim.interrupted is not None:
            self._sessions.add(claim.row.session)
        self.start: Evidence | None = None
        self._number = 0
        self._begun = claim.begun
        self.answered: tuple[int, Attempt] | None = None
        self.limit: str | None = None
        self.lost: LostTaskError | None = None
        self.name = claim.task.agent

    async def ask(self, message: Message) -> Reply:
        """Send a message to the agent of the task."""
        return await self.send(self.name, message)

    async def send(self, name: str, message: Message) -> Reply:
        """Write `message` down and send it to the agent `name`."""
        claim, runner = self._claim, self._runner
        # The first message of a task is written down as the task is claimed.
        self._number, self._begun = self._begun, 0
        while not self._number:
            try:
                number, seconds = await runner._stored(runner._ledger.begin_attempt, claim, message)
            except RunError as error:
                self.limit = str(error)
                raise _LimitReachedError(str(error)) from error
            except LostTaskError as error:
                self.lost = error
                raise AgentInterruptedError(str(error)) from error
            self._number = number
            if number:
                break
            # Somebody else's call uses what is left, or the agent's rate or circuit says wait.
            await anyio.sleep(min(seconds, 1.0))

        self._asked, call = self._agent(name)
        return await call(message)

    def remembers(self) -> bool:
        """Whether the agent knows what another process of ours asked it for this task."""
        # What a program without a session knew ended with that process. An agent of the caller
        # keeps its conversation itself.
        agent, _ = self._agent(self.name)
        return not isinstance(agent, ProgramAgent) or agent.has_session

    def judge(
        self, judge: ReplyJudge, protocol: str, text: str, mode: Mode, correction: Correction
    ) -> Verdict:
        """Return the verdict on a reply of the agent that was asked last."""
        # Only programs have a transcript, by which their claims can be verified.
        session = getattr(self._asked, "session", None)
        # Agents of the caller may have something else of this name.
        if not isinstance(session, AgentSession):
            session = None
        else:
            self._sessions.add(session.id)

        reply = TaskReply(
            text=text,
            protocol=protocol,
            mode=mode,
            folder=self._folder,
            start=self.start,
            session=session,
            # With other conversations before it, what is missing in this one may have happened
            # there.
            whole_session=self._sessions <= {None if session is None else session.id},
            correction=correction,
        )
        try:
            return judge.judge(reply)
        except PASSING:
            # The answer is kept while the database is away. This is a thread of its own.
            again = partial(self._runner.outage.outlast, judge.judge, reply, is_long=True)
            return anyio.from_thread.run(again)

    async def after_attempt(self, attempt: Attempt) -> None:
        """Write down what became of the last message."""
        # No message was sent, so there is no answer to write.
        if self.limit is not None or self.lost is not None:
            return
        self.answered = (self._number, attempt)
        # An accepted answer is written down together with what follows from it, at once.
        if not attempt.accepted:
            await self.write_answer()

    async def close(self) -> None:
        """End the programs of the task that live between its messages."""
        for agent, _ in self._agents.values():
            if isinstance(agent, ProgramAgent):
                await agent.aclose()
        # What it leaves running in the background runs on.
        forget_program(self._call.key)

    async def write_answer(self) -> None:
        """Write down the last answer, where that was not done yet."""
        answered, self.answered = self.answered, None
        if answered is None:
            return
        try:
            await self._runner._stored(self._runner._ledger.end_attempt, self._claim, *answered)
        except LostTaskError as error:
            self.lost = error

    def _agent(self, name: str) -> tuple[Agent, Callable[[Message], Awaitable[Reply]]]:
        if name not in self._agents:
            made = self._runner._makers[name](self._call)
            self._agents[name] = (made, call_of(made))
        return self._agents[name]

    def _note_program(self, pid: int) -> Awaitable[None]:
        # Before it is sent anything: one whose runner dies now is ended with it. Where that is not
        # possible, and on a machine that stands still, the next runner ends it.
        began = started(pid)
        watch_program(self._call.key, pid, began)
        # A database that falls silent keeps neither a program alive whose lease or time has ended,
        # nor back the answer of one that has ended.
        step = partial(self._runner._ledger.set_program, self._claim, pid, began)
        return self._runner._stored(step, abandon=True)


class TaskFallback:
    """The agent that is asked when the first one sent nothing acceptable."""

    def __init__(self, caller: TaskCaller, name: str) -> None:
        self._caller, self.name = caller, name

    async def ask(self, message: Message) -> Reply:
        """Send a message to the fallback."""
        return await self._caller.send(self.name, message)


def try_to_record(record: RecordReport, report: GraphReportRow) -> tuple[int | None, str]:
    """Record the report of a task; return its number, or None and why it is not recorded.

    Raises StoreError while the database is away, which says nothing about the report.
    """
    try:
        return record(report), ""
    except PASSING:
        raise
    except GoopError as error:
        # It is kept for people, and the task stays accepted.
        return None, str(error)


def outcome_of_run(ledger: Ledger, id: str) -> GraphOutcome:
    """Return how a run stands, with the attempts of each task's last round."""

    def read(reading: ReadTransaction) -> GraphOutcome:
        return _outcome(RunRows.read(reading, find_run(reading, id)))

    return ledger.store.read(read)


def _outcome(rows: RunRows) -> GraphOutcome:
    attempts: dict[str, list[GraphAttemptRow]] = {}
    for each in rows.attempts:
        attempts.setdefault(each.task, []).append(each)
    return GraphOutcome(
        id=rows.run.id,
        state=rows.run.state,
        tasks={row.id: TaskOutcome.of(row, attempts.get(row.id, ())) for row in rows.tasks},
        waiting_for=tuple(row.id for row in rows.tasks if row.state == "input_required"),
    )


def _why(outcome: Outcome, caller: TaskCaller) -> tuple[str, str]:
    """Return why a task has no accepted report: a word, and a sentence for people."""
    if caller.lost is not None and caller.lost.late:
        # Somebody else has the task: no reason of ours may be written over theirs.
        raise caller.lost
    if caller.lost is not None:
        # It is ours still, and nobody but us ends it.
        return "cancelled", "cancelled"
    if caller.limit is not None:
        return "budget", caller.limit
    last = outcome.attempts[-1] if outcome.attempts else None
    because = outcome.stopped_because
    if last is not None and last.error is not None:
        # The last error says what is wrong now; those before were corrected.
        return because, last.error
    errors = (
        () if last is None or last.verdict is None else last.verdict.of_severity(Severity.ERROR)
    )
    if errors:
        count = sum(each.verdict is not None for each in outcome.attempts)
        replies = (
            "the reply was not accepted"
            if count == 1
            else f"none of {count} replies was accepted; the last"
        )
        return because, f"{replies}: {errors[0].message}"
    return because, because.replace("_", " ")


def _state_folder() -> Path:
    return user_state_path("goop-mcp", appauthor=False) / "worktrees"
