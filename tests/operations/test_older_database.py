"""A database of an earlier time next to files of a later one: everybody says so, and nobody is accused."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from goop_mcp.composition import Application
from goop_mcp.hosts.doctor.project import check_database
from goop_mcp.operations.project_status import project_status
from goop_mcp.settings import Settings
from tests.operations.reporting import record, report, working_in

SAID = (
    "the database is older than its own files: .goopspec/CHRONICLE.md shows revision {shown}, the"
    " database has {known}; put a newer copy back with goop-mcp restore FILE, unless the files came"
    " from"
)


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Application]:
    """Open a project whose files show five reports, and whose database has two of them."""
    database = tmp_path / ".goopspec" / "goop.db"
    with working_in(tmp_path) as workplace:
        for number in range(2):
            record(workplace, report(summary=f"Early {number}."))

    shutil.copy(database, tmp_path / "copy.db")
    with working_in(tmp_path) as workplace:
        for number in range(3):
            record(workplace, report(summary=f"Late {number}."))

    shutil.copy(tmp_path / "copy.db", database)
    with Application(Settings(project=tmp_path)) as application:
        yield application


def test_the_status_says_so_and_not_the_opposite(older: Application) -> None:
    status = project_status(older.workplace)

    assert not status.behind
    assert any(warning.startswith(SAID.format(shown=5, known=2)) for warning in status.warnings)
    assert "do not show all" not in status.to_markdown()


def test_doctor_says_so(older: Application) -> None:
    said = {check.message: check.fix for check in check_database(older)}
    message, _, cure = SAID.format(shown=5, known=2).partition("; ")
    assert (said[message] or "").startswith(cure)


def test_a_report_is_recorded_and_says_so_and_overwrites_nothing(older: Application) -> None:
    chronicle = older.files.root / ".goopspec" / "CHRONICLE.md"

    answer = record(older.writing_workplace(), report(summary="Recorded now."))

    assert answer.status == "recorded"
    assert answer.remarks[0].startswith(SAID.format(shown=5, known=2))
    assert not any("somebody" in remark for remark in answer.remarks)
    assert all(f"Late {number}." in chronicle.read_text() for number in range(3))


def test_a_database_that_is_as_old_as_its_files_is_not_called_older(tmp_path: Path) -> None:
    with working_in(tmp_path) as workplace:
        for number in range(3):
            assert record(workplace, report(summary=f"Report {number}.")).remarks == ()
        assert project_status(workplace).warnings == ()
