"""Which runs a process works on that was started for no run of its own.

State is in the store, and any number of such processes on any number of machines may share it:
there is no leader, and nothing is lost with any of them.
"""

import logging
import math
import time
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import anyio
import anyio.to_thread

from goop_mcp.delegation.changes import find_task
from goop_mcp.delegation.ledger import Ledger, RunError
from goop_mcp.delegation.outage import PASSING, Outage
from goop_mcp.delegation.processes import this_process
from goop_mcp.delegation.runner import (
    CountOutcome,
    OnEvent,
    RecordReport,
    ReplyJudge,
    Runner,
    TaskOutcome,
    try_to_record,
)
from goop_mcp.delegation.states import ENDED
from goop_mcp.delegation.trusting import (
    MayRun,
    UntrustedGraphError,
    may_run_here,
    trusted_makers,
)
from goop_mcp.errors import GoopError, StoreError
from goop_mcp.retry.replies import Agent
from goop_mcp.store.graph_rows import GraphEventRow, GraphRunRow
from goop_mcp.store.interface import ReadTransaction, Store

__all__ = ["Dispatcher", "LeaseDispatcher", "RunnerMaker", "run_task"]

MOST_AT_ONCE: Final = 50
"""Runs that one process works on at the same time; the others wait for their turn."""

_POLL_SECONDS: Final = 1.0
_WAITS: Final = 0.5
_MOST_NAMED: Final = 1_000

_logger = logging.getLogger(__name__)


