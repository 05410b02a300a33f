"""`goop-mcp delegate`: check a graph, show what it would do, and carry it out."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from goop_mcp.cli.options import PROJECT, WrongCallError
from goop_mcp.cli.streams import complain, emit, emit_json, show
from goop_mcp.delegation.agents import commands_of
from goop_mcp.delegation.drawing import draw_mermaid, draw_svg
from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.delegation.parts import GraphGate, GraphStep
from goop_mcp.settings import read_settings

__all__ = ["delegate"]

REFUSED = 1


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
@click.argument("graph", metavar="GRAPH")
@click.option("--check", is_flag=True, help="Only read the graph; print what is wrong with it.")
@click.option("--plan", is_flag=True, help="Only show what would run, in which order.")
@click.option(
    "--input",
    "values",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_values,
    help="A value for ${input.NAME} in prompts; repeat it for several.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "mermaid", "svg"]),
    default="text",
    show_default=True,
    help="json, mermaid and svg are for --plan.",
)
@PROJECT
def delegate(
    graph: str, *, check: bool, plan: bool, values: dict[str, str], form: str, project: str | None
) -> int:
    """Carry out GRAPH, a file in TOML or JSON: agents, tasks, what they need, and limits.

    `goop-mcp schema graph` prints the form of the file.

    Exit code: 0 the graph is good, 1 it cannot be run, 2 a usage error.
    """
    if check == plan:
        raise WrongCallError("expected one of --check and --plan")

    settings = read_settings(os.environ, project=project)
    try:
        loaded = Graph.load(Path(graph), project=settings.project)
    except GraphError as error:
        for line in error.lines():
            complain(line)
        return REFUSED

    unknown = [name for name in values if name not in loaded.inputs()]
    if unknown:
        known = ", ".join(loaded.inputs()) or "none"
        raise WrongCallError(
            f"no prompt of the graph has ${{input.{unknown[0]}}}; known are {known}"
        )

    if check:
        show(f"{graph}: {_counted(loaded)}, digest {loaded.digest[:12]}\n")
    elif form == "mermaid":
        emit(draw_mermaid(loaded))
    elif form == "svg":
        emit(draw_svg(loaded))
    elif form == "json":
        emit_json({**loaded.to_dict(), "waves": loaded.waves, "digest": loaded.digest})
    else:
        show(_plan(loaded, missing=[each for each in loaded.inputs() if each not in values]))

    return 0


def _counted(graph: Graph) -> str:
    parts = (
        (len(graph.tasks), "task"),
        (len(graph.gates), "gate"),
        (len(graph.agents), "agent"),
        (len(graph.waves), "wave"),
    )
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count)


def _plan(graph: Graph, *, missing: Sequence[str]) -> str:
    """Return what would run, wave by wave, and which programs that would start."""
    lines = [f"{graph.name}: {_counted(graph)}", ""]
    for number, wave in enumerate(graph.waves, 1):
        lines.append(f"wave {number}")
        lines += [f"  {_described(graph.steps[name])}" for name in wave]

    lines += ["", "programs"]
    for agent in graph.agents:
        words = commands_of(agent)
        what = shlex.join(words) if words else f"none ({agent.run})"
        lines.append(f"  {agent.name}: {what}")
    if missing:
        lines += ["", *(f"missing: --input {name}=…" for name in missing)]

    return "\n".join(lines) + "\n"


def _described(step: GraphStep) -> str:
    if isinstance(step, GraphGate):
        what = f"{step.id} asks a person: {step.question} ({', '.join(step.answers)})"
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
