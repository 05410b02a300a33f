import random
from pathlib import Path

import pytest

from tests.postgres import Database
from tests.store.fault_injection.acknowledged import find_defects
from tests.store.postgres.conftest import OpenStore
from tests.store.postgres.savers import saving

END_ONE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND usename = 'plain_owner' ORDER BY random() LIMIT 1"
)


@pytest.mark.parametrize(("processes", "threads"), [(1, 8), (4, 2)])
def test_nothing_acknowledged_is_lost_when_connections_are_ended_at_random_moments(
    open_store: OpenStore, database: Database, tmp_path: Path, processes: int, threads: int
) -> None:
    pick = random.Random()
    ended = 0
    with (
        saving(database, tmp_path, processes=processes, threads=threads) as savers,
        database.connect() as connection,
    ):
        savers.wait_for(processes)
        for _ in range(40):
            savers.wait_for(pick.randrange(1, 12))
            ended += len(connection.execute(END_ONE).fetchall())

        savers.wait_for(10)
        repeated = savers.stop()
        acknowledged = savers.acknowledged()

    assert ended >= 30
    assert repeated > 0
    assert find_defects(open_store(), acknowledged) == []


def test_two_processes_write_in_turn_and_see_each_other(
    open_store: OpenStore, database: Database, tmp_path: Path
) -> None:
    with saving(database, tmp_path, processes=2, threads=1) as savers:
        before = savers.wait_for_all()
        savers.wait_for(100)
        since = [after - earlier for earlier, after in zip(before, savers.counts(), strict=True)]
        assert savers.stop() == 0
        acknowledged = savers.acknowledged()

    revisions = [
        sorted(ack.revision for ack in acknowledged if ack.uid.startswith(f"uid-{name}-"))
        for name in "01"
    ]
    assert sorted(revisions[0] + revisions[1]) == list(range(1, len(acknowledged) + 1))
    # In a queue in the order of requests, no process writes several times in a row for long.
    assert min(since) > 10
    assert find_defects(open_store(), acknowledged) == []
