"""Finished sessions are packed away, and nothing is lost on the way."""

import io
import json
import shutil
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from goop_mcp.errors import PathRefusedError, UnwritableFileError, WorkspaceError
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.session_archive import archive_session, finished_sessions
from goop_mcp.workspace.sessions import create_session, list_sessions
from tests.cli.running import run
from tests.requirements import requirement
from tests.workspace.projects import NOW

OLD, NEW = "20250101-000000-old", datetime.now(UTC).strftime("%Y%m%d-%H%M%S-new")
SESSIONS = "docs/.scratch/sessions"


def session(root: Path, id: str, status: str = "COMPLETED") -> Path:
    """Create a session with results."""
    create_session(ProjectFiles(root), id, prompt="# Task\n" * 500, created_at=NOW)
    folder = root / SESSIONS / id
    (folder / "state.json").write_text(
        json.dumps({"session_id": id, "status": status}), encoding="utf-8"
    )
    (folder / "notes").mkdir()
    (folder / "notes" / "ä b.txt").write_bytes(b"\x00\xff")

    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def unpacked(root: Path, id: str) -> dict[str, bytes]:
    with tarfile.open(root / SESSIONS / f"{id}.tar.gz") as archive:
        return {
            member.name.removeprefix(f"{id}/"): (archive.extractfile(member) or io.BytesIO()).read()
            for member in archive
        }


@requirement("H-58")
def test_a_finished_session_becomes_one_smaller_file_with_all_that_was_in_it(
    tmp_path: Path,
) -> None:
    before = contents(session(tmp_path, OLD))

    done = archive_session(ProjectFiles(tmp_path), OLD)

    assert (done.files, done.kept) == (len(before), ())
    assert done.packed_bytes < done.bytes == sum(map(len, before.values()))
    assert unpacked(tmp_path, OLD) == before
    assert [path.name for path in (tmp_path / SESSIONS).iterdir()] == [f"{OLD}.tar.gz"]
    assert list_sessions(ProjectFiles(tmp_path)) == ()


def test_nothing_is_changed_when_it_is_only_tried(tmp_path: Path) -> None:
    session(tmp_path, OLD)
    before = contents(tmp_path)

    archive_session(ProjectFiles(tmp_path), OLD, dry_run=True)

    assert contents(tmp_path) == before


@pytest.mark.parametrize("status", ["CREATED", "RUNNING", "BLOCKED", "something", ""])
def test_a_session_in_which_somebody_may_work_is_left_alone(status: str, tmp_path: Path) -> None:
    before = contents(session(tmp_path, OLD, status))
    files = ProjectFiles(tmp_path)

    assert finished_sessions(files) == ()
    with pytest.raises(WorkspaceError, match=r"expected one of CANCELLED, COMPLETE"):
        archive_session(files, OLD)

    assert contents(tmp_path / SESSIONS / OLD) == before


def test_a_missing_session_is_reported_to_have_no_state(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="there is no session"):
        archive_session(ProjectFiles(tmp_path), OLD)


def test_only_sessions_that_began_before_a_time_are_chosen(tmp_path: Path) -> None:
    for id in (OLD, NEW):
        session(tmp_path, id)

    files = ProjectFiles(tmp_path)

    assert finished_sessions(files) == (OLD, NEW)
    assert finished_sessions(files, before=datetime.now(UTC) - timedelta(days=7)) == (OLD,)


def test_a_run_that_was_ended_before_the_folder_went_can_be_repeated(tmp_path: Path) -> None:
    folder = session(tmp_path, OLD)
    kept = shutil.copytree(folder, tmp_path / "kept")
    archive_session(ProjectFiles(tmp_path), OLD)
    archive = (tmp_path / SESSIONS / f"{OLD}.tar.gz").read_bytes()
    kept.rename(folder)

    archive_session(ProjectFiles(tmp_path), OLD)

    assert (tmp_path / SESSIONS / f"{OLD}.tar.gz").read_bytes() == archive
    assert not folder.exists()


def test_another_archive_of_the_same_name_is_never_written_over(tmp_path: Path) -> None:
    folder = session(tmp_path, OLD)
    (tmp_path / SESSIONS / f"{OLD}.tar.gz").write_bytes(b"somebody's")

    with pytest.raises(UnwritableFileError, match="another archive has its name"):
        archive_session(ProjectFiles(tmp_path), OLD)

    assert (tmp_path / SESSIONS / f"{OLD}.tar.gz").read_bytes() == b"somebody's"
    assert (folder / "prompt.md").exists()


@pytest.mark.parametrize("target", ["prompt.md", "/etc/hostname"])
def test_a_folder_with_a_link_in_it_is_left_alone(target: str, tmp_path: Path) -> None:
    folder = session(tmp_path, OLD)
    (folder / "link").symlink_to(target)

    with pytest.raises(PathRefusedError, match="is a link, which is not packed"):
        archive_session(ProjectFiles(tmp_path), OLD)

    assert (folder / "prompt.md").exists()
    assert not (tmp_path / SESSIONS / f"{OLD}.tar.gz").exists()


def test_the_command_packs_finished_and_old_sessions_and_names_each(tmp_path: Path) -> None:
    for id in (OLD, NEW):
        session(tmp_path, id)

    call = ["handoff", "archive", "--older-than", "30", "--project", str(tmp_path)]

    tried = run(*call, "--dry-run")
    done = run(*call)
    again = run(*call)

    assert (tried.code, done.code, again.code, again.out) == (0, 0, 0, "")
    assert tried.out.startswith(f"would pack {OLD}: 6 files, ")
    assert done.out == tried.out.replace("would pack", "packed")
    assert list_sessions(ProjectFiles(tmp_path)) == (NEW,)


def test_a_session_that_cannot_be_packed_stops_no_other(tmp_path: Path) -> None:
    session(tmp_path, OLD)
    ended = run("handoff", "archive", "20250101-000000-nothing", OLD, "--project", tmp_path)

    assert ended.code == 1
    assert ended.out.startswith(f"packed {OLD}: ")
    assert "there is no session 20250101-000000-nothing" in ended.err


def test_nothing_to_pack_is_reported_and_no_failure(tmp_path: Path) -> None:
    ended = run("handoff", "archive", "--project", tmp_path)
    assert (ended.code, ended.out, ended.err) == (
        0,
        "",
        "goop-mcp: there is no finished session to pack.\n",
    )
