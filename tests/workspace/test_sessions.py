"""The folders of spawned agents are created and read."""

import json
from pathlib import Path

import pytest

from goop_mcp.errors import PathRefusedError
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.sessions import create_session, list_sessions, read_session, read_sessions
from tests.requirements import requirement
from tests.workspace.projects import NOW

ID = "20251119-153042-grafana-validator"
OTHER = "20251119-160000-backend-api"


@requirement("H-42")
def test_a_session_has_its_five_files(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)

    folder = create_session(files, ID, prompt="# Task\n", created_at=NOW, agent="grafana-agent")

    assert folder == f"docs/.scratch/sessions/{ID}"
    assert set(files.names(folder)) == {
        "state.json",
        "prompt.md",
        "result.json",
        "output.log",
        "session.log",
    }
    assert files.read_text(f"{folder}/prompt.md") == "# Task\n"
    assert json.loads(files.read_text(f"{folder}/state.json") or "") == {
        "session_id": ID,
        "status": "CREATED",
        "agent": "grafana-agent",
        "created_at": NOW,
    }
    assert read_session(files, ID).status == "CREATED"


def test_a_session_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)
    create_session(files, ID, prompt="first", created_at=NOW)

    create_session(files, ID, prompt="second", created_at=NOW)

    assert read_session(files, ID).prompt == "first"


@requirement("H-46")
def test_results_come_as_a_list_in_order_and_a_missing_one_is_reported(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)
    for id in (ID, OTHER):
        create_session(files, id, prompt="x", created_at=NOW)

    (tmp_path / "docs/.scratch/sessions" / ID / "result.json").unlink()
    (tmp_path / "docs/.scratch/sessions" / OTHER / "result.json").write_text(
        '{"service_status": "up"}'
    )

    sessions = read_sessions(files, [OTHER, ID])

    assert [session.result for session in sessions] == [{"service_status": "up"}, None]
    assert [session.errors for session in sessions] == [
        (),
        (f"result.json is missing in session {ID}",),
    ]
    assert list_sessions(files) == (ID, OTHER)


def test_a_broken_result_is_reported_with_its_position(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)
    folder = create_session(files, ID, prompt="x", created_at=NOW)
    (tmp_path / folder / "result.json").write_text('{\n  "a": \n}')

    session = read_session(files, ID)

    assert session.errors == (
        f"{folder}/result.json cannot be read at line 3, column 1: unexpected '}}'",
    )


@pytest.mark.parametrize("id", ["", "../x", "a/b", "{session-id}", "x" * 300, "20251119-153042-"])
def test_an_id_of_another_form_creates_nothing(tmp_path: Path, id: str) -> None:
    with pytest.raises(PathRefusedError):
        create_session(ProjectFiles(tmp_path), id, prompt="x", created_at=NOW)
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_leads_out_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    sessions = tmp_path / "project/docs/.scratch/sessions"
    sessions.mkdir(parents=True)
    (sessions / ID).symlink_to(tmp_path / "elsewhere")
    files = ProjectFiles(tmp_path / "project")

    assert list_sessions(files) == ()
    with pytest.raises(PathRefusedError):
        read_session(files, ID)
