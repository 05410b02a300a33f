"""The runs of a project: each method is one transaction, after which everything is true.

A task is worked on under a lease. Each claim raises its fence, and whoever comes with an older one
has lost the task: what they bring is kept as an event and changes nothing. So a call of an agent
may happen twice, and what follows from it happens once.
"""

import json
import math
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Final, NamedTuple, Self

from opentelemetry import metrics

from goop_mcp.delegation.changes import (
    FAILURES_THAT_OPEN,
    RunChange,
    RunError,
    as_json,
    epoch,
    find_run,
    find_task,
    kept_as_json,
    kept_result,
    kept_text,
    pause_after,
    question_mark,
    step_of,
    without_excess,
)
from goop_mcp.delegation.expand import Expansion, RunSnapshot
from goop_mcp.delegation.graph import Graph, digest_of
from goop_mcp.delegation.liveness import GRACE_SECONDS, LEASE_SECONDS, is_gone
from goop_mcp.delegation.parts import GraphGate, GraphStep, GraphTask
from goop_mcp.delegation.processes import ThisProcess, boot_id
from goop_mcp.delegation.reuse import Reused, known_steps, reusable_steps, reused_from
from goop_mcp.delegation.states import (
    ENDED,
    RUN_ENDED,
    WITH_REPORT,
)
from goop_mcp.delegation.traces import caller_trace
from goop_mcp.delegation.trusting import pass_graph
from goop_mcp.errors import GoopError, StoreError
from goop_mcp.processes import end_program, lives
from goop_mcp.redaction import redact
from goop_mcp.redaction.ahead import remembering
from goop_mcp.retry.attempts import Attempt
from goop_mcp.retry.replies import Message, Usage
from goop_mcp.store.graph_rows import (
    CircuitRow,
    GraphAttemptRow,
    GraphReader,
    GraphReportRow,
    GraphRunRow,
    GraphSource,
    GraphTaskRow,
    RunnerRow,
    RunningTask,
)
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "LEASE_SECONDS",
    "LONGEST_WAIT",
    "AcceptedReport",
    "AlteredGraphError",
    "Begun",
    "Claim",
    "Ledger",
    "LostTaskError",
    "Nothing",
    "RunError",
    "RunRows",
    "key_of",
    "step_of",
]

LONGEST_WAIT: Final = 0.5
"""Seconds between two looks for tasks: nobody wakes a runner on another machine."""

KEPT_RUNS: Final = 500
"""Runs that have ended and are kept: a project that runs a graph every hour must not grow on."""

_FEW_STEPS: Final = 10
_LOOKED_AT: Final = 200
_MOST_RECORDED: Final = 100
_OLD_RUNNERS: Final = 7 * 86_400.0
_LONGEST_INPUT: Final = 1_000_000


_meter = metrics.get_meter("goop_mcp.delegation")
_late = _meter.create_counter(
    "goop.tasks.late_answers", unit="{answer}", description="Answers for tasks that were lost."
)
_lost = _meter.create_counter(
    "goop.tasks.lost_leases", unit="{lease}", description="Tasks taken over from their runners."
)
_BUCKETS: Final = (1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200)
_waits = _meter.create_histogram(
    "goop.tasks.wait",
    unit="s",
    description="Time from when a task is ready to its claim.",
    explicit_bucket_boundaries_advisory=_BUCKETS,
)
_durations = _meter.create_histogram(
    "goop.tasks.duration",
    unit="s",
    description="Time from the claim of a task to its end, or until a person has to decide.",
    explicit_bucket_boundaries_advisory=_BUCKETS,
)


class LostTaskError(GoopError):
    """Raised for a task that another runner has taken, or a person cancelled: stop working on it.

    `late` is False where the task was cancelled.
    """

    def __init__(self, task: str, *, late: bool) -> None:
        self.task, self.late = task, late
        super().__init__(f"task {task} is {'taken by another runner' if late else 'cancelled'}")


class AlteredGraphError(RunError):
    """Raised for a graph that is not the one that was stored with its run."""

    def __init__(self, run: GraphRunRow, found: str) -> None:
        super().__init__(
            f"the graph of {run.id} in the database {found}, so another program changed it and"
            " nothing of it is run; the run is kept as it is: goop-mcp runs resume"
            f" {run.id} --graph FILE goes on with the graph of a file, goop-mcp runs cancel"
            f" {run.id} ends it"
        )


class ReplacedGraphError(RunError):
    """Raised where a run has another graph than its runner was made for."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"{run} has another graph than when this process began to work on it, so it begins"
            f" nothing more; goop-mcp runs resume {run} goes on with the present one"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A task that this runner works on.

    `attempts` are those that ended before; `interrupted` is the number of the message whose effect
    is not known, None for none. `to_end` is the program of the dead runner, as (pid, start).
    `begun` is the number of the first message where the claim has written it down already, else 0.
    `more`: other tasks of the run may begin as well.
    `asks_person`: a person has to decide about that message; the agent must not be asked.
    `taken_over`: another runner had the task, and is dead or lost its lease.
    `waited`: the seconds since it was ready, None where it was taken over.
    `since` is when it was claimed, by the monotonic clock.
    """

    row: GraphTaskRow
    task: GraphTask
    graph: Graph
    prompt: str
    attempts: tuple[Attempt, ...] = ()
    interrupted: int | None = None
    to_end: tuple[int, str] | None = None
    begun: int = 0
    more: bool = False
    asks_person: bool = False
    taken_over: bool = False
    waited: float | None = None
    since: float = field(default_factory=monotonic, compare=False)

    @property
    def fence(self) -> int:
        """What shows that the task is still ours."""
        return self.row.fence

    @property
    def key(self) -> tuple[str, int]:
        """The id and fence: one task may be claimed again while its last worker still ends."""
        return self.row.id, self.row.fence


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedReport:
    """The report that ends a task, to be written down.

    `result` is what the run keeps of it, and `decide` returns what it does to the graph. `answered`
    is the last attempt with its number, where `Ledger.end_attempt` has not written it down.
    `records`: this runner will record the report, which `Ledger.left_unrecorded` returns if it dies
    before.
    """

    claim: Claim
    result: Mapping[str, JsonValue] = field(repr=False)
    decide: Callable[[RunSnapshot], Expansion]
    answered: tuple[int, Attempt] | None = None
    records: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to claim: for how long to wait at most, and the state of the run.

    `last` are the rows of a run that ended in the same step, None where they are to be read.
    """

    state: str
    seconds: float = LONGEST_WAIT
    last: "RunRows | None" = None


class RunRows(NamedTuple):
    """All that a run consists of at one moment: its row, those of its tasks, their attempts."""

    run: GraphRunRow
    tasks: list[GraphTaskRow]
    attempts: list[GraphAttemptRow]

    @classmethod
    def read(cls, reading: ReadTransaction, run: GraphRunRow) -> Self:
        """Return the rows of `run`."""
        return cls(run, reading.graphs.tasks(run.id), reading.graphs.attempts(run.id))


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that was just added by the runner that works on it, and what this runner does first."""

    run: GraphRunRow
    runner: ThisProcess
    first: Claim | Nothing


