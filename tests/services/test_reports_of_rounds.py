"""Reports count in the round they were recorded in, and only until they are retired."""

from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import snapshot_in, take_snapshot
from goop_mcp.services.recorded_reports import ReportArgumentError
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import Round
from tests.services.reporting import NOW, record, report, working_in
from tests.store.rows import REPORT


def begin_next_round(writing: WriteTransaction) -> Round:
    writing.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
    return writing.open_round(name=None, opened_at=NOW)


def done(project_context: ProjectContext) -> tuple[str, ...]:
    return take_snapshot(project_context).records.done


def test_a_new_round_begins_without_any_report(tmp_path: Path) -> None:
    with working_in(tmp_path) as ours, working_in(tmp_path) as theirs:
        record(ours, report(task="W1.T1"))
        record(ours, report(task="W1.T2", status="BLOCKED"))
        assert done(theirs) == ("W1.T1",)

        ours.store.write(begin_next_round)
        for context in (ours, theirs):
            snapshot = take_snapshot(context)
            assert (snapshot.round.number, snapshot.records.done) == (2, ())
            assert snapshot.records.blockers == ()

        record(theirs, report(task="W1.T3"))
        assert done(ours) == done(theirs) == ("W1.T3",)

        theirs.store.write(
            lambda writing: writing.close_round(outcome="accept", closed_at=NOW, plan_sha256=None)
        )
        theirs.store.write(lambda writing: writing.reopen_round())
        assert done(ours) == ("W1.T3",)


def test_the_same_envelope_is_another_report_in_another_round(tmp_path: Path) -> None:
    with working_in(tmp_path) as project_context:
        first = record(project_context, report())
        assert record(project_context, report()).status == "duplicate"

        project_context.store.write(begin_next_round)
        # Before anything runs in the second round, it can only be the reply of the first.
        with pytest.raises(ReportArgumentError, match="report 1, which belongs to round 1"):
            record(project_context, report())
        record(project_context, report(task="W1.T1"))
        second = record(project_context, report())
        assert second.remarks[0] == "Same words as report 1 of round 1."
        again = record(project_context, report())
        assert (first.status, second.status, again.status) == (
            "recorded",
            "recorded",
            "duplicate",
        )
        assert (first.written.report, second.written.report, again.written.report) == (1, 3, 3)
        assert project_context.store.read(
            lambda reading: [each.round for each in reading.reports()]
        ) == [2, 2, 1]


def test_a_retired_report_counts_nowhere_and_may_be_recorded_again(tmp_path: Path) -> None:
    with working_in(tmp_path) as ours, working_in(tmp_path) as theirs:
        record(ours, report(task="W1.T1"))
        record(ours, report(task="W1.T2"))
        assert done(theirs) == ("W1.T2", "W1.T1")

        ours.store.write(lambda writing: writing.retire_reports([2], reason="withdrawn"))
        assert done(ours) == done(theirs) == ("W1.T1",)
        # The decision about the next report does not count it either.
        record(theirs, report(task="W1.T3"))
        assert done(ours) == done(theirs) == ("W1.T3", "W1.T1")

        assert record(ours, report(task="W1.T2")).status == "recorded"
        assert done(theirs) == ("W1.T2", "W1.T3", "W1.T1")


def test_what_a_change_saw_that_was_rolled_back_is_forgotten(tmp_path: Path) -> None:
    with working_in(tmp_path) as project_context:
        record(project_context, report(task="W1.T1"))
        record(project_context, report(task="W1.T2"))
        assert done(project_context) == ("W1.T2", "W1.T1")

        def retire_and_fail(writing: WriteTransaction) -> None:
            writing.retire_reports([2], reason="withdrawn")
            assert snapshot_in(project_context, writing).records.done == ("W1.T1",)
            raise KeyError

        with pytest.raises(KeyError):
            project_context.store.write(retire_and_fail)

        # This change gets the revision that the failed one had.
        project_context.store.write(lambda writing: writing.retire_reports([1], reason="withdrawn"))
        assert done(project_context) == ("W1.T2",)


def test_a_snapshot_of_the_round_before_is_brought_up_to_the_present_one(tmp_path: Path) -> None:
    with working_in(tmp_path) as ours, working_in(tmp_path) as theirs:
        record(ours, report(task="W1.T1"))
        before = take_snapshot(ours)
        theirs.store.write(begin_next_round)
        record(theirs, report(task="W1.T3"))

        new = replace(REPORT, task_id="W1.T2", round=2)
        after = ours.store.read(lambda reading: before.with_reports(reading, new))
        assert (after.round.number, after.records.done) == (2, ("W1.T2", "W1.T3"))