class RunnerMaker:
    """Makes runners for the runs of a project that may run here.

    `may_run` says whether a person trusts a graph: what is stored may have been changed by others.
    `agents` replace those of the graphs, by name; `limiter` bounds the tasks of all runners,
    `record` puts accepted reports into the project, `judge` verifies their claims before. The
    `outage` is that of all its runners, which wait for the database as long as it takes.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        project: Path,
        may_run: MayRun,
        agents: Mapping[str, Agent] | None = None,
        limiter: anyio.CapacityLimiter | None = None,
        on_event: OnEvent | None = None,
        record: RecordReport | None = None,
        judge: ReplyJudge | None = None,
        count: CountOutcome | None = None,
    ) -> None:
        self.ledger = ledger
        self._project, self._may_run, self._agents = project, may_run, agents or {}
        self._limiter, self._on_event = limiter, on_event
        self._record, self._judge, self._count = record, judge, count
        self._refused: dict[tuple[str, str], str] = {}
        self._process = this_process()
        self._stood_by, self._standing = -math.inf, set[str]()
        self.outage = Outage(patience=None)

    def make(self, run: GraphRunRow) -> Runner | None:
        """Return a runner of `run`; None, with a warning the first time, where it cannot run here.

        That is so without a person's trust, and where a program or function of it is not installed.
        """
        try:
            graph = self.ledger.graph(run)
            # Agents for other graphs may be given too: one process works on many.
            known = {name: each for name, each in self._agents.items() if name in graph.agent_named}
            makers = trusted_makers(
                graph, project=self._project, may_run=self._may_run, given=known
            )
        except UntrustedGraphError as error:
            self.leave_out(
                run, f"its graph is not trusted here; --trust {error.graph.digest} allows it"
            )
            return None
        except PASSING:
            # The next look for open runs says why.
            return None
        except GoopError as error:
            self.leave_out(run, str(error))
            return None

        on_event = None
        if self._on_event is not None:
            on_event = partial(_show_new, self._on_event, run.last_seq)
        return Runner(
            self.ledger,
            run.id,
            makers,
            project=self._project,
            parallel=self._limiter,
            on_event=on_event,
            record=self._record,
            judge=self._judge,
            count=self._count,
            outage=self.outage,
        )

    async def open_runs(self) -> list[GraphRunRow]:
        """Return the runs in which something can be done now, oldest first.

        A run that waits for a person is among them when the time for the answer is over. None while
        the database is away: the processes go on until their leases end.
        """
        await self._record_left_reports()
        try:
            found = await anyio.to_thread.run_sync(self.ledger.store.read, _open_runs)
        except StoreError as error:
            self.outage.note("open runs", error)
            return []
        self.outage.passed("open runs")
        return found

    async def stand_by(self, runs: Iterable[GraphRunRow]) -> None:
        """Note now and then that this process takes the next tasks of those `runs` that it may run.

        Nobody else knows that somebody works on them, while none of their tasks is under way here.
        """
        known = {run.id: run for run in runs}
        is_due = time.monotonic() > self._stood_by + self.ledger.lease_seconds / 3
        if not is_due and self._standing >= known.keys():
            return
        try:
            await anyio.to_thread.run_sync(self._stand_by, [*known.values()])
        except StoreError as error:
            self.outage.note("standing by", error)
        else:
            self.outage.passed("standing by")
            self._stood_by, self._standing = time.monotonic(), {*known}

    def _stand_by(self, runs: Iterable[GraphRunRow]) -> None:
        taken = [
            run.id
            for run in runs
            if (run.id, run.graph_hash) not in self._refused and self._is_for_here(run)
        ]
        if taken:
            self.ledger.stand_by(self._process, taken)

    async def _record_left_reports(self) -> None:
        """Record the reports that dead runners did not; nobody comes back to their tasks.

        Where a run has ended, no runner looks at it again. Others may do the same at once: a report
        is recorded once, whoever brings it. What fails is tried again at the next look.
        """
        if self._record is None:
            return
        try:
            await anyio.to_thread.run_sync(self._record_left, self._record)
        except PASSING as error:
            self.outage.note("left reports", error)
        except GoopError as error:
            _logger.warning("what a dead runner left could not be recorded: %s", error)
        else:
            self.outage.passed("left reports")

    def _record_left(self, record: RecordReport) -> None:
        for report in self.ledger.left_unrecorded():
            # Of a run for other machines, the files that the report names may not be here.
            if not self._is_for_here(self.ledger.run(report.run)):
                continue
            number, why = try_to_record(record, report)
            self.ledger.set_report(report, number, why=why)
            text = "the report of %s of %s was left: %s"
            _logger.info(text, report.task, report.run, why or number)

    def _is_for_here(self, run: GraphRunRow) -> bool:
        try:
            return self._may_run(self.ledger.graph(run))
        except PASSING:
            raise
        except GoopError as error:
            # All other runs go on.
            self.leave_out(run, str(error))
            return False

    def leave_out(self, run: GraphRunRow, why: str) -> None:
        """Warn, the first time, that a run does not go on here."""
        # Asked again every second: a trusted digest or an installed program lets the run begin.
        key = (run.id, run.graph_hash)
        if self._refused.get(key) == why:
            return
        # Cleared as a whole: the worst that follows is a warning that is shown again.
        if len(self._refused) >= _MOST_NAMED:
            self._refused.clear()
        self._refused[key] = why
        _logger.warning("%s (%s) does not run here: %s", run.id, run.name, why)


class Dispatcher(Protocol):
    """Decides which tasks of all runs this process works on next, and when."""

    async def run(self) -> None:
        """Work until this is stopped."""

    def stop(self) -> None:
        """Take nothing more, and let `run` return when the calls have ended; again: at once."""


class LeaseDispatcher:
    """Works on all open runs of a project, with claims in its tables and nothing besides."""

    def __init__(self, maker: RunnerMaker) -> None:
        self._maker = maker
        self._runners: dict[str, Runner] = {}
        self._is_stopping = anyio.Event()

    def stop(self) -> None:
        """Claim nothing more, and return when the calls under way have ended; again: at once."""
        if self._is_stopping.is_set():
            self._maker.outage.end()
        self._is_stopping.set()
        # Copied: a runner that ends removes itself.
        for runner in [*self._runners.values()]:
            runner.stop()

    async def run(self) -> None:
        """Work until this is stopped."""
        async with anyio.create_task_group() as group:
            while not self._is_stopping.is_set():
                found = await self._maker.open_runs()
                for run in found:
                    if self._is_stopping.is_set() or len(self._runners) >= MOST_AT_ONCE:
                        break
                    if run.id in self._runners:
                        continue
                    # Importing the functions of a graph takes as long as it takes.
                    runner = await anyio.to_thread.run_sync(self._maker.make, run)
                    if runner is not None and not self._is_stopping.is_set():
                        self._runners[run.id] = runner
                        group.start_soon(self._work, run.id, runner)

                # The event ends the wait at once, so that a stop does not last a second.
                await self._maker.stand_by(run for run in found if run.id not in self._runners)
                with anyio.move_on_after(_POLL_SECONDS):
                    await self._is_stopping.wait()

    async def _work(self, run: str, runner: Runner) -> None:
        try:
            await runner.run()
        except GoopError as error:
            # Such as a database that was away for minutes: the leases show others what is free.
            _logger.warning("%s is left for now: %s", run, error)
        finally:
            del self._runners[run]


async def run_task(
    store: Store,
    run: str,
    task: str,
    *,
    agents: Mapping[str, Agent] | None = None,
    project: Path | None = None,
    ledger: Ledger | None = None,
    record: RecordReport | None = None,
    judge: ReplyJudge | None = None,
    trust: Collection[str] = (),
) -> TaskOutcome:
    """Work on one task of a run until it has ended or waits for a person; return what came of it.

    For an engine that calls its activities or steps again after a crash: a task that has ended is
    not asked again, and one that somebody else works on is waited for, beyond the end of a lease.
    `agents` are those that the graph leaves to the caller, `project` is the folder in which
    programs run, `record` and `judge` are those of `Runner`, `trust` is that of `resume`. Raises
    RunError for a task that waits for others, or is not there, and what `resume` raises.
    """
    ledger, folder = ledger or Ledger(store), project or Path.cwd()
    known = await anyio.to_thread.run_sync(ledger.run, run)
    makers = trusted_makers(
        ledger.graph(known), project=folder, may_run=may_run_here(folder, trust), given=agents
    )
    runner = Runner(ledger, run, makers, project=folder, record=record, judge=judge)
    # Without a bound of its own: the engine that calls this has one.
    while True:
        is_claimed = await runner.run_task(task)
        found = await anyio.to_thread.run_sync(ledger.store.read, partial(_outcome_of, run, task))
        if found.state in ENDED or found.state == "input_required":
            return found
        # Waiting here could last for ever, as nobody else may be working on the run.
        if found.state == "waiting":
            raise RunError(f"{task} of {run} waits for other tasks; run them first")
        if not is_claimed:
            await anyio.sleep(_WAITS)


def _outcome_of(run: str, task: str, reading: ReadTransaction) -> TaskOutcome:
    # Of this task alone: an engine asks for each of thousands.
    row = find_task(reading, run, task)
    is_over = row.state in ENDED or row.state == "input_required"
    return TaskOutcome.of(row, reading.graphs.attempts(run, task) if is_over else ())


def _open_runs(reading: ReadTransaction) -> list[GraphRunRow]:
    now = time.time()
    found = []
    # Oldest first, so that a new run does not hold back one that has waited longer.
    for run in reversed(reading.graphs.runs()):
        if run.state == "waiting_for_person":
            waiting = reading.graphs.tasks(run.id, state="input_required")
            ends = [row.deadline_at for row in waiting if row.deadline_at is not None]
            if run.deadline_at is not None:
                ends.append(run.deadline_at)
            # By the clock of this machine: whether it is over is decided in the claim.
            if not ends or min(ends) > now:
                continue
        found.append(run)

    return found


def _show_new(on_event: OnEvent, after: int, event: GraphEventRow) -> None:
    # What happened before this runner came was shown by others.
    if event.seq > after:
        on_event(event)