class Ledger:
    """The runs in `store`, of which `kept_runs` that have ended are kept, the newest."""

    def __init__(
        self,
        store: Store,
        *,
        lease_seconds: float = LEASE_SECONDS,
        grace_seconds: float = GRACE_SECONDS,
        kept_runs: int = KEPT_RUNS,
    ) -> None:
        self.store = store
        self.lease_seconds, self._grace = lease_seconds, grace_seconds
        self._kept_runs = kept_runs
        # By run, with the digest in its row: somebody else may have given it another graph since.
        self._graphs: dict[str, tuple[str, Graph]] = {}

    # Runs

    def create(
        self,
        graph: Graph,
        *,
        input: Mapping[str, JsonValue],
        options: Mapping[str, JsonValue] | None = None,
        reuse: bool = False,
    ) -> str:
        """Add a run of `graph` and return its id. Raises RunError for values that are missing.

        With `reuse` the tasks that `reusable` returns are accepted at once.
        """
        add = self._adding(graph, input, options, reuse=reuse)

        def write(writing: WriteTransaction) -> str:
            change = add(writing)
            change.save()
            return change.run.id

        return self.store.write(write)

    def begin(
        self,
        graph: Graph,
        runner: ThisProcess,
        *,
        input: Mapping[str, JsonValue],
        options: Mapping[str, JsonValue] | None = None,
        reuse: bool = False,
    ) -> Begun:
        """Add a run as `create` does, and let `runner` join it and claim a task in the same step.

        A run of one short task would wait longer for these transactions than for its agent.
        """
        add = self._adding(graph, input, options, reuse=reuse)

        def write(writing: WriteTransaction) -> Begun:
            change = add(writing)
            _register(writing, runner, change.run.id, is_new=True)
            # A runner that dies after this leaves a run whose task is taken over, as any other.
            claims, seconds = self._claim(change, runner)
            change.save()
            first = claims[0] if claims else Nothing(change.run.state, seconds)
            return Begun(change.run, runner, first)

        begun = self.store.write(write)
        _counted(begun.first)
        return begun

    def _adding(
        self,
        graph: Graph,
        input: Mapping[str, JsonValue],
        options: Mapping[str, JsonValue] | None,
        *,
        reuse: bool,
    ) -> Callable[[WriteTransaction], RunChange]:
        """Return what adds a run of `graph` within a transaction, to be saved by the caller."""
        missing = [name for name in graph.inputs() if name not in input]
        if missing:
            raise RunError(
                f"the graph needs a value for {', '.join(missing)}; give it with"
                f" --input {missing[0]}=…"
            )
        written = as_json(dict(input))
        # Characters and not bytes: a limit that says the same in every language.
        if len(written) > _LONGEST_INPUT:
            raise RunError(f"the input has more than {_LONGEST_INPUT:,} characters; shorten it")

        run_id = f"run-{secrets.token_hex(4)}"
        # Before the transaction, which searches nothing: most prompts are sent as they stand here.
        with remembering():
            kept_input = redact(written).text
            for step in graph.steps.values():
                if isinstance(step, GraphTask):
                    redact(step.prompt)

        def add(writing: WriteTransaction) -> RunChange:
            # The database's clock, for all times of a run: those of the machines that work on it
            # may differ.
            at = writing.now()
            limit = graph.limits.deadline
            run = GraphRunRow(
                id=run_id,
                name=graph.name,
                graph_hash=graph.digest,
                options=as_json(dict(options or {})),
                edges="{}",
                state="running",
                created_at=at,
                ended_at=None,
                deadline_at=None if limit is None else epoch(at) + limit,
                spent_tokens=0,
                reserved_tokens=0,
                spent_calls=0,
                spent_cost=0.0,
                trace_id=caller_trace(),
                last_seq=0,
            )
            # The input is kept for `resume` and may hold a password; the graph is a file that
            # people trusted.
            source = GraphSource(graph=as_json(graph.to_dict()), input=kept_input)
            # In the same transaction: a crash leaves neither too many runs nor one run less.
            writing.graphs.remove_old_runs(keep=self._kept_runs)
            writing.graphs.add_run(run, source)
            change = RunChange(writing, run, lambda: graph)
            change.event(None, "created", {"graph": graph.name, "tasks": len(graph.steps)})
            reused = reusable_steps(writing, graph, json.loads(source.input)) if reuse else {}
            change.add_steps(list(graph.steps.values()), None, reused)
            return change

        self._graphs[run_id] = graph.digest, graph
        pass_graph(graph)
        return add

    def reusable(self, graph: Graph, *, input: Mapping[str, JsonValue]) -> dict[str, Reused]:
        """Return the tasks that a new run of `graph` would not run, and where each result is from.

        They are those with the same key in another run, as all that they need, from the same
        results of these. Not among them are gates, what a person wrote or accepted, tasks with a
        worktree, those that may add tasks, and those whose prompt has a redacted input.
        """
        # As a run keeps it: prompts are filled in from that.
        kept = json.loads(redact(as_json(dict(input))).text)

        def read(reading: ReadTransaction) -> dict[str, Reused]:
            return {
                name: reused_from(known.row) or Reused(known.row.run, known.row.id)
                for name, known in reusable_steps(reading, graph, kept).items()
            }

        return self.store.read(read)

    def graph(self, run: GraphRunRow) -> Graph:
        """Return the graph of a run as it was stored last.

        Raises AlteredGraphError for one that other programs changed in the database.
        """
        return self._known_graph(run) or self.store.read(
            lambda reading: self._graph_of(reading, run)
        )

    def _known_graph(self, run: GraphRunRow) -> Graph | None:
        digest, known = self._graphs.get(run.id, ("", None))
        return known if digest == run.graph_hash else None

    def _graph_of(self, reading: ReadTransaction, run: GraphRunRow) -> Graph:
        known = self._known_graph(run)
        if known is None:
            # Read and checked once in a process: a graph of a thousand tasks takes long.
            known = _stored_graph(run, reading.graphs.source(run.id))
            self._graphs[run.id] = run.graph_hash, known
        return known

    def run(self, id: str) -> GraphRunRow:
        """Return a run. Raises RunError if there is none."""
        return self.store.read(lambda reading: find_run(reading, id))

    def change_graph(self, id: str, graph: Graph) -> list[str]:
        """Go on with another graph; return the accepted tasks that stay as they are.

        A task stays when its agent, its prompt with its values, its protocol and all that it needs
        are the same. Raises RunError while somebody works on the run.
        """

        def write(writing: WriteTransaction) -> tuple[list[str], list[GraphTaskRow]]:
            run = find_run(writing, id)
            change = RunChange(writing, run, lambda: graph)
            left = self._left_by_dead_runners(change)
            rows = {row.id: row for row in writing.graphs.tasks(id)}
            kept = self._unchanged(writing, run, graph, rows)
            for row in rows.values():
                if row.id not in kept:
                    change.keep_report(row)
            # What agents added belongs to what was asked before, and comes again if it must.
            writing.graphs.remove_steps(id, but=kept)
            # Only what differs from the run as it is stored is written.
            change.run = change.run._replace(
                graph_hash=graph.digest,
                edges="{}",
                state="running",
                ended_at=None,
            )
            limit = graph.limits.deadline
            # What a person decided later stays, unless the graph says something new.
            if not self._has_deadline(writing, run, limit):
                until = None if limit is None else epoch(run.created_at) + limit
                change.run = change.run._replace(deadline_at=until)
            writing.graphs.set_graph(id, as_json(graph.to_dict()))
            # Before the steps begin, which readers of events take from it.
            change.event(None, "changed", {"kept": sorted(kept)})
            added = [step for step in graph.steps.values() if step.id not in kept]
            change.add_steps(added, rows)
            for step in added:
                change.look_again(step.id)
            change.save()
            return sorted(kept), left

        kept, left = self.store.write(write)
        # Only now: a change that is rolled back must leave the old graph in place.
        self._graphs[id] = graph.digest, graph
        # Before anybody begins the new tasks, which may change the same files.
        for row in left:
            if not end_program(row.program_pid or 0, row.program_started or "", key=key_of(row)):
                raise RunError(f"the program {row.program_pid} of the dead runner does not end")
        return kept

    def _left_by_dead_runners(self, change: RunChange) -> list[GraphTaskRow]:
        """Settle the messages of running tasks; return those whose programs may run on here.

        Raises RunError for a task whose runner lives: its agent works on a prompt of the graph that
        goes away, and its report would be taken for one of the next.
        """
        left = []
        for row in change.writing.graphs.tasks(change.run.id, state="running"):
            owner = change.writing.graphs.runner(row.owner or "")
            here = owner is not None and bool(owner.boot_id) and owner.boot_id == boot_id()
            if not self._is_lost(change, row, owner, here=here):
                raise RunError(
                    f"{row.run} has running tasks; cancel it or wait before its graph changes"
                )
            change.event(row.id, "lease_lost", {"owner": row.owner})
            step = step_of(row)
            if isinstance(step, GraphTask):
                change.settle_unended(row, agent=step.agent)
            left += [row] if here else []
        return left

    def _has_deadline(
        self, reading: ReadTransaction, run: GraphRunRow, seconds: float | None
    ) -> bool:
        """Whether the stored graph of a run names this deadline."""
        try:
            return self._graph_of(reading, run).limits.deadline == seconds
        except AlteredGraphError:
            # What it named is not known any more.
            return False

    def kept_by(self, id: str, graph: Graph) -> list[str]:
        """Return the accepted tasks that `change_graph` would keep."""

        def read(reading: ReadTransaction) -> list[str]:
            rows = {row.id: row for row in reading.graphs.tasks(id)}
            return sorted(self._unchanged(reading, find_run(reading, id), graph, rows))

        return self.store.read(read)

    def _unchanged(
        self,
        reading: ReadTransaction,
        run: GraphRunRow,
        graph: Graph,
        rows: Mapping[str, GraphTaskRow],
    ) -> set[str]:
        def find(step: GraphStep, key: str) -> GraphTaskRow | None:
            row = rows.get(step.id)
            same = row is not None and row.state == "accepted" and row.task_key == key
            return row if same else None

        input = json.loads(reading.graphs.source(run.id).input)
        return set(known_steps(graph, input, find))

    def cancel(self, id: str, task: str | None = None, *, by: str) -> list[str]:
        """Cancel a run, or one task and what needs it; return the ids of what was cancelled.

        Running tasks are asked to stop; their runner, or the next one, ends their programs.
        """

        def write(writing: WriteTransaction) -> list[str]:
            change = self._change(writing, id)
            rows = writing.graphs.tasks(id) if task is None else [find_task(writing, id, task)]
            cancelled = []
            for row in rows:
                if row.state in ENDED:
                    continue
                cancelled.append(row.id)
                if row.state == "running":
                    change.move(row, "running", cancel_requested=1)
                else:
                    change.move(row, "cancelled", reason="cancelled", message=f"by {by}")
            # A list of thousands would make one event larger than all others.
            change.event(task, "cancel", {"by": by, "tasks": cancelled[:100]})
            for each in cancelled if task is not None else ():
                change.after(each)
            if task is None:
                # Written down, as nobody else would know that a run without open tasks was ended on
                # purpose.
                options = {**json.loads(change.run.options), "cancelled": True}
                change.run = change.run._replace(options=as_json(options))
            change.save()
            return cancelled

        return self.store.write(write)

    def set_deadline(self, id: str, seconds: float, *, by: str) -> str:
        """Let a run last for `seconds` from now; return its deadline in ISO 8601."""

        def write(writing: WriteTransaction) -> str:
            change = self._change(writing, id)
            until = change.set_deadline(seconds, by=by)
            change.save()
            return until

        return self.store.write(write)

    def retry(
        self,
        id: str,
        task: str,
        *,
        by: str,
        downstream: bool = False,
        fresh: bool = False,
        deadline: float | None = None,
    ) -> list[str]:
        """Run an ended task again for `by`; `downstream` also what needs it, which is done already.

        Return the ids of all that runs again. `fresh` begins another conversation. `deadline`: the
        run lasts for so many seconds from now. Raises RunError for a task that has not ended, and
        without `deadline` where that of the run has passed.
        """

        def write(writing: WriteTransaction) -> list[str]:
            change = self._change(writing, id)
            row = find_task(writing, id, task)
            if row.state not in ENDED and row.state != "input_required":
                raise RunError(f"{task} is {row.state}; only what has ended is run again")
            if deadline is not None:
                change.set_deadline(deadline, by=by)
            change.refuse_after_deadline(f"retry {id} {task}")
            change.reopen()
            change.again(row, notes=None, fresh=fresh)
            again = [task]
            for each in change.dependants([task]):
                dependant = find_task(writing, id, each)
                # What was left out because of it gets its turn in any case, and a question about
                # work that is done again is asked again after it.
                is_question = dependant.kind == "gate" and dependant.state == "input_required"
                if downstream or dependant.state == "skipped" or is_question:
                    change.again(dependant, notes=None, fresh=fresh)
                    again.append(each)
            change.event(task, "again", {"by": by, "downstream": downstream})
            # All of them: what is between the task and one of them may have ended, and stays so.
            for each in again:
                change.proceed(each)
            change.save()
            return again

        return self.store.write(write)

    # Runners

    def register(self, runner: ThisProcess, run: str | None = None) -> None:
        """Add this process to the runners, those of `run`; a second time changes nothing."""
        self.store.write(lambda writing: _register(writing, runner, run))

    def join(self, id: str, runner: ThisProcess) -> GraphRunRow:
        """Add this process to the runners, as `register` does; return the run that it works on."""

        def write(writing: WriteTransaction) -> GraphRunRow:
            _register(writing, runner, id)
            return find_run(writing, id)

        return self.store.write(write)

    def stand_by(self, runner: ThisProcess, runs: Collection[str]) -> None:
        """Note that this process takes tasks of `runs` when they are delivered to it."""

        def write(writing: WriteTransaction) -> None:
            now = epoch(writing.now())
            for run in runs:
                # A row for each run, which is what people ask about.
                owner = f"{runner.owner} {run}"
                if not writing.graphs.see_runner(owner, now):
                    values = {**asdict(runner), "owner": owner, "run": run}
                    writing.graphs.add(RunnerRow(**values, seen_at=now, stands_by=1))

        self.store.write(write)

    def renew(self, runner: ThisProcess, tasks: Collection[str]) -> list[str]:
        """Extend the leases of `tasks`, which this process works on; return those that it has."""

        def write(writing: WriteTransaction) -> list[str]:
            now = epoch(writing.now())
            if not writing.graphs.see_runner(runner.owner, now):
                raise StoreError("this runner is not known any more; its tasks are for others")
            return writing.graphs.renew_leases(runner.owner, tasks, until=now + self.lease_seconds)

        # Less than the lease: a database that is locked for longer has ended it anyway.
        return self.store.write(write, timeout=self.lease_seconds / 3)

    def claim(
        self,
        id: str,
        runner: ThisProcess,
        *,
        parallel: int | None = None,
        task: str | None = None,
        working_on: Collection[str] | None = None,
        digest: str | None = None,
    ) -> Claim | Nothing:
        """Take the most urgent task that may begin; or one whose runner is dead.

        `parallel` bounds the tasks of this run at once, in place of the graph's own limit. With
        `task` no other is taken: somebody else decides the order, and delivers each by its id. With
        `working_on`, the tasks of `runner` that it knows of, others of it are taken when their
        lease has ended, as those of a dead one. Raises ReplacedGraphError where the graph of the
        run has another `digest`, if given.
        """

        def write(writing: WriteTransaction) -> Claim | Nothing:
            change = self._change(writing, id)
            if digest not in (None, change.graph.digest):
                raise ReplacedGraphError(id)
            claims, seconds = self._claim(
                change, runner, parallel=parallel, task=task, working_on=working_on
            )
            change.save()
            # What was written may have ended the run, or let it wait for a person.
            return claims[0] if claims else Nothing(change.run.state, seconds)

        return _counted(self.store.write(write))

    def _claim(
        self,
        change: RunChange,
        runner: ThisProcess,
        *,
        count: int = 1,
        parallel: int | None = None,
        task: str | None = None,
        working_on: Collection[str] | None = None,
    ) -> tuple[list[Claim], float]:
        """Take at most `count` tasks; return them, and after how many seconds to look for more."""
        run, now, rows = change.run, change.now, change.writing.graphs
        if run.state in RUN_ENDED:
            return [], LONGEST_WAIT

        # Before anything is claimed: an answer or the deadline decides what may begin.
        change.answer_late_gates()
        if run.deadline_at is not None and now > run.deadline_at:
            change.stop_all("deadline")

        claims: list[Claim] = []
        running = rows.running_tasks(run.id)
        for each in running:
            if task not in (None, each.id):
                continue
            # Its own tasks are lost where it does not work on them: the answer of the database to a
            # claim never came, or the end of a task could not be written down.
            if each.owner == runner.owner and (working_on is None or each.id in working_on):
                continue

            row = find_task(change.writing, run.id, each.id)
            owner = rows.runner(row.owner or "")
            here = owner is not None and bool(owner.boot_id) and owner.boot_id == boot_id()
            if self._is_lost(change, row, owner, here=here):
                claims.append(self._take_over(change, row, runner, here=here))
                if len(claims) == count:
                    return claims, LONGEST_WAIT

        # The smallest number of places counts, that of this runner or that of the graph.
        places = (parallel or change.graph.limits.parallel) - len(running)
        wanted = min(count - len(claims), places)
        if wanted <= 0:
            return claims, LONGEST_WAIT

        # One row more is enough to know whether another task could begin as well, and costs hardly
        # anything.
        first = rows.first_ready(run.id, limit=wanted + 1)
        # As after the last task of each run.
        if not first and not running and change.stands_still():
            return [], LONGEST_WAIT
        ready = _ready_tasks(rows, run.id, first)
        if task is not None:
            ready = _ready_task(rows, run.id, task)
        begun, seconds = self._begin_ready(change, ready, running, runner, count=wanted)
        if begun and len(begun) < places:
            is_first = len(begun) < len(first)
            more = is_first or (len(begun) == wanted and bool(rows.first_ready(run.id, limit=1)))
            begun[-1] = replace(begun[-1], more=more)

        return claims + begun, seconds

    def _begin_ready(
        self,
        change: RunChange,
        ready: Iterable[GraphTaskRow],
        running: Sequence[RunningTask],
        runner: ThisProcess,
        *,
        count: int,
    ) -> tuple[list[Claim], float]:
        """Begin the first `count` tasks of `ready` that may; return as `_claim` does."""
        busy, soonest = _Busy(running, change), math.inf
        claims: list[Claim] = []
        for row in ready:
            step = change.step_of(row)
            if not isinstance(step, GraphTask):
                continue
            circuit = change.circuit(step.agent)
            # A circuit that is open holds its agent's tasks back, and nobody else's.
            starts = circuit.open_until if circuit else 0.0
            if starts > change.now:
                soonest = min(soonest, starts - change.now)
            elif not busy.excludes(step):
                claim = self._begin(change, row, step, runner, circuit)
                if claim is None:
                    continue
                claims.append(claim)
                if len(claims) == count:
                    break
                busy.add(step)

        # At least 20 ms, not to ask the database without a pause.
        return claims, max(0.02, min(LONGEST_WAIT, soonest))

    def _is_lost(
        self,
        change: RunChange,
        row: GraphTaskRow,
        owner: RunnerRow | None,
        *,
        here: bool,
    ) -> bool:
        """Whether nobody works on a running task any more: its runner is dead, or its lease ended.

        `here` is whether that runner is on this machine.
        """
        # Forgotten with the old runners, so it has not been seen for days.
        if owner is None:
            return True
        if here and not lives(owner.pid, owner.pid_started):
            return True

        until, now = row.lease_until or 0.0, change.now
        if until > now + 2 * self.lease_seconds:
            # The clock was set back, and the lease would last for hours. It begins again, written
            # down: a runner that lives renews it, and one that is dead does not.
            change.move(row, "running", lease_until=now + self.lease_seconds)
            # Not yet lost: the next look finds the lease ended, unless its runner renewed it.
            change.event(row.id, "lease_shortened", {"owner": row.owner})
            return False

        # Programs of another machine cannot be ended from here: they get time to end themselves.
        return now > until + (0.0 if here else self._grace)

    def _take_over(
        self, change: RunChange, row: GraphTaskRow, runner: ThisProcess, *, here: bool
    ) -> Claim:
        change.event(row.id, "lease_lost", {"owner": row.owner})
        step = change.step_of(row)
        if not isinstance(step, GraphTask):
            raise RunError(f"{row.id} is a gate, which never runs")
        attempts = change.writing.graphs.attempts(row.run, row.id)
        # Attempts of earlier rounds were answers to other messages.
        attempts = [each for each in attempts if each.round == row.round]
        unended = [each for each in attempts if each.ended_at is None]
        # Their cost is not known, and their reservations would be held for ever.
        for each in unended:
            change.settle(each, None, agent=step.agent)
        to_end = None
        if row.program_pid is not None and here:
            to_end = (row.program_pid, row.program_started or "")
        elif row.program_pid is not None:
            # Its number means another program on this machine.
            row = change.move(row, "running", program_pid=None, program_started=None)

        # Also what was cancelled, or is for a person to decide, is claimed: its program may live,
        # and it is ended outside of the transaction, as that takes time.
        claimed = change.take(row, runner, change.now + self.lease_seconds)
        return Claim(
            row=claimed,
            task=step,
            graph=change.graph,
            prompt=_prompt_of(claimed),
            attempts=_ended(attempts),
            # The last of them: only one message is under way at a time.
            interrupted=unended[-1].number if unended else None,
            asks_person=bool(unended) and step.on_crash == "person",
            to_end=to_end,
            taken_over=True,
        )

    def _begin(
        self,
        change: RunChange,
        row: GraphTaskRow,
        step: GraphTask,
        runner: ThisProcess,
        circuit: CircuitRow | None,
    ) -> Claim | None:
        # A prompt that is there already is kept: after a crash the agent must read the same again.
        # One that was never claimed has none of ours yet.
        filled = {} if row.prompt is not None and row.fence else change.fill(row, step)
        if filled is None:
            return None
        # A task that was never claimed has no attempts, as nearly every one.
        # Each claim raises the fence, so 0 means that there was none.
        attempts = change.writing.graphs.attempts(row.run, row.id) if row.fence else []
        attempts = [each for each in attempts if each.round == row.round]
        claimed = change.take(row, runner, change.now + self.lease_seconds, **filled)
        claim = Claim(
            row=claimed,
            task=step,
            graph=change.graph,
            prompt=_prompt_of(claimed),
            attempts=_ended(attempts),
            # Not negative: the clock of the database may have been set back meanwhile.
            waited=max(0.0, change.now - (row.ready_at or change.now)),
        )
        # The first message is known here, so that it is written down in the same transaction. Not
        # where a person would be asked about it after a crash, although it was never sent; nor
        # where its folder is still to be made.
        if attempts or step.on_crash == "person" or step.workspace != "project":
            return claim
        try:
            begun, _ = self._begin_attempt(change, claim, Message(claim.prompt), 1, circuit)
        except RunError:
            # A limit is used up, which the runner learns when it comes to send the message.
            return claim
        return replace(claim, begun=begun)

    # Attempts

    def begin_attempt(self, claim: Claim, message: Message) -> tuple[int, float]:
        """Write down that `message` is about to be sent, and reserve its tokens.

        Return its number, and 0; or 0, and for how many seconds to wait before the next try. Raises
        LostTaskError, and RunError where a limit of the run is used up.
        """

        def write(writing: WriteTransaction) -> tuple[int, float]:
            row = self._ours(writing, claim)
            change = self._change(writing, row.run)
            circuit = change.circuit(claim.task.agent)
            # A message that a dead runner sent has its number too.
            number = 1 + writing.graphs.attempt_count(row.run, row.id, round=row.round)
            begun = self._begin_attempt(change, claim, message, number, circuit)
            change.save()
            return begun

        return self.store.write(write)

    def _begin_attempt(
        self,
        change: RunChange,
        claim: Claim,
        message: Message,
        number: int,
        circuit: CircuitRow | None,
    ) -> tuple[int, float]:
        limits, run, now = change.graph.limits, change.run, change.now
        row, agent = claim.row, change.graph.agent_named[claim.task.agent]
        # The first claim that comes after the pause makes the trial call.
        if circuit is not None and max(circuit.open_until, circuit.next_call_at) > now:
            return 0, max(circuit.open_until, circuit.next_call_at) - now
        if circuit is not None and circuit.failures >= FAILURES_THAT_OPEN:
            # One call shows whether the agent answers again; the others wait for what it shows.
            change.set_circuit(agent.name, open_until=now + pause_after(circuit.failures))
        if limits.max_calls is not None and run.spent_calls >= limits.max_calls:
            raise RunError(f"limits.max_calls is used up; calls made: {run.spent_calls:,}")
        if limits.max_cost is not None and run.spent_cost >= limits.max_cost:
            raise RunError(f"limits.max_cost is used up: {run.spent_cost:g} was spent")

        reserved = 0
        if limits.max_tokens is not None:
            # What others have reserved counts as used, or ten agents at once would each spend what
            # is left.
            left = limits.max_tokens - run.spent_tokens - run.reserved_tokens
            usages = json.loads(circuit.usages) if circuit is not None else []
            # Before its first answer nobody knows what an agent uses: that call runs alone.
            wanted = max(usages) if usages else limits.max_tokens - run.spent_tokens
            if left < max(wanted, 1) and run.reserved_tokens:
                # Soon again: the call that holds the reservation decides whether there is anything
                # left.
                return 0, 0.2
            if left <= 0:
                raise RunError(f"limits.max_tokens is used up: {run.spent_tokens:,} were used")
            reserved = min(wanted, left)

        change.writing.graphs.add(
            GraphAttemptRow(
                run=row.run,
                task=row.id,
                round=row.round,
                number=number,
                fence=row.fence,
                way=message.way,
                # Redacted on the way in: no later reader has to remember it.
                message=kept_text(message.text),
                outcome=None,
                reserved=reserved,
                began_at=change.at,
                ended_at=None,
            )
        )
        if agent.rate is not None:
            # Counted from the start of the call, so that slow answers do not lower the rate.
            change.set_circuit(agent.name, next_call_at=now + 1 / agent.rate)
        change.run = change.run._replace(
            reserved_tokens=run.reserved_tokens + reserved,
            spent_calls=run.spent_calls + 1,
        )
        change.event(row.id, "asked", {"attempt": number, "way": message.way})
        return number, 0.0

    def set_program(self, claim: Claim, pid: int, started: str) -> None:
        """Keep which program works on the task, so that whoever takes it over can end it."""

        def write(writing: WriteTransaction) -> None:
            row = self._ours(writing, claim)
            change = self._change(writing, row.run)
            change.move(row, "running", program_pid=pid, program_started=started)
            change.save()

        self.store.write(write)

    def end_attempt(self, claim: Claim, number: int, attempt: Attempt) -> None:
        """Write down what became of a message. Raises LostTaskError."""
        # Before the transaction: to look for secrets takes long, and nobody else can write in it.
        (outcome,) = kept_as_json(without_excess(attempt).to_dict())

        def write(writing: WriteTransaction) -> bool:
            row = find_task(writing, claim.row.run, claim.row.id)
            change = self._change(writing, row.run)
            # Kept as an event in any case: a person can see what the agent did after its task was
            # taken.
            if row.fence != claim.fence:
                change.event(row.id, "late", _shown_attempt(number, attempt))
                change.save()
                return False

            self._end_attempt(change, row, claim, number, attempt, outcome=outcome)
            # Its program stays in the row: it may live on, to be asked again in the same session.
            if attempt.conversation_id is not None:
                change.move(row, "running", session=attempt.conversation_id)
            change.save()
            return True

        if not self.store.write(write):
            _late.add(1)
            raise LostTaskError(claim.row.id, late=True)

    def _end_attempt(
        self,
        change: RunChange,
        row: GraphTaskRow,
        claim: Claim,
        number: int,
        attempt: Attempt,
        *,
        outcome: str,
    ) -> None:
        for each in change.writing.graphs.attempts(row.run, row.id, unended=True):
            # Nearly always the only one: an attempt of a dead runner was settled when it was taken
            # over.
            if (each.round, each.number) == (row.round, number):
                change.settle(each, attempt, agent=claim.task.agent, outcome=outcome)
        change.event(row.id, "answered", _shown_attempt(number, attempt))

    # Ends

    def accept(
        self, reports: Sequence[AcceptedReport], runner: ThisProcess | None = None
    ) -> "list[Claim | Nothing | LostTaskError]":
        """Accept one report or more of one run, with all that follows: once, whoever comes late.

        All is one step, in which `runner` takes as many tasks as have ended. Return for each report
        what its worker goes on with, or the error of one that came late.
        """
        # Before the transaction, as in `end_attempt`.
        kept = [
            kept_as_json(
                each.result,
                *([] if each.answered is None else [without_excess(each.answered[1]).to_dict()]),
            )
            for each in reports
        ]

        def write(
            writing: WriteTransaction,
        ) -> tuple[list[Expansion | None], list[Claim], Nothing]:
            change = self._change(writing, reports[0].claim.row.run)
            expansions = [
                self._accept(change, report, *texts)
                for report, texts in zip(reports, kept, strict=True)
            ]
            # In the same transaction, so a runner that dies here leaves either both or none; and in
            # a run of many short tasks, one of its own would double the time.
            claims: list[Claim] = []
            seconds, count = LONGEST_WAIT, sum(each is not None for each in expansions)
            # A runner has the agents of the graph that it began with, and of no other.
            begun_with = reports[0].claim.graph.digest
            if runner is not None and count and change.graph.digest == begun_with:
                claims, seconds = self._claim(change, runner, count=count)
            change.save()
            # Whoever carries the run out reads its rows next. Those of a large one would be read
            # for so long that others wait for their turn to write.
            is_small = len(change.graph.steps) <= _FEW_STEPS
            is_last = is_small and runner is not None and change.run.state in RUN_ENDED
            rows = RunRows.read(writing, change.run) if is_last else None
            return expansions, claims, Nothing(change.run.state, seconds, rows)

        expansions, claims, nothing = self.store.write(write)
        found: list[Claim | Nothing | LostTaskError] = []
        following = iter(claims)
        for report, expansion in zip(reports, expansions, strict=True):
            if expansion is None:
                _late.add(1)
                found.append(LostTaskError(report.claim.row.id, late=True))
            else:
                _measure(report.claim, "input_required" if expansion.questions else "accepted")
                found.append(_counted(next(following, nothing)))

        return found

    def _accept(
        self, change: RunChange, report: AcceptedReport, result: str, outcome: str | None = None
    ) -> Expansion | None:
        """Accept one report, and return what follows from it; None for one that comes late."""
        claim, answered = report.claim, report.answered
        row = find_task(change.writing, claim.row.run, claim.row.id)
        # Twice accepted means work done twice, with its cost: the fence lets one of the two
        # through.
        if row.fence != claim.fence or row.state != "running":
            late = {"accepted": True} if answered is None else _shown_attempt(*answered)
            change.event(row.id, "late", late)
            return None

        session = row.session
        if answered is not None and outcome is not None:
            self._end_attempt(change, row, claim, *answered, outcome=outcome)
            session = answered[1].conversation_id or session
        recorder = row.owner if report.records else None
        return change.accept(row, result, report.decide, session=session, recorder=recorder)

    def give_up(
        self,
        claim: Claim,
        *,
        reason: str,
        message: str,
        person: bool = False,
    ) -> None:
        """End a task without an accepted report; with `person` it waits for a decision."""
        state = "input_required" if person else "failed"
        if reason == "cancelled":
            state = "cancelled"
        # An error of a program may quote what it was started with.
        message = excerpt(redact(message).text, 500)

        def write(writing: WriteTransaction) -> bool:
            row = find_task(writing, claim.row.run, claim.row.id)
            change = self._change(writing, row.run)
            if row.fence != claim.fence or row.state != "running":
                change.event(row.id, "late", {"reason": reason})
                change.save()
                return False
            change.settle_unended(row, agent=claim.task.agent)
            change.move(
                row,
                state,
                reason=reason,
                message=message,
                owner=None,
                lease_until=None,
                program_pid=None,
                result=None,
            )
            # What needs it is left out, or begins where it needs only an end.
            change.after(row.id)
            change.save()
            return True

        if not self.store.write(write):
            _late.add(1)
            raise LostTaskError(claim.row.id, late=True)
        _measure(claim, state)

    def release(self, claim: Claim) -> None:
        """Give a task back that was not finished, as when its runner is stopped: it is ready again.

        A message without an end is settled as one whose effect is not known.
        """

        def write(writing: WriteTransaction) -> None:
            row = find_task(writing, claim.row.run, claim.row.id)
            # Nothing to give back: somebody else has it, or it has ended.
            if row.fence != claim.fence or row.state != "running":
                return
            change = self._change(writing, row.run)
            _make_ready(change, row)
            change.save()

        self.store.write(write)

    def leave(self, id: str, runner: ThisProcess) -> None:
        """Give back, as `release` does, all tasks of a run that `runner` has, as it ends."""

        def write(writing: WriteTransaction) -> None:
            change = self._change(writing, id)
            for each in writing.graphs.running_tasks(id):
                if each.owner == runner.owner:
                    _make_ready(change, find_task(writing, id, each.id))
            change.save()

        self.store.write(write)

    def unrecorded(self, run: str, task: str | None = None) -> list[GraphReportRow]:
        """Return the reports that are not recorded, of `task` only, if given; oldest rounds first.

        The newest report of an agent is what counts: one of an earlier round has to be recorded
        before it, whoever had to.
        """
        return self.store.read(lambda reading: reading.graphs.unrecorded(run, task))

    def left_unrecorded(self) -> list[GraphReportRow]:
        """Return reports of all runs whose runners died before they recorded them, in order."""

        def read(reading: ReadTransaction) -> list[GraphReportRow]:
            found = reading.graphs.left_reports(limit=_MOST_RECORDED)
            now = epoch(reading.now()) if found else 0.0
            owners = {each.owner: reading.graphs.runner(each.owner or "") for each in found}
            left = [each for each in found if self._is_gone(owners[each.owner], now)]
            newest = {(each.run, each.task): each.fence for each in left}
            # Those of earlier rounds as well, whose runners may live: they must not come later.
            return [
                each
                for (run, task), fence in newest.items()
                for each in reading.graphs.unrecorded(run, task)
                if each.fence <= fence
            ]

        return self.store.read(read)

    def _is_gone(self, runner: RunnerRow | None, now: float) -> bool:
        return runner is None or is_gone(runner, now, after=self.lease_seconds + self._grace)

    def set_report(self, report: GraphReportRow, number: int | None, *, why: str = "") -> None:
        """Keep the number under which a report was recorded; None, and why it was not.

        What was not recorded is tried again by `resume`, and no more by any runner: of a round that
        is over until that of a later one is recorded, which it must not come after.
        """

        def write(writing: WriteTransaction) -> None:
            change = self._change(writing, report.run)
            row = writing.graphs.task(report.run, report.task)
            data: dict[str, JsonValue] = {}
            if row is not None and row.fence == report.fence and row.state in WITH_REPORT:
                # Somebody else was faster, with the same report.
                if row.report is not None:
                    return
                result = row.result if number is None else kept_result(row.result, change.run)
                # One that was refused is still to be recorded as the task goes on, by no runner.
                owner = "" if number is None else None
                change.move(row, row.state, report=number, owner=owner, result=result)
            else:
                kept = writing.graphs.report(report.run, report.task, fence=report.fence)
                if kept is None:
                    return
                if number is None:
                    writing.graphs.set(kept._replace(owner=""), was=kept)
                data["round"] = report.round

            # A task that was claimed once has no earlier rounds, as nearly every one.
            if number is not None and (data or report.fence > 1):
                writing.graphs.remove_reports(report.run, report.task, until=report.fence)
            if number is not None:
                change.event(report.task, "recorded", {"report": number, **data})
            else:
                message = excerpt(why, 500)
                change.event(report.task, "not_recorded", {"message": message, **data})
            change.save()

        self.store.write(write)

    def stopped(self, claims: Iterable[Claim]) -> list[Claim]:
        """Return those of `claims` whose tasks are cancelled, or somebody else's."""

        def read(reading: ReadTransaction) -> list[Claim]:
            rows = [(claim, reading.graphs.task(claim.row.run, claim.row.id)) for claim in claims]
            return [
                claim
                # Gone, cancelled or taken: for the agent at work it makes no difference.
                for claim, row in rows
                if row is None or row.cancel_requested or row.fence != claim.fence
            ]

        return self.store.read(read)

    def note(self, run: str, task: str, what: str, data: Mapping[str, JsonValue]) -> None:
        """Append an event about a task, such as what is kept of its worktree."""

        def write(writing: WriteTransaction) -> None:
            change = self._change(writing, run)
            change.event(task, what, data)
            change.save()

        self.store.write(write)

    # Persons

    def answer(
        self,
        id: str,
        task: str,
        answer: str,
        *,
        by: str,
        note: str = "",
        seen: str | None = None,
    ) -> None:
        """Answer a gate, or decide about a task that waits for a person.

        For a task: `retry` asks the agent again with the note, `accept` takes the work as done,
        `fail` gives it up. `seen` is the `question_mark` of what the person was shown, None where
        the caller decides itself. Raises RunError for any other answer, where nobody was asked, and
        where something else is asked by now.
        """

        def write(writing: WriteTransaction) -> None:
            change = self._change(writing, id)
            row = find_task(writing, id, task)
            # Two people may answer at once: the second is refused and learns what was decided.
            if row.state != "input_required":
                decided = f", decided as {row.decision!r}" if row.decision else ""
                raise RunError(f"{task} does not wait for an answer: it is {row.state}{decided}")
            since = writing.graphs.newest_event(id, task, "state")
            if seen is not None and seen != question_mark(row, since):
                raise RunError(
                    f"{task} asks something else by now, or the same about other work; nothing was"
                    " decided: look at it again, then answer"
                )
            step = change.step_of(row)
            if answer == (step.answers[0] if isinstance(step, GraphGate) else "retry"):
                change.refuse_after_deadline(f"resume {id}")
            change.answer(row, answer, by=by, note=redact(note).text)
            change.save()

        self.store.write(write)

    def finish_by_hand(
        self,
        id: str,
        task: str,
        *,
        result: Mapping[str, JsonValue],
        decide: Callable[[RunSnapshot], Expansion],
        by: str,
        records: bool = False,
    ) -> Expansion:
        """Accept the report of a task that a person or a host worked on. Raises RunError.

        `records`: the caller records the report, or whoever goes on with the run if it dies before.
        """
        # Another run does not reuse what a person wrote about this one.
        (kept,) = kept_as_json({**result, "by": by})

        def write(writing: WriteTransaction) -> Expansion:
            change = self._change(writing, id)
            row = find_task(writing, id, task)
            if row.state != "input_required":
                raise RunError(f"{task} is {row.state}; nobody waits for its report")
            # That of the agent, with which the task waited.
            change.keep_report(row)
            recorder = "" if records else None
            expansion = change.accept(row, kept, decide, session=row.session, recorder=recorder)
            change.event(task, "by_hand", {"by": by})
            change.save()
            return expansion

        return self.store.write(write)

    def _change(self, writing: WriteTransaction, id: str) -> RunChange:
        run = find_run(writing, id)
        return RunChange(writing, run, lambda: self._graph_of(writing, run))

    def _ours(self, writing: WriteTransaction, claim: Claim) -> GraphTaskRow:
        # Looked at in the same transaction in which the caller writes.
        row = find_task(writing, claim.row.run, claim.row.id)
        if row.fence != claim.fence or row.state != "running":
            raise LostTaskError(row.id, late=True)
        if row.cancel_requested:
            raise LostTaskError(row.id, late=False)
        return row


