"""An agent that names when it may be asked again is not asked before, also by another process."""

import threading
from itertools import pairwise
from pathlib import Path
from time import monotonic

import anyio

from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Claim, Ledger
from goop_mcp.delegation.parts import GraphAgent, GraphTask
from goop_mcp.delegation.runner import Runner, resume, run_graph
from goop_mcp.retry.attempts import Attempt
from goop_mcp.store.interface import Store
from tests.delegation.reports import report
from tests.delegation.runners import check_run

GRAPH = Graph(
    name="limited",
    protocol="goop_report",
    agents=(GraphAgent("api"),),
    tasks=(GraphTask("a", agent="api", prompt="Do it."),),
)
_PAUSE = 2.0
# Time to judge, to store and to wake up, on a machine that does other things as well.
_OVERHEAD = 1.0
_SECONDS = 60


class TooManyRequestsError(Exception):
    """The failure of a provider that says when to come back."""

    status_code = 429

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__("too many requests")
        self.headers = headers


class Limited:
    """Refuses its first calls, and notes when it was asked."""

    def __init__(self, *, refusals: int) -> None:
        self.asked: list[float] = []
        self._refusals = refusals

    async def __call__(self, _: str) -> str:
        self.asked.append(monotonic())
        if len(self.asked) <= self._refusals:
            raise TooManyRequestsError({"Retry-After": f"{_PAUSE:g}"})
        return report()


class _NotingLedger(Ledger):
    """Notes when the end of an attempt is in the store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.written = threading.Event()

    def end_attempt(self, claim: Claim, number: int, attempt: Attempt) -> None:
        super().end_attempt(claim, number, attempt)
        self.written.set()


def test_a_task_waits_as_long_as_its_agent_says(store: Store, tmp_path: Path) -> None:
    agent = Limited(refusals=2)

    async def play() -> str:
        done = await run_graph(GRAPH, store=store, agents={"api": agent}, project=tmp_path)
        assert done.state == "finished"
        return done.id

    check_run(store, anyio.run(play))
    pauses = [after - before for before, after in pairwise(agent.asked)]
    assert len(pauses) == 2
    # Up to a fifth is added at random, so that tasks refused together do not come back together.
    assert all(_PAUSE <= each <= 1.2 * _PAUSE + _OVERHEAD for each in pauses)


def test_another_process_waits_for_the_rest_of_that_time(store: Store, tmp_path: Path) -> None:
    agent = Limited(refusals=1)
    ledger = _NotingLedger(store)
    run = ledger.create(GRAPH, input={})

    async def stop_in_the_pause() -> None:
        makers = agent_makers(GRAPH, project=tmp_path, given={"api": agent})
        runner = Runner(ledger, run, makers, project=tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(runner.run)
            await anyio.to_thread.run_sync(ledger.written.wait, _SECONDS)
            # Gives the task back at once.
            runner.stop()
            runner.stop()

    anyio.run(stop_in_the_pause)
    assert len(agent.asked) == 1

    async def go_on() -> None:
        done = await resume(store, run, agents={"api": agent}, project=tmp_path)
        assert done.state == "finished"

    anyio.run(go_on)
    check_run(store, run)
    [pause] = [after - before for before, after in pairwise(agent.asked)]
    assert _PAUSE - 0.1 <= pause <= 1.2 * _PAUSE + 2 * _OVERHEAD
