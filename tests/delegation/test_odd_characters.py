"""Characters that no database keeps, NUL and halves of pairs, hold no run up."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from goop_mcp.delegation.graph import Graph, GraphAgent, GraphRetry, GraphTask
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.runner import GraphOutcome, resume, run_graph
from goop_mcp.retry import Message, Reply
from goop_mcp.store.interface import Store
from tests.delegation.reports import report

WORKER = GraphAgent("worker")
ODD = "odd \0 and \ud800 text"


async def answer(_: str) -> str:
    return report()


class OddSession:
    """An agent whose conversation has a name that cannot be stored."""

    async def ask(self, _: Message) -> Reply:
        """Answer in it."""
        return Reply(report(), conversation_id=ODD)


def play(
    store: Store, folder: Path, graph: Graph, given: Mapping[str, Any], **values: str
) -> GraphOutcome:
    """Run a graph, which must take seconds and not the patience with a database that is away."""

    async def run() -> GraphOutcome:
        with anyio.fail_after(60):
            return await run_graph(graph, store=store, agents=given, input=values, project=folder)

    return anyio.run(run)


def one_task(prompt: str = "Do it.", agent: GraphAgent = WORKER) -> Graph:
    """Return a graph of one task."""
    return Graph(
        name="odd",
        protocol="goop_report",
        agents=(agent,),
        tasks=(GraphTask("a", agent="worker", prompt=prompt),),
    )


@pytest.mark.parametrize("prompt", [ODD, "Do ${input.what}"], ids=["prompt", "input"])
def test_a_prompt_with_them_is_stored_and_asked(store: Store, tmp_path: Path, prompt: str) -> None:
    done = play(store, tmp_path, one_task(prompt), {"worker": answer}, what=ODD)
    assert done.state == "finished"


def test_a_conversation_may_be_called_like_that(store: Store, tmp_path: Path) -> None:
    done = play(store, tmp_path, one_task(), {"worker": OddSession})
    assert done.state == "finished"


def test_a_program_that_prints_them_is_corrected(store: Store, tmp_path: Path) -> None:
    code = r"import sys; sys.stdout.buffer.write(b'no report \0 \xff \xed\xa0\x80')"
    retry = GraphRetry(max_attempts=3, strategies=("minimal", "fresh"))
    command = (sys.executable, "-c", code)
    agent = GraphAgent("worker", run="command", command=command, retry=retry)
    done = play(store, tmp_path, one_task(agent=agent), {})
    assert (done.state, done.tasks["a"].reason) == ("failed", "no_progress")


def test_a_person_may_write_them(store: Store, tmp_path: Path) -> None:
    async def blocked(text: str) -> str:
        return report() if "odd" in text else report("BLOCKED", blockers="A key is missing.")

    done = play(store, tmp_path, one_task(), {"worker": blocked})
    assert done.waiting_for == ("a",)
    Ledger(store).answer(done.id, "a", "retry", by="Ada", note=ODD)

    async def go_on() -> GraphOutcome:
        with anyio.fail_after(60):
            return await resume(store, done.id, agents={"worker": blocked}, project=tmp_path)

    assert anyio.run(go_on).state == "finished"
