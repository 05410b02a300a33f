"""Run a graph from the command line: trust, display, Ctrl-C, the background, exit codes."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import anyio
import click

from goop_mcp import delegation, services
from goop_mcp.cli.display import (
    event_json,
    event_line,
    leave_display,
    show_run_lines,
    shown_live,
)
from goop_mcp.cli.options import WrongCallError, name_weakened
from goop_mcp.cli.streams import (
    INTERRUPTED,
    complain,
    emit,
    show,
    start_log,
    terminal_width,
)
from goop_mcp.cli.trusting import is_trusted_by_caller, shown_words
from goop_mcp.context import AppContext
from goop_mcp.delegation.agents import commands_of
from goop_mcp.delegation.dispatch import Dispatcher, LeaseDispatcher, RunnerMaker
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.outage import Outage
from goop_mcp.delegation.run_views import answer_command
from goop_mcp.delegation.runner import CountOutcome, OnEvent, Runner
from goop_mcp.delegation.states import RUN_ENDED
from goop_mcp.delegation.task_gauge import export_task_states
from goop_mcp.delegation.trusting import (
    SHOWS_DIGEST,
    UntrustedGraphError,
    is_trusted_graph,
    may_run_here,
    trust_graph,
    trusted_makers,
)
from goop_mcp.errors import GoopError, StoreError
from goop_mcp.memory.times import utc_now, written
from goop_mcp.recording.state_folder import state_folder
from goop_mcp.recording.trust import TrustError
from goop_mcp.retry.attempts import Outcome
from goop_mcp.server.telemetry_export import start_exporting
from goop_mcp.services.held_settings import HeldSettings, KeptSession
from goop_mcp.services.record_attempts import record_attempts
from goop_mcp.services.runs import read_view, record_task
from goop_mcp.services.task_replies import TaskJudge
from goop_mcp.settings import Settings
from goop_mcp.store.graph_rows import GraphEventRow, GraphReportRow
from goop_mcp.workspace.layout import FOLDER

__all__ = [
    "A_PERSON",
    "hold_settings",
    "is_project",
    "judge_of",
    "may_run",
    "record_by_hand",
    "run_all_here",
    "run_detached",
    "run_here",
]

A_PERSON: Final = 3
_EXIT_CODES: Final[Mapping[str, int]] = {
    "finished": 0,
    "failed": 1,
    "waiting_for_person": A_PERSON,
    "cancelled": 4,
}
# After a signal, while the database is away: until calls are cancelled, and for their end.
_OUTAGE_SECONDS, _END_SECONDS = 5.0, 3.0
# Agents are programs that wait for a model: as many at once as one run has by default.
_PARALLEL: Final = 4


class _Left(NamedTuple):
    """How a process ends that a signal stopped while its database was away."""

    words: str
    code: int

    def end_process(self, outage: Outage) -> NoReturn:
        """End without the database: closing it would wait for it."""
        reason = outage.reason or f"it has not answered for {outage.seconds:.0f} s"
        leave_display()
        complain(f"{self.words}, and the database cannot be used: {reason}")
        sys.stdout.flush()
        os._exit(self.code)


def may_run(graph: Graph, project: Path, *, trust: tuple[str, ...] = ()) -> bool:
    """Return whether a person trusts the graph, after asking one at the terminal.

    `trust` are whole digests that the caller gave. Raises TrustError.
    """
    if is_trusted_graph(graph, project):
        return True
    try:
        trusted = is_trusted_by_caller(
            "this graph",
            runs=[shown_words(words) for agent in graph.agents if (words := commands_of(agent))],
            digest=graph.digest,
            given=trust,
            shown_by=SHOWS_DIGEST,
        )
    except TrustError as error:
        complain(str(error))
        return False
    if trusted:
        trust_graph(graph, project)
    return trusted


def run_here(settings: Settings, run: str, *, form: str, parallel: int | None) -> int:
    """Work on a run until it has ended or waits for a person; return the exit code."""
    start_log(settings)
    with AppContext(settings) as application:
        hold_settings(application, run)
        view = read_view(application.store, run)
        # From now on this process works on it.
        view.work = None
        # Of what is stored: that is what runs, and others may have changed it by now.
        try:
            makers = trusted_makers(
                view.graph,
                project=settings.project,
                may_run=lambda graph: may_run(graph, settings.project),
            )
        except UntrustedGraphError:
            return A_PERSON

        with shown_live(view, form) as on_event:
            runner = Runner(
                Ledger(application.store),
                run,
                makers,
                project=settings.project,
                on_event=_outlasting_output(on_event),
                record=_recorder(application),
                judge=judge_of(application),
                count=_counter(application),
                parallel=parallel,
            )
            left = _Left(f"interrupted (to go on: goop-mcp runs resume {run})", code=INTERRUPTED)
            try:
                interrupted = _run_exported(
                    application, runner.run, runner.stop, runner.outage, left=left
                )
            except StoreError as error:
                complain(f"gave up: {error} (to go on: goop-mcp runs resume {run})")
                return INTERRUPTED

        final = read_view(application.store, run)

    by_hand = {agent.name for agent in final.graph.agents if agent.by_hand}
    if form == "text":
        show("\n" if terminal_width() is None else "")
        show_run_lines(final)
        # What a person has to do before the run goes on.
        for task in final.waiting_for:
            answers = task.answers or ("retry", "accept", "fail")
            show(f"\n{task.message}\n  {answer_command(final.id, task.id, answers)}\n")
            if task.agent in by_hand:
                show(f"  goop-mcp runs finish {final.id} {task.id} REPORT_FILE\n")
        if final.waiting_for:
            show(f"then: goop-mcp runs resume {final.id}\n")

    if interrupted and final.state not in RUN_ENDED:
        complain(f"interrupted (to go on: goop-mcp runs resume {run})")
        return INTERRUPTED
    return _EXIT_CODES.get(final.state, INTERRUPTED)


def run_all_here(
    settings: Settings,
    *,
    form: str,
    parallel: int | None,
    trust: tuple[str, ...],
    dispatcher: str,
) -> int:
    """Work on all runs of the project's database that may run here, until a signal ends that.

    `trust` are digests of graphs that may run. `dispatcher` is "leases" or "procrastinate".
    """
    start_log(settings)
    by_queue = dispatcher == "procrastinate"
    url = settings.database
    if by_queue and (url is None or url.scheme == "sqlite"):
        raise WrongCallError("--dispatcher procrastinate needs a database postgresql://…")
    try:
        allowed = may_run_here(settings.project, trust)
    except TrustError as error:
        complain(str(error))
        return A_PERSON

    def show_event(event: GraphEventRow) -> None:
        if form == "jsonl":
            emit(f"{event_json(event)}\n")
        elif (line := event_line(event)) is not None:
            show(f"{line}\n" if event.task is None else f"{event.run}: {line}\n")

    most = parallel or _PARALLEL
    with AppContext(settings) as application:
        hold_settings(application)
        maker = RunnerMaker(
            Ledger(application.store),
            project=settings.project,
            may_run=allowed,
            # The worker of a queue has a bound of its own.
            limiter=None if by_queue else anyio.CapacityLimiter(most),
            on_event=_outlasting_output(show_event),
            record=_recorder(application),
            judge=judge_of(application),
            count=_counter(application),
        )
        worker: Dispatcher = LeaseDispatcher(maker)
        if by_queue and url is not None:
            try:
                made = delegation.ProcrastinateDispatcher
            except ImportError as error:
                raise WrongCallError(
                    f"procrastinate is not installed ({error}); pip install goop-mcp[procrastinate]"
                ) from error
            project = f"{settings.tenant}/{settings.project_id}"
            worker = made(maker, url.reveal(), project=project, parallel=most)
        complain("takes tasks of all open runs; Ctrl-C ends that")
        left = _Left("stopped", code=0)
        _run_exported(application, worker.run, worker.stop, maker.outage, left=left)

    return 0


def record_by_hand(application: AppContext, run: str, task: str) -> None:
    """Record the report of a task that a person accepted or wrote, and say what became of it."""
    if not is_project(application):
        return
    context, now = application.writing_context(), written(utc_now())
    for number, remark in services.runs.record_by_hand(
        context, run, task, rules=application.rules, now=now
    ):
        if number is None:
            complain(remark)
        else:
            show(f"{remark}\n")


def _recorder(application: AppContext) -> Callable[[GraphReportRow], int] | None:
    """Return what records the report of a task in the project, None outside of one."""
    if not is_project(application):
        return None

    def record(report: GraphReportRow) -> int:
        context = application.writing_context()
        return record_task(context, report, rules=application.rules, now=written(utc_now()))

    return record


def _counter(application: AppContext) -> CountOutcome | None:
    """Return what adds the attempts of tasks to the project's statistics, None outside of one."""
    if not is_project(application):
        return None

    def count(agent: str, outcome: Outcome) -> None:
        record_attempts(application.store, outcome, agent=agent)

    return count


