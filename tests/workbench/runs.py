"""Runs of graphs for the workbench, with agents that are functions."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import anyio

from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphTask
from goop_mcp.delegation.runner import GraphOutcome, resume, run_graph
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.delegation.graphs import Team, login

__all__ = ["begin_run", "create_waiting_run", "finish_run"]

_SECONDS = 60


def begin_run(project: Path, *, goal: str = "login", **replies: str) -> GraphOutcome:
    """Run a login graph in the project's database until it ends or waits for a person.

    `replies` are by the first word of a prompt; the others are accepted.
    """
    store = open_store(None, project=project)

    async def play() -> GraphOutcome:
        return await run_graph(
            login(),
            store=store,
            agents={"team": Team(**replies)},
            input={"goal": goal},
            project=project,
        )

    return _played(store, play)


def create_waiting_run(project: Path) -> str:
    """Create a run in which the gate `ship` and the task `write` wait for a person."""
    graph = Graph(
        name="gated",
        agents=(GraphAgent("kim", run="person"),),
        tasks=(GraphTask("write", agent="kim", prompt="Write it"),),
        gates=(GraphGate("ship", question="Ship it?"),),
    )
    with closing(open_store(None, project=project)) as store:
        return Ledger(store).create(graph, input={})


def finish_run(project: Path, run: str) -> GraphOutcome:
    """Go on with a run in another process's place."""
    store = open_store(None, project=project)

    async def play() -> GraphOutcome:
        return await resume(store, run, agents={"team": Team()}, project=project)

    return _played(store, play)


def _played(store: Store, play: Callable[[], Awaitable[GraphOutcome]]) -> GraphOutcome:
    # In a thread: the driver of the browser has a loop of its own in this one.
    with closing(store), ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, play).result(timeout=_SECONDS)
