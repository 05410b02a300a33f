"""A file of ours is replaced whole or not at all, and nothing else is ever written."""

import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.errors import PathRefusedError, UnwritableFileError
from goop_mcp.store.failpoints import Failpoint
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import (
    SESSION_FILES,
    document_path,
    is_named_session,
    may_write,
    session_folder,
)
from goop_mcp.workspace.replacing import create_file, replace_file, sha256, sweep_strays
from tests.requirements import requirement
from tests.rights import ordinary_rights

PATH = ".goopspec/CHRONICLE.md"


@pytest.fixture
def project(tmp_path: Path) -> ProjectFiles:
    return ProjectFiles(tmp_path)


def test_a_file_is_created_with_its_folder_and_then_replaced(project: ProjectFiles) -> None:
    assert replace_file(project, PATH, b"one") == sha256(b"one")
    replace_file(project, PATH, b"two")

    assert project.read_bytes(PATH) == b"two"
    assert project.names(".goopspec") == (".gitignore", "CHRONICLE.md")


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_the_mode_of_a_file_is_kept(project: ProjectFiles, mode: int) -> None:
    replace_file(project, PATH, b"one")
    (project.root / PATH).chmod(mode)

    replace_file(project, PATH, b"two")

    assert stat.S_IMODE((project.root / PATH).stat().st_mode) == mode


def test_a_link_in_place_of_the_file_is_refused(project: ProjectFiles) -> None:
    (project.root / ".goopspec").mkdir()
    (project.root / "diary.md").write_bytes(b"a person's diary")
    (project.root / PATH).symlink_to("../diary.md")

    with pytest.raises(PathRefusedError, match="is a link"):
        replace_file(project, PATH, b"ours")

    assert (project.root / "diary.md").read_bytes() == b"a person's diary"


def test_a_folder_that_leads_out_is_refused(
    project: ProjectFiles, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (project.root / ".goopspec").symlink_to(elsewhere, target_is_directory=True)

    with pytest.raises(PathRefusedError, match="leads out of the project"):
        replace_file(project, PATH, b"ours")

    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        ".goopspec/goop.db",
        ".goopspec/memory.db",
        ".goopspec/STATE.md",
        ".goopspec/archive/SPEC.md",
        ".goopspec/quick/SPEC.md",
        ".goopspec/chronicle.md",
        ".goopspec/sessions/-x/HANDOFF.md/a",
        "docs/.scratch/sessions/x/prompt.md",
        "docs/.scratch/sessions/20260115-103000-x/run.sh",
    ],
)
def test_what_is_not_ours_is_not_written(project: ProjectFiles, path: str) -> None:
    with pytest.raises(PathRefusedError, match="is not ours to write"):
        replace_file(project, path, b"x")
    assert list(project.root.iterdir()) == []


@requirement("P-17")
@pytest.mark.parametrize("name", ["SPEC.md", "BLUEPRINT.md", "REQUIREMENTS.md"])
def test_the_contract_and_the_plan_are_created_once_and_then_only_read(
    project: ProjectFiles, name: str
) -> None:
    assert create_file(project, f".goopspec/{name}", b"headings")

    with pytest.raises(PathRefusedError, match="is not ours to write"):
        replace_file(project, f".goopspec/{name}", b"another contract")

    assert project.read_bytes(f".goopspec/{name}") == b"headings"


def test_the_list_holds_what_we_write() -> None:
    named = document_path("HANDOFF.md", session="feature-auth")
    folder = session_folder("20260115-103000-auth")

    assert named == ".goopspec/sessions/feature-auth/HANDOFF.md"
    assert all(
        map(may_write, [PATH, ".goopspec/state.json", ".goopspec/HANDOFF.conflict-41.md", named])
    )
    assert all(may_write(f"{folder}/{name}") for name in SESSION_FILES)