def judge_of(application: AppContext) -> TaskJudge | None:
    """Return what verifies the claims of tasks in the project, None outside of one."""
    if not is_project(application):
        return None
    return TaskJudge(
        application.settings.project,
        lambda: application.store,
        application.rules,
        application.held_settings,
    )


def hold_settings(
    application: AppContext, run: str | None = None, *, has_begun: bool = False
) -> None:
    """Judge replies by the settings as they are now; those of a `run` as it first began here.

    They count although they weaken, since a person runs the command and reads what does.
    `has_begun` is whether an agent may have worked before this process looks at them.
    """
    kept = None if run is None else KeptSession(state_folder(os.environ), f"run {run}")
    project = application.settings.project
    name_weakened(project)
    base = (lambda: "HEAD") if has_begun else None
    application.hold_settings(HeldSettings(str(project), kept=kept, base=base, say=complain))


def is_project(application: AppContext) -> bool:
    """Whether reports of tasks are recorded in the project."""
    # A graph may run in any folder; documents are written only where somebody wants them.
    return not application.settings.writes_files or application.files.exists(FOLDER)


def _run_exported(
    application: AppContext,
    run: Callable[[], Awaitable[object]],
    stop: Callable[[], None],
    outage: Outage,
    *,
    left: _Left,
) -> bool:
    """Run until the end or a signal; spans and metrics go to the collector that OTEL_* names.

    Returns whether a signal came. One that comes while the database is away ends the process, as
    `left` says.
    """
    export = start_exporting(os.environ)
    if export.signals:
        export_task_states(application.store)
    try:
        interrupted = anyio.run(_run_until_signal, run, stop, outage, left)
    finally:
        export.finish()
    if interrupted and outage.reason:
        left.end_process(outage)
    return interrupted


