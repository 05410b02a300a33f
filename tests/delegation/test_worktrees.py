import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from goop_mcp.delegation.worktrees import (
    Worktree,
    WorktreeError,
    close_worktree,
    open_worktree,
)

GIT = shutil.which("git") or "git"


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        [GIT, *identity, "-C", str(folder), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text("build/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")

    return folder


def opened(project: Path, name: str = "api-0") -> Worktree:
    home = project.parent / "home"
    return anyio.run(lambda: open_worktree(project, home, run="r1", name=name))


def closed(worktree: Worktree) -> str | None:
    return anyio.run(close_worktree, worktree)


def test_a_worktree_in_which_nothing_is_left_is_removed_with_its_branch(project: Path) -> None:
    worktree = opened(project)
    assert (worktree.folder / "a.txt").read_text() == "one\n"
    assert worktree.branch == "goop/r1/api-0"
    (worktree.folder / "build").mkdir()
    (worktree.folder / "build" / "x.o").write_text("ignored")

    assert closed(worktree) is None
    assert not worktree.folder.exists()
    assert git(project, "branch", "--list", "goop/*") == ""


def test_what_was_committed_stays_on_a_branch_that_is_named(project: Path) -> None:
    worktree = opened(project)
    (worktree.folder / "b.txt").write_text("two\n")
    git(worktree.folder, "add", "-A")
    git(worktree.folder, "commit", "-qm", "second")

    assert closed(worktree) == "1 commit on goop/r1/api-0"
    assert not worktree.folder.exists()
    assert git(project, "log", "-1", "--format=%s", "goop/r1/api-0") == "second"
    assert not (project / "b.txt").exists()


def test_what_was_not_committed_stays_in_a_folder_that_is_named(project: Path) -> None:
    worktree = opened(project)
    (worktree.folder / "b.txt").write_text("two\n")
    kept = closed(worktree)
    assert kept is not None
    assert kept.startswith("1 file that is not committed in ")
    assert str(worktree.folder) in kept
    assert (worktree.folder / "b.txt").read_text() == "two\n"

    # The next runner, after a crash, goes on in it, and git is left in order by then.
    assert opened(project) == worktree
    git(worktree.folder, "clean", "-fdq")
    assert closed(worktree) is None


def test_a_worktree_that_was_removed_by_hand_is_made_again(project: Path) -> None:
    worktree = opened(project)
    (worktree.folder / "b.txt").write_text("two\n")
    git(worktree.folder, "add", "-A")
    git(worktree.folder, "commit", "-qm", "second")
    shutil.rmtree(worktree.folder)

    again = opened(project)
    assert (again.folder / "b.txt").read_text() == "two\n"
    assert again.base == worktree.base


def test_tasks_at_once_have_a_worktree_each(project: Path) -> None:
    home = project.parent / "home"
    made: list[Worktree] = []

    async def all_at_once() -> None:
        async def one(number: int) -> None:
            made.append(await open_worktree(project, home, run="r1", name=f"t{number}"))

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(one, number)

    anyio.run(all_at_once)
    assert len({each.folder for each in made}) == 6
    for each in made:
        assert closed(each) is None


def test_hooks_of_the_repository_are_not_run(project: Path) -> None:
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    worktree = opened(project)
    assert not (worktree.folder / "ran").exists()
    assert closed(worktree) is None


def test_a_folder_without_a_repository_or_a_commit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorktreeError, match=r"git rev-parse failed: .*not a git repository"):
        opened(tmp_path)

    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with pytest.raises(WorktreeError, match="git rev-parse failed"):
        opened(empty)