@pytest.mark.parametrize("id", ["", "a", "-a", "a-", "Auth", "a/b", "../x", "a" * 51, "a b"])
def test_an_id_of_a_session_that_is_none_is_refused(id: str) -> None:
    assert not is_named_session(id)
    with pytest.raises(PathRefusedError, match="is not valid"):
        document_path("SPEC.md", session=id)


def test_what_is_there_is_not_created_again(project: ProjectFiles) -> None:
    assert create_file(project, PATH, b"one")
    assert not create_file(project, PATH, b"two")
    assert project.read_bytes(PATH) == b"one"


def test_strays_of_killed_writers_are_swept_and_nothing_else(project: ProjectFiles) -> None:
    replace_file(project, PATH, b"one")
    folder = project.root / ".goopspec"
    for name in (".CHRONICLE.md.123.0a1b2c3d.goop-tmp", ".mine.goop-tmp", "notes.tmp"):
        (folder / name).write_bytes(b"half")

    assert sweep_strays(project) == (".CHRONICLE.md.123.0a1b2c3d.goop-tmp",)
    assert project.names(".goopspec") == (
        ".gitignore",
        ".mine.goop-tmp",
        "CHRONICLE.md",
        "notes.tmp",
    )


def test_where_there_is_no_folder_there_is_nothing_to_sweep(project: ProjectFiles) -> None:
    assert sweep_strays(project) == ()
    assert list(project.root.iterdir()) == []


WRITER = """
import os, signal, sys
from pathlib import Path
from goop_mcp.store.failpoints import Failpoint, install
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.replacing import replace_file

def die(point):
    if point is Failpoint(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

install(die)
replace_file(ProjectFiles(Path(sys.argv[1])), ".goopspec/CHRONICLE.md", b"new" * 1000)
"""


@pytest.mark.parametrize("point", ["temporary file", "fsync", "rename", "directory fsync"])
def test_a_writer_killed_at_any_step_leaves_the_old_file_or_the_new_one(
    project: ProjectFiles, point: str
) -> None:
    replace_file(project, PATH, b"old" * 1000)
    done = subprocess.run([sys.executable, "-c", WRITER, str(project.root), point], check=False)

    assert done.returncode == -signal.SIGKILL
    renamed = Failpoint(point) in (Failpoint.RENAME, Failpoint.DIRECTORY_FSYNC)
    assert project.read_bytes(PATH) == (b"new" if renamed else b"old") * 1000
    assert len(sweep_strays(project)) == (0 if renamed else 1)
    assert project.names(".goopspec") == (".gitignore", "CHRONICLE.md")


@pytest.mark.parametrize("room", [0, 100, 4096])
def test_a_file_that_does_not_fit_leaves_the_old_one_and_no_stray(
    project: ProjectFiles, room: int
) -> None:
    replace_file(project, PATH, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))

    try:
        with pytest.raises(
            UnwritableFileError,
            match=r"CHRONICLE\.md was not written: the file would become larger",
        ):
            replace_file(project, PATH, b"new" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)

    assert project.read_bytes(PATH) == b"old"
    assert project.names(".goopspec") == (".gitignore", "CHRONICLE.md")


def test_without_descriptors_left_the_error_says_so(project: ProjectFiles) -> None:
    replace_file(project, PATH, b"old")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (project.root / "open").open("wb") as file:
        resource.setrlimit(resource.RLIMIT_NOFILE, (file.fileno() + 1, before[1]))
        try:
            with pytest.raises(UnwritableFileError, match="too many files are open"):
                replace_file(project, PATH, b"new")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert project.read_bytes(PATH) == b"old"


def test_a_write_protected_folder_is_reported(project: ProjectFiles) -> None:
    replace_file(project, PATH, b"old")
    (project.root / ".goopspec").chmod(0o555)
    try:
        with (
            ordinary_rights(),
            pytest.raises(UnwritableFileError, match="this user may not write there"),
        ):
            replace_file(project, PATH, b"new")
    finally:
        (project.root / ".goopspec").chmod(0o755)

    assert project.read_bytes(PATH) == b"old"
