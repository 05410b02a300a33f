"""`goop-mcp runs`: see, resume, answer, cancel, repeat and export the runs of graphs."""

import json
import os
import shlex
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, TextIO

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.deciding import decide_in_run
from goop_mcp.cli.display import event_json, run_lines, show_run_lines
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, WrongCallError, opened_application
from goop_mcp.cli.program import Subcommands
from goop_mcp.cli.running import (
    A_PERSON,
    hold_settings,
    is_project,
    judge_of,
    may_run,
    record_by_hand,
    run_detached,
    run_here,
)
from goop_mcp.cli.streams import (
    at_terminal,
    complain,
    emit,
    person_at_terminal,
    show,
    terminal_width,
)
from goop_mcp.delegation.changes import RunError, find_task
from goop_mcp.delegation.drawing import PictureTooLargeError, draw_mermaid, draw_svg
from goop_mcp.delegation.fields import duration
from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.delegation.ledger import AlteredGraphError, Ledger
from goop_mcp.delegation.run_views import RunView
from goop_mcp.delegation.states import RUN_ENDED
from goop_mcp.services.run_sessions import export_sessions
from goop_mcp.services.runs import (
    RunViews,
    finish_task,
    left_to_end,
    list_runs,
    read_events,
    read_view,
    waiting_step,
)
from goop_mcp.services.runs import cancel as cancel_run
from goop_mcp.services.runs import retry as retry_task
from goop_mcp.settings import read_settings
from goop_mcp.store.graph_rows import MOST_RUNS
from goop_mcp.store.interface import Store
from goop_mcp.validation.findings import excerpt

__all__ = ["runs"]

REFUSED = 1
_SECONDS = 0.5
_MOST_OUTPUT = 20_000
# Beyond what `validate` reads: it then says so.
_MOST_REPORT = 2 * 1024 * 1024