def _stored_graph(run: GraphRunRow, source: GraphSource) -> Graph:
    """Return the graph of a row. Raises AlteredGraphError for one with another digest."""
    try:
        values = json.loads(source.graph)
        found = digest_of(values)
        if found == run.graph_hash:
            return Graph.from_dict(values)
    except (ValueError, RecursionError) as error:
        raise AlteredGraphError(run, "cannot be read") from error
    raise AlteredGraphError(
        run,
        f"has the digest {found[:12]}… and not {run.graph_hash[:12]}…, with which it was stored",
    )


def key_of(row: GraphTaskRow) -> str:
    """Return the idempotency key of a task, which stands in the environment of its programs."""
    return f"{row.run}/{row.id}/{row.round}"


def _measure(claim: Claim, state: str) -> None:
    _durations.record(
        monotonic() - claim.since,
        {"goop.task.state": state, "gen_ai.agent.name": excerpt(claim.task.agent, 100)},
    )


def _register(
    writing: WriteTransaction, runner: ThisProcess, run: str | None, *, is_new: bool = False
) -> None:
    # Known already where a step is repeated because the answer of the database never came.
    if not is_new and writing.graphs.runner(runner.owner) is not None:
        return

    now = epoch(writing.now())
    # Runners that crashed never say goodbye.
    writing.graphs.remove_runners(before=now - _OLD_RUNNERS)
    writing.graphs.add(RunnerRow(**asdict(runner), seen_at=now, run=run))


