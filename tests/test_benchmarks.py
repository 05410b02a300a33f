"""The tables of the benchmarks show the measured values and the right judgement."""

from benchmarks.server import BURST, PING, add_row
from benchmarks.tables import Table
from benchmarks.timing import Timing

BARE = Timing((1.0,) * 10)
FAST_ONCE = Timing((1.0, 1.0, *(3.0,) * 8))
"""A tenth of the samples is as fast as the bare server, the rest takes three times as long."""


def table_with(bound_name: str, ours: Timing) -> Table:
    table = Table("server", ())
    add_row(table, bound_name, ours, BARE, {"burst": BURST, "ping": PING}[bound_name])
    return table


def test_a_burst_is_judged_by_its_median_so_that_one_fast_sample_hides_nothing() -> None:
    table = table_with("burst", FAST_ONCE)

    assert table.rows[0][-1] == "DEFECT"
    assert table.rows[0][5:7] == ("1.00", "3.00")
    assert table.defects == ["server: burst"]


def test_a_burst_within_the_goal_is_well() -> None:
    assert table_with("burst", Timing((1.4,) * 10)).defects == []
    assert table_with("burst", Timing((1.4,) * 10)).rows[0][-1] == "ok"
    assert table_with("burst", Timing((1.5,) * 10)).rows[0][-1] == "over the goal"


def test_a_ping_is_judged_by_the_tenth_of_its_samples_that_nothing_else_disturbed() -> None:
    assert table_with("ping", FAST_ONCE).rows[0][-1] == "ok"
