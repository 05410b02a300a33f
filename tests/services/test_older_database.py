"""A database that is older than the files next to it: every surface reports it, without blame."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.context import AppContext
from goop_mcp.hosts.doctor.project import check_database
from goop_mcp.services.project_status import project_status
from goop_mcp.settings import Settings
from tests.services.reporting import record, report, working_in

WARNING = (
    "the database is older than its own files: .goopspec/CHRONICLE.md shows revision {shown}, the"
    " database has {known}; put a newer copy back with goop-mcp restore FILE, unless the files came"
    " from"
)


@pytest.fixture
def older(tmp_path: Path) -> Iterator[AppContext]:
    """Open a project whose files show five reports, and whose database has two of them."""
    database = tmp_path / ".goopspec" / "goop.db"
    with working_in(tmp_path) as project_context:
        for number in range(2):
            record(project_context, report(summary=f"Early {number}."))

    shutil.copy(database, tmp_path / "copy.db")
    with working_in(tmp_path) as project_context:
        for number in range(3):
            record(project_context, report(summary=f"Late {number}."))

    shutil.copy(tmp_path / "copy.db", database)
    with AppContext(Settings(project=tmp_path)) as application:
        yield application


def test_the_status_says_so_and_not_the_opposite(older: AppContext) -> None:
    status = project_status(older.project_context)

    assert not status.is_stale
    assert any(warning.startswith(WARNING.format(shown=5, known=2)) for warning in status.warnings)
    assert "do not show all" not in status.to_markdown()


def test_doctor_says_so(older: AppContext) -> None:
    fixes = {check.message: check.fix for check in check_database(older)}
    message, _, fix = WARNING.format(shown=5, known=2).partition("; ")
    assert (fixes[message] or "").startswith(fix)


def test_a_report_is_recorded_and_says_so_and_overwrites_nothing(older: AppContext) -> None:
    chronicle = older.files.root / ".goopspec" / "CHRONICLE.md"

    answer = record(older.writing_context(), report(summary="Recorded now."))

    assert answer.status == "recorded"
    assert answer.remarks[0].startswith(WARNING.format(shown=5, known=2))
    assert not any("somebody" in remark for remark in answer.remarks)
    assert all(f"Late {number}." in chronicle.read_text() for number in range(3))


def test_a_database_that_is_as_old_as_its_files_is_not_called_older(tmp_path: Path) -> None:
    with working_in(tmp_path) as project_context:
        for number in range(3):
            assert record(project_context, report(summary=f"Report {number}.")).remarks == ()
        assert project_status(project_context).warnings == ()
