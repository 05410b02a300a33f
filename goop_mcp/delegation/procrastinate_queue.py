"""Deliver the tasks of runs through procrastinate, a queue in PostgreSQL with workers of its own.

The queue holds ids and nothing else: it wakes a worker and names a task. Whether that may begin,
and what became of it, is in the tables of the store, so that a job that is lost, late or delivered
twice changes nothing: what is ready and has no job gets one within a second.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ProcrastinateException
from procrastinate.jobs import Status
from procrastinate.tasks import Task

from goop_mcp.delegation.changes import RunError
from goop_mcp.delegation.dispatch import RunnerMaker
from goop_mcp.delegation.processes import boot_id
from goop_mcp.delegation.runner import Runner
from goop_mcp.errors import GoopError, StoreError, StoreUnavailableError
from goop_mcp.processes import lives
from goop_mcp.store.graph_rows import GraphRunRow, GraphTaskRow
from goop_mcp.store.interface import ReadTransaction

T = TypeVar("T")
DeliveredTask = Task[[str, str], Coroutine[object, object, None], [str, str]]

__all__ = ["SCHEMA", "ProcrastinateDispatcher"]

SCHEMA: Final = "goop_queue"
"""The schema of PostgreSQL that holds the tables of procrastinate."""

_POLL_SECONDS: Final = 1.0
_CLEANUP_SECONDS: Final = 10.0
_STALLED_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 5.0
_MOST_DELIVERED: Final = 200
_LOCK: Final = 7_160_533_221
"""Any number: two workers that start at once must not both make the tables."""

_logger = logging.getLogger(__name__)


class ProcrastinateDispatcher:
    """Works on tasks that procrastinate delivers, at most `parallel` at once.

    `url` is that of the store. Its role needs the right to make the schema `goop_queue`, or that
    has to be there and be its own. `project` is in the name of the queue, as one database has many.
    """

    def __init__(self, maker: RunnerMaker, url: str, *, project: str, parallel: int) -> None:
        self._maker, self._ledger = maker, maker.ledger
        self._url, self._queue, self._parallel = url, f"goop/{project}", parallel
        self._runners: set[Runner] = set()
        self._job: DeliveredTask | None = None
        self._is_stopping = anyio.Event()

    def stop(self) -> None:
        """Take no more jobs, and return when the calls under way have ended; again: at once."""
        if self._is_stopping.is_set():
            self._maker.outage.end()
            for runner in [*self._runners]:
                runner.stop()
        self._is_stopping.set()
        self._maker.outage.hurry()

    async def run(self) -> None:
        """Work until this is stopped. Raises StoreError for a database that does not answer."""
        try:
            await anyio.to_thread.run_sync(_make_tables, self._url)
            # Its statements name tables without a schema, so each connection has to know it.
            options = {"options": f"-c search_path={SCHEMA}"}
            app = App(connector=PsycopgConnector(conninfo=self._url, kwargs=options, min_size=1))
            self._job = app.task(name="goop_mcp.run_task", queue=self._queue)(self._work)
            async with app.open_async():
                await self._deliver_until_stopped(app)
        except (psycopg.Error, ProcrastinateException) as error:
            raise StoreError(f"the queue cannot be used: {error}") from error

    async def _deliver_until_stopped(self, app: App) -> None:
        # A task of asyncio, as procrastinate takes one cancellation for "let the jobs end", and
        # a scope of anyio cancels again and again.
        worker = asyncio.create_task(
            app.run_worker_async(
                queues=[self._queue],
                concurrency=self._parallel,
                install_signal_handlers=False,
                delete_jobs="always",
                fetch_job_polling_interval=_POLL_SECONDS,
            )
        )
        cleaned = 0.0
        while not self._is_stopping.is_set() and not worker.done():
            try:
                found = await self._maker.open_runs()
                for run in found:
                    await self._deliver(run)
                await self._maker.stand_by(found)
                if time.monotonic() > cleaned + _CLEANUP_SECONDS:
                    cleaned = time.monotonic()
                    # Jobs of dead workers go: their tasks are delivered again when they are free.
                    stalled = await app.job_manager.get_stalled_jobs(
                        queue=self._queue, seconds_since_heartbeat=_STALLED_SECONDS
                    )
                    for job in stalled:
                        await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
            except StoreError as error:
                self._maker.outage.note(self, error)
            except (psycopg.Error, ProcrastinateException) as error:
                silent = StoreUnavailableError(f"the queue does not answer: {error}")
                self._maker.outage.note(self, silent)
            else:
                self._maker.outage.passed(self)
            with anyio.move_on_after(_POLL_SECONDS):
                await self._is_stopping.wait()

        worker.cancel()
        while not (await asyncio.wait([worker], timeout=_STOP_SECONDS))[0]:
            # One that comes together with the connection that the worker waits for, as while it
            # begins, is lost: `asyncio.wait_for` of Python 3.11, which the pool uses, returns the
            # connection. Jobs under way end by themselves, and a second one would take them along.
            if not self._runners:
                worker.cancel()
        if not worker.cancelled() and worker.exception() is not None:
            raise StoreError(f"the worker of the queue ended: {worker.exception()}")

    async def _work(self, run: str, task: str) -> None:
        """Work on a task that was delivered, and deliver what follows from it."""
        row = await self._read(partial(_run_of, run))
        runner = None if row is None else await anyio.to_thread.run_sync(self._maker.make, row)
        if runner is None:
            return

        self._runners.add(runner)
        try:
            await runner.run_task(task)
            row_after = await self._read(partial(_run_of, run))
            if row_after is not None and not self._is_stopping.is_set():
                await self._deliver(row_after)
        except GoopError as error:
            # The task is still ready, or its lease ends: in both cases it is delivered again.
            _logger.warning("%s of %s is left for now: %s", task, run, error)
        finally:
            self._runners.discard(runner)

    async def _deliver(self, run: GraphRunRow) -> None:
        if self._job is None:
            return
        try:
            parallel = self._ledger.graph(run).limits.parallel
        except RunError as error:
            # All other runs go on.
            self._maker.leave_out(run, str(error))
            return
        for task in await self._read(partial(_deliverable, run, parallel)):
            try:
                # The lock of a job that waits: a task has one at most, whoever delivers it.
                lock = f"{run.id}/{task}"
                await self._job.configure(queueing_lock=lock).defer_async(run=run.id, task=task)
            except AlreadyEnqueued:
                continue

    async def _read(self, read: Callable[[ReadTransaction], T]) -> T:
        return await anyio.to_thread.run_sync(self._ledger.store.read, read)


def _run_of(run: str, reading: ReadTransaction) -> GraphRunRow | None:
    return reading.graphs.run(run)


def _deliverable(run: GraphRunRow, parallel: int, reading: ReadTransaction) -> list[str]:
    """Return the ids for which a claim may do something now; "" where only the run itself ended."""
    if run.ended_at is not None:
        return []
    now = time.time()
    if run.deadline_at is not None and run.deadline_at <= now:
        return [""]

    running = reading.graphs.tasks(run.id, state="running")
    found = [row.id for row in running if _seems_lost(reading, row, now)]
    asked = reading.graphs.tasks(run.id, state="input_required")
    found += [row.id for row in asked if row.deadline_at is not None and row.deadline_at <= now]
    if len(running) - len(found) < parallel:
        # More than there is room for: those in front may exclude each other.
        ready = reading.graphs.ready_tasks(run.id, limit=min(4 * parallel, _MOST_DELIVERED))
        found += [row.id for row in ready]

    return found


def _seems_lost(reading: ReadTransaction, row: GraphTaskRow, now: float) -> bool:
    """Whether a claim has to look at a running task; what it finds there is what counts."""
    owner = reading.graphs.runner(row.owner or "")
    if owner is None or (row.lease_until or 0.0) <= now:
        return True
    # Only on the machine of its owner, since its start, does a process id mean anything.
    same_boot = bool(owner.boot_id) and owner.boot_id == boot_id()
    return same_boot and not lives(owner.pid, owner.pid_started)


def _make_tables(url: str) -> None:
    """Make the schema of the queue and its tables, unless they are there."""
    with psycopg.connect(url, options=f"-c search_path={SCHEMA}") as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if connection.execute(
            "SELECT to_regclass(%s)", [f"{SCHEMA}.procrastinate_jobs"]
        ).fetchone() == (None,):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            connection.execute(App(connector=PsycopgConnector()).schema_manager.get_schema())
