"""Kill a PostgreSQL server while processes save, and start it again."""

import time
from dataclasses import dataclass
from pathlib import Path

from goop_mcp.store.opening import open_store
from tests.postgres import Server
from tests.store.fault_injection.acknowledged import find_defects
from tests.store.postgres.savers import saving

__all__ = ["ServerReport", "kill_server"]


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The outcome; `silence` is the longest time in seconds from a kill to the next save."""

    acknowledged: int
    repeated: int
    silence: float
    defects: list[str]


def kill_server(*, rounds: int, folder: Path) -> ServerReport:
    """Kill the server `rounds` times while 4 processes of 2 threads save, then check the rows."""
    silences: list[float] = []
    with Server(durable=True) as server, server.database() as database:
        with saving(database, folder, processes=4, threads=2) as savers:
            for _ in range(rounds):
                savers.wait_for(100)
                killed = time.monotonic()
                server.kill()
                server.start_again()
                savers.wait_for(1)
                silences.append(time.monotonic() - killed)

            repeated = savers.stop()
            acknowledged = savers.acknowledged()

        store = open_store(database.url(), project=folder, project_id="shop")
        defects = find_defects(store, acknowledged)
        store.close()

    return ServerReport(len(acknowledged), repeated, max(silences), defects)
