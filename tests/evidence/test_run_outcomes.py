"""What a recorded run shows by its exit code and its output."""

import pytest

from goop_mcp.evidence.run_outcomes import EndedRun, result_of_run


@pytest.mark.parametrize(
    ("runner", "prints", "executed"),
    [
        ("rspec", "12 examples, 0 failures", 12),
        ("rspec", "12 examples, 0 failures, 2 pending", 10),
        ("mocha", "12 passing (4ms)", 12),
        ("dotnet", "Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12", 12),
        # It counts how many ran in a word of its own, which nothing else does.
        ("rails", "12 runs, 30 assertions, 0 failures, 0 errors, 0 skips", None),
    ],
)
def test_a_summary_that_does_not_count_what_passed_is_no_empty_run(
    runner: str, prints: str, executed: int | None
) -> None:
    argv = (runner, "test") if runner in ("dotnet", "rails") else (runner,)
    shown = result_of_run(EndedRun(name="tests", argv=argv, status=0, output=prints))
    assert (shown.outcome, shown.counts.executed) == ("passed", executed)


@pytest.mark.parametrize(
    "prints", ["0 examples, 0 failures", "0 passed in 0.1s", "12 skipped in 1s"]
)
def test_a_summary_that_counts_nothing_is_an_empty_run(prints: str) -> None:
    argv = ("rspec",) if "examples" in prints else ("pytest",)
    shown = result_of_run(EndedRun(name="tests", argv=argv, status=0, output=prints))
    assert shown.outcome == "nothing"
