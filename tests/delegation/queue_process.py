"""A worker of the queue in a process of its own, whose agents write down what they do.

`python -m tests.delegation.queue_process ORDERS` with the orders of `runner_process`; it works on
every run of the database until it is ended.
"""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from goop_mcp.delegation.dispatch import RunnerMaker
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.ledger import Ledger
from goop_mcp.delegation.procrastinate_queue import ProcrastinateDispatcher
from goop_mcp.store.opening import open_store
from tests.delegation.runner_process import Log, LoggedAgent, Orders


def main() -> None:
    """Work until SIGTERM."""
    orders = Orders(**json.loads(sys.argv[1]))
    log = Log(Path(orders.log))
    url = orders.url or ""

    class OneCall(LoggedAgent):
        """An agent of its own for each task, as a conversation is."""

        def __init__(self) -> None:
            super().__init__(log, orders)

    def trusted(_: Graph) -> bool:
        return True

    store = open_store(url, project=Path(orders.folder), project_id="shop")
    ledger = Ledger(store, lease_seconds=orders.lease, grace_seconds=orders.grace)
    project = Path(orders.folder)
    given: dict[str, Any] = {"worker": OneCall}
    maker = RunnerMaker(ledger, project=project, may_run=trusted, agents=given)
    dispatcher = ProcrastinateDispatcher(maker, url, project="default/shop", parallel=10)

    async def work() -> None:
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                with anyio.open_signal_receiver(signal.SIGTERM) as signals:
                    async for _ in signals:
                        dispatcher.stop()

            group.start_soon(stop)
            log.add("start")
            await dispatcher.run()
            group.cancel_scope.cancel()

    anyio.run(work)
    log.add("stop")
    store.close()


if __name__ == "__main__":
    main()
