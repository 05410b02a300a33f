"""A new file stands in the project, whole and in nobody's place, or not at all."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.errors import UnwritableFileError
from goop_mcp.operations import new_file
from goop_mcp.operations.new_file import put_new_file

PLACE = "docs/sessions/a/prompt.md"


@pytest.fixture(params=[True, False], ids=["handles", "names"])
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty project, on a system with handles on folders and on one without."""
    monkeypatch.setattr(new_file, "_HAS_HANDLES", request.param)
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_file_is_written_with_its_folders_and_nothing_beside_it(project: Path) -> None:
    put_new_file(project, PLACE, "Grüße\n")

    assert (project / PLACE).read_bytes() == "Grüße\n".encode()
    assert list(files(project)) == [PLACE]


def test_file_that_says_the_same_is_left_as_it_is(project: Path) -> None:
    put_new_file(project, PLACE, "a")
    before = (project / PLACE).stat()
    put_new_file(project, PLACE, "a")

    assert (project / PLACE).stat().st_ino == before.st_ino


@pytest.mark.parametrize("text", ["mine", "a longer text", ""])
def test_file_that_says_something_else_is_never_overwritten(project: Path, text: str) -> None:
    put_new_file(project, PLACE, text)

    with pytest.raises(UnwritableFileError, match=rf"^{PLACE} is there already and says something else; move it"):
        put_new_file(project, PLACE, "a long")
    assert files(project) == {PLACE: text}


def link_folder(project: Path, outside: Path) -> None:
    (project / "docs").symlink_to(outside, target_is_directory=True)


def link_inner_folder(project: Path, outside: Path) -> None:
    (project / "docs" / "sessions").mkdir(parents=True)
    (project / "docs" / "sessions" / "a").symlink_to(outside, target_is_directory=True)


def link_file(project: Path, outside: Path) -> None:
    (project / PLACE).parent.mkdir(parents=True)
    (project / PLACE).symlink_to(outside / "prompt.md")


@pytest.mark.parametrize("set_link", [link_folder, link_inner_folder, link_file])
def test_no_link_is_followed(project: Path, tmp_path: Path, set_link: Callable[[Path, Path], None]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    set_link(project, outside)

    with pytest.raises(
        UnwritableFileError, match=rf"^{PLACE} (cannot be written: a part of its path|is there already)"
    ):
        put_new_file(project, PLACE, "a")
    assert list(outside.iterdir()) == []


def test_file_in_the_place_of_a_folder_is_told(project: Path) -> None:
    (project / "docs").write_text("a file", encoding="utf-8")

    with pytest.raises(UnwritableFileError, match=PLACE):
        put_new_file(project, PLACE, "a")
    assert files(project) == {"docs": "a file"}


@pytest.mark.parametrize("place", ["../a.md", "docs/../../a.md", "/a.md", "", ".", "a\0.md"])
def test_no_place_outside_of_the_project_is_taken(project: Path, place: str) -> None:
    with pytest.raises(UnwritableFileError, match="leads out of the project"):
        put_new_file(project, place, "a")
    assert list(project.parent.rglob("a*.md")) == []


@given(st.lists(st.sampled_from(["..", ".", "a", "", "link", "~", "%2e%2e", "b\\..", "…"]), min_size=1, max_size=6))
def test_whatever_the_place_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    top = tmp_path_factory.mktemp("top")
    project, outside = top / "in" / "project", top / "outside"
    project.mkdir(parents=True)
    outside.mkdir()
    (project / "link").symlink_to(outside, target_is_directory=True)
    before = set(top.rglob("*")) - set(project.rglob("*"))
    try:
        put_new_file(project, "/".join(parts), "a")
    except UnwritableFileError:
        assert "a" not in files(project).values()
    assert set(top.rglob("*")) - set(project.rglob("*")) == before


def test_nothing_is_left_of_a_file_that_could_not_be_written_to_its_end(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from goop_mcp.operations.new_file import put_new_file;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000));"
        f"put_new_file(Path(sys.argv[1]), {PLACE!r}, 'a' * 5_000)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=False, capture_output=True, text=True, timeout=60
    )

    assert f"{PLACE} cannot be written: file too large; check the permissions and the disk" in ended.stderr
    assert files(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_may_not_be_written_is_told(project: Path) -> None:
    project.chmod(0o500)
    with pytest.raises(UnwritableFileError, match="permission denied; check the permissions"):
        put_new_file(project, PLACE, "a")
    project.chmod(0o700)
