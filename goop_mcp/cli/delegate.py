"""`goop-mcp delegate`: check a graph, show what it would do, and carry it out."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import DATABASE, PROJECT, PROJECT_ID, WrongCallError
from goop_mcp.cli.running import (
    A_PERSON,
    may_run,
    run_all_here,
    run_detached,
    run_here,
)
from goop_mcp.cli.streams import at_terminal, complain, emit, emit_json, show
from goop_mcp.cli.trusting import shown_words
from goop_mcp.context import AppContext
from goop_mcp.delegation.agents import commands_of
from goop_mcp.delegation.drawing import draw_mermaid, draw_svg
from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.parts import GraphGate, GraphStep
from goop_mcp.delegation.reuse import Reused
from goop_mcp.delegation.trusting import may_run_here, trusted_makers
from goop_mcp.settings import Settings, read_settings
from goop_mcp.validation.findings import excerpt

__all__ = ["delegate"]

REFUSED = 1
# In one line, which a run of a thousand tasks would make 50 KB long; the table has all of them.
_MOST_REUSED_SHOWN = 10
_REUSE_IS_FOR_NEW = "a run that is resumed keeps its own results; leave --reuse out, or say --new"


def _values(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    values: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise WrongCallError(f"--input is {each[:60]!r}; expected NAME=VALUE")
        if name in values:
            raise WrongCallError(f"--input {name} is given twice; give each value once")
        values[name] = value

    return values


@click.command(short_help="Have agents carry out a graph of tasks.")
@click.argument("graph", metavar="[GRAPH]", shell_complete=file_names, required=False)
@click.option("--check", is_flag=True, help="Only read the graph; print what is wrong with it.")
@click.option("--plan", is_flag=True, help="Only show what would run, in which order.")
@click.option(
    "--input",
    "values",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_values,
    help="Value of ${input.NAME} in prompts; may be given several times.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 1_000),
    metavar="N",
    help="How many tasks run at once in this process.",
)
@click.option("--resume", "again", flag_value="resume", help="Resume the unfinished run.")
@click.option(
    "--new", "again", flag_value="new", help="Start a new run even if another one is unfinished."
)
@click.option(
    "--reuse",
    is_flag=True,
    help="Accept those tasks at once for which earlier runs have results; with --plan: show which.",
)
@click.option(
    "--trust",
    metavar="DIGEST",
    multiple=True,
    help="Allow the graph with this whole digest, which --check prints. Repeat with --runner-only.",
)
@click.option("--runner-only", is_flag=True, help="Take tasks of all open runs of the database.")
@click.option(
    "--dispatcher",
    type=click.Choice(["leases", "procrastinate"]),
    default="leases",
    show_default=True,
    help="Who delivers tasks with --runner-only: the claims in the tables, or a queue.",
)
@click.option(
    "--keep-output",
    "keep",
    type=click.Choice(["none", "failed", "all"]),
    help="Of which attempts a new run keeps messages and replies once their task has ended"
    " [default: all].",
)
@click.option("--detach", is_flag=True, help="Run in the background; print the id of the run.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl", "json", "mermaid", "svg"]),
    default="text",
    show_default=True,
    help="jsonl: each event as JSON; json, mermaid and svg are for --plan.",
)
@PROJECT
@DATABASE
@PROJECT_ID
def delegate(
    graph: str | None,
    *,
    check: bool,
    plan: bool,
    values: dict[str, str],
    parallel: int | None,
    again: str | None,
    reuse: bool,
    trust: tuple[str, ...],
    runner_only: bool,
    dispatcher: str,
    keep: str | None,
    detach: bool,
    form: str,
    project: str | None,
    database: str | None,
    project_id: str | None,
) -> int:
    """Run GRAPH, a file in TOML or JSON: agents, tasks, what they need, and limits.

    Everything is kept in the project's database: a run that was interrupted or killed goes on with
    `goop-mcp runs resume`. `goop-mcp schema graph` prints the form of the file.

    With --runner-only and no GRAPH, this process takes tasks of every open run in the database
    until SIGTERM or Ctrl-C; any number of such processes can run, on any machine. The first signal
    lets running calls end, a second one gives their tasks back at once.

    Exit code: 0 finished (with --check: the graph is valid; with --runner-only: stopped); 1 a task
    failed or the graph cannot be run; 2 a usage error; 3 a person has to decide or to trust the
    graph; 4 cancelled; 130 interrupted.
    """
    _refuse_wrong_call(check=check, plan=plan, form=form, reuse=reuse, again=again)
    settings = read_settings(os.environ, project=project, database=database, project_id=project_id)
    if runner_only:
        _refuse_what_is_for_one_run(
            {
                "GRAPH": graph,
                "--check": check,
                "--plan": plan,
                "--input": values,
                f"--{again}": again,
                "--reuse": reuse,
                "--keep-output": keep,
                "--detach": detach,
            }
        )
        return run_all_here(
            settings, form=form, parallel=parallel, trust=trust, dispatcher=dispatcher
        )
    if graph is None or dispatcher != "leases":
        raise WrongCallError(
            "name the file of a graph, or give --runner-only; --dispatcher is for the latter"
        )

    try:
        loaded = Graph.load(Path(graph), project=settings.project)
    except GraphError as error:
        for line in error.lines():
            complain(line)
        return REFUSED

    if unknown := [name for name in values if name not in loaded.inputs()]:
        known = ", ".join(loaded.inputs()) or "none"
        raise WrongCallError(
            f"no prompt of the graph has ${{input.{unknown[0]}}}; known are {known}"
        )

    for gate in loaded.gates:
        if gate.default is not None and not gate.ends_by_itself:
            complain(
                f"gates.{gate.id}: the default {gate.default!r} is the answer that starts what"
                " follows, which only a person gives; the gate waits for one"
            )
    if check:
        _show_check(graph, loaded)
    elif plan:
        _show_plan(settings, loaded, form, values, reuse=reuse)
    else:
        if not may_run(loaded, settings.project, trust=trust):
            return A_PERSON
        with AppContext(settings) as application:
            run = _begin(application, loaded, values, again=again, keep=keep, reuse=reuse)
        if detach:
            return run_detached(settings, run, parallel=parallel)
        return run_here(settings, run, form=form, parallel=parallel)

    return 0


def _show_check(file: str, graph: Graph) -> None:
    show(f"{file}: {_counted(graph)}, digest {graph.digest[:12]}\n")
    if any(commands_of(agent) for agent in graph.agents):
        show(f"  to trust it where nobody can be asked: --trust {graph.digest}\n")


def _refuse_wrong_call(
    *, check: bool, plan: bool, form: str, reuse: bool, again: str | None
) -> None:
    if check and plan:
        raise WrongCallError("expected one of --check and --plan")
    if reuse and check:
        raise WrongCallError("--check does not look at runs; --plan --reuse shows what is reused")
    if reuse and again == "resume":
        raise WrongCallError(_REUSE_IS_FOR_NEW)
    if form in ("json", "mermaid", "svg") and not plan:
        raise WrongCallError(f"--format {form} is for --plan; expected text or jsonl")
    if form == "jsonl" and (plan or check):
        raise WrongCallError("--format jsonl is for runs; expected text, json, mermaid or svg")


def _refuse_what_is_for_one_run(given: Mapping[str, object]) -> None:
    """Refuse options that a runner of all runs would leave unread."""
    if wrong := [name for name, value in given.items() if value]:
        raise WrongCallError(f"--runner-only takes all open runs; leave {wrong[0]} out")


def _begin(
    application: AppContext,
    graph: Graph,
    values: Mapping[str, str],
    *,
    again: str | None,
    keep: str | None,
    reuse: bool,
) -> str:
    """Return the id of a new run, or of the one that is not done and goes on with this graph."""
    store = application.store
    ledger = Ledger(store)
    unfinished = store.read(lambda reading: reading.graphs.unfinished_run(graph.name))
    if again is None and unfinished is not None:
        if not at_terminal():
            raise WrongCallError(
                f"{unfinished.id} of {graph.name!r} is not done; say --resume to go on with it, or"
                " --new to begin another one"
            )
        again = "resume" if click.confirm(f"Go on with {unfinished.id}?", default=None) else "new"
    if again == "resume" and unfinished is None:
        raise WrongCallError(
            f"there is no run of {graph.name!r} that is not done; leave --resume out"
        )

    # Programs that are not installed and functions that are not there are refused before a run is
    # on record.
    folder = application.settings.project
    trusted_makers(graph, project=folder, may_run=may_run_here(folder))
    if again != "resume" or unfinished is None:
        options = None if keep is None else {"keep_output": keep}
        run = ledger.create(graph, input=values, options=options, reuse=reuse)
        if reuse:
            accepted = store.read(lambda reading: reading.graphs.tasks(run, state="accepted"))
            found = [f"{row.id} ({row.message})" for row in accepted[:_MOST_REUSED_SHOWN]]
            if more := len(accepted) - len(found):
                found.append(f"{more:,} more")
            complain(f"reused: {', '.join(found) or 'no tasks'}")
        return run
    if reuse:
        raise WrongCallError(_REUSE_IS_FOR_NEW)
    if values:
        raise WrongCallError("a run keeps its input; leave --input out, or say --new")
    if keep is not None:
        raise WrongCallError(
            "what a run keeps is set when it begins; leave --keep-output out, or say --new"
        )
    if unfinished.graph_hash != graph.digest:
        kept = ledger.change_graph(unfinished.id, graph)
        complain(f"the graph has changed; kept are {', '.join(kept) or 'no tasks'}")
    return unfinished.id


def _kept(application: AppContext, graph: Graph) -> str:
    """Return what `--resume` would not run again, empty without an open run of this graph."""
    store = application.store
    unfinished = store.read(lambda reading: reading.graphs.unfinished_run(graph.name))
    if unfinished is None:
        return ""
    kept = Ledger(store).kept_by(unfinished.id, graph)
    return f"\nopen: {unfinished.id}, of which --resume keeps {', '.join(kept) or 'nothing'}\n"


def _show_plan(
    settings: Settings, graph: Graph, form: str, values: Mapping[str, str], *, reuse: bool
) -> None:
    """Print what would run; with `reuse` also what would not, as there is a result of it."""
    if form == "mermaid":
        emit(draw_mermaid(graph))
    elif form == "svg":
        emit(draw_svg(graph))
    elif form == "json" and not reuse:
        emit_json(_plan_values(graph))
    else:
        with AppContext(settings) as application:
            reused = None
            if reuse:
                reused = Ledger(application.store).reusable(graph, input=values)
            if form == "json":
                found = {name: each._asdict() for name, each in (reused or {}).items()}
                emit_json({**_plan_values(graph), "reused": found})
                return

            missing = [each for each in graph.inputs() if each not in values]
            show(_plan(graph, missing=missing, reused=reused))
            show(_kept(application, graph))


def _plan_values(graph: Graph) -> dict[str, Any]:
    return {**graph.to_dict(), "waves": graph.waves, "digest": graph.digest}


def _counted(graph: Graph) -> str:
    parts = (
        (len(graph.tasks), "task"),
        (len(graph.gates), "gate"),
        (len(graph.agents), "agent"),
        (len(graph.waves), "wave"),
    )
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count)


def _plan(graph: Graph, *, missing: Sequence[str], reused: Mapping[str, Reused] | None) -> str:
    """Return what would run, wave by wave, which programs that would start, what is reused."""
    lines = [f"{graph.name}: {_counted(graph)}", ""]
    for number, wave in enumerate(graph.waves, 1):
        lines.append(f"wave {number}")
        lines += [f"  {_described(graph.steps[name])}" for name in wave]

    lines += ["", "programs"]
    for agent in graph.agents:
        words = commands_of(agent)
        what = shown_words(words) if words else f"none ({agent.run})"
        lines.append(f"  {agent.name}: {what}")
    if missing:
        lines += ["", *(f"missing: --input {name}=…" for name in missing)]
    if reused is not None:
        found = [f"  {name}: the result of {task} in {run}" for name, (run, task) in reused.items()]
        lines += ["", "reused", *(found or ["  nothing"])]

    return "\n".join(lines) + "\n"


def _described(step: GraphStep) -> str:
    if isinstance(step, GraphGate):
        what = f"{step.id} asks a person: {excerpt(step.question, 500)} ({', '.join(step.answers)})"
    else:
        notes = [
            note
            for note, holds in (
                ("optional", step.optional),
                ("may add tasks", step.expands),
                ("worktree", step.workspace == "worktree"),
            )
            if holds
        ]
        what = f"{step.id} by {step.agent}" + (f" ({', '.join(notes)})" if notes else "")

    back = getattr(step, "feedback_to", ())
    return (
        what
        + (f", after {', '.join(step.needs)}" if step.needs else "")
        + (f", may send back {', '.join(back)}" if back else "")
    )
