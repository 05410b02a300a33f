"""Clients alternate between two replicas, and one of the replicas is killed."""

from pathlib import Path

from tests.postgres import Server
from tests.reliability.replicas import kill_replicas


def test_a_replica_killed_under_load_loses_nothing_and_every_client_goes_on(tmp_path: Path) -> None:
    with Server(durable=True) as postgres, postgres.database() as database:
        report = kill_replicas(database, tmp_path, rounds=1, clients=4, saves=30)

    assert report.defects == []
    assert report.kills == 1
    assert len(report.acknowledged) == 4 * 30
    # Files belong to one machine; what several machines share is in the database.
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