def _make_ready(change: RunChange, row: GraphTaskRow) -> None:
    step = change.step_of(row)
    if isinstance(step, GraphTask):
        change.settle_unended(row, agent=step.agent)
    change.move(row, "ready", ready_at=change.now, owner=None, lease_until=None, program_pid=None)


def _counted(found: Claim | Nothing) -> Claim | Nothing:
    # After the transaction: the store may run one twice, and what is rolled back did not happen.
    if isinstance(found, Claim):
        if found.taken_over:
            _lost.add(1)
        if found.waited is not None:
            _waits.record(found.waited, {"gen_ai.agent.name": excerpt(found.task.agent, 100)})
    return found


def _ready_tasks(
    rows: GraphReader, id: str, first: Sequence[GraphTaskRow]
) -> Iterator[GraphTaskRow]:
    """Yield the tasks that may begin after `first`, which nearly always is enough."""
    yield from first
    # All others are read only if agents or exclusions hold the first ones back.
    known = {row.id for row in first}
    yield from (row for row in rows.ready_tasks(id, limit=_LOOKED_AT) if row.id not in known)


def _ready_task(rows: GraphReader, id: str, task: str) -> Iterator[GraphTaskRow]:
    row = rows.task(id, task)
    if row is not None and row.state in ("ready", "retrying"):
        yield row


