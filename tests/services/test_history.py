"""Recording a report costs the same however many were recorded before."""

import re
import statistics
from pathlib import Path

import pytest

from benchmarks.history import load_reports, make_database
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import take_snapshot
from tests.services.reporting import record, report, working_in

COUNTS = Path("/proc/self/io")
_BYTES = re.compile(r"(rchar|wchar): (\d+)")
CALLS = 15


def bytes_moved(project_context: ProjectContext, calls: range) -> dict[str, float]:
    """Return how many bytes a call reads and writes, the median of all."""
    moved: dict[str, list[int]] = {"rchar": [], "wchar": []}
    for number in calls:
        before = dict(_BYTES.findall(COUNTS.read_text()))
        answer = record(
            project_context, report(task=f"W1.T{number % 5 + 1}", summary=f"Went on {number}.")
        )
        after = dict(_BYTES.findall(COUNTS.read_text()))
        assert (answer.status, answer.remarks) == ("recorded", ())
        for kind, values in moved.items():
            values.append(int(after[kind]) - int(before[kind]))

    return {kind: statistics.median(values) for kind, values in moved.items()}


@pytest.mark.skipif(not COUNTS.exists(), reason="this system does not count the bytes of a process")
def test_a_call_moves_as_many_bytes_after_ten_thousand_reports_as_after_a_thousand(
    tmp_path: Path,
) -> None:
    sizes = {}
    for loaded in (1_000, 10_000):
        project = tmp_path / str(loaded)
        project.mkdir()
        load_reports(make_database(project), loaded, tasks=5)

        with working_in(project) as project_context:
            # The first call brings the documents up to what was loaded.
            bytes_moved(project_context, range(3))
            sizes[loaded] = bytes_moved(project_context, range(3, 3 + CALLS))

    few, many = sizes[1_000], sizes[10_000]
    assert many["wchar"] < few["wchar"] * 1.5
    assert many["rchar"] < few["rchar"] * 1.5


def test_the_diary_shows_the_newest_and_the_archive_the_others(tmp_path: Path) -> None:
    load_reports(make_database(tmp_path), 1_000)
    with working_in(tmp_path) as project_context:
        record(project_context, report(summary="The newest."))

    folder = tmp_path / ".goopspec"
    shown = (folder / "CHRONICLE.md").read_text()
    archived = "".join(path.read_text() for path in (folder / "archive").iterdir())
    assert (shown.count("<!-- goop:rev "), archived.count("<!-- goop:rev ")) == (100, 901)
    assert "The newest." in shown
    assert "Loaded 901:" in archived
    assert "Loaded 902:" in shown


def test_a_task_each_costs_a_process_no_more_than_its_first_report(tmp_path: Path) -> None:
    load_reports(make_database(tmp_path), 3_000, tasks=3_000)
    with working_in(tmp_path) as project_context:
        moved = [
            bytes_moved(project_context, range(number, number + 1))["rchar"] for number in range(6)
        ]
    # The first call reads three thousand envelopes.
    assert statistics.median(moved[1:]) * 5 < moved[0]


def test_what_others_record_meanwhile_counts_with_the_next_report(tmp_path: Path) -> None:
    with working_in(tmp_path) as ours, working_in(tmp_path) as theirs:
        record(ours, report(task="W1.T1"))
        record(theirs, report(task="W1.T2", status="BLOCKED"))
        record(ours, report(task="W1.T3"))
        assert take_snapshot(ours).records == take_snapshot(theirs).records
        assert take_snapshot(ours).records.done == ("W1.T3", "W1.T1")
        assert take_snapshot(ours).records.blockers == ("Nobody decided",)


def test_a_database_that_was_restored_is_read_again(tmp_path: Path) -> None:
    with working_in(tmp_path) as project_context:
        record(project_context, report(task="W1.T1"))
        project_context.store.backup(tmp_path / "copy.db")
        for task in ("W1.T2", "W1.T3"):
            record(project_context, report(task=task))

        assert take_snapshot(project_context).records.done == ("W1.T3", "W1.T2", "W1.T1")

        project_context.store.restore(tmp_path / "copy.db")
        assert take_snapshot(project_context).records.done == ("W1.T1",)
        for task in ("W1.T4", "W1.T5"):
            record(project_context, report(task=task))

        assert take_snapshot(project_context).records.done == ("W1.T5", "W1.T4", "W1.T1")