async def _run_until_signal(
    run: Callable[[], Awaitable[object]], stop: Callable[[], None], outage: Outage, left: _Left
) -> bool:
    """Run until the end; the first signal lets calls end, the second one cancels them.

    While the database is away the first one does both: what is answered could not be written down.
    """
    interrupted, failure = False, None

    async with anyio.create_task_group() as group:

        async def stop_on_signal() -> None:
            nonlocal interrupted
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    if not interrupted:
                        group.start_soon(stop_in_outage)
                        if not outage.reason:
                            complain("stopping when the calls under way have ended; again: at once")
                    interrupted = True
                    stop()

        async def stop_in_outage() -> None:
            # A moment to write down what is there: the database may answer again just now.
            await outage.lasted(_OUTAGE_SECONDS)
            stop()
            await anyio.sleep(_END_SECONDS)
            # A thread waits for the answer of the database, and nothing interrupts it.
            left.end_process(outage)

        group.start_soon(stop_on_signal)
        try:
            await run()
        except GoopError as error:
            failure = error
        group.cancel_scope.cancel()

    # What a signal ended while the database was away needs no other reason.
    if failure is not None and not (interrupted and outage.reason):
        raise failure
    return interrupted


def _outlasting_output(on_event: OnEvent) -> OnEvent:
    """Return `on_event`, which says once that the output is lost: the run goes on without it."""

    def show_event(event: GraphEventRow) -> None:
        try:
            on_event(event)
        except click.ClickException as error:
            complain(f"{error.format_message()}; {event.run} goes on without it")

    return show_event


def run_detached(settings: Settings, run: str, *, parallel: int | None) -> int:
    """Go on in a process of its own, and print the id of the run and its log."""
    folder = Path(state_folder(os.environ)) / "runs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / f"{run}.log"
    # Whoever closes the terminal must not end the run.
    if os.fork():
        show(f"{run}\n")
        complain(f"it runs in the background; see `goop-mcp runs show {run} --watch` and {log}")
        return 0

    os.setsid()
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, stream in ((nothing, 0), (opened, 1), (opened, 2)):
        os.dup2(ours, stream)

    # No handler of the parent may run in the child, nor what click does at the end.
    code = 1
    try:
        code = run_here(settings, run, form="jsonl", parallel=parallel)
    finally:
        sys.stdout.flush()
        os._exit(code)
