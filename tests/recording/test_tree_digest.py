"""The digest of a work tree: each state of a repository that the recorder meets."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from goop_mcp.evidence.recorded_runs import RecordedRun, WorkTree
from goop_mcp.recording.git_calls import asked_git
from goop_mcp.recording.tree_digest import (
    TreeLook,
    digest_work_tree,
    files_changed_since,
    main_work_tree,
)
from tests.recording.repositories import GIT, Work


def digest(folder: Path) -> str:
    tree = digest_work_tree(folder)
    assert tree.digest, tree.why
    return tree.digest


def why(folder: Path) -> str:
    tree = digest_work_tree(folder)
    assert not tree.digest
    return tree.why


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work")


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each file, to see that nothing is written."""
    # Git renews the time of an object that it would write again, so that no clean-up removes it.
    return {
        str(path): (path.stat().st_size, 0 if "objects" in path.parts else path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def test_a_clean_work_tree_has_the_digest_of_its_commit(work: Work) -> None:
    assert digest(work.folder) == work.git("rev-parse", "HEAD^{tree}").strip()
    assert digest_work_tree(work.folder).changes == ()


def test_the_repository_is_only_read(work: Work) -> None:
    work.write("src/new.py", "new = 1\n")
    work.write("src/app.py", "changed = 1\n")
    work.git("add", "src/app.py")
    before = snapshot(work.folder)
    digest(work.folder)
    assert snapshot(work.folder) == before


# What changes the digest


def edit(work: Work) -> None:
    work.write("src/app.py", "broken\n")


def add_untracked(work: Work) -> None:
    work.write("src/extra/new.py", "new = 1\n")


def delete(work: Work) -> None:
    (work.folder / "README.md").unlink()


def rename(work: Work) -> None:
    (work.folder / "README.md").rename(work.folder / "READ.md")


def make_executable(work: Work) -> None:
    (work.folder / "src/app.py").chmod(0o755)


def make_link(work: Work) -> None:
    (work.folder / "README.md").unlink()
    (work.folder / "README.md").symlink_to("src/app.py")


def stage(work: Work) -> None:
    work.write("src/app.py", "staged\n")
    work.git("add", "src/app.py")


def intend_to_add(work: Work) -> None:
    work.write("later.py", "later = 1\n")
    work.git("add", "-N", "later.py")


def replace_by_folder(work: Work) -> None:
    (work.folder / "README.md").unlink()
    work.write("README.md/part.md", "part\n")


CHANGES = [
    edit,
    add_untracked,
    delete,
    rename,
    make_executable,
    make_link,
    stage,
    intend_to_add,
    replace_by_folder,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.requirement("R-02")
def test_each_change_gives_another_digest_that_its_commit_keeps(
    work: Work, change: Callable[[Work], None]
) -> None:
    before = digest_work_tree(work.folder)
    change(work)
    changed = digest_work_tree(work.folder)
    assert changed.digest not in ("", before.digest)
    assert changed.changes

    work.commit("the same content")
    committed = digest_work_tree(work.folder)
    assert committed.digest == changed.digest
    assert committed.digest == work.git("rev-parse", "HEAD^{tree}").strip()


def test_a_change_within_the_tick_of_the_last_add_is_seen(work: Work) -> None:
    missed = 0
    for number in range(40):
        path = work.write("racy.txt", f"{number:04}a\n")
        work.git("add", "racy.txt")
        before = work.git("write-tree").strip()
        # The same size, within the same tick: only the content differs.
        path.write_text(f"{number:04}b\n", encoding="utf-8")
        missed += digest(work.folder) == before
    assert missed == 0


def test_ignored_files_are_not_seen_and_global_excludes_hold(work: Work) -> None:
    work.write(".gitignore", "build/\n")
    before = digest(work.folder)
    work.write("build/out.bin", "generated\n")
    assert digest(work.folder) == before


# Marks of the index


MARKS = [("--assume-unchanged", "--no-assume-unchanged"), ("--skip-worktree", "--no-skip-worktree")]


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize(("mark", "off"), MARKS)
def test_a_file_whose_changes_git_does_not_look_for_gives_no_tree(
    work: Work, mark: str, off: str, *, changed: bool
) -> None:
    before = digest(work.folder)
    work.git("update-index", mark, "README.md")
    if changed:
        work.write("README.md", "secretly\n")
    shown = why(work.folder)
    assert shown.startswith(f"'README.md' is marked {mark[2:]}")
    assert f"git update-index {off}" in shown
    work.git("update-index", off, "README.md")
    assert (digest(work.folder) != before) is changed


@pytest.mark.parametrize(("mark", "off"), MARKS)
def test_few_of_many_marked_files_are_named(work: Work, mark: str, off: str) -> None:
    names = [f"src/{number}.py" for number in range(40)]
    for name in names:
        work.write(name, "x = 1\n")
    work.commit("many")
    work.git("update-index", mark, *names)
    assert why(work.folder).startswith(
        "'src/0.py', 'src/1.py', 'src/10.py' and 37 more are marked "
    )
    work.git("update-index", off, *names)
    assert digest(work.folder)


def test_marks_of_both_kinds_and_of_files_that_are_gone(work: Work) -> None:
    for mark, _ in MARKS:
        work.git("update-index", mark, "README.md")
    assert "'README.md' is marked assume-unchanged" in why(work.folder)
    (work.folder / "README.md").unlink()
    # Its absence is not seen either.
    assert "'README.md' is marked assume-unchanged" in why(work.folder)


def test_a_marked_file_in_our_folder_does_not_count(work: Work) -> None:
    work.write(".goopspec/state.json", "{}\n")
    work.commit("with our folder")
    work.git("update-index", "--assume-unchanged", ".goopspec/state.json")
    assert digest(work.folder)


@pytest.mark.parametrize("cone", [[], ["--no-cone"]])
def test_files_outside_of_a_sparse_checkout_are_fine_and_what_is_there_is_seen(
    work: Work, cone: list[str]
) -> None:
    for name in ("docs/page.md", "docs/deep/page.md", "tools/tool.py"):
        work.write(name, f"{name}\n")
    work.commit("more folders")
    whole = digest(work.folder)
    work.git("sparse-checkout", "set", *cone, "src")
    assert digest(work.folder) == whole
    work.write("docs/page.md", "there all the same\n")
    assert digest(work.folder) != whole
    # So that git keeps the mark of a file that is there.
    work.git("config", "sparse.expectFilesOutsideOfPatterns", "true")
    assert why(work.folder).startswith("'docs/page.md' is marked skip-worktree")


def test_a_sparse_index_is_fine(work: Work) -> None:
    work.write("docs/page.md", "page\n")
    work.commit("more folders")
    whole = digest(work.folder)
    work.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
    assert "docs/\n" in work.git("ls-files", "--sparse")
    assert digest(work.folder) == whole


# As git would add the files


def change_at_random(work: Work, chance: random.Random) -> None:
    """Do one of the things that happen to files, where it is possible."""
    names = (
        "a",
        "src",
        "src/a",
        "src/b",
        "src/deep/c",
        "docs",
        "-dash",
        "sp ace",
        "x.log",
        ":(top)y",
    )
    name = chance.choice((*names, "lib", "src/app.py"))
    path, lib = work.folder / name, work.folder / "lib"

    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{chance.random()}\n", encoding="utf-8")

    def remove() -> None:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def link() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(chance.choice(["src", "docs", "nowhere", ".."]))

    def link_folder() -> None:
        (work.folder / "src").rename(work.folder / "moved")
        (work.folder / "src").symlink_to("moved")

    def nest() -> None:
        Work(lib) if not lib.exists() else work.git(
            "commit", "-q", "--allow-empty", "-m", "n", folder=lib
        )

    literal = f":(top,literal){name}"
    things: Sequence[Callable[[], object]] = (
        write, write, remove, link, link_folder, nest,
        lambda: (path / "inner").mkdir(parents=True),
        lambda: path.chmod(0o755),
        lambda: path.rename(work.folder / chance.choice(names)),
        lambda: work.git("add", "-A", "--", literal),
        lambda: work.git("add", "-N", "--", literal),
        lambda: work.git("rm", "-r", "-q", "--cached", "--", literal),
        lambda: work.commit("all"),
    )  # fmt: skip
    with suppress(OSError, subprocess.CalledProcessError):
        chance.choice(things)()


@pytest.mark.parametrize("seed", range(10))
def test_the_digest_is_that_of_the_tree_that_git_would_make(
    work: Work, tmp_path: Path, seed: int
) -> None:
    chance, index = random.Random(seed), tmp_path / "index"
    work.write(".gitignore", "*.log\n")
    for _ in range(6):
        for _ in range(3):
            change_at_random(work, chance)
        shutil.copy2(work.folder / ".git" / "index", index)
        environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
        for words in (["add", "-A"], ["write-tree"]):
            made = subprocess.run([GIT, *words], cwd=work.folder, env=environment,
                                  capture_output=True, text=True, check=True)  # fmt: skip
        found = digest_work_tree(work.folder)
        if "nested" not in found.why:
            assert found.digest == made.stdout.strip(), found.why


# Our own folder


def test_our_folder_does_not_count_whether_tracked_or_not(work: Work) -> None:
    before = digest(work.folder)
    work.write(".goopspec/goop.db", "rows\n")
    work.write(".goopspec/state.json", "{}\n")
    assert digest(work.folder) == before

    work.git("add", "-A")
    assert digest(work.folder) == before

    work.commit("with our folder")
    work.write(".goopspec/state.json", '{"phase": "plan"}\n')
    work.git("add", "-A")
    # Staged, and changed once more: `git rm --cached` refuses this without force.
    work.write(".goopspec/state.json", '{"phase": "execute"}\n')
    tree = digest_work_tree(work.folder)
    assert tree.digest == before
    assert tree.changes == ()


@pytest.mark.parametrize("ignored", [".goopspec", ".goopspec/", ".goopspec/*", "*.db"])
@pytest.mark.parametrize("tracked", [False, True])
def test_our_folder_does_not_count_however_it_is_ignored(
    work: Work, ignored: str, tracked: bool
) -> None:
    work.write(".gitignore", f"{ignored}\n")
    before = digest(work.folder)
    work.write(".goopspec/goop.db", "rows\n")
    work.write(".goopspec/state.json", "{}\n")
    assert digest(work.folder) == before
    if tracked:
        work.git("add", "--force", ".goopspec/state.json")
        assert digest(work.folder) == before

    work.write("README.md", "changed\n")
    changed = digest(work.folder)
    assert changed != before
    work.write(".goopspec/state.json", "{ }\n")
    assert digest(work.folder) == changed


# Repositories in the repository


def add_submodule(work: Work, tmp_path: Path) -> Path:
    other = Work(tmp_path / "other")
    work.git("submodule", "--quiet", "add", str(other.folder), "lib")
    work.commit("with a submodule")
    return work.folder / "lib"


def test_a_clean_submodule_counts_by_its_commit(work: Work, tmp_path: Path) -> None:
    lib = add_submodule(work, tmp_path)
    before = digest(work.folder)
    assert before == work.git("rev-parse", "HEAD^{tree}").strip()

    (lib / "README.md").write_text("changed\n", encoding="utf-8")
    assert "'lib' has changes of its own" in why(work.folder)

    work.git("commit", "-qam", "in the submodule", folder=lib)
    assert digest(work.folder) != before


def test_an_untracked_file_in_a_submodule_is_a_change(work: Work, tmp_path: Path) -> None:
    lib = add_submodule(work, tmp_path)
    (lib / "new.py").write_text("new = 1\n", encoding="utf-8")
    # The repository can hide this from git status.
    work.git("config", "submodule.lib.ignore", "all")
    assert "'lib' has changes of its own" in why(work.folder)


def test_a_submodule_that_is_not_checked_out_has_no_content(work: Work, tmp_path: Path) -> None:
    add_submodule(work, tmp_path)
    work.git("submodule", "--quiet", "deinit", "-f", "lib")
    assert digest(work.folder) == work.git("rev-parse", "HEAD^{tree}").strip()


def test_an_unreadable_submodule_gives_no_tree(work: Work, tmp_path: Path) -> None:
    lib = add_submodule(work, tmp_path)
    (lib / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    assert "'lib' cannot be read" in why(work.folder)


def test_a_nested_repository_without_a_commit_gives_no_tree(work: Work) -> None:
    nested = Work(work.folder / "nested", commit=False)
    assert "'nested' has no commit" in why(work.folder)
    nested.write("a.txt", "a\n")
    assert "'nested' has no commit" in why(work.folder)


def test_a_nested_repository_counts_by_its_commit(work: Work) -> None:
    before = digest(work.folder)
    nested = Work(work.folder / "deep" / "nested")
    first = digest(work.folder)
    assert first != before

    nested.write("src/app.py", "changed\n")
    assert "'deep/nested' has changes of its own" in why(work.folder)
    nested.commit("second")
    assert digest(work.folder) not in (before, first)


@pytest.mark.parametrize(("mark", "off"), MARKS)
def test_a_mark_in_a_submodule_is_one_of_the_project(
    work: Work, tmp_path: Path, mark: str, off: str
) -> None:
    lib = add_submodule(work, tmp_path)
    work.git("update-index", mark, "README.md", folder=lib)
    (lib / "README.md").write_text("secretly\n", encoding="utf-8")
    assert why(work.folder).startswith(f"'lib/README.md' is marked {mark[2:]}")
    work.git("update-index", off, "README.md", folder=lib)
    assert "'lib' has changes of its own" in why(work.folder)


def test_a_submodule_whose_configuration_names_another_folder_is_read_where_it_is(
    work: Work, tmp_path: Path
) -> None:
    lib = add_submodule(work, tmp_path)
    clean = tmp_path / "clean"
    work.git("clone", "-q", str(tmp_path / "other"), str(clean))
    (lib / "README.md").write_text("changed\n", encoding="utf-8")
    config = work.folder / ".git" / "modules" / "lib" / "config"
    work.git("config", "-f", str(config), "core.worktree", str(clean))
    assert "'lib' has changes of its own" in why(work.folder)


def test_what_is_staged_in_a_submodule_or_in_one_of_its_own_is_a_change(
    work: Work, tmp_path: Path
) -> None:
    deep = Work(tmp_path / "deep")
    other = Work(tmp_path / "other")
    other.git("submodule", "--quiet", "add", str(deep.folder), "deep")
    other.commit("with a submodule")
    work.git("submodule", "--quiet", "add", str(other.folder), "lib")
    work.git("submodule", "--quiet", "update", "--init", "--recursive")
    work.commit("with submodules")
    before = digest(work.folder)
    inner = work.folder / "lib" / "deep"

    (inner / "README.md").write_text("changed\n", encoding="utf-8")
    assert "'lib/deep' has changes of its own" in why(work.folder)
    work.git("add", "README.md", folder=inner)
    assert "'lib/deep' has changes of its own" in why(work.folder)
    work.git("commit", "-qm", "in the inner one", folder=inner)
    # Both can be set to be ignored.
    for folder in (work.folder, work.folder / "lib"):
        work.git("config", "diff.ignoreSubmodules", "all", folder=folder)
    work.git("config", "submodule.deep.ignore", "all", folder=work.folder / "lib")
    assert "'lib' has changes of its own" in why(work.folder)
    work.git("add", "-f", "deep", folder=work.folder / "lib")
    assert "'lib' has changes of its own" in why(work.folder)
    for key in ("diff.ignoreSubmodules", "submodule.deep.ignore"):
        work.git("config", "--unset", key, folder=work.folder / "lib")
    work.git("commit", "-qam", "a newer one", folder=work.folder / "lib")
    assert digest(work.folder) not in ("", before)


# Kinds of checkouts


def test_a_linked_work_tree_has_its_own_digest(work: Work, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    work.git("worktree", "add", "-q", "-b", "side", str(linked))
    assert digest(linked) == digest(work.folder)
    (linked / "README.md").write_text("other\n", encoding="utf-8")
    assert digest(linked) != digest(work.folder)
    assert main_work_tree(linked) == work.folder
    assert main_work_tree(linked / "src") == work.folder / "src"
    assert main_work_tree(work.folder) is None


@pytest.mark.parametrize(
    "how", [["--shared"], ["--depth", "1"], ["--filter=blob:none"], ["--filter=tree:0"]]
)
def test_clones_have_the_digest_of_their_source(work: Work, tmp_path: Path, how: list[str]) -> None:
    work.write("README.md", "second\n")
    work.commit("second")
    work.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    work.git("clone", "-q", *how, f"file://{work.folder}", str(clone))
    assert digest(clone) == digest(work.folder)
    (clone / "new.py").write_text("new = 1\n", encoding="utf-8")
    (work.folder / "new.py").write_text("new = 1\n", encoding="utf-8")
    assert digest(clone) == digest(work.folder)


def test_a_sparse_partial_clone_without_the_other_blobs(work: Work, tmp_path: Path) -> None:
    work.write("docs/page.md", "page\n")
    work.commit("with docs")
    work.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    work.git("clone", "-q", "--filter=blob:none", "--sparse", f"file://{work.folder}", str(clone))
    assert digest(clone) == digest(work.folder)
    (clone / "README.md").write_text("changed\n", encoding="utf-8")
    work.write("README.md", "changed\n")
    assert digest(clone) == digest(work.folder)


@pytest.mark.parametrize("kind", [[], ["--sparse-index"]])
def test_a_sparse_checkout_keeps_what_is_not_checked_out(work: Work, kind: list[str]) -> None:
    work.write("docs/page.md", "page\n")
    work.write("tools/tool.py", "tool = 1\n")
    work.commit("more folders")
    whole = digest(work.folder)
    work.git("sparse-checkout", "set", *kind, "src")
    assert not (work.folder / "docs/page.md").exists()
    assert digest(work.folder) == whole

    # A file outside of the sparse part that is there all the same counts.
    work.write("docs/extra.md", "extra\n")
    assert digest(work.folder) != whole


def test_a_branch_without_a_commit(tmp_path: Path) -> None:
    work = Work(tmp_path / "new", commit=False)
    empty = digest_work_tree(work.folder)
    assert empty.digest
    assert empty.head == ""
    work.write("a.py", "a = 1\n")
    tree = digest_work_tree(work.folder)
    assert [path for path, _ in tree.changes] == ["a.py"]
    assert digest(work.folder) != empty.digest
    work.commit("first")
    assert digest(work.folder) == tree.digest


def test_a_folder_of_a_monorepo_counts_as_a_whole(work: Work) -> None:
    package = work.folder / "packages" / "a"
    work.write("packages/a/a.py", "a = 1\n")
    work.write("packages/b/b.py", "b = 1\n")
    work.commit("two packages")
    before = digest(package)
    work.write("packages/a/.goopspec/goop.db", "rows\n")
    assert digest(package) == before
    work.write("packages/b/b.py", "b = 2\n")
    assert digest(package) != before

    scoped = [digest_work_tree(package, scopes=[("a.py",)]).scopes[("a.py",)] for _ in range(2)]
    assert scoped[0] == scoped[1]
    work.write("packages/b/b.py", "b = 3\n")
    assert digest_work_tree(package, scopes=[("a.py",)]).scopes[("a.py",)] == scoped[0]
    work.write("packages/a/a.py", "a = 2\n")
    assert digest_work_tree(package, scopes=[("a.py",)]).scopes[("a.py",)] != scoped[0]


def test_no_repository_and_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no git work tree" in why(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why(tmp_path) == "git is not installed"


def test_a_merge_conflict_has_the_content_on_disk(work: Work) -> None:
    work.git("checkout", "-q", "-b", "side")
    work.write("README.md", "theirs\n")
    work.commit("theirs")
    work.git("checkout", "-q", "main")
    work.write("README.md", "ours\n")
    work.commit("ours")
    subprocess.run([GIT, "merge", "-q", "side"], cwd=work.folder, capture_output=True, check=False)
    before = digest(work.folder)
    work.write("README.md", "resolved\n")
    assert digest(work.folder) != before


# Hostile and unusual configuration


def test_programs_of_the_repository_do_not_run(work: Work, tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    program = work.write("evil.sh", f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    hooks = work.folder / ".git" / "hooks"
    for name in ("pre-commit", "post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {proof}\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    work.git("config", "core.fsmonitor", str(program))
    work.git("config", "core.pager", str(program))
    work.git("config", "core.editor", str(program))
    work.git("config", "core.sshCommand", str(program))
    work.git("config", "diff.external", str(program))
    work.git("config", "core.askPass", str(program))
    work.write("src/app.py", "changed\n")
    before = proof.exists()
    digest(work.folder)
    assert not before
    assert not proof.exists()


def test_variables_of_git_do_not_lead_elsewhere(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digest(work.folder)
    other = Work(tmp_path / "other")
    other.write("other.py", "other = 1\n")
    # Git sets these for its own hooks, such as the pre-push hook that asks for a recorded run.
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.folder))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git" / "index"))
    assert digest(work.folder) == expected


@pytest.fixture
def filtered(work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Give the user a filter for *.txt, with these lines in the configuration."""
    configuration = tmp_path / "user.cfg"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))

    def use(lines: str) -> None:
        configuration.write_text(f'[filter "own"]\n{lines}\n', encoding="utf-8")
        work.write(".gitattributes", "*.txt filter=own\n")

    return use


def test_filters_normalise_what_git_would_normalise(
    work: Work, filtered: Callable[[str], None]
) -> None:
    filtered("clean = sed s/secret/-/")
    work.write("note.txt", "secret\n")
    # Not by `git`, which is that of the test and has no filter.
    before = digest(work.folder)
    work.write("note.txt", "secret \n".replace(" ", ""))
    assert digest(work.folder) == before
    work.write("note.txt", "-\n")
    assert digest(work.folder) == before


def test_a_required_filter_that_fails_gives_no_tree(
    work: Work, filtered: Callable[[str], None]
) -> None:
    filtered("clean = false\nrequired = true")
    work.write("data.txt", "data\n")
    assert "refused `git update-index`" in why(work.folder)


def test_pointers_of_large_files_are_files_like_others(work: Work) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n"
    work.write("model.bin", pointer.format("a" * 64))
    work.commit("with a pointer")
    before = digest(work.folder)
    work.write("model.bin", pointer.format("b" * 64))
    assert digest(work.folder) != before


def test_line_ends_that_git_normalises_are_not_seen(work: Work) -> None:
    work.write(".gitattributes", "* text=auto\n")
    work.commit("normalised")
    before = digest(work.folder)
    (work.folder / "README.md").write_bytes(b"An example\r\n")
    assert digest(work.folder) == before


def test_names_with_every_kind_of_character(work: Work) -> None:
    names = ["with space.py", 'quo"te.py', "tab\there.py", "line\nfeed.py", "ümlaut.py", ":(top)x"]
    for name in names:
        work.write(name, "x = 1\n")
    work.write(os.fsdecode(b"not-utf8-\xff.py"), "x = 1\n")
    tree = digest_work_tree(work.folder)
    assert {each for each, _ in tree.changes} == {*names, "not-utf8-\\xff.py"}


def test_a_folder_of_objects_whose_path_has_a_colon(tmp_path: Path) -> None:
    work = Work(tmp_path / "a:b")
    work.write("new.py", "new = 1\n")
    tree = digest(work.folder)
    work.commit("new")
    assert digest(work.folder) == tree


def test_too_many_changed_files_give_no_tree(work: Work) -> None:
    for number in range(20):
        folder = work.folder / f"generated{number}"
        folder.mkdir()
        for each in range(1001):
            (folder / f"{each}.txt").touch()
    assert "more than 20,000 files" in why(work.folder)
    work.write(".gitignore", "generated*/\n")
    assert digest(work.folder)


def test_too_many_bytes_give_no_tree(work: Work) -> None:
    with (work.folder / "large.bin").open("wb") as file:
        file.truncate(201 * 1024 * 1024)
    assert "more than 200 MB" in why(work.folder)


def test_git_that_does_not_answer_is_ended(
    work: Work, tmp_path: Path, filtered: Callable[[str], None]
) -> None:
    filtered(f'clean = "touch {tmp_path}/began; sleep 60"')
    work.write("a.txt", "a\n")
    began = time.monotonic()
    tree = digest_work_tree(work.folder, seconds=1.0)
    assert tree.why == "git did not answer in time"
    assert (tmp_path / "began").exists()
    # Of the time that was set, and not of the usual 30 s.
    assert time.monotonic() - began < 20


def test_what_a_repository_leaves_out_and_how_it_writes_lines_holds(work: Work) -> None:
    info = work.folder / ".git" / "info"
    info.mkdir(exist_ok=True)
    before = digest(work.folder)
    (info / "exclude").write_text("# a comment\n\nbuild/\n", encoding="utf-8")
    work.write("build/out.bin", "generated\n")
    assert digest(work.folder) == before
    (info / "attributes").write_text("* text=auto\n", encoding="utf-8")
    (work.folder / "README.md").write_bytes(b"An example\r\n")
    assert digest(work.folder) == before
    (info / "attributes").write_text("# none\n", encoding="utf-8")
    assert digest(work.folder) != before


# A look in two steps


@pytest.mark.requirement("R-02")
def test_what_changes_after_the_files_were_read_is_not_in_the_digest(work: Work) -> None:
    # As a run does it: the files are read, the command changes whatever it likes, git ends.
    for change in (lambda: None, lambda: work.write("untracked.py", "new = 1\n")):
        change()
        expected = digest(work.folder)
        with TreeLook(work.folder) as look:
            look.read_files()
            edit(work)
            work.git("add", "-A")
            work.git("commit", "-q", "-m", "made by the command")
            assert look.tree().digest == expected
        assert digest(work.folder) != expected
        work.git("reset", "-q", "--hard", "HEAD~1")


def test_an_index_that_changes_while_git_lists_the_files_is_listed_again(work: Work) -> None:
    with TreeLook(work.folder) as look:
        look.begin()
        edit(work)
        work.git("add", "-A")
        look.read_files()
        tree = look.tree()
    assert tree.digest == digest(work.folder)
    assert [path for path, _ in tree.changes] == ["src/app.py"]


def test_another_repository_that_a_command_makes_is_found(work: Work) -> None:
    git = asked_git(str(work.folder))
    with TreeLook(work.folder, git=git) as look:
        assert look.tree().digest == digest(work.folder)

    # The same place with another history, then a repository of its own in the folder.
    shutil.rmtree(work.folder / ".git")
    Work(work.folder)
    with TreeLook(work.folder, git=git) as look:
        assert look.tree() == digest_work_tree(work.folder)

    inner = Work(work.folder / "src", commit=False)
    inner.commit("inner")
    git = asked_git(str(work.folder / "src"))
    with TreeLook(inner.folder, git=git) as look:
        assert look.tree().digest == digest(inner.folder)
    shutil.rmtree(inner.folder / ".git")
    with TreeLook(inner.folder, git=git) as look:
        tree = look.tree()
    assert tree == digest_work_tree(inner.folder)
    assert tree.digest == digest(work.folder)


def test_temporary_folders_that_cannot_be_used(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digest(work.folder)
    for place in ("relative", str(tmp_path / "missing"), "/proc"):
        monkeypatch.setenv("TMPDIR", place)
        assert digest(work.folder) == expected


# Which files differ


def run_on(tree: WorkTree) -> RecordedRun:
    return RecordedRun("r-000000000000", "tests", ("pytest",), before=tree, after=tree)


def test_the_files_that_changed_since_a_run_are_named(work: Work) -> None:
    work.write("kept.py", "kept = 1\n")
    work.write("src/app.py", "tested\n")
    then = digest_work_tree(work.folder)

    work.write("src/app.py", "changed later\n")
    now = digest_work_tree(work.folder)
    assert files_changed_since(work.folder, run_on(then), now) == ("src/app.py",)

    # The commit of what was tested is no change, what else it brings is.
    work.write("src/app.py", "tested\n")
    work.write("another.py", "another = 1\n")
    work.commit("tested, and one more")
    now = digest_work_tree(work.folder)
    assert files_changed_since(work.folder, run_on(then), now) == ("another.py",)

    (work.folder / "kept.py").unlink()
    now = digest_work_tree(work.folder)
    assert files_changed_since(work.folder, run_on(then), now) == ("another.py", "kept.py")


def test_a_commit_that_is_gone_names_no_files(work: Work) -> None:
    then = digest_work_tree(work.folder)._replace(head="1" * 40)
    work.write("src/app.py", "changed\n")
    assert files_changed_since(work.folder, run_on(then), digest_work_tree(work.folder)) == ()
