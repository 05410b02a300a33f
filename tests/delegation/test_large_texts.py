"""Replies and prompts of many megabytes cost neither the run nor others that share its database."""

import sys
from pathlib import Path

import anyio

from goop_mcp.delegation.graph import Graph, GraphAgent, GraphLimits, GraphRetry, GraphTask
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.runner import GraphOutcome, run_graph
from goop_mcp.store.interface import Store
from tests.delegation.reports import report

MOST_KEPT = 200_000


def play(store: Store, folder: Path, graph: Graph) -> GraphOutcome:
    """Run a graph of programs, which must not take the patience with a database that is away."""

    async def run() -> GraphOutcome:
        with anyio.fail_after(100):
            return await run_graph(graph, store=store, project=folder)

    return anyio.run(run)


def test_a_reply_of_30_mib_is_rejected_and_hardly_kept(store: Store, tmp_path: Path) -> None:
    # Short lines, each of which is looked at for secrets.
    code = "import sys; sys.stdout.write('x\\n' * 15_000_000)"
    retry = GraphRetry(max_attempts=1)
    agent = GraphAgent("worker", run="command", command=(sys.executable, "-c", code), retry=retry)
    task = GraphTask("a", agent="worker", prompt="Do it.")
    done = play(store, tmp_path, Graph(name="g", agents=(agent,), tasks=(task,)))

    assert done.tasks["a"].reason == "attempts"
    assert "30,000,000 bytes" in (done.tasks["a"].message or "")
    assert 0 < len(done.tasks["a"].attempts[0]) < MOST_KEPT


def test_placeholders_do_not_fill_a_database(store: Store, tmp_path: Path) -> None:
    place = tmp_path / "report.txt"
    place.write_text(report())
    code = f"import sys; sys.stdin.read(); print(open({str(place)!r}).read())"
    graph = Graph(
        name="g",
        agents=(GraphAgent("worker", run="command", command=(sys.executable, "-c", code)),),
        tasks=(
            GraphTask("a", agent="worker", prompt="Do a."),
            GraphTask("b", agent="worker", prompt="${a} " * 40_000, needs=("a",)),
        ),
        limits=GraphLimits(parallel=1),
    )
    done = play(store, tmp_path, graph)

    assert done.tasks["a"].state == "accepted"
    assert done.tasks["b"].state == "failed"
    assert "1,000,000 characters" in (done.tasks["b"].message or "")
    row = Ledger(store).store.read(lambda reading: reading.graphs.task(done.id, "b"))
    assert row is not None
    assert row.prompt is None
