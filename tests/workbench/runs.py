"""Runs of graphs for the workbench, with agents that are functions."""

from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import anyio

from goop_mcp.delegation.graph import Graph, GraphAgent, GraphGate, GraphRetry, GraphTask
from goop_mcp.delegation.runner import GraphOutcome, resume, run_graph
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = ["LOGIN", "begin_run", "finish_run"]

_SECONDS = 60

LOGIN = Graph(
    name="login",
    agents=(GraphAgent("team", retry=GraphRetry(max_attempts=1)),),
    tasks=(
        GraphTask("plan", agent="team", prompt="Plan ${input.goal}"),
        GraphTask("api", agent="team", prompt="Api: ${plan.summary}", needs=("plan",)),
        GraphTask("docs", agent="team", prompt="Docs: write", needs=("plan",), optional=True),
        GraphTask("test", agent="team", prompt="Test it", needs=("api", "docs", "ship")),
    ),
    gates=(GraphGate("ship", question="Ship it?", needs=("api",)),),
)


class _Team:
    """An agent that answers each prompt by its first word."""

    def __init__(self, replies: Mapping[str, str]) -> None:
        self._replies = replies

    async def __call__(self, text: str) -> str:
        word = text.split(maxsplit=1)[0].rstrip(":").lower()
        return self._replies.get(word, COMPLETE_REPLY)


def begin_run(
    project: Path, *, graph: Graph = LOGIN, goal: str = "login", **replies: str
) -> GraphOutcome:
    """Run `graph` in the project's database until it ends or waits for a person.

    `replies` are by the first word of a prompt; the others are accepted.
    """
    store = open_store(None, project=project)

    async def play() -> GraphOutcome:
        return await run_graph(
            graph,
            store=store,
            agents={"team": _Team(replies)},
            input={"goal": goal},
            project=project,
        )

    return _played(store, play)


def finish_run(project: Path, run: str) -> GraphOutcome:
    """Go on with a run in another process's place."""
    store = open_store(None, project=project)

    async def play() -> GraphOutcome:
        return await resume(store, run, agents={"team": _Team({})}, project=project)

    return _played(store, play)


def _played(store: Store, play: Callable[[], Awaitable[GraphOutcome]]) -> GraphOutcome:
    # In a thread: the driver of the browser has a loop of its own in this one.
    with closing(store), ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, play).result(timeout=_SECONDS)
