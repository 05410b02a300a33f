"""goopspec.db of GoopSpec 1.x is read as it is at that moment, and never changed."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from goop_mcp.server import create_server
from goop_mcp.services.check_workspace import check_workspace
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_status import project_status
from goop_mcp.settings import Settings
from goop_mcp.store.opening import open_store
from goop_mcp.workflow.gates import GateName
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.goopspec_database import read_work
from goop_mcp.workspace.state import ProjectState, StateDefect, StateShape, read_state
from tests.cli.running import run
from tests.requirements import requirement
from tests.rights import ordinary_rights
from tests.server.connections import PROTOCOL_MODES, connect
from tests.services.reporting import report
from tests.workspace.goopspec_databases import make_database, opened
from tests.workspace.true_projects import write


def state_of(project: Path) -> ProjectState:
    state = read_state(ProjectFiles(project))
    assert isinstance(state, ProjectState), state
    return state


def seen(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (project / ".goopspec").iterdir()}


@requirement("P-05", "P-16")
def test_state_is_that_of_the_active_workflow(tmp_path: Path) -> None:
    make_database(tmp_path)
    state = state_of(tmp_path)

    assert (state.profile, state.phase, state.workflow_id) == ("v1", "execute", "login")
    assert (state.spec_locked, state.current_wave, state.total_waves) == (True, 2, 2)
    assert state.shape is StateShape.VERSION_2_WORKFLOWS
    assert not state.writable


def test_database_goes_before_an_old_state_file(tmp_path: Path) -> None:
    write(tmp_path, ".goopspec/state.json", '{"version": 1, "workflow": {"phase": "plan"}}')
    assert state_of(tmp_path).phase == "plan"

    make_database(tmp_path)
    assert state_of(tmp_path).phase == "execute"


def test_reading_creates_no_files(tmp_path: Path) -> None:
    make_database(tmp_path)
    before = seen(tmp_path)
    assert list(before) == ["goopspec.db"]

    assert read_work(ProjectFiles(tmp_path), "login") is not None
    assert state_of(tmp_path).phase == "execute"

    assert seen(tmp_path) == before


def test_rows_that_are_still_in_the_log_of_a_running_program_are_read(tmp_path: Path) -> None:
    connection = opened(tmp_path)
    try:
        assert (tmp_path / ".goopspec" / "goopspec.db-wal").stat().st_size > 0
        assert state_of(tmp_path).phase == "execute"
        connection.execute("UPDATE wave_tasks SET status = 'done' WHERE description = 'Service'")
        connection.commit()
        work = read_work(ProjectFiles(tmp_path), "login")
        assert work is not None
        assert "W2.T1" in work.done
        connection.execute("BEGIN IMMEDIATE")
        assert state_of(tmp_path).phase == "execute"
    finally:
        connection.close()


def test_log_that_a_killed_program_left_is_read_from_a_copy(tmp_path: Path) -> None:
    connection = opened(tmp_path / "running")
    shutil.copytree(tmp_path / "running", tmp_path / "left", ignore=shutil.ignore_patterns("*-shm"))
    connection.close()
    before = seen(tmp_path / "left")
    assert "goopspec.db-wal" in before

    assert state_of(tmp_path / "left").phase == "execute"
    assert seen(tmp_path / "left") == before


@pytest.mark.parametrize("log", [False, True])
def test_folder_that_cannot_be_written_is_read(tmp_path: Path, log: bool) -> None:
    connection = opened(tmp_path / "running")
    if not log:
        connection.close()

    shutil.copytree(tmp_path / "running", tmp_path / "left", ignore=shutil.ignore_patterns("*-shm"))
    connection.close()
    folder = tmp_path / "left" / ".goopspec"
    before = seen(tmp_path / "left")
    for file in folder.iterdir():
        file.chmod(0o444)

    folder.chmod(0o555)

    try:
        with ordinary_rights():
            assert state_of(tmp_path / "left").phase == "execute"
            work = read_work(ProjectFiles(tmp_path / "left"), "login")
    finally:
        folder.chmod(0o755)

    assert work is not None
    assert work.done == ("W1.T1", "W1.T2")
    assert seen(tmp_path / "left") == before


def test_work_is_read_of_the_workflow_that_was_asked_for(tmp_path: Path) -> None:
    make_database(tmp_path)
    work = read_work(ProjectFiles(tmp_path), "login")

    assert work is not None
    assert [(wave.number, wave.name, len(wave.tasks)) for wave in work.waves] == [
        (1, "Foundation", 2),
        (2, "Core", 2),
    ]
    assert (work.done, work.begun) == (("W1.T1", "W1.T2"), ("W2.T1",))
    checks = [(check.wave, check.name, check.status, check.detail) for check in work.verifications]
    assert checks == [(1, "test", "passed", "12 passed"), (2, "lint", "failed", "unused import")]
    assert [check.name for check in work.failed] == ["lint"]
    assert not work.verified
    assert work.blockers == ("No key for the payment service (high)",)


@requirement("P-16")
def test_status_shows_waves_checks_and_blockers(tmp_path: Path) -> None:
    make_database(tmp_path)
    status = project_status(
        ProjectContext(store=open_store(None, project=tmp_path), files=ProjectFiles(tmp_path))
    )

    assert (status.profile, status.phase, status.current_wave) == ("v1", "execute", 2)
    assert [(task.id, task.status) for task in status.tasks] == [
        ("W1.T1", "done"),
        ("W1.T2", "done"),
        ("W2.T1", "open"),
        ("W2.T2", "pending"),
    ]
    assert status.blockers == ("No key for the payment service (high)",)
    values = status.to_dict()
    assert values["verifications"][1] == {
        "wave": 2,
        "name": "lint",
        "status": "failed",
        "detail": "unused import",
    }
    execution = next(gate for gate in status.gates if gate.gate is GateName.EXECUTION)
    assert set(execution.missing) == {
        "all waves and tasks done",
        "a last report without failed checks for every task",
        "an answer to every blocker",
    }


def test_command_line_and_server_show_it(tmp_path: Path) -> None:
    make_database(tmp_path)

    out = run("status", cwd=tmp_path).out
    for text in (
        "Service",
        "lint: failed (wave 2): unused import",
        "No key for the payment service (high)",
    ):
        assert text in out

    with connect(create_server(Settings(project=tmp_path)), PROTOCOL_MODES[0]) as connection:
        content = connection.tool("project_status").structured_content

    assert content is not None
    assert [check["status"] for check in content["verifications"]] == ["passed", "failed"]
    assert content["profile"] == "v1"


def test_claims_are_compared_with_the_database(tmp_path: Path) -> None:
    make_database(tmp_path)

    def found(task: str, **parts: str) -> set[str]:
        return {each.rule for each in check_workspace(report(task, **parts), tmp_path).findings}

    assert "evidence/task-not-in-blueprint" not in found("W2.T1")
    assert "evidence/task-not-in-blueprint" in found("W9.T1")


def test_documents_of_the_workflow_default_are_found_in_its_folder(tmp_path: Path) -> None:
    connection = opened(tmp_path)
    connection.execute("UPDATE workflows SET id = 'default' WHERE id = 'login'")
    connection.execute(
        """UPDATE workflows SET state = '{"activeWorkflowId": "default"}' WHERE id = '_meta'"""
    )
    connection.commit()
    connection.close()
    write(tmp_path, ".goopspec/default/SPEC.md", "# SPEC: demo\n")

    status = project_status(
        ProjectContext(store=open_store(None, project=tmp_path), files=ProjectFiles(tmp_path))
    )

    assert status.project == "demo"


@pytest.mark.parametrize("content", [b"", b"no database at all, only text " * 40])
def test_file_that_is_no_database_is_named_and_stops_nothing(
    tmp_path: Path, content: bytes
) -> None:
    place = tmp_path / ".goopspec" / "goopspec.db"
    place.parent.mkdir()
    place.write_bytes(content)

    state = read_state(ProjectFiles(tmp_path))

    if content:
        assert isinstance(state, StateDefect)
        assert "goopspec.db cannot be read" in state.message
        assert str(tmp_path) not in state.message
        assert run("status", cwd=tmp_path).code == 0
    else:
        assert state is None


def test_damaged_database_is_named(tmp_path: Path) -> None:
    place = make_database(tmp_path)
    content = bytearray(place.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    place.write_bytes(content)

    assert isinstance(read_state(ProjectFiles(tmp_path)), StateDefect)


@pytest.mark.parametrize("kind", ["view", "link", "folder"])
def test_what_only_looks_like_the_database_is_not_followed(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "project" / ".goopspec" / "goopspec.db"
    place.parent.mkdir(parents=True)
    if kind == "view":
        connection = sqlite3.connect(place)
        connection.execute(
            "CREATE VIEW workflows AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1"
            " FROM n) SELECT id, '{}' AS state FROM n"
        )
        connection.close()
    elif kind == "link":
        place.symlink_to(make_database(tmp_path / "outside"))
    else:
        place.mkdir()

    assert read_state(ProjectFiles(tmp_path / "project")) is None


@pytest.mark.parametrize("name", ["goopspec.db-wal", "goopspec.db-shm", "goopspec.db-journal"])
def test_pipe_next_to_the_database_stops_nobody(tmp_path: Path, name: str) -> None:
    place = make_database(tmp_path)
    os.mkfifo(place.with_name(name))

    state = read_state(ProjectFiles(tmp_path))

    assert isinstance(state, StateDefect)
    assert f"{name} is not a file" in state.message


def test_database_that_asks_for_endless_work_is_left(tmp_path: Path) -> None:
    place = tmp_path / ".goopspec" / "goopspec.db"
    place.parent.mkdir()
    connection = sqlite3.connect(place)
    connection.execute("CREATE TABLE workflows (id TEXT, state TEXT)")
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
        "INSERT INTO workflows SELECT 'w' || i, '{}' FROM n"
    )
    connection.commit()
    connection.close()

    assert state_of(tmp_path).phase == "idle"