def _database(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say which database the runs are in."""
    for option in (PROJECT_ID, DATABASE, PROJECT):
        command = option(command)
    return command


def _seconds(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    try:
        return None if given is None else duration(given)
    except ValueError as error:
        raise WrongCallError(f"--deadline is {given!r}; expected {error}") from error


_DEADLINE = click.option(
    "--deadline",
    metavar="TIME",
    callback=_seconds,
    help='Let the run last for TIME from now, such as "1h".',
)


class _Actions(Subcommands):
    noun = "action"

    def invoke(self, ctx: click.Context) -> object:
        """Carry out the action; a run that does not exist or refuses it is a negative result."""
        try:
            return super().invoke(ctx)
        except RunError as error:
            complain(str(error))
            return REFUSED


@click.group(
    cls=_Actions,
    invoke_without_command=True,
    no_args_is_help=False,
    short_help="List and steer what `delegate` runs.",
)
@click.option("--all", "ended", is_flag=True, help="Also those that have ended.")
@_database
@click.pass_context
def runs(
    context: click.Context,
    *,
    ended: bool,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """List the runs of graphs that `goop-mcp delegate` began and that have not ended."""
    if context.invoked_subcommand is not None:
        return 0

    with opened_application(project, database=database, project_id=project_id) as application:
        found = list_runs(application.store, limit=MOST_RUNS, include_ended=ended)

    for each in found:
        row = each.row
        states = ", ".join(
            f"{count} {state.replace('_', ' ')}" for state, count in sorted(each.states.items())
        )
        begun = row.created_at[:16]
        show(f"{row.id}  {excerpt(row.name, 64)}  {each.words}  {begun}  {states}\n")
    if not found:
        complain(
            "there are no runs"
            if ended
            else "no run is open; --all also lists those that have ended"
        )

    return 0


@runs.command("show", short_help="Show how a run stands.")
@click.argument("run")
@click.option(
    "--watch", is_flag=True, help="Show it until it has ended, or goes on only with a person."
)
@click.option("--task", metavar="ID", help="Only this task, with its prompt and attempts.")
@click.option("--output", is_flag=True, help="Also show what the agents answered.")
@_database
def show_run(
    run: str,
    *,
    watch: bool,
    task: str | None,
    output: bool,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Show each task of RUN: its state and why, attempts, seconds, tokens.

    Exit code: 0; 3 where a person has to decide, or nobody works on the run.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        store = application.store
        view = read_view(store, run)
        if task is not None:
            _show_task(store, view, task, output=output)
            return 0

        if watch:
            view = _watched(store, run)
        show_run_lines(view)
        if output:
            for each in view.tasks:
                _show_task(store, view, each, output=True)

    return A_PERSON if view.is_left or view.state == "waiting_for_person" else 0


def _watched(store: Store, run: str) -> RunView:
    """Show a run each time that it changes, until nothing goes on without a person."""
    shown: list[str] = []
    drawn, views = 0, RunViews()
    while True:
        view = views.read(store, run)
        lines = run_lines(view)
        if view.is_left or view.state in (*RUN_ENDED, "waiting_for_person"):
            if drawn:
                show(f"\x1b[{drawn}F\x1b[J", colour=True)
            return view
        if lines != shown:
            # Written over the lines before on a terminal; in a pipe the changed ones follow.
            if terminal_width() is not None:
                show(
                    (f"\x1b[{drawn}F\x1b[J" if drawn else "") + "\n".join(lines) + "\n", colour=True
                )
                drawn = len(lines)
            else:
                show("".join(f"{line}\n" for line in lines if line not in shown))
            shown = lines
        time.sleep(_SECONDS)


def _show_task(store: Store, view: RunView, task: str, *, output: bool) -> None:
    row = store.read(lambda reading: find_task(reading, view.id, task))
    attempts = store.read(lambda reading: reading.graphs.attempts(view.id, task))
    lines = [f"# {task}: {row.state}, round {row.round + 1}"]
    lines += [f"why: {excerpt(row.message, 500)}"] if row.message else []
    # An agent may have added the task after the view was read.
    numbers = view.tasks[task].reports if task in view.tasks else ()
    noun = "report" if len(numbers) == 1 else "reports"
    lines += [f"recorded as {noun} {', '.join(map(str, numbers))}"] if numbers else []
    lines += ["", "prompt:", row.prompt[:_MOST_OUTPUT]] if row.prompt else []
    for each in attempts:
        ended: dict[str, Any] = json.loads(each.outcome) if each.outcome is not None else {}
        verdict = ended.get("verdict") or {}
        found = verdict.get("verdict") or ended.get("error") or "no end is known"
        rules = dict.fromkeys(
            each["rule"] for each in verdict.get("findings", ()) if each["severity"] == "error"
        )
        found += f" ({', '.join(rules)})" if rules else ""
        lines.append(f"\nround {each.round + 1}, attempt {each.number} ({each.way}): {found}")
        if output and ended.get("reply"):
            lines.append(ended["reply"][:_MOST_OUTPUT])

    # A reply may hold sequences that move the cursor or change the title of the terminal.
    text = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in "\n".join(lines))
    show(f"{text}\n")


@runs.command(short_help="Go on with a run.")
@click.argument("run")
@click.option(
    "--graph", metavar="FILE", shell_complete=file_names, help="Go on with this changed graph."
)
@click.option(
    "--parallel", type=click.IntRange(1, 1_000), metavar="N", help="How many tasks run at once."
)
@_DEADLINE
@click.option("--trust", metavar="DIGEST", multiple=True, help="Allow the graph with this digest.")
@click.option("--detach", is_flag=True, help="Run in the background.")
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), default="text", show_default=True
)
@_database
def resume(
    run: str,
    *,
    graph: str | None,
    parallel: int | None,
    deadline: float | None,
    trust: tuple[str, ...],
    detach: bool,
    form: str,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Go on with RUN, which was stopped, killed or waited for a person.

    With a changed graph the accepted tasks that are the same in it stay, others run again. Exit
    code as for `goop-mcp delegate`.
    """
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    with opened_application(project, database=database, project_id=project_id) as application:
        ledger = Ledger(application.store)
        changed: Graph | None = None
        if graph is not None:
            try:
                changed = Graph.load(Path(graph), project=settings.project)
            except GraphError as error:
                for line in error.lines():
                    complain(line)
                return 1

        known = ledger.run(run)
        try:
            stored: Graph | None = ledger.graph(known)
        except AlteredGraphError:
            # The graph of a file takes its place.
            if changed is None:
                raise
            stored = None
        wanted = changed or stored
        if wanted is not None and not may_run(wanted, settings.project, trust=trust):
            return A_PERSON
        if changed is not None and (stored is None or changed.digest != stored.digest):
            kept = ledger.change_graph(run, changed)
            complain(f"the graph has changed; kept are {', '.join(kept) or 'no tasks'}")
        if deadline is not None:
            until = ledger.set_deadline(run, deadline, by=person_at_terminal())
            complain(f"its deadline is {until}")

    if detach:
        return run_detached(settings, run, parallel=parallel)
    return run_here(settings, run, form=form, parallel=parallel)


@runs.command(short_help="Answer a gate, or decide about a task.")
@click.argument("run")
@click.argument("task")
@click.argument("answer")
@click.option(
    "--note", metavar="TEXT", default="", help="A note for the agent or person who continues."
)
@_database
def answer(
    run: str,
    task: str,
    answer: str,
    *,
    note: str,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Answer the gate TASK of RUN, or decide about a task that waits, after confirming it.

    For a task, ANSWER is `retry` (the agent is asked again, with the note), `accept` (its work is
    taken as it is) or `fail`. A runner that is alive goes on by itself. Without a terminal nothing
    is decided, and the exit code is 3.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        waits = waiting_step(application.store, run, task)
        if answer not in waits.answers:
            raise RunError(waits.refusal(answer))

        hold_settings(application, run, has_begun=True)
        again = f"goop-mcp {shlex.join(('runs', 'answer', run, task, answer))}"
        result = decide_in_run(
            application, waits, answer, note=note, asks=at_terminal(), again=again
        )

    show("".join(f"{line}\n" for line in (result.message, *result.remarks)))

    return {"done": 0, "waiting": A_PERSON}.get(result.status, REFUSED)


@runs.command(short_help="Finish a task of a person or a host with its report.")
@click.argument("run")
@click.argument("task")
@click.argument("file", type=click.File(encoding="utf-8"))
@_database
def finish(
    run: str,
    task: str,
    file: TextIO,
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Finish TASK of RUN with the report in FILE, - for standard input.

    The report is judged as an agent's is; a rejected one changes nothing, and the exit code is 1.
    """
    reply = file.read(_MOST_REPORT + 1)
    with opened_application(project, database=database, project_id=project_id) as application:
        hold_settings(application, run, has_begun=True)
        by = person_at_terminal()
        verdict = finish_task(
            application.store,
            run,
            task,
            reply,
            by=by,
            project=application.settings.project,
            judge=judge_of(application),
            records=is_project(application),
        )
        if not verdict.accepted:
            complain(verdict.feedback or "the report is rejected")
            return 1
        show(f"{task}: accepted\n")
        record_by_hand(application, run, task)

    return 0


@runs.command(short_help="Cancel a run, or a task of it.")
@click.argument("run")
@click.argument("task", required=False)
@_database
def cancel(
    run: str,
    task: str | None,
    *,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Cancel RUN, or only TASK and the tasks that need it; their programs are ended."""
    with opened_application(project, database=database, project_id=project_id) as application:
        cancelled = cancel_run(application.store, run, task, by=person_at_terminal())
        left = left_to_end(application.store, run) if cancelled else ""

    show(f"cancelled: {', '.join(cancelled) or 'nothing, all had ended'}\n")
    if left:
        complain(f"{run}: {left}")

    return 0 if cancelled else 1


@runs.command(short_help="Run a task again.")
@click.argument("run")
@click.argument("task")
@click.option("--downstream", is_flag=True, help="Also run the tasks that need it again.")
@click.option("--fresh", is_flag=True, help="Begin another conversation with its agent.")
@_DEADLINE
@_database
def retry(
    run: str,
    task: str,
    *,
    downstream: bool,
    fresh: bool,
    deadline: float | None,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Mark TASK of RUN, which has ended, to run again; `goop-mcp runs resume` then runs it."""
    with opened_application(project, database=database, project_id=project_id) as application:
        by = person_at_terminal()
        again = retry_task(
            application.store,
            run,
            task,
            by=by,
            downstream=downstream,
            fresh=fresh,
            deadline=deadline,
        )

    verb = "runs" if len(again) == 1 else "run"
    show(f"{', '.join(again)} {verb} again with: goop-mcp runs resume {run}\n")

    return 0


@runs.command(short_help="Print a run for programs or a page.")
@click.argument("run")
@click.option(
    "--as",
    "form",
    type=click.Choice(["jsonl", "mermaid", "svg", "html", "sessions"]),
    default="jsonl",
)
@_database
def export(
    run: str, *, form: str, project: str | None, database: str | None, project_id: str | None
) -> int:
    """Print RUN: its events as JSON lines, or its graph with the state of each task.

    `sessions` creates the folder of a session for each task that has ended, with prompt, output and
    result.json, and prints their paths; `goop-mcp handoff results` gathers them.
    """
    with opened_application(project, database=database, project_id=project_id) as application:
        view = read_view(application.store, run)
        if form == "jsonl":
            for event in read_events(application.store, run):
                emit(f"{event_json(event)}\n")
        elif form == "sessions":
            for path in export_sessions(application.store, application.files, run):
                show(f"{path}\n")
        elif form == "mermaid":
            emit(draw_mermaid(view.graph, view.states))
        elif form == "svg":
            emit(draw_svg(view.graph, view.states))
        else:
            emit(_page(view))

    return 0


def _page(view: RunView) -> str:
    """Return a page of its own with picture and table; it loads nothing."""
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(excerpt(each, 500))}</td>"
            for each in (
                task.id,
                task.agent or "person",
                task.state.replace("_", " "),
                str(task.attempt),
                f"{task.seconds:.0f} s",
                task.message or task.reason,
            )
        )
        + "</tr>\n"
        for task in view.tasks.values()
    )
    head = "".join(
        f"<th>{name}</th>" for name in ("task", "agent", "state", "attempts", "time", "")
    )
    title = escape(f"{view.graph.name}: {view.state.replace('_', ' ')} ({view.id})")
    style = (
        ":root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:2rem}"
        "td,th{text-align:left;padding:.2rem .8rem .2rem 0}svg{max-width:100%;height:auto}"
    )
    try:
        picture = draw_svg(view.graph, view.states)
    except PictureTooLargeError as error:
        # The table has all tasks as well.
        picture = f"<p>{escape(str(error))}</p>\n"

    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style>\n<h1>{title}</h1>\n{picture}"
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>\n</html>\n"
    )
