"""A short form of `make soak`: honest clients are answered and memory stays flat under attack."""

from pathlib import Path

from tests.soak.__main__ import table
from tests.soak.hostile import ATTACKS
from tests.soak.run import MOST_GROWTH_MB, soak


def test_honest_clients_are_answered_among_hostile_ones_and_memory_stays_flat(
    tmp_path: Path,
) -> None:
    outcome = soak(tmp_path, quiet=3, mixed=15)
    assert not outcome.has_failed, outcome.mixed.statuses
    assert outcome.attacks.keys() == {attack.__name__ for attack in ATTACKS}
    assert all(outcome.attacks.values()), outcome.attacks
    # Only `make soak` checks the duration of answers: other tests run here at the same time.
    assert outcome.growth <= MOST_GROWTH_MB, outcome.memory
    assert "Traceback" not in outcome.log
    assert table(outcome).row_count > 0