def _prompt_of(row: GraphTaskRow) -> str:
    # Notes are what a person or a reviewer wrote after the first prompt.
    return "\n\n".join(filter(None, (row.prompt, row.notes)))


def _ended(rows: Iterable[GraphAttemptRow]) -> tuple[Attempt, ...]:
    return tuple(
        Attempt.from_dict(json.loads(each.outcome)) for each in rows if each.outcome is not None
    )


class _Busy:
    """What the running tasks take: their agents' places and the names that exclude others."""

    def __init__(self, running: Iterable[RunningTask], change: RunChange) -> None:
        self._graph = change.graph
        self._agents: dict[str, int] = {}
        self._exclusive: set[str] = set()
        for row in running:
            step = change.step_of(row)
            if isinstance(step, GraphTask):
                self.add(step)

    def add(self, task: GraphTask) -> None:
        """Count a task that runs from now on."""
        self._agents[task.agent] = self._agents.get(task.agent, 0) + 1
        self._exclusive.update(task.exclusive)

    def excludes(self, task: GraphTask) -> bool:
        """Whether `task` has to wait for one that is running."""
        most = self._graph.agent_named[task.agent].parallel
        return not self._exclusive.isdisjoint(task.exclusive) or (
            most is not None and self._agents.get(task.agent, 0) >= most
        )


def _shown_attempt(number: int, attempt: Attempt) -> dict[str, JsonValue]:
    rules = sorted({rule for rule, _ in attempt.findings_key})
    usage: Usage | None = attempt.usage
    shown: dict[str, JsonValue] = {
        "attempt": number,
        "accepted": attempt.accepted,
        "seconds": round(attempt.seconds, 3),
    }
    if usage is not None and usage.tokens is not None:
        shown["tokens"] = usage.tokens
    if rules:
        shown["rules"] = list(rules[:20])
    if attempt.error is not None:
        shown["error"] = excerpt(attempt.error, 300)
    if attempt.retry_at is not None:
        shown["retry_at"] = datetime.fromtimestamp(attempt.retry_at, UTC).isoformat(
            timespec="seconds"
        )
    return shown
