"""An agent that names when it may be asked again is not asked before, also by another process."""

import sys
import threading
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from time import monotonic

import anyio

from goop_mcp.cli.display import event_line, run_lines
from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Claim, Ledger
from goop_mcp.delegation.parts import GraphAgent, GraphLimits, GraphTask
from goop_mcp.delegation.run_views import RunView
from goop_mcp.delegation.runner import Runner, resume, run_graph
from goop_mcp.retry.attempts import Attempt
from goop_mcp.retry.replies import Agent
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


def stop_in_the_pause(
    ledger: _NotingLedger,
    run: str,
    graph: Graph,
    folder: Path,
    *,
    agents: Mapping[str, Agent] | None = None,
) -> None:
    async def play() -> None:
        makers = agent_makers(graph, project=folder, given=agents)
        runner = Runner(ledger, run, makers, project=folder)
        async with anyio.create_task_group() as group:
            group.start_soon(runner.run)
            await anyio.to_thread.run_sync(ledger.written.wait, _SECONDS)
            # Gives the task back at once.
            runner.stop()
            runner.stop()

    anyio.run(play)


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

    stop_in_the_pause(ledger, run, GRAPH, tmp_path, agents={"api": agent})
    assert len(agent.asked) == 1

    async def go_on() -> None:
        done = await resume(store, run, agents={"api": agent}, project=tmp_path)
        assert done.state == "finished"

    anyio.run(go_on)
    check_run(store, run)
    [pause] = [after - before for before, after in pairwise(agent.asked)]
    assert _PAUSE - 0.1 <= pause <= 1.2 * _PAUSE + 2 * _OVERHEAD


# Writes down when it was asked, and has no quota the first times.
WITHOUT_QUOTA = """
import sys, time
sys.stdin.read()
with open(sys.argv[1], "a+") as file:
    print(time.monotonic(), file=file)
    file.seek(0)
    count = len(file.readlines())
if count <= int(sys.argv[2]):
    print("out of quota", file=sys.stderr)
    print(f"Retry-After: {sys.argv[3]}", file=sys.stderr)
    sys.exit(75)
print(sys.argv[4])
"""


def of_programs(folder: Path, *, refusals: int, tasks: int = 1, max_tokens: int = 0) -> Graph:
    words = (sys.executable, "-c", WITHOUT_QUOTA, str(folder / "asked"))
    more = (str(refusals), f"{_PAUSE:g}", report())
    return Graph(
        name="quota",
        protocol="goop_report",
        agents=(GraphAgent("api", run="command", command=(*words, *more), parallel=tasks),),
        tasks=tuple(GraphTask(f"t{n}", agent="api", prompt="Do it.") for n in range(tasks)),
        limits=GraphLimits(parallel=tasks, max_tokens=max_tokens or None),
    )


def asked_in(folder: Path) -> list[float]:
    file = folder / "asked"
    return [float(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_program_names_when_it_may_be_asked_again(store: Store, tmp_path: Path) -> None:
    # A limit of tokens: of a refused call nobody knows what it used, and nothing is left then.
    graph = of_programs(tmp_path, refusals=2, max_tokens=1000)

    async def play() -> str:
        done = await run_graph(graph, store=store, project=tmp_path)
        assert done.state == "finished", done.tasks["t0"]
        return done.id

    run = anyio.run(play)
    check_run(store, run)
    pauses = [after - before for before, after in pairwise(asked_in(tmp_path))]
    assert len(pauses) == 2
    assert all(_PAUSE <= each <= 1.2 * _PAUSE + _OVERHEAD for each in pauses)

    # As a person saw it while the task waited.
    view, seen = RunView(run, graph), 0
    for event in store.read(lambda reading: reading.graphs.events(run)):
        view.follow([event])
        if event.what == "answered" and "retry_at" in event.data:
            assert view.tasks["t0"].rejected.startswith("not asked again before 2")
            assert view.tasks["t0"].rejected.endswith("exit code 75: out of quota")
            assert "not asked again before 2" in "\n".join(run_lines(view))
            assert "not asked again before 2" in (event_line(event) or "")
            seen += 1
    assert seen == 2


def test_many_programs_without_quota_at_once_are_no_agent_that_fails(
    store: Store, tmp_path: Path
) -> None:
    graph = of_programs(tmp_path, refusals=6, tasks=6)

    async def play() -> None:
        # The circuit would leave the agent alone for 30 seconds after five failures in a row.
        with anyio.fail_after(20):
            done = await run_graph(graph, store=store, project=tmp_path)
        assert done.state == "finished"

    anyio.run(play)
    assert len(asked_in(tmp_path)) == 12


def test_a_program_of_another_process_is_not_asked_before_either(
    store: Store, tmp_path: Path
) -> None:
    graph = of_programs(tmp_path, refusals=1)
    ledger = _NotingLedger(store)
    run = ledger.create(graph, input={})
    stop_in_the_pause(ledger, run, graph, tmp_path)
    assert len(asked_in(tmp_path)) == 1

    async def go_on() -> None:
        done = await resume(store, run, project=tmp_path)
        assert done.state == "finished"

    anyio.run(go_on)
    check_run(store, run)
    [pause] = [after - before for before, after in pairwise(asked_in(tmp_path))]
    assert _PAUSE - 0.1 <= pause <= 1.2 * _PAUSE + 2 * _OVERHEAD
