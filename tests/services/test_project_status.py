"""The status of a project is complete in any state, and reading it changes nothing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp.context import AppContext
from goop_mcp.messages import check_message
from goop_mcp.server.models import StatusModel
from goop_mcp.services.project_status import ProjectStatus, project_status
from goop_mcp.settings import DatabaseUrl, Settings
from tests.postgres import Database
from tests.requirements import requirement
from tests.services.redaction_samples import AWS_KEY
from tests.services.reporting import record, report, working_in
from tests.workspace.projects import CASES, copied


def status_of(folder: Path) -> ProjectStatus:
    with AppContext(Settings(project=folder)) as application:
        return project_status(application.project_context)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_reading_any_project_changes_nothing_and_is_shown_in_the_style(
    tmp_path: Path, case: str
) -> None:
    copied(case, tmp_path)
    before = files_below(tmp_path)

    status = status_of(tmp_path)

    StatusModel.model_validate(status.to_dict())
    for message in status.to_markdown().split("\n---\n"):
        if message.strip():
            assert check_message(message.strip() + "\n\n---\n") == ()

    assert files_below(tmp_path) == before


def test_an_empty_folder_has_not_begun(tmp_path: Path) -> None:
    status = status_of(tmp_path)

    assert (status.exists, status.phase, status.next_command) == (False, None, None)
    assert (status.parts.used, len(status.parts.unused)) == ((), 4)
    assert "begins with `goop-mcp init`" in status.to_markdown()
    assert not status.has_database
    assert "does not exist yet" in status.to_markdown()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_an_interrupted_init_left_is_completed_by_init(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec/SPEC.md").write_text("# SPEC\n", "utf-8")

    status = status_of(tmp_path)

    # Every step is refused without a state, with the same command.
    assert (status.exists, status.phase, status.next_command) == (True, None, "goop-mcp init")
    assert "→ `goop-mcp init`" in status.to_markdown()


def test_only_the_first_twenty_blockers_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    with working_in(tmp_path) as project_context:
        status = project_status(project_context)

    def shown(number: int) -> list[str]:
        blockers = tuple(f"Nr. {each}" for each in range(1, number + 1))
        text = replace(status, blockers=blockers).to_markdown()
        return text.partition("Blockers\n\n")[2].partition("\n\n---")[0].split("\n\n")

    assert shown(20)[19:] == ["Nr. 20"]
    assert shown(23)[19:] == ["Nr. 20", "… and 3 more"]


@requirement("V-15")
def test_gates_progress_and_blockers_are_those_of_the_reports(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project_context:
        record(project_context, report("W1.T1"))
        record(project_context, report("W1.T2", passed="false"))
        record(project_context, report("W2.T1", status="BLOCKED"))
        status = project_status(project_context)

    assert [(wave.number, [task.status for task in wave.tasks]) for wave in status.waves] == [
        (1, ["done", "failed"]),
        (2, ["open", "pending"]),
        (3, ["pending", "pending"]),
    ]
    assert status.blockers == ("Nobody decided",)
    assert status.gate_ahead is not None
    assert (status.gate_ahead.gate, status.next_command) == ("Execution", "/goop-execute")
    assert status.gate_ahead.sentence == "Execution incomplete. 1 task remaining in Wave 1."
    assert (status.reports, status.revision) == (3, 3)
    text = status.to_markdown()
    assert "| Spec Lock | 🔒 Locked |" in text
    assert "- ✓ Task 1.1: Create the table" in text
    assert "✗ Execution incomplete. 1 task remaining in Wave 1." in text


def test_a_corrupt_state_is_reported_with_its_position(tmp_path: Path) -> None:
    copied("corrupt", tmp_path)
    status = status_of(tmp_path)

    (finding,) = [each for each in status.drift if each.rule == "workflow/state-corrupt"]
    assert finding.line is not None
    assert (status.phase, status.next_command) == (None, None)


def test_what_people_changed_of_ours_is_an_open_conflict(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project_context:
        record(project_context, report())
        path = tmp_path / ".goopspec/CHRONICLE.md"
        path.write_text(
            path.read_text(encoding="utf-8").replace("went on", "did not"), encoding="utf-8"
        )
        assert not project_status(project_context).is_stale
        record(project_context, report("W2.T2"))
        status = project_status(project_context)

    (conflict,) = status.conflicts
    assert conflict.path == ".goopspec/CHRONICLE.md"
    assert conflict.ours in status.to_markdown()


def test_a_damaged_database_is_a_warning_and_the_files_are_still_shown(
    tmp_path: Path,
) -> None:
    copied("profile_0x", tmp_path)
    (tmp_path / ".goopspec/goop.db").write_bytes(b"this is no database" * 100)

    status = status_of(tmp_path)

    assert status.phase == "execute"
    assert len(status.warnings) == 1
    assert (
        status.to_dict()["reports"],
        status.to_dict()["memories"],
        status.to_dict()["revision"],
    ) == (None,) * 3
    assert "0 reports" not in status.to_markdown()
    assert str(tmp_path) not in json.dumps(status.to_dict())


def test_secrets_that_people_wrote_into_documents_are_not_shown(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    path = tmp_path / ".goopspec/BLUEPRINT.md"
    path.write_text(
        path.read_text(encoding="utf-8").replace("Tokens", f"Tokens {AWS_KEY}"), encoding="utf-8"
    )

    status = status_of(tmp_path)
    assert AWS_KEY not in json.dumps(status.to_dict()) + status.to_markdown()
    assert "[REDACTED]" in status.to_markdown() or "[REDACTED]" in json.dumps(status.to_dict())


def test_the_newest_checkpoint_and_events_are_shown_and_broken_ones_named(
    tmp_path: Path,
) -> None:
    copied("checkpoints", tmp_path)
    history = tmp_path / ".goopspec/history"
    history.mkdir()
    (history / "2026-01-18.json").write_text(
        f'[{{"time": "16:00", "message": "Saved {AWS_KEY}"}}]', encoding="utf-8"
    )
    (history / "2026-01-19.json").write_text("[", encoding="utf-8")

    status = status_of(tmp_path)

    values = status.to_dict()
    assert values["checkpoints"] == {
        "number": 3,
        "newest": "cp-2",
        "saved_at": "2026-01-18T16:00:00+00:00",
        "phase": "execute",
    }
    assert values["events"] == [{"day": "2026-01-18", "time": "16:00", "text": "Saved [REDACTED]"}]
    assert any("checkpoints/torn.json cannot be read" in message for message in status.unreadable)
    assert any("history/2026-01-19.json cannot be read" in message for message in status.unreadable)
    text = status.to_markdown()
    assert "3 saved; the newest is cp-2 (2026-01-18T16:00:00+00:00, phase execute)" in text
    assert "16:00: Saved [REDACTED]" in text


# Many machines on one database


def shared_status(database: Database, folder: Path, *reports: str) -> ProjectStatus:
    settings = Settings(project=folder, database=DatabaseUrl(database.url()), project_id="shop")
    with AppContext(settings) as application:
        for text in reports:
            record(application.writing_context(), text)
        return project_status(application.project_context)


def missing_documents(status: ProjectStatus) -> list[str | None]:
    return [each.path for each in status.drift if each.rule == "workflow/context-file-missing"]


def test_without_the_folder_only_the_records_are_shown(tmp_path: Path, database: Database) -> None:
    reports = (
        report("W1.T1"),
        report("W1.T2", passed="false"),
        report("W2.T1", status="BLOCKED", new_session="true"),
    )
    status = shared_status(database, tmp_path, *reports)

    assert (status.exists, status.phase, status.next_command, status.gate_ahead) == (
        False,
        None,
        None,
        None,
    )
    assert (status.spec_locked, status.interview_complete, status.accepted, status.gates) == (
        None,
        None,
        None,
        (),
    )
    assert status.reported == {"done": ("W1.T1",), "failed": ("W1.T2",), "open": ("W2.T1",)}
    assert status.blockers == ("Nobody decided",)
    assert status.resources == ("goop://project/CHRONICLE.md",)
    text = status.to_markdown()
    assert "Phase, gates and plan are not known here" in text
    assert "failed: W1.T2" in text
    assert "no file is written" in text
    assert "Pending" not in text
    StatusModel.model_validate(status.to_dict())
    assert [
        check_message(f"{each.strip()}\n\n---\n") for each in text.split("\n---\n") if each.strip()
    ] == [()] * 5
    assert list(tmp_path.iterdir()) == []


def test_with_the_folder_gates_and_drift_are_judged_with_the_records(
    tmp_path: Path, database: Database
) -> None:
    copied("profile_0x", tmp_path)
    (tmp_path / ".goopspec" / "CHRONICLE.md").unlink()
    before = files_below(tmp_path)
    before_it = shared_status(database, tmp_path)
    status = shared_status(database, tmp_path, report("W2.T1"))

    assert (status.exists, status.phase) == (True, "execute")
    assert status.gate_ahead is not None
    assert status.resources == ("goop://project/CHRONICLE.md", "goop://project/state.json")
    assert missing_documents(before_it) == ["CHRONICLE.md"]
    assert missing_documents(status) == []
    assert files_below(tmp_path) == before


def test_an_unreachable_shared_database_is_reported(tmp_path: Path) -> None:
    url = DatabaseUrl("postgresql://goop@127.0.0.1:9/goop")
    with AppContext(Settings(project=tmp_path, database=url, project_id="shop")) as application:
        status = project_status(application.project_context)
    assert "cannot be reached" in status.to_markdown()
    assert (status.to_dict()["reports"], status.resources) == (None, ())


def test_what_waits_is_listed_up_to_a_bound_and_the_rest_is_counted(tmp_path: Path) -> None:
    copied("profile_0x", tmp_path)
    with working_in(tmp_path) as project:
        for number in range(1, 26):
            record(project, report(f"W9.T{number}", status="BLOCKED"))
        status = project_status(project)

    waiting = len(status.waiting)
    assert waiting >= 25
    found = StatusModel.model_validate(status.to_dict())
    assert (len(found.waiting), found.waiting_omitted) == (20, waiting - 20)
    assert f"and {waiting - 20} more" in status.to_markdown()
