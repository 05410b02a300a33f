"""Short runs of what `make faults` and `make compare-memory` run at full length."""

from pathlib import Path

import pytest

from tests.reliability.products import OURS
from tests.reliability.served_kills import kill_servers
from tests.reliability.works import Work, do_work

WORKS = (
    Work(name="two processes", servers=2, saves=50),
    Work(name="three processes, one killed", servers=3, saves=40, killed=1),
    Work(name="fifty calls at once in one process", servers=1, saves=50, together=True),
)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_all_that_servers_acknowledge_is_there_once(tmp_path: Path, work: Work) -> None:
    outcome = do_work(OURS, work, tmp_path, seed=7)
    assert (outcome.lost, outcome.doubled, outcome.strays) == ((), (), ())
    if not work.killed:
        assert len(outcome.acknowledged) == work.servers * work.saves
    else:
        assert (
            (work.servers - work.killed) * work.saves
            < len(outcome.acknowledged)
            < work.servers * work.saves
        )


def test_servers_that_save_and_record_and_are_killed_leave_rows_and_files_that_agree(
    tmp_path: Path,
) -> None:
    report = kill_servers(1, seed=7, folder=tmp_path, servers=4)
    assert report.defects == []
    assert report.kills == 2
    assert report.saves
    assert report.records
