"""A runner in a process of its own, whose agents write down what they do.

`python -m tests.delegation.runner_process ORDERS` with the orders as JSON; see `Orders`.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from goop_mcp.delegation.agents import agent_makers
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.runner import GraphOutcome, Runner, run_graph
from goop_mcp.retry import Message, Reply, Usage
from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.store.opening import open_store
from tests.delegation.reports import report

__all__ = ["Log", "LoggedAgent", "Orders"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a runner process is to do.

    seconds: how long the agent thinks before each answer.
    kill_at: the number of the failpoint at which the process ends itself, from 1; 0 for never.
    statuses: what the agent reports at each attempt; the last one is repeated.
    graph: the graph, as JSON, of which the process begins a run of its own; "" to work on `run`.
    """

    folder: str
    url: str | None
    run: str
    log: str
    seconds: float = 0.05
    lease: float = 30.0
    grace: float = 10.0
    kill_at: int = 0
    statuses: Sequence[str] = field(default_factory=lambda: ["COMPLETE"])
    tokens: int = 10
    graph: str = ""

    def words(self) -> list[str]:
        """Return the command of the process."""
        return [sys.executable, "-m", "tests.delegation.runner_process", json.dumps(asdict(self))]


class Log:
    """A file to which several processes append lines, each in one piece."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, what: str, **values: object) -> None:
        """Append a line with the time, by a clock that all processes share."""
        line = {"what": what, "pid": os.getpid(), "at": time.monotonic(), **values}
        os.write(self._file, json.dumps(line).encode() + b"\n")


class LoggedAgent:
    """Answers with a report after a while; its prompt is `Do task ID`, in any later message too."""

    def __init__(self, log: Log, orders: Orders) -> None:
        self._log, self._orders, self._task = log, orders, "resumed"

    async def ask(self, message: Message) -> Reply:
        """Write down the beginning and the end."""
        named = [line for line in message.text.splitlines() if line.startswith("Do task ")]
        # A message about a rejected report does not repeat the task.
        task = self._task = named[0].split()[-1] if named else self._task
        self._log.add("begin", task=task, attempt=message.attempt, text=message.text)
        await anyio.sleep(self._orders.seconds)
        self._log.add("end", task=task, attempt=message.attempt)
        status = self._orders.statuses[min(message.attempt, len(self._orders.statuses)) - 1]
        return Reply(
            report(status, summary=f"Did task {task}."), usage=Usage(tokens=self._orders.tokens)
        )


def main() -> None:
    """Work on the run until there is nothing more to do."""
    values: dict[str, Any] = json.loads(sys.argv[1])
    orders = Orders(**values)
    log = Log(Path(orders.log))
    passed = 0

    def pass_point(_point: Failpoint) -> None:
        nonlocal passed
        passed += 1
        if passed == orders.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    store = open_store(orders.url, project=Path(orders.folder), project_id="shop")
    ledger = Ledger(store, lease_seconds=orders.lease, grace_seconds=orders.grace)

    class OneTask(LoggedAgent):
        """An agent of its own for each task, as a conversation is."""

        def __init__(self) -> None:
            super().__init__(log, orders)

    if orders.graph:
        graph = Graph.from_dict(json.loads(orders.graph))
    else:
        graph = ledger.graph(ledger.run(orders.run))
    given: dict[str, Any] = {each.name: OneTask for each in graph.agents if each.run == "python"}
    folder = Path(orders.folder)
    work: Callable[[], Awaitable[GraphOutcome]]
    if orders.graph:
        work = partial(run_graph, graph, store=store, agents=given, project=folder)
    else:
        makers = agent_makers(graph, project=folder, given=given)
        work = Runner(ledger, orders.run, makers, project=folder).run

    install(pass_point)
    log.add("start")
    outcome = anyio.run(work)
    install(None)
    log.add("stop", state=outcome.state, points=passed)
    store.close()


if __name__ == "__main__":
    main()
