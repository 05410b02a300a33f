"""Kill a PostgreSQL server while processes save, and start it again.

`python -m tests.store.postgres.killed_server [ROUNDS]` prints what came of it; raises when something was lost.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from goop_mcp.store.postgres import PostgresStore
from tests.postgres import Server
from tests.store.postgres.killing import assert_nothing_lost, saving

__all__ = ["ServerReport", "kill_server"]


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What came of it; `longest_silence` is the time in seconds from a kill to the first save after it."""

    rounds: int
    acknowledged: int
    retried: int
    longest_silence: float


def kill_server(*, rounds: int, processes: int = 4, threads: int = 2) -> ServerReport:
    """Kill the server `rounds` times while all save; raises AssertionError when anything acknowledged is missing."""
    silences: list[float] = []
    with Server(durable=True) as server, server.database() as database, tempfile.TemporaryDirectory() as folder:
        with saving(database, Path(folder), processes=processes, threads=threads) as savers:
            for _ in range(rounds):
                savers.wait_for(100)
                killed = time.monotonic()
                server.kill()
                server.start_again()
                savers.wait_for(1)
                silences.append(time.monotonic() - killed)
            retried = savers.stop()
            acknowledged = savers.acknowledged()
        store = PostgresStore(database.url(), project_id="shop")
        assert_nothing_lost(store, acknowledged)
        store.close()
    return ServerReport(rounds, len(acknowledged), retried, max(silences))


if __name__ == "__main__":
    print(kill_server(rounds=int(sys.argv[1]) if len(sys.argv) > 1 else 5))  # noqa: T201 - the answer of this program
