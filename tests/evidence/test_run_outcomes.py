"""What a recorded run shows by its exit code and its output."""

import pytest

from goop_mcp.evidence.recorded_runs import RunCounts
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


# What vitest 4.1.12 and jest 30.5.2 print: a file that did not load and an error after the end of
# its test are in no result file of theirs, and in no count of tests.
OUTSIDE = [
    ("jest", "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 passed, 1 total\n"),
    ("vitest", " Test Files  1 failed | 1 passed (2)\n      Tests  1 passed (1)\n"),
    ("vitest", " Test Files  1 passed (1)\n      Tests  1 passed (1)\n     Errors  1 error\n"),
]
ONE_PASSED = RunCounts(1, 1, 0, 0, 0, "results.xml")


@pytest.mark.parametrize("counts", [None, ONE_PASSED], ids=["output", "file"])
@pytest.mark.parametrize(("runner", "prints"), OUTSIDE)
def test_what_failed_outside_of_any_test_outweighs_a_file_without_a_failure(
    runner: str, prints: str, counts: RunCounts | None
) -> None:
    ended = EndedRun(name="tests", argv=("npx", runner), status=1, output=prints, counts=counts)
    assert result_of_run(ended).outcome == "failed"

    # vitest may ignore such errors, and a script of the project may hide the status.
    for argv in (ended.argv, ("npm", "test")):
        shown = result_of_run(ended._replace(argv=argv, status=0))
        assert shown.outcome in {"unknown", "unproven"}
        assert "its output shows " in shown.why


@pytest.mark.parametrize(("runner", "prints"), OUTSIDE)
def test_a_summary_of_good_files_is_no_failure(runner: str, prints: str) -> None:
    good = prints.replace("1 failed", "1 skipped").replace("Errors  1 error", "")
    shown = result_of_run(EndedRun(name="tests", argv=("npx", runner), status=0, output=good))
    assert (shown.outcome, shown.counts.passed) == ("passed", 1)
