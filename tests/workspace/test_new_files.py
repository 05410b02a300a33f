"""A new file stands in the project, whole and in nobody's place, or not at all."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.errors import PathRefusedError, UnwritableFileError
from goop_mcp.workspace import folders
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import may_create
from goop_mcp.workspace.replacing import create_file, place_file
from tests.rights import ordinary_rights

PLACE = "docs/.scratch/sessions/20260114-093000-a/prompt.md"
FOLDER = PLACE.rpartition("/")[0]


@pytest.fixture(params=[True, False], ids=["handles", "names"])
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ProjectFiles:
    """Make an empty project, on a system with handles on folders and on one without."""
    monkeypatch.setattr(folders, "_HAS_HANDLES", request.param)
    folder = tmp_path / "project"
    folder.mkdir()
    return ProjectFiles(folder)


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_a_file_is_written_with_its_folders_and_nothing_else(project: ProjectFiles) -> None:
    place_file(project, PLACE, "Grüße\n".encode())

    assert files(project.root) == {PLACE: "Grüße\n"}


def test_file_that_says_the_same_is_left_as_it_is(project: ProjectFiles) -> None:
    place_file(project, PLACE, b"a")
    before = (project.root / PLACE).stat()
    place_file(project, PLACE, b"a")

    assert (project.root / PLACE).stat().st_ino == before.st_ino


@pytest.mark.parametrize("text", ["mine", "a longer text", ""])
def test_file_that_says_something_else_is_never_overwritten(
    project: ProjectFiles, text: str
) -> None:
    place_file(project, PLACE, text.encode())

    with pytest.raises(
        UnwritableFileError, match=rf"^{PLACE} exists already with other content; move it"
    ):
        place_file(project, PLACE, b"a long")

    assert files(project.root) == {PLACE: text}


def test_of_many_who_write_the_same_file_at_once_one_succeeds(project: ProjectFiles) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(lambda number: create_file(project, PLACE, str(number).encode()), range(40))
        )

    assert made.count(True) == 1
    assert files(project.root) == {PLACE: str(made.index(True))}


def test_disk_without_second_names_takes_the_file_all_the_same(
    project: ProjectFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_names: object, **_handles: object) -> None:
        raise PermissionError(1, "no second names here")

    monkeypatch.setattr(os, "link", refuse)
    assert create_file(project, PLACE, b"a")
    assert not create_file(project, PLACE, b"b")
    assert files(project.root) == {PLACE: "a"}


def link_folder(project: Path, outside: Path) -> None:
    (project / "docs").symlink_to(outside, target_is_directory=True)


def link_inner_folder(project: Path, outside: Path) -> None:
    (project / FOLDER).parent.mkdir(parents=True)
    (project / FOLDER).symlink_to(outside, target_is_directory=True)


def link_file(project: Path, outside: Path) -> None:
    (project / FOLDER).mkdir(parents=True)
    (project / PLACE).symlink_to(outside / "prompt.md")


@pytest.mark.parametrize("set_link", [link_folder, link_inner_folder, link_file])
def test_no_link_out_of_the_project_is_followed(
    project: ProjectFiles, tmp_path: Path, set_link: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    set_link(project.root, outside)

    with pytest.raises(
        (PathRefusedError, UnwritableFileError), match=r"through a link|exists already"
    ):
        place_file(project, PLACE, b"a")

    assert list(outside.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_reported(project: ProjectFiles) -> None:
    (project.root / "docs").write_text("a file", encoding="utf-8")

    with pytest.raises(UnwritableFileError, match=PLACE):
        place_file(project, PLACE, b"a")
    assert files(project.root) == {"docs": "a file"}


@pytest.mark.parametrize(
    "place", ["../a.md", "docs/../../a.md", "/a.md", "", ".", "a\0.md", "src/a.md", "README.md"]
)
def test_no_place_but_ours_is_taken(project: ProjectFiles, place: str) -> None:
    with pytest.raises(PathRefusedError):
        place_file(project, place, b"a")
    assert list(project.root.parent.rglob("*.md")) == []


@given(
    st.lists(
        st.sampled_from(["..", ".", "a", "", "link", "~", "%2e%2e", "b\\..", "…"]),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_the_place_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    top = tmp_path_factory.mktemp("top")
    project, outside = top / "in" / "project", top / "outside"
    project.mkdir(parents=True)
    outside.mkdir()
    (project / "link").symlink_to(outside, target_is_directory=True)
    before = set(top.rglob("*")) - set(project.rglob("*"))
    path = "/".join(parts)
    with pytest.raises(PathRefusedError):
        place_file(ProjectFiles(project), path, b"a")

    assert not may_create(path)
    assert set(top.rglob("*")) - set(project.rglob("*")) == before


def test_nothing_is_left_of_a_file_that_could_not_be_written_to_its_end(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from goop_mcp.workspace.files import"
        " ProjectFiles;from goop_mcp.workspace.replacing import"
        " place_file;resource.setrlimit(resource.RLIMIT_FSIZE, (1_000,"
        f" 1_000));place_file(ProjectFiles(Path(sys.argv[1])), {PLACE!r}, b'a' * 5_000)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert (
        f"{PLACE} was not written: the file would become larger than the system allows"
        in ended.stderr
    )
    assert files(tmp_path) == {}


def test_a_write_protected_folder_of_a_new_file_is_reported(project: ProjectFiles) -> None:
    project.root.chmod(0o500)
    with ordinary_rights(), pytest.raises(UnwritableFileError, match="may not write there"):
        place_file(project, PLACE, b"a")
    project.root.chmod(0o700)
