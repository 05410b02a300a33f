"""Nothing outside a project is ever opened, for any path and any concurrent change."""

import os
import random
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from goop_mcp.errors import DocumentUnreadableError, PathRefusedError, WorkspaceError
from goop_mcp.workspace.files import MOST_BYTES, FileKind, ProjectFiles
from goop_mcp.workspace.replacing import replace_file

SECRET = b"canary outside of the project"
CASES = 500


@pytest.fixture
def project(tmp_path: Path) -> ProjectFiles:
    """Return a project with a file, a folder, links inside and links out, next to a canary."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_bytes(SECRET)
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / ".goopspec").mkdir()
    (root / "docs" / "plan.md").write_bytes(b"the plan\n")
    (root / "inside").symlink_to("docs", target_is_directory=True)
    (root / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    (root / "docs" / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "docs" / "loop").symlink_to("loop")
    (root / ".goopspec" / "ADL.md").symlink_to(tmp_path / "outside" / "secret.md")

    return ProjectFiles(root)


def quoted(path: str) -> str:
    return quote(path, safe="", errors="surrogatepass")


def spellings(target: str, chance: random.Random) -> str:
    """Return `target` in one of the ways in which paths are disguised."""
    disguises = (
        lambda path: path,
        lambda path: path.replace("/", "\\"),
        quoted,
        lambda path: quoted(quoted(path)),
        lambda path: path.replace("..", "%2e%2e"),
        lambda path: path.replace("..", "%252e%252e"),
        lambda path: path.replace("/", "\u2215"),
        lambda path: path.replace("..", "\uff0e\uff0e"),
        lambda path: f"./docs/.//{path}",
        lambda path: f" {path} ",
        lambda path: f"C:{path}",
        lambda path: f"\\\\server\\share\\{path}",
        lambda path: f"file:///{path}",
        lambda path: f"{path}\x00.md",
        lambda path: path.upper(),
        lambda path: f"docs/{'a' * chance.randint(200, 400)}/{path}",
        lambda path: path.replace("e", "e\u0301"),
    )
    return chance.choice(disguises)(target)


def generated_paths(root: Path) -> list[str]:
    chance = random.Random(20260120)
    ups = ["../" * depth for depth in range(1, 6)]
    targets = [f"{up}outside/secret.md" for up in ups] + [
        "out/secret.md",
        "inside/../../outside/secret.md",
        "docs/secret.md",
        "docs/loop",
        "inside/secret.md",
        str(root.parent / "outside" / "secret.md"),
        "~/secret.md",
        "CON",
        "docs/nul.txt",
        ".goopspec/ADL.md",
        "docs/" + "ä" * 200 + ".md",
        "",
        "docs/\ud800.md",
    ]

    return [spellings(chance.choice(targets), chance) for _ in range(CASES)]


def test_none_of_500_generated_paths_escapes(project: ProjectFiles) -> None:
    paths = generated_paths(project.root)
    refusals: list[str] = []
    for path in paths:
        try:
            assert project.read_bytes(path) in (None, b"the plan\n"), path
            assert project.kind(path) is not FileKind.OTHER, path
        except (PathRefusedError, DocumentUnreadableError) as error:
            refusals.append(str(error).replace(path[:60], ""))

        with pytest.raises(WorkspaceError):
            replace_file(project, path, b"overwritten")

    assert (project.root.parent / "outside" / "secret.md").read_bytes() == SECRET
    # Names are enough
    assert os.listdir(project.root.parent / "outside") == ["secret.md"]  # noqa: PTH208
    assert len(set(paths)) > 100
    assert len(refusals) > CASES / 2
    assert not any(str(project.root) in refusal for refusal in refusals)


SWAPPER = """
import os, sys
root, outside = sys.argv[1:]
plan, kept, link = (os.path.join(root, "docs", name) for name in ("plan.md", "kept.md", "link.md"))
folder, away = os.path.join(root, "docs"), os.path.join(root, "away")
print("ready", flush=True)
while True:
    os.symlink(os.path.join(outside, "plan.md"), link)
    os.replace(link, plan)
    os.link(kept, link)
    os.replace(link, plan)
    os.rename(folder, away)
    os.symlink(outside, folder)
    os.unlink(folder)
    os.rename(away, folder)
"""


def test_a_link_put_in_place_during_the_call_leads_nowhere(project: ProjectFiles) -> None:
    root, outside = project.root, project.root.parent / "outside"
    (outside / "plan.md").write_bytes(SECRET)
    (root / "docs" / "kept.md").write_bytes(b"the plan\n")
    seen = {b"the plan\n": 0, None: 0}

    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(root), str(outside)], stdout=subprocess.PIPE, text=True
    ) as swapper:
        try:
            assert swapper.stdout is not None
            assert swapper.stdout.readline() == "ready\n"
            for _ in range(3_000):
                try:
                    seen[project.read_bytes("docs/plan.md")] += 1
                except (PathRefusedError, DocumentUnreadableError):
                    continue

            assert swapper.poll() is None, "the swapping has stopped"
        finally:
            swapper.kill()

    assert set(seen) == {b"the plan\n", None}
    assert seen[b"the plan\n"] > 0


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "the path is empty"),
        ("a/../../b", "it goes up with '..'"),
        ("/etc/passwd", "it is absolute"),
        ("a\0b", "it holds a control character"),
        ("docs\\plan.md", "it holds a backslash"),
        ("docs/aux.md", "'aux.md' is a device on Windows"),
        ("x" * 256, "a name in it has 256 bytes"),
        ("out/secret.md", "leads out of the project through a link"),
    ],
)
def test_a_refusal_says_why(project: ProjectFiles, path: str, reason: str) -> None:
    with pytest.raises(PathRefusedError) as refused:
        project.kind(path)

    assert reason in str(refused.value)


def test_kinds_are_determined_through_links_that_stay_inside(project: ProjectFiles) -> None:
    kinds = {
        path: project.kind(path)
        for path in (".", "docs", "inside", "inside/plan.md", "docs/plan.md/x", "none")
    }

    assert list(kinds.values()) == [
        FileKind.FOLDER,
        FileKind.FOLDER,
        FileKind.FOLDER,
        FileKind.FILE,
        FileKind.MISSING,
        FileKind.MISSING,
    ]
    assert project.exists("docs/plan.md")
    assert project.names("inside") == ("loop", "plan.md", "secret.md")
    assert project.is_link("inside")
    assert project.read_text("inside/plan.md") == "the plan\n"


def test_a_pipe_is_not_waited_for(project: ProjectFiles) -> None:
    os.mkfifo(project.root / "pipe")

    with pytest.raises(DocumentUnreadableError, match="pipe is not a file"):
        project.read_bytes("pipe")
    assert project.kind("pipe") is FileKind.OTHER


def test_a_file_that_is_not_utf8_is_reported_with_line_and_byte(project: ProjectFiles) -> None:
    (project.root / "notes.md").write_bytes(b"fine\nGr\xfc\xdfe\n")

    with pytest.raises(DocumentUnreadableError) as refused:
        project.read_text("notes.md")

    assert str(refused.value) == "notes.md is not UTF-8 text: byte 0xfc in line 2; save it as UTF-8"


def test_a_huge_file_is_refused_with_its_size(project: ProjectFiles) -> None:
    with (project.root / "huge.md").open("wb") as file:
        file.truncate(MOST_BYTES + 1)

    with pytest.raises(DocumentUnreadableError, match="16,777,217 bytes"):
        project.read_bytes("huge.md")


def test_the_stamp_changes_with_the_file(project: ProjectFiles) -> None:
    before = project.stamp("docs/plan.md")
    (project.root / "docs" / "plan.md").write_bytes(b"a longer plan\n")

    assert before is not None
    assert before.size == 9
    assert project.stamp("docs/plan.md") != before
    assert project.stamp("docs") is None
